"""Reading a corpus: columns, attributes, the layout of features; seconds and peak memory, each in a process of its own.

    python benchmarks/bench_reading.py [--rounds N] [--sentences N]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import common

from crfkit.core.columns import Rows
from crfkit.corpus import read_corpus
from crfkit.learning import Run
from crfkit.reading import Source
from crfkit.template import Template

STAGES = {
    "start, nothing read": "nothing",
    "columns": "columns",
    "attributes and observed features": "observed",
    "attributes and all features": "all",
}


def peak_memory() -> int:
    """Bytes of this process at its peak; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():
        # unlike that of getrusage, this figure does not begin with the size of the parent process
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return 0


def stage(name: str, path: str) -> None:
    """Run one stage here and print what it took."""
    start = perf_counter()
    if name == "columns":
        rows = Rows()
        for block in Source([path]):
            rows.parse(block)
    elif name != "nothing":
        read_corpus([path], Template.load(str(common.TEMPLATE)), Run(features=name))
    print(json.dumps([perf_counter() - start, peak_memory()]))


def main() -> None:
    with common.arguments("Reading a corpus", rounds=3) as (corpus, rounds, _):
        size = corpus.train.stat().st_size
        found: dict[str, list[tuple[float, int]]] = {title: [] for title in STAGES}
        for _ in range(rounds):
            for title, name in STAGES.items():
                found[title].append(json.loads(common.run(__file__, "--stage", name, corpus.train)))
        rows = []
        for title, measured in found.items():
            seconds = median(took for took, _ in measured)
            speed = f"{size / seconds / 1e6:.1f}" if STAGES[title] != "nothing" else ""
            rows.append((title, seconds, speed, f"{max(peak for _, peak in measured) / 2**20:.0f}"))
        common.table(("stage", "s", "MB/s", "peak MB"), rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--stage"]:
        stage(*sys.argv[2:])
    else:
        main()
