"""A row of a table: a trainer, and what its runs found."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

from runs import Record, choice
from tasks import Task


@dataclass(frozen=True)
class Row:
    """A trainer in a table: `fixed` options, a `grid` of first trials, the numbers in the paper."""

    name: str
    algorithm: str
    fixed: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, tuple[float, ...]] = field(default_factory=dict)
    like: str | None = None
    """The row above whose choices, passes too, are taken over."""
    tried: bool = False
    """Nevertheless train on the folds with them, for the picture of scores after each pass."""
    paper: float | str | None = None
    paper_pr: str | None = None
    """Its precision and recall."""
    paper_passes: int | None = None
    paper_seconds: float | None = None
    paper_tag: float | None = None
    """Seconds of tagging."""
    curve: bool = False
    """Train for many passes, too: weights and loss."""
    template: Path | None = None
    """In place of the task's, for features that the other trainers cannot have."""


@dataclass(frozen=True)
class Outcome:
    """A row with its numbers. Scores are percentages, a list has one for each seed."""

    row: Row
    task: Task
    options: Record
    enclosed: bool
    trial: Record | None
    """The one that was chosen."""
    default: float | None
    """Development score of the trainer's own defaults."""
    tests: list[Record]
    first: list[Record]
    """Tests of models after one pass."""
    curve: Record | None
    tag: float | None
    """Processor seconds of tagging the test part."""

    @property
    def development(self) -> float | None:
        return None if self.trial is None or self.row.like is not None else choice(self.trial)[0]

    @property
    def scores(self) -> list[float]:
        return [scored(self.task, record) for record in self.tests]

    @property
    def score(self) -> float:
        return fmean(self.scores)

    @property
    def one(self) -> float | None:
        return fmean(scored(self.task, record) for record in self.first) if self.first else None

    @property
    def error(self) -> float:
        """Of tokens, in per cent."""
        return fmean(100 - 100 * record["correct_tokens"] / record["tokens"] for record in self.tests)

    @property
    def passes(self) -> str:
        """Of batch trainers those of the warm-up, too."""
        warm_up, number = self._passes
        return f"{warm_up:.0f} + {number:.0f}" if warm_up else str(self.options.get("passes", round(number)))

    @property
    def all_passes(self) -> int:
        return round(sum(self._passes))

    @property
    def _passes(self) -> tuple[float, float]:
        """Of the warm-up, and those after it: the mean over the parts of the data."""
        record, parts = self.tests[0], len(self.task.parts)
        return record["warm_up"] / parts, len(record["pass_cpu"]) / parts

    @property
    def pr(self) -> str:
        """Precision and recall of chunks or words."""
        found = [record["counts"] for record in self.tests]
        parts = (fmean(100 * counts["correct"] / max(counts[of], 1) for counts in found) for of in ("found", "gold"))
        return " / ".join(f"{part:.2f}" for part in parts)

    @property
    def cpu(self) -> float:
        return median(record["cpu"] for record in self.tests)

    @property
    def cpu_a_pass(self) -> float:
        return len(self.task.parts) * median(seconds for record in self.tests for seconds in record["pass_cpu"])

    @property
    def weight(self) -> float:
        return fmean(record["weight"] for record in self.tests)

    @property
    def records(self) -> list[Record]:
        return [record for record in (*self.tests, *self.first, self.curve) if record is not None]


Outcomes = dict[str, Outcome]


def scored(task: Task, record: Record) -> float:
    """The score of a test in per cent."""
    if task.metric == "accuracy":
        return 100 * record["correct_tokens"] / record["tokens"]
    return 200 * record["counts"]["correct"] / max(record["counts"]["gold"] + record["counts"]["found"], 1)
