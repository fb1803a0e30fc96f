"""All pages of results, and the index of claims: what `make results` runs.

    python benchmarks/papers/results.py [--tasks TASK ...] [--only pages]

A page's claims are in its script: of adf, sapo, dbl_crf and lookahead those of PAPER; the others have a function
`index_rows(folder)` that gives rows of the index (claim, task, paper's numbers, numbers here, verdict) from their own raw results in that folder.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import adf
import dbl_crf
import exhibits
import lookahead
import report
import sapo
import together
from runs import Raw, Runs
from study import Paper, main, outcomes

PAPERS: list[Paper] = [adf.PAPER, sapo.PAPER, dbl_crf.PAPER, lookahead.PAPER]
OTHERS = {
    "sbcd": "Sparse CRFs", "simulated": "Sparse CRFs, simulated data",
    "parsing": "Dependency parsing with lookahead", "neural": "Networks beside linear models",
}
"""Scripts with a page of their own kind."""


def index(folder: Path, quick: bool = False) -> Path:
    """The page of all claims, from the raw results in a folder."""
    sections, found = [], []
    runs = Runs(Raw(folder / "raw"), folder, start=False, quick=quick)
    for paper in PAPERS:
        tables = [(table, outcomes(runs, table)[0]) for table in paper.tables]
        sections.append((paper.title, paper.name, report.rows(tables, runs)))
        found += [outcome for _, outcome in tables]
    for name, title in OTHERS.items():
        if (folder / f"{name}.md").exists():
            sections.append((title, name, importlib.import_module(name).index_rows(folder)))
    return report.index(sections, [*together.lines(sections), *report.side_by_side(found), "", *exhibits.lines(sections)], together.marks(sections), folder)


if __name__ == "__main__":
    main(*PAPERS, index=index)
