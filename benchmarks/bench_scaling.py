"""How time and memory of `crfkit learn` grow with the corpus: an eighth, a quarter, a half, all, and twice all of it.

    python benchmarks/bench_scaling.py [--rounds N] [--sentences N]

Whole commands, from their start to their end, that make the same number of passes. Twice all is all of it repeated:
it has no new words, so it tells of time only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import common

PARTS = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)
PASSES = 10
LEARN: dict[str, tuple[str, ...]] = {
    "lbfgs": ("--warm-up", f"{PASSES}", "--max-iter", f"{PASSES}", "--epsilon", "0", "--delta", "0", "--l2", "1"),
    **{name: ("--passes", f"{PASSES}", "--l2", "1") for name in ("sgd", "adf", "sapo")},
    "perceptron": ("--passes", f"{PASSES}"),
}


class Point(NamedTuple):
    """Of the curve of a trainer."""

    sequences: int
    seconds: float
    peak: float  # bytes


def part(corpus: common.Corpus, share: float) -> tuple[Path, int]:
    """The beginning of the corpus, or all of it twice, and how many sequences that is."""
    texts = common.sentences_of(corpus.train.read_text(encoding="utf-8"))
    number = max(1, round(len(texts) * share))
    chosen = (texts * 2)[:number]
    path = corpus.folder / f"part-{share}.txt"
    common.write_sentences(path, chosen)
    return path, number


def measure(corpus: common.Corpus, rounds: int) -> dict[str, list[Point]]:
    """The curve of each trainer: medians of seconds, and the highest peaks."""
    parts = [part(corpus, share) for share in PARTS]
    peaks: dict[str, int] = {}

    def learn(name: str, algorithm: str, path: Path) -> Callable[[], float]:
        command = ("-m", "crfkit", "learn", "--quiet", "-a", algorithm, *LEARN[algorithm], "--threads", 1)

        def work() -> float:
            used = common.command(*command, common.TEMPLATE, path, corpus.folder / "part-model")
            peaks[name] = max(used.peak, peaks.get(name, 0))
            return used.seconds

        return work

    works = {f"{name} {number}": learn(f"{name} {number}", name, path) for name in LEARN for path, number in parts}
    medians = common.in_turn(works, rounds)
    return {name: [Point(number, medians[f"{name} {number}"], peaks[f"{name} {number}"]) for _, number in parts] for name in LEARN}


def as_rows(curves: dict[str, list[Point]]) -> list[tuple[str, ...]]:
    """Cells of a table: seconds and peak by the size of the corpus."""
    sizes = [point.sequences for point in next(iter(curves.values()))]
    rows = []
    for k, size in enumerate(sizes):
        cells = [f"{points[k].seconds:.2f} s, {points[k].peak / 1e6:.0f} MB" for points in curves.values()]
        rows.append((f"{size:,}", *cells))
    return rows


HEADS = ("sequences", *LEARN)


def main() -> None:
    with common.arguments(f"Scaling: learn with {PASSES} passes", rounds=3) as (corpus, rounds, _):
        common.table(HEADS, as_rows(measure(corpus, rounds)))


if __name__ == "__main__":
    main()
