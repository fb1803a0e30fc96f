"""What the scripts of the papers share: choosing options, the runs of a table, the document.

For each table: every trainer's options are chosen from a small grid on splits of the training data (its last tenth
held out, or folds), the number of passes with them; then one model is trained on all training data, and the test part
is tagged once.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import report
from runs import Result, Runs
from tasks import Data, Task, missing, prepare

from crfkit import options as trainer_options
from crfkit.options import RUN_FIELDS

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
BATCH = {"lbfgs", "owlqn", "sbcd"}  # these end by themselves


@dataclass(frozen=True)
class Row:
    """A trainer in a table: `fixed` options, a `grid` to choose the others from, the number in the paper."""

    name: str
    algorithm: str
    fixed: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    like: str | None = None
    """The row above whose choices are taken over; where these are known not to differ much, that saves trainings."""
    paper: float | str | None = None
    slack: float = 0.0
    """Of the points of the grid, the last one whose score is at most so far below the best is chosen."""
    passes: int | None = None
    """In place of the table's."""
    template: Path | None = None
    """In place of the task's, for features that the other trainers cannot have."""

    def defaults(self, names: Iterable[str]) -> dict[str, Any]:
        """What these options, and the passes of an online trainer, are when nobody chooses them."""
        own = {item.name: item.default for item in fields(trainer_options.TRAINERS[trainer_options.ALIASES.get(self.algorithm, self.algorithm)])}
        return {name: own[name] for name in (*names, "passes") if own.get(name) is not None}

    def known(self) -> bool:
        """Whether this crfkit has the trainer and its options."""
        cls = trainer_options.TRAINERS.get(trainer_options.ALIASES.get(self.algorithm, self.algorithm))
        return cls is not None and {*self.fixed, *self.grid} - {*RUN_FIELDS} <= {item.name for item in fields(cls)}


Series = dict[str, list[float]]


@dataclass(frozen=True)
class Outcome:
    """A row with its numbers. Scores are percentages; a task of several parts has one Result for each."""

    row: Row
    task: Task
    chosen: dict[str, Any]
    development: float
    default: float | None
    """As `development`, but after the last pass with the trainer's defaults in place of what was chosen."""
    series: Series
    """What was found after each pass on the splits of the training data: score, weight (mean absolute), loss."""
    results: list[Result]

    @property
    def passes(self) -> int:
        return max(len(result.passes) for result in self.results)

    @property
    def score(self) -> float:
        gold, found, correct = (sum(result.counts[name] for result in self.results) for name in ("gold", "found", "correct"))
        share = 200 * correct / (gold + found)
        return 100 - share if self.task.metric == "error" else share

    @property
    def cpu(self) -> float:
        return sum(result.cpu for result in self.results)

    @property
    def cpu_a_pass(self) -> float:
        return sum(fmean(record["cpu"] for record in result.passes) for result in self.results)

    @property
    def weight(self) -> float:
        """Mean absolute weight after all passes on the splits."""
        return self.series["weight"][-1]

    @property
    def node(self) -> int:
        return sum(result.node for result in self.results)

    @property
    def pair(self) -> int:
        return sum(result.pair for result in self.results)

    def beats(self, other: Outcome) -> bool:
        """At least as good."""
        return self.score <= other.score if self.task.metric == "error" else self.score >= other.score


Outcomes = dict[str, Outcome]


@dataclass(frozen=True)
class Claim:
    """Something the paper says, and how it is looked for in the numbers: (holds, with which numbers)."""

    text: str
    needs: tuple[str, ...]
    judge: Callable[[Outcomes], tuple[bool, str]]


def at_least(better: str, *others: str, text: str | None = None) -> Claim:
    """The claim that one row is at least as good as others."""

    def judge(found: Outcomes) -> tuple[bool, str]:
        numbers = ", ".join(f"{name} {found[name].score:.2f}" for name in (better, *others))
        return all(found[better].beats(found[name]) for name in others), numbers

    return Claim(text or f"{better} is at or above {' and '.join(others)}", (better, *others), judge)


