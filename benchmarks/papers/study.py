"""What the scripts of the papers share: rows, claims, the runs of a table. How they are measured: protocol.py."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

import protocol
import report
from protocol import SEEDS, Search
from runs import BATCH, Incomplete, Raw, Record, Runs, choice
from tasks import Task, missing

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


@dataclass(frozen=True)
class Row:
    """A trainer in a table: `fixed` options, a `grid` of first trials, the numbers in the paper."""

    name: str
    algorithm: str
    fixed: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, tuple[float, ...]] = field(default_factory=dict)
    like: str | None = None
    """The row above whose choices, passes too, are taken over."""
    paper: float | str | None = None
    paper_passes: int | None = None
    paper_seconds: float | None = None
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
    trials: int
    trial: Record | None
    """The one that was chosen."""
    default: float | None
    """Development score of the trainer's own defaults."""
    tests: list[Record]
    first: list[Record]
    """Tests of models after one pass."""
    curve: Record | None

    @property
    def development(self) -> float | None:
        return None if self.trial is None else choice(self.trial)[0]

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
        record = self.tests[0]
        number = self.options.get("passes", len(record["pass_cpu"]))
        return f"{record['warm_up']} + {number}" if record["warm_up"] else str(number)

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


@dataclass(frozen=True)
class Claim:
    """Something the paper says, and how it is judged: `judge` gives a verdict, and with which numbers."""

    text: str
    needs: tuple[str, ...]
    judge: Callable[[Outcomes, Runs], tuple[str, str]]
    paper: str = ""
    """The paper's numbers."""
    one_pass: bool = False
    """About models after one pass."""

    def verdict(self, found: Outcomes, runs: Runs) -> tuple[str, str]:
        if not all(name in found for name in self.needs):
            return protocol.MISSING, ""
        try:
            return self.judge(found, runs)
        except Incomplete:
            return protocol.MISSING, ""


def better(one: str, other: str, text: str | None = None, paper: str = "", one_pass: bool = False) -> Claim:
    """The claim that one row has the better score."""

    def judge(found: Outcomes, runs: Runs) -> tuple[str, str]:
        scores, p = _compared(found[one], found[other], runs, one_pass)
        return protocol.on_scores(*scores, p), _numbers(scores, p)

    after = " after one pass" if one_pass else ""
    return Claim(text or f"{one} is better than {other}{after}", (one, other), judge, paper, one_pass)


def same(one: str, other: str, text: str) -> Claim:
    """The claim that two rows have the same score."""

    def judge(found: Outcomes, runs: Runs) -> tuple[str, str]:
        scores, p = _compared(found[one], found[other], runs)
        return protocol.on_sameness(*scores, p), _numbers(scores, p)

    return Claim(text, (one, other), judge, "no difference")


def _compared(one: Outcome, other: Outcome, runs: Runs, one_pass: bool = False) -> tuple[list[list[float]], list[float]]:
    """The scores of two rows, and p of each pair of seeds."""
    first, second = ((row.first if one_pass else row.tests) for row in (one, other))
    pairs = [(first[k % len(first)], second[k % len(second)]) for k in range(max(len(first), len(second)))]
    name = "accuracy" if one.task.metric == "accuracy" else "f1"
    return [[scored(one.task, record) for record in records] for records in (first, second)], [runs.compare(one.task, *pair)["p"][name] for pair in pairs]


def _numbers(scores: list[list[float]], p: list[float]) -> str:
    return f"{report.spread(scores[0])} and {report.spread(scores[1])}, p {report.chance(median(p))}"


def costs(one: str, other: str, low: float, high: float, text: str, paper: str = "", in_all: bool = False) -> Claim:
    """A claim about the processor seconds of a pass, or in all, of one row as a part of another's."""

    def judge(found: Outcomes, runs: Runs) -> tuple[str, str]:
        a, b = [found[name].cpu for name in (one, other)]
        if not in_all:
            a, b = runs.pace(found[one].task, found[one].tests[0], found[other].tests[0])["fastest"]
        return protocol.on_ratio(a / b if b else 1.0, low, high), f"{a:.3g} s and {b:.3g} s, reproduced up to {low:g} times, contradicted from {high:g} times"

    return Claim(text, (one, other), judge, paper)


def levels_off(steady: str, growing: str) -> Claim:
    """The claim that the weights of one row go on growing where those of another do not."""

    def judge(found: Outcomes, _: Runs) -> tuple[str, str]:
        rises = [protocol.growth(found[name].curve["weights"]) for name in (growing, steady)]
        return protocol.on_growth(*rises), f"from pass 10 to 50 the line rises by {rises[0]:.1%} and {rises[1]:.1%}"

    return Claim(f"the weights of {growing} go on growing, those of {steady} do not", (growing, steady), judge)


def steadier(steady: tuple[str, str], other: tuple[str, str], text: str) -> Claim:
    """The claim that one trainer loses less than another, each by a change of its own: rows before and after."""

    def judge(found: Outcomes, _: Runs) -> tuple[str, str]:
        (a, b), (c, d) = ([found[name].scores for name in pair] for pair in (steady, other))
        return protocol.on_losses((a, b), (c, d)), f"{steady[0]} loses {fmean(a) - fmean(b):.2f}, {other[0]} {fmean(c) - fmean(d):.2f}"

    return Claim(text, (*steady, *other), judge)


