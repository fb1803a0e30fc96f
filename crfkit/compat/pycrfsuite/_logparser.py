"""Parses the log of a training run, message by message: CRFsuite's own, or crfkit's in the same format."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["LabelScore", "TrainLogParser"]


class LabelScore(NamedTuple):
    """How well one label was found; None where there is nothing to divide by."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


# The lines of an iteration: prefix, key, type.
_MEASURES: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("Loss: ", "loss", float),
    ("Feature norm: ", "feature_norm", float),
    ("Error norm: ", "error_norm", float),
    ("Active features: ", "active_features", int),
    ("Line search trials: ", "linesearch_trials", int),
    ("Line search step: ", "linesearch_step", float),
    ("Seconds required for this iteration: ", "time", float),
)
_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \((\S+), (\S+), (\S+)\)")
_MACRO = re.compile(r"Macro-average precision, recall, F1: \((\S+), (\S+), (\S+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_TRAINING = re.compile(r"Total seconds required for training: (\d+\.\d+)")
_FEATURES = re.compile(r"Number of features: (\d+)")


class TrainLogParser:
    """Parses messages in order; `feed` returns the name of the event that a message completes, if any.

    start, featgen_progress ..., featgen_end, prepared (or prepare_error), iteration ..., optimization_end, end
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []  # with the part of `log` that they are about

    def feed(self, line: str) -> str | None:
        """Parse a message; returns the event that it completes."""
        self.log.append(line)
        if self.state is None:
            self._starting(line)
            self.events.append(("start", 0, len(self.log)))
            return "start"
        event = getattr(self, f"_{self.state.lower()}")(line)
        if event is not None:
            before_this = event in ("prepared", "optimization_end")
            self.events.append((event, self.events[-1][2], len(self.log) - before_this))
        return event

    @property
    def last_log(self) -> str:
        """The text of the log between the last two events."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def _starting(self, line: str) -> None:
        self.state = "FEATGEN" if line.startswith("Feature generation") else "STARTING"

    def _featgen(self, line: str) -> str | None:
        if re.fullmatch(r"\d+|\.", line):
            self.featgen_percent += 2
            return "featgen_progress"
        if found := _FEATURES.match(line):
            self.featgen_num_features = int(found[1])
        if found := _SECONDS.match(line):
            self.featgen_seconds = float(found[1])
            self.state = "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _after_featgen(self, line: str) -> str | None:
        if head := _HEAD.match(line):
            self._begin_iteration(int(head[1]))
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _begin_iteration(self, number: int) -> None:
        self.state = "ITERATION"
        self.last_iteration = {"num": number, "scores": {}}
        self.iterations.append(self.last_iteration)

    def _iteration(self, line: str) -> str | None:
        if line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        found: dict[str, Any] = self.last_iteration  # type: ignore[assignment]
        for beginning, key, kind in _MEASURES:
            if line.startswith(beginning):
                found[key] = kind(line[len(beginning) :])
        if match := _LABEL.match(line):
            if match[5].startswith("*") and match[3] != "0":
                return None  # nothing to find, though something was: no score
            rates = (None if rate.startswith("*") else float(rate) for rate in match.groups()[4:])
            found["scores"][match[1]] = LabelScore(int(match[2]), int(match[3]), int(match[4]), *rates)
        elif match := _MACRO.match(line):
            found["avg_precision"], found["avg_recall"], found["avg_f1"] = map(float, match.groups())
        elif (match := _ACCURACY.match(line)) and int(match[3]):
            from fractions import Fraction  # not at the top: who only tags would wait for it

            name, share = match[1].lower() + "_accuracy", Fraction(int(match[2]), int(match[3]))
            found[name], found[name + "_float"] = share, float(share)
        return None

    def _after_iteration(self, line: str) -> str | None:
        if head := _HEAD.match(line):
            self._begin_iteration(int(head[1]))
        elif found := _TRAINING.match(line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return "end" if line == "\n" else None
