"""What more passes of `cw` than ten gain, by how often attributes occur: the trials behind its default.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_passes.py [--only WORDS] [--sizes N,N] [--rounds N]

On the tasks of bench_defaults.py and bench_strangers.py, and on reviews (without corpora, on data/): sentences drawn from the training part without its end, scored on that
end after each of 30 passes. A line for each draw: occurrences of an attribute in the mean, the score after ten passes, and how far the
scores after 14, 20 and 30 are from it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import bench_defaults
import bench_strangers
import common

import crfkit
from crfkit.template.parsing import Template

PASSES = (10, 14, 20, 30)
DENSE = ("names, chunks and tags", "tags and relations", "names, 2,000 tokens a text")  # too slow for so many runs
KINDS = ("books", "kitchen", "dvd", "electronics")


class Data(NamedTuple):
    name: str
    make: Callable[[], Any]
    template: Template | None  # None: rows have attributes
    scheme: str = "none"
    held_out: int = 300

    @property
    def form(self) -> dict[str, Any]:
        """The format, as an option."""
        return {} if self.template else {"format": "crfsuite"}

    @property
    def figure(self) -> str:
        """What a pass is judged by in its record."""
        return "dev_accuracy" if self.scheme == "none" else "dev_f1"


def counted(kind: str) -> list[tuple[Counter[str], str]]:
    """The reviews: how often each word is there, and the label."""
    folder = common.corpora("sentiment")
    assert folder is not None
    lines = (folder / f"{kind}.train.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    cells = [[cell.rpartition(":")[::2] for cell in line.split()] for line in lines]
    return [(Counter({word: int(n) for word, n in pairs}), label) for *pairs, (_, label) in cells]


def reviews(kind: str) -> list[Any]:
    """Documents of one item, shuffled: (attributes, label)."""
    made = [[(list(counts), label)] for counts, label in counted(kind)]
    random.Random(1).shuffle(made)
    return made


def complete() -> bool:
    """Whether all corpora are there."""
    return all(map(common.corpora, (*bench_strangers.CORPORA, "cws-sxu", "sentiment", "wsj-sample-pos")))


def data() -> Iterator[Data]:
    corpora = complete()
    for task in bench_defaults.TASKS if corpora else bench_defaults.MADE:
        yield Data(task.name, lambda task=task: bench_defaults.sentences(task), common.rules(task.template), task.scheme)
    for other in bench_strangers.TASKS:
        if corpora and other.template:
            yield Data(other.name, other.make, common.rules(other.template), other.scheme)
    for kind in KINDS if corpora else ():
        yield Data(f"reviews of {kind}", lambda kind=kind: reviews(kind), None, held_out=600)


def main() -> None:
    parser = common.parser_of_tasks("What more passes of cw gain.", rounds=2, sizes="50,200,500,1000")
    given = parser.parse_args()
    for one in data():
        if one.name in DENSE or not common.is_wanted(one.name, given.only):
            continue
        pool, held_out = common.held_out(one.make()[: given.sentences], one.held_out)
        for size in common.sizes_of(given.sizes, pool):
            for draw in range(given.rounds):
                train = common.drawn(pool, size, draw)
                corpus = common.numbers_of(train, one.template, **one.form)
                often = sum(corpus.dataset.n_incidences) / sum(corpus.layout.n_attributes)
                records: list[dict[str, Any]] = []
                crfkit.learn(train, one.template, "cw", threads=1, passes=max(PASSES), dev=held_out, progress=records.append, **one.form)
                scores = [100 * record[one.figure] for record in records]
                first, *others = (scores[n - 1] for n in PASSES)
                print(f"{one.name} | {size} | {often:.1f} | {first:.2f} | {' '.join(f'{score - first:+.2f}' for score in others)}", flush=True)
    print(f"\n{parser.description}\ntask | sentences | occurrences | ten passes | 14, 20, 30\n{common.machine()}")


if __name__ == "__main__":
    main()
