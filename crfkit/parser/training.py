"""The parser's trainer, with the interface that the loop over passes and checkpoints need; trainer.pyx has the passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .trainer import MarginPerceptron


class ParserTrainer(MarginPerceptron):
    """Options: depth, margin, average (crfkit.options.Lookahead). `initial` lists weights to start from: (line,
    key, action, weight). The loss is the sum of the margin violations of all decisions."""

    converged: str | None = None

    def prepare(self, should_stop: Callable[[], bool] | None = None) -> tuple[()]:
        """Does nothing: no preparation is needed before the first pass."""
        return ()

    def finish(self) -> None:
        """Called after the last pass."""

    def chosen(self) -> dict[str, float]:
        """Options chosen by the trainer for these data: none."""
        return {}

    def measures(self) -> dict[str, int]:
        """Further figures for the log."""
        return {"features": self.n_features}

    def state(self) -> dict[str, Any]:
        """The state on which the next pass depends."""
        lines, keys = self.tables.row_keys()
        return {"lines": lines, "keys": keys, **self.learned(), **self.course(), "converged": None}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of another trainer. KeyError, OverflowError, TypeError or ValueError if the state does not fit; this
        trainer is then unusable."""
        lines, keys, rows, actions, weights, late = (
            memoryview(state[name]).cast("B").cast(kind)  # type: ignore[call-overload]
            for name, kind in zip(("lines", "keys", "rows", "actions", "weights", "late"), "iiiifd", strict=True)
        )
        width = self.tables.most_cells
        if len(keys) != len(lines) * width or not len(rows) == len(actions) == len(weights) == len(late):
            raise ValueError("weights: of other features")
        if self.tables.n_rows:
            raise ValueError("a trainer that has already learned")
        sizes = self.data.sizes()
        for row, line in enumerate(lines):
            if self.row_of(line, keys[row * width : (row + 1) * width], sizes) != row:
                raise ValueError("keys: the same twice")
        for feature in zip(rows, actions, weights, late, strict=True):
            self.relearn(*feature)
        self.resume(state)