@dataclass(frozen=True)
class Table:
    """A comparison of trainers on one task."""

    task: Task
    rows: list[Row]
    columns: tuple[str, ...] = ("default", "development", "score", "paper", "passes", "paper_passes", "cpu_a_pass", "cpu", "paper_seconds")
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


def outcome(runs: Runs, table: Table, row: Row, like: Outcome | None) -> Outcome:
    """Choose the options of a row, but those taken over from another; train, and score."""
    task = table.task if row.template is None else table.task.with_template(str(row.template))
    batch = row.algorithm in BATCH
    if like is not None:
        trial, options, trials, enclosed = like.trial, {**like.options, **row.fixed}, 0, like.enclosed
        one = {**options, "passes": 1}
    else:
        tried, enclosed = _tried(runs, task, row)
        trials = len(tried)
        trial = max(tried, key=lambda record: choice(record)[0])
        options = dict(trial["options"]) if batch else {**trial["options"], "passes": choice(trial)[1]}
        one = {**max(tried, key=lambda record: choice(record)[2])["options"], "passes": 1}
    default = None
    if "default" in table.columns and like is None:
        default = choice(runs.trial(task, row.algorithm, row.fixed))[0]
    seeds = SEEDS[:1] if batch else SEEDS[:2] if runs.quick else SEEDS
    tests = [runs.test(task, row.algorithm, options, seed) for seed in seeds]
    first = []
    if any(claim.one_pass and row.name in claim.needs for claim in table.claims):
        first = [runs.test(task, row.algorithm, one, seed) for seed in seeds]
    curve = runs.curve(task, row.algorithm, options) if row.curve else None
    return Outcome(row, task, options, enclosed, trials, trial, default, tests, first, curve)


def _tried(runs: Runs, task: Task, row: Row) -> tuple[list[Record], bool]:
    """The trials of a row, and whether the best one is enclosed by others."""
    search = Search(row.grid)
    found = []
    for point in search.points():
        record = runs.trial(task, row.algorithm, {**row.fixed, **dict(zip(row.grid, point, strict=True))})
        found.append(record)
        search.tried[point] = choice(record)[0]
        if runs.quick and len(found) == 2:
            break
    return found, search.enclosed


def outcomes(runs: Runs, table: Table, without: Collection[str] = ()) -> tuple[Outcomes, list[str]]:
    """The rows with their numbers, and the names of those that lack them. What the claims compare is compared."""
    found: Outcomes = {}
    lacking = []
    for row in table.rows:
        try:
            if row.name in without or (row.like is not None and row.like not in found):
                raise Incomplete
            found[row.name] = outcome(runs, table, row, None if row.like is None else found[row.like])
        except Incomplete:
            lacking.append(row.name)
            continue
        for claim in table.claims:
            if row.name in claim.needs:
                claim.verdict(found, runs)
    return found, lacking


def main(*papers: Paper, index: Callable[[Path, bool], Path] | None = None) -> None:
    """The command line of a paper's script. `index` writes one more page."""
    parser = argparse.ArgumentParser(description=f"{' '.join(paper.title for paper in papers)}: train, compare, write the pages in docs/results")
    names = list(dict.fromkeys(table.task.name for paper in papers for table in paper.tables))
    parser.add_argument("--tasks", nargs="+", choices=names, default=names, metavar="TASK", help=f"start runs only for these of {', '.join(names)}")
    parser.add_argument("--without", nargs="+", default=(), metavar="ROW", help="start no runs for these rows, such as lbfgs")
    parser.add_argument("--quick", action="store_true", help="a few sentences of the synthetic corpora in data/: does it run?")
    parser.add_argument("--work", type=Path, default=default_work(), help="folder for data and outputs (default %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the raw results, the pages and their pictures (default docs/results)")
    parser.add_argument("--fresh", action="store_true", help="begin again: forget the raw results")
    parser.add_argument("--only", choices=("pages", "runs"), help="pages: start no run, and need no corpora; runs: write no page")
    given = parser.parse_args()
    raw = Raw(given.out / "raw", given.fresh)
    if given.only != "pages":
        runs = Runs(raw, given.work, quick=given.quick)
        tables = [table for name in given.tasks for paper in papers for table in paper.tables if table.task.name == name]
        if not given.quick and (lacking := missing([table.task for table in tables])):
            where = os.environ.get("CRFKIT_CORPORA")
            problem = f"not found in CRFKIT_CORPORA, {where}:" if where else "CRFKIT_CORPORA names no folder; needed in it:"
            parser.exit(1, f"{problem} {', '.join(lacking)}\n")
        runs.wanted = len({(table.task.name, row.name) for table in tables for row in table.rows}) * (protocol.TRIALS + len(SEEDS) + 3)
        for table in tables:
            outcomes(runs, table, given.without)
    if given.only != "runs":
        seen = Runs(raw, given.work, start=False, quick=given.quick)
        pages = [(paper, [(table, *outcomes(seen, table)) for table in paper.tables]) for paper in papers]
        for path in report.write(pages, seen, given.out):
            print(path)
        if index is not None:
            print(index(given.out, given.quick))


def default_work() -> Path:
    """Outside of the repository, so that nothing of a corpus gets into it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crfkit" / "papers"
