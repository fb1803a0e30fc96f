"""L-BFGS on all features beside Wapiti: seconds a pass, and the memory of a whole training run.

    python benchmarks/bench_wapiti.py [--rounds N] [--sentences N]

All features are those of every attribute with every label: 7.4 million weights on CoNLL-2000. Seconds of Wapiti are
those of its own log. Ours of a pass are taken in this process, memory in processes of their own, from the start of
the program to its end.
"""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

import bench_learn
import common
import peers

ITERATIONS = 5


class Found(NamedTuple):
    """Those of Wapiti are missing where it is not installed."""

    passes: dict[str, float]  # median seconds
    memory: dict[str, int]  # the highest peaks
    rate: float | None  # tokens a second of Wapiti's tagger, a median


def measure(corpus: common.Corpus, rounds: int) -> Found:
    """Both in turn."""
    numbers = bench_learn.read(corpus, "all")
    own = {threads: bench_learn.own_passes("lbfgs", numbers, threads, l2=bench_learn.L2) for threads in (1, 2)}
    learn = ("learn", "--quiet", "--features", "all", "--l2", bench_learn.L2, "--max-iter", ITERATIONS, "--threads", 1)
    files = (common.TEMPLATE, corpus.train, corpus.folder / "all-model")
    runs: list[peers.WapitiRun] = []
    peaks: list[int] = []

    def peak() -> float:
        peaks.append(common.command("-m", "crfkit", *learn, *files).peak)
        return peaks[-1]

    def wapiti() -> list[float]:
        runs.append(peers.wapiti_run(corpus.train, corpus.test, common.TEMPLATE, ITERATIONS, common.TREE))
        return runs[-1].passes

    works = {"ours, 1 thread": own[1], "ours, 2 threads": own[2], "memory": peak}
    medians = common.in_turn({**works, "Wapiti": wapiti} if peers.wapiti() else works, rounds)
    del medians["memory"]
    if not runs:
        return Found(medians, {"ours": max(peaks)}, None)
    return Found(medians, {"ours": max(peaks), "Wapiti": max(run.peak for run in runs)}, median(run.rate for run in runs))


def main() -> None:
    with common.arguments("Training with all features", rounds=2) as (corpus, rounds, _):
        found = measure(corpus, rounds)
        common.table(("lbfgs", "s/pass"), list(found.passes.items()))
        common.table(("learn", "peak MB"), [(name, f"{peak / 1e6:.0f}") for name, peak in found.memory.items()])


if __name__ == "__main__":
    main()
