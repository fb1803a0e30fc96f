"""Wapiti's log of a training run, and its stopping criteria."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from crfkit.learning.progress import Progress

from ..numbers import passed
from ..wording import reworded
from .algorithms import WORDS


class Windows:
    """Training ends when the last `stopwin` error rates differ by less than `stopeps` per cent, or when the relative change of the
    objective over the last `objwin` iterations is below `stopeps`. A window of 0 is switched off, and so is one of 1 of the objective."""

    def __init__(self, objwin: int, stopwin: int, stopeps: float):
        self.objectives: deque[float] = deque(maxlen=objwin)
        self.errors: deque[float] = deque(maxlen=stopwin)
        self.stopeps, self.over = stopeps, False

    def look(self, objective: float | None, error: float) -> None:
        self.errors.append(error)
        if self.errors.maxlen == len(self.errors) > 0:
            self.over = self.over or max(self.errors) - min(self.errors) < self.stopeps
        if objective is None:
            return
        self.objectives.append(objective)
        if self.objectives.maxlen == len(self.objectives) > 1:
            first = self.objectives[0]
            self.over = self.over or abs(first - objective) < self.stopeps * abs(first)


class Log(Progress):
    """Writes Wapiti's log, to `say` or to standard error. Before training begins `state` is set, a function that returns how many weights are
    not zero, and how many per cent of the tokens and of the sequences are wrong."""

    def __init__(self, windows: Windows, say: Callable[[str], Any] | None = None):
        super().__init__("never")
        self.say = say or super().note
        self.windows = windows
        self.state: Any = None
        self.sequences = 0

    def note(self, text: str) -> None:
        self.say(text)

    def warn(self, text: str | None) -> None:
        super().warn(text and reworded(text, WORDS))

    def step(self, text: str) -> None:
        self.note(f"* {text}")
        self.sequences = 0

    def reading(self, tokens: int, sequences: int) -> None:
        self.loaded(self.sequences + sequences)

    def loaded(self, sequences: int) -> None:
        for count in passed(1000, self.sequences, sequences):
            self.note(f"{count:7d} sequences loaded")
        self.sequences = sequences

    def start(self, passes: int, done: int = 0) -> None:
        self.warm_up = []

    def report(self, record: dict[str, Any]) -> None:
        active, tokens, sequences = self.state()
        objective = record.get("objective")
        shown = "NA" if objective is None else f"{objective:<10.2f}"
        self.note(f"  [{record['pass']:4d}] obj={shown} act={active:<8d} err={tokens:5.2f}%/{sequences:5.2f}% time={record['seconds']:.2f}s/{record['elapsed']:.2f}s")
        self.windows.look(objective, tokens)

    def end(self, reason: str | None, stopped: bool, last: dict[str, Any]) -> None:
        pass
