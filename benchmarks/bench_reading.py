"""Reading a corpus: columns, attributes, the layout of features; seconds and peak memory, each in a process of its own.

    python benchmarks/bench_reading.py [--rounds N] [--sentences N]

Seconds of a stage begin when the program has started. Beside them: a whole `crfkit learn`, and CRFsuite, which is
handed the same features ready-made; its seconds are those of handing over alone, without reading them from a file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import common
import peers

from crfkit.text.reading import Source
from crfkit.text.rows import Rows

STAGES = {
    "start, nothing read": "nothing",
    "columns": "columns",
    "attributes and observed features": "observed",
    "attributes and all features": "all",
}
LEARN = "crfkit learn, lbfgs, observed features"
PEER = "CRFsuite, lbfgs, ready-made features"


class Stage(NamedTuple):
    """Medians."""

    seconds: float
    peak: float  # bytes


def stage(name: str, path: str) -> None:
    """Run one stage here and print its seconds."""
    start = perf_counter()
    if name == "columns":
        rows = Rows()
        for block in Source([path]):
            rows.parse(block)
    elif name != "nothing":
        common.numbers_of([path], common.rules(common.TEMPLATE.name), features=name)
    print(perf_counter() - start)


def measure(corpus: common.Corpus, rounds: int, stages: dict[str, str] = STAGES) -> dict[str, Stage]:
    """All stages, our learning and the peer in turn."""
    peaks: dict[str, list[float]] = {}

    def own(title: str, name: str) -> Callable[[], float]:
        def work() -> float:
            used = common.command(__file__, "--stage", name, corpus.train)
            peaks.setdefault(title, []).append(used.peak)
            return float(used.output)

        return work

    def learn() -> float:
        options = ("--quiet", "--l2", 2, "--max-iter", 5, "--threads", 1)
        used = common.command("-m", "crfkit", "learn", *options, common.TEMPLATE, corpus.train, corpus.folder / "learnt")
        peaks.setdefault(LEARN, []).append(used.peak)
        return used.seconds

    def peer() -> float:
        run = peers.crfsuite_run(corpus.ready, corpus.folder, common.TREE)
        peaks.setdefault(PEER, []).append(run.peak)
        return run.append

    works = {**{title: own(title, name) for title, name in stages.items()}, LEARN: learn}
    medians = common.in_turn({**works, PEER: peer} if peers.crfsuite() else works, rounds)
    return {title: Stage(took, max(peaks[title])) for title, took in medians.items()}


def main() -> None:
    with common.arguments("Reading a corpus", rounds=3) as (corpus, rounds, _):
        size = corpus.train.stat().st_size
        rows = []
        for title, found in measure(corpus, rounds).items():
            speed = f"{size / found.seconds / 1e6:.1f}" if STAGES.get(title, "nothing") != "nothing" else ""
            rows.append((title, found.seconds, speed, f"{found.peak / 1e6:.0f}"))
        common.table(("what", "s", "MB/s", "peak MB"), rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--stage"]:
        stage(*sys.argv[2:])
    else:
        main()
