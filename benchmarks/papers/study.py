"""What the scripts of the papers share: tables, their runs, a command line. Rows: outcome.py. Claims: claims.py. How they are measured: protocol.py."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import protocol
import report
from claims import Claim
from outcome import Outcome, Outcomes, Row
from protocol import SEEDS, Search
from runs import BATCH, Incomplete, Raw, Record, Runs, choice
from tasks import Task, missing

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


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
        options, enclosed = {**like.options, **row.fixed}, like.enclosed
        trial = runs.trial(task, row.algorithm, {name: value for name, value in options.items() if name != "passes"}) if row.tried else like.trial
        one = {**options, "passes": 1}
    else:
        tried, enclosed = _tried(runs, task, row)
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
    tag = runs.tagging(task, tests[0]) if "tag" in table.columns and not batch else None
    return Outcome(row, task, options, enclosed, trial, default, tests, first, curve, tag)


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


def parser_for(page: str, about: str, quick: str) -> argparse.ArgumentParser:
    """The options of a script with a page of its own kind. `quick`: what it then learns from."""
    parser = argparse.ArgumentParser(description=f"{about}: docs/results/{page}.md")
    parser.add_argument("--quick", action="store_true", help=f"{quick}: does it run?")
    parser.add_argument("--work", type=Path, default=default_work(), help="folder for data and finished runs (default %(default)s)")
    parser.add_argument("--out", type=Path, help="folder for the page, its pictures and the raw results (default docs/results)")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """What was given; `out` is where the page goes."""
    given = parser.parse_args()
    given.out = given.out or (given.work / "quick" if given.quick else RESULTS)
    return given


def default_work() -> Path:
    """Outside of the repository, so that nothing of a corpus gets into it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crfkit" / "papers"