def after_one_pass(better: str, *others: str) -> Claim:
    """The claim that a row is ahead of others after its first pass, on development data."""

    def judge(found: Outcomes) -> tuple[bool, str]:
        scores = {name: found[name].series["score"][0] for name in (better, *others)}
        numbers = "development scores " + ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
        return scores[better] == max(scores.values()), numbers

    return Claim(f"after one pass {better} is ahead of {' and '.join(others)}", (better, *others), judge)


def cheaper(one: str, other: str) -> Claim:
    """The claim that a pass of one row costs less than a pass of another."""

    def judge(found: Outcomes) -> tuple[bool, str]:
        numbers = ", ".join(f"{name} {found[name].cpu_a_pass:.2f} s" for name in (one, other))
        return found[one].cpu_a_pass < found[other].cpu_a_pass, numbers

    return Claim(f"a pass of {one} costs less than one of {other}", (one, other), judge)


def levels_off(steady: str, *growing: str) -> Claim:
    """The claim that the weights of some rows go on growing where those of another do not."""

    def growth(outcome: Outcome) -> float:
        weights = outcome.series["weight"]
        return weights[-1] / weights[max(len(weights) // 2 - 1, 0)]

    def judge(found: Outcomes) -> tuple[bool, str]:
        factors = {name: growth(found[name]) for name in (steady, *growing)}
        numbers = ", ".join(f"{name} {factor:.2f}" for name, factor in factors.items())
        holds = all(factors[steady] < factors[name] for name in growing)
        return holds, f"mean absolute weight after all passes, as a multiple of that after half of them: {numbers}"

    return Claim(f"the weights of {' and '.join(growing)} go on growing, those of {steady} level off", (steady, *growing), judge)


@dataclass(frozen=True)
class Table:
    """A comparison of trainers on one task."""

    task: Task
    rows: list[Row]
    passes: int = 30
    """Passes of online trainers on the development splits; the best number of them is used in the end."""
    columns: tuple[str, ...] = ("default", "development", "score", "paper", "passes", "cpu_a_pass", "cpu")
    claims: tuple[Claim, ...] = ()
    plots: tuple[str, ...] = ("score",)
    note: str = ""


@dataclass(frozen=True)
class Paper:
    """A document: one paper's comparisons."""

    name: str
    title: str
    about: str
    tables: list[Table]


# --- Running ----------------------------------------------------------------------------------------------------------


class Incomplete(Exception):
    """A run is missing, and may not be started (--finished-only)."""


def outcome(runs: Runs, table: Table, row: Row, data: list[Data], quick: bool, taken: dict[str, Any]) -> Outcome:
    """Choose the options of a row, but those taken over from another, train, and score."""
    task = table.task if row.template is None else replace(table.task, template=row.template)
    batch = row.algorithm in BATCH
    limit = {} if batch else {"passes": row.passes or table.passes}
    default = None
    if quick:
        limit = {"max_iter" if batch else "passes": 2}
    elif "default" in table.columns and "l2" not in row.fixed:      # a penalty of its own is no default
        default = _by_default(runs, task, row, [*taken, *row.grid], limit, data)
    row = replace(row, fixed={**row.fixed, **taken})
    points = []
    for values in itertools.islice(itertools.product(*row.grid.values()), 1 if quick else None):
        chosen = dict(zip(row.grid, values, strict=True))
        series = _development(runs, task, row, {**row.fixed, **chosen, **limit}, data)
        scores = series["score"]
        number = len(scores) if batch else 1 + max(range(len(scores)), key=lambda k: scores[k])
        points.append((scores[number - 1], number, chosen, series))
    top = max(score for score, *_ in points)
    good = [point for point in points if point[0] >= top - row.slack]
    score, number, chosen, series = good[-1] if row.slack else max(points, key=lambda point: point[0])
    if not batch:
        limit = {"passes": number}
    results = []
    for part in data:
        result = runs.learn(task, part.train, row.algorithm, {**row.fixed, **chosen, **limit}, test=part.test)
        if result is None:
            raise Incomplete
        results.append(result)
    return Outcome(row, task, {**taken, **chosen}, score, default, series, results)


def _by_default(runs: Runs, task: Task, row: Row, names: list[str], limit: dict[str, int], data: list[Data]) -> float | None:
    """The development score after as many passes as the trainer makes when nobody chooses them nor these options. None if
    it is not known: that is no reason to leave out the row."""
    own = row.defaults(names)
    last = own.pop("passes", 0)
    if limit:       # what follows the last one does not change it, and has perhaps been run
        limit = {"passes": max(last, limit["passes"])}
    try:
        return _development(runs, task, row, {**row.fixed, **own, **limit}, data)["score"][last - 1]
    except Incomplete:
        return None


def _development(runs: Runs, task: Task, row: Row, options: dict[str, Any], data: list[Data]) -> Series:
    """What was found after each pass, averaged over splits. Higher scores are better, also where errors are reported."""
    found: dict[str, list[list[float]]] = {"score": [], "weight": [], "loss": []}
    for train, dev in (split for part in data for split in part.splits):
        result = runs.learn(task, train, row.algorithm, options, dev=dev)
        if result is None:
            raise Incomplete
        name = "dev_f1" if task.metric == "F1" else "dev_accuracy"
        found["score"].append([100 * record[name] for record in result.passes])
        found["weight"].append([record["mean_abs_weight"] for record in result.passes])
        found["loss"].append([record.get("loss", record.get("objective", 0.0)) for record in result.passes])
    return {name: _mean(series) for name, series in found.items()}


def _mean(series: list[list[float]]) -> list[float]:
    """Average of series, those that ended early going on as they ended."""
    longest = max(map(len, series))
    return [fmean(one[min(k, len(one) - 1)] for one in series) for k in range(longest)]


def main(paper: Paper) -> None:
    """The command line of a paper's script."""
    parser = argparse.ArgumentParser(description=f"{paper.title}: train, compare, write docs/results/{paper.name}.md")
    names = [table.task.name for table in paper.tables]
    parser.add_argument("--tasks", nargs="+", choices=names, default=names, metavar="TASK", help=f"only these of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="a few sentences of the synthetic corpora in data/: does it run?")
    parser.add_argument("--work", type=Path, default=default_work(), help="folder for data and finished runs (default %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the document and its pictures (default docs/results)")
    parser.add_argument("--fresh", action="store_true", help="repeat runs that are finished")
    parser.add_argument("--finished-only", action="store_true", help="start no run; leave out the rows that lack one")
    given = parser.parse_args()
    tables = [table for table in paper.tables if table.task.name in given.tasks]
    if not given.quick and (lacking := missing([table.task for table in tables])):
        where = os.environ.get("CRFKIT_CORPORA")
        problem = f"not found in CRFKIT_CORPORA, {where}:" if where else "CRFKIT_CORPORA names no folder; needed in it:"
        parser.exit(1, f"{problem} {', '.join(lacking)}\n")
    runs = Runs(given.work, given.fresh, given.finished_only)
    found = []
    for table in tables:
        print(f"{paper.name}: {table.task.name}", file=sys.stderr)
        found.append((table, *_outcomes(runs, table, given)))
    report.write(paper, found, given.out, given.quick)


def _outcomes(runs: Runs, table: Table, given: argparse.Namespace) -> tuple[Outcomes, list[str]]:
    """The rows with their numbers, and the names of those that lack them."""
    data = prepare(table.task, given.work, given.quick)
    found: Outcomes = {}
    lacking = []
    for row in table.rows:
        try:
            if not row.known() or (row.like is not None and row.like not in found):
                raise Incomplete
            taken = {} if row.like is None else found[row.like].chosen
            found[row.name] = outcome(runs, table, row, data, given.quick, taken)
        except Incomplete:
            lacking.append(row.name)
    return found, lacking


def default_work() -> Path:
    """Outside of the repository, so that nothing of a corpus gets into it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crfkit" / "papers"
