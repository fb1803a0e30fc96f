"""What CRF++'s crf_learn prints while it trains."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from crfkit.cli.common import note
from crfkit.learning.progress import Progress

from ..numbers import passed
from ..wording import reworded
from .common import BANNER, WORDS


class Log(Progress):
    """Prints CRF++'s log: a line for the starting point and for each pass, up to `limit`. Seconds are processor time, as in CRF++."""

    def __init__(self, settings: dict[str, Any], sparse: bool, limit: int):
        super().__init__(quiet=True)
        self.settings, self.sparse, self.limit = settings, sparse, limit
        self.lines, self.objective = 0, 0.0
        self.sequences = self.tokens = self.weights = 0
        self.begun = time.process_time()
        self._say(f"{BANNER}reading training data: ")

    def reading(self, tokens: int, sequences: int) -> None:
        before, self.sequences = self.sequences, self.sequences + sequences
        self._say("".join(f"{count}.. " for count in passed(100, before, self.sequences)))

    def warn(self, text: str | None) -> None:
        if text is not None:
            note(f"warning: {reworded(text, WORDS)}")

    def summary(self, counts: dict[str, Any]) -> None:
        self.sequences, self.tokens, self.weights = (counts[name] for name in ("sequences", "tokens", "weights"))
        self.done()
        named = {"Number of sentences": self.sequences, "Number of features": self.weights, **self.settings}
        self._say("".join(f"{f'{name}:':<21}{value}\n" for name, value in named.items()))

    def prepared(self, record: dict[str, Any]) -> None:
        self.report(record)

    def report(self, record: dict[str, Any]) -> None:
        if self.lines == self.limit:
            return
        errors = " ".join(
            f"{name}={round((1 - record[accuracy]) * of) / of:.5f}"
            for name, accuracy, of in (("terr", "train_accuracy", self.tokens), ("serr", "train_sentence_accuracy", self.sequences))
        )
        self._say(f"iter={self.lines} {errors} {self._progress(record)}\n")
        self.lines += 1

    def _progress(self, record: dict[str, Any]) -> str:
        """The end of a line: active features, objective, and how close it is to convergence."""
        if "violation" in record:
            bounded, norm = record["bounded_sequences"], record["squared_norm"]
            return f"act={record['active_sequences']} uact={bounded} obj={norm:.5f} kkt={record['violation']:.5f}"
        before, self.objective = self.objective, record.get("objective", record.get("loss", 0.0))
        change = abs(before - self.objective) / before if before else float(self.lines == 0)  # data of one label have no loss
        return f"act={record['active'] if self.sparse else self.weights} obj={self.objective:.5f} diff={change:.5f}"

    def done(self) -> None:
        """Report that a part of the work is done."""
        self._say(f"\nDone!{time.process_time() - self.begun:.2f} s\n\n")
        self.begun = time.process_time()

    def _say(self, text: str) -> None:
        with suppress(OSError):  # a closed standard output must not lose the model
            print(text, end="", flush=True)
