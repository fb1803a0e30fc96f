"""Data of unusual shapes, beside python-crfsuite on the same objects: very short sequences and one long one, few labels and many, few
attributes a token and many, attributes that occur once, vectors of values.

    python benchmarks/bench_shapes.py [--rounds N] [--sentences N] [--only NAME]

All data are made at random, so labels are hard to tell and online trainers change weights at nearly every sequence. A cell is how many times
as long crfkit.compat.pycrfsuite takes as python-crfsuite: to take the training data, for five passes of each algorithm from start to model,
to open a model of python-crfsuite's, and to label sequence by sequence. Processor seconds of one thread, the least of all rounds. --sentences leaves the
first tokens of each shape, 25 for each sentence.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple

import common
import peers

from crfkit.compat import pycrfsuite as compat

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
PASSES = 5


class Shape(NamedTuple):
    """So many tokens, in sequences of so many; of attributes, a token has some of a number of them, each with value 1 unless `values`."""

    tokens: int
    length: int
    labels: int
    attributes: int
    known: int
    values: bool = False


SHAPES = {
    "1 token": Shape(15_000, 1, 5, 10, 1000),
    "3 tokens": Shape(15_000, 3, 5, 10, 1000),
    "one sequence of 100,000 tokens": Shape(100_000, 100_000, 3, 3, 1000),
    "1 label": Shape(15_000, 25, 1, 10, 1000),
    "2 labels": Shape(15_000, 25, 2, 10, 1000),
    "100 labels": Shape(2_500, 25, 100, 10, 1000),
    "1,000 labels": Shape(500, 50, 1000, 10, 1000),
    "500 attributes a token": Shape(500, 25, 5, 500, 5000),
    "20 attributes in all": Shape(15_000, 25, 5, 5, 20),
    "each attribute once": Shape(15_000, 25, 5, 5, 75_000),
    "vectors of 50 values": Shape(10_000, 20, 5, 50, 50, True),
    "vectors of 300 values": Shape(2_000, 20, 5, 300, 300, True),
    "vectors of 50 values, 1 token": Shape(10_000, 1, 2, 50, 50, True),
}


def made(shape: Shape, tokens: int) -> tuple[list[Any], list[list[str]]]:
    """Items and labels. Attributes are shifted by the label, the values of vectors by a number that belongs to it and the attribute."""
    chance = random.Random(1)
    centres = [[chance.gauss(0, 0.1) for _ in range(shape.known)] for _ in range(shape.labels if shape.values else 0)]
    fresh = iter(range(shape.known))
    items, labels = [], []
    for start in range(0, tokens, shape.length):
        numbers = [chance.randrange(shape.labels) for _ in range(min(shape.length, tokens - start))]
        if shape.values:
            items.append([{f"v{k}": chance.gauss(x, 1) for k, x in enumerate(centres[label])} for label in numbers])
        elif shape.known == shape.tokens * shape.attributes:
            items.append([[f"a{next(fresh)}" for _ in range(shape.attributes)] for _ in numbers])
        else:
            items.append([[f"a{(chance.randrange(shape.known) + label) % shape.known}" for _ in range(shape.attributes)] for label in numbers])
        labels.append([f"L{label}" for label in numbers])
    return items, labels


def appended(library: Any, algorithm: str, items: list[Any], labels: list[list[str]]) -> Any:
    """A trainer with the data."""
    trainer = library.Trainer(algorithm, {"max_iterations": PASSES}, verbose=False)
    for one, gold in zip(items, labels, strict=True):
        trainer.append(one, gold)
    return trainer


def opened(library: Any, path: str) -> Any:
    tagger = library.Tagger()
    tagger.open(path)
    return tagger


def works_of(library: Any, items: list[Any], labels: list[list[str]], path: str, known: str) -> dict[str, Callable[[], Any]]:
    """What is measured: models are written to `path`, and `known` is there."""
    trainers = {algorithm: appended(library, algorithm, items, labels) for algorithm in ALGORITHMS}
    tagger = opened(library, known)
    return {
        "append": lambda: appended(library, "ap", items, labels),
        **{algorithm: lambda trainer=trainer: trainer.train(path) for algorithm, trainer in trainers.items()},
        "open": lambda: opened(library, known),
        "tag": lambda: [None for one in items if tagger.tag(one) is None],
    }


def main() -> None:
    parser = common.parser_for("Unusual shapes of data.", rounds=3)
    parser.add_argument("--only", metavar="NAME", default="", help="no other shapes than those whose names contain this")
    given = parser.parse_args()
    print(f"\n{parser.description}\n{common.machine()}")
    libraries = {"crfkit": compat}
    if peers.crfsuite():
        import pycrfsuite

        libraries["python-crfsuite"] = pycrfsuite
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        path, known = (str(Path(folder, name)) for name in ("own", "known"))
        for name, shape in SHAPES.items():
            if given.only not in name:
                continue
            items, labels = made(shape, min(shape.tokens, 25 * (given.sentences or shape.tokens)))
            appended(libraries.get("python-crfsuite", compat), "ap", items, labels).train(known)
            works = {who: works_of(library, items, labels, path, known) for who, library in libraries.items()}
            least = {(who, what): min(common.seconds(work, thread_time) for _ in range(given.rounds)) for who in works for what, work in works[who].items()}
            heads = list(works["crfkit"])
            own = [least["crfkit", what] for what in heads]
            beside = [least["python-crfsuite", what] for what in heads] if len(libraries) > 1 else []
            rows.append([name, *(f"{a / b:.2f}" for a, b in zip(own, beside, strict=True))] if beside else [name, *(f"{1000 * a:.1f} ms" for a in own)])
    common.table(("shape", "append", *ALGORITHMS, "open", "tag"), rows)


if __name__ == "__main__":
    main()
