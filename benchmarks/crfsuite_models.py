"""Models of CRFsuite in python-crfsuite and in crfkit: are they the same?

    python benchmarks/crfsuite_models.py MODEL...

Compared are what `dump` writes, byte for byte; labels, probabilities and marginals of random sentences, made of the model's attributes
with and without values and of some that it does not have; and the dump of the model that `crfkit convert` makes of it.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pycrfsuite

from crfkit import foreign
from crfkit.compat import pycrfsuite as ours

VALUES = (1.0, 0.5, -2.0, True, False, "text")


class Found(NamedTuple):
    """What two programs make of one model."""

    same_dump: bool
    same_again: bool  # the dump of the model that crfkit writes; lines in any order
    sentences: int
    other_labels: int
    ties: int  # of these: the other's labels are as probable, to ten digits
    probability: float  # the largest relative difference
    marginal: float  # the largest difference


def sentence(attributes: list[str], rng: random.Random) -> list[Any]:
    """Items in each of the forms that python-crfsuite takes."""
    names = [[rng.choice(attributes) for _ in range(rng.randint(0, 12))] + ["unheard of"] for _ in range(rng.randint(1, 25))]
    form = rng.randrange(2)
    return names if form == 0 else [{name: rng.choice(VALUES) for name in item} for item in names]


def dumped(tagger: Any, path: Path) -> bytes:
    """What a tagger says of its model."""
    path.unlink(missing_ok=True)  # python-crfsuite would leave the end of a longer file
    tagger.dump(str(path))
    return path.read_bytes()


def relative(x: float, y: float) -> float:
    """The difference of two probabilities."""
    return abs(x - y) / max(x, y, 1e-300)


def compared(model: str, sentences: int, seed: int, folder: Path) -> Found:
    """Ask both the same questions."""
    peer, own, again = pycrfsuite.Tagger(), ours.Tagger(), pycrfsuite.Tagger()
    peer.open(model)
    own.open(model)
    foreign.convert(model, str(folder / "again"), "crfsuite")
    again.open(str(folder / "again"))
    text = dumped(peer, folder / "dump")
    attributes, labels, rng = list(own.info().attributes), peer.labels(), random.Random(seed)
    other = ties = 0
    probability = marginal = 0.0
    for _ in range(sentences):
        items = sentence(attributes, rng)
        expected, found = peer.tag(items), own.tag(items)
        other += expected != found
        ties += expected != found and relative(peer.probability(expected), peer.probability(found)) < 1e-10
        probability = max(probability, relative(peer.probability(expected), own.probability(expected)))
        for place, label in ((rng.randrange(len(items)), rng.choice(labels)) for _ in range(8)):
            marginal = max(marginal, abs(peer.marginal(label, place) - own.marginal(label, place)))
    same_again = sorted(text.splitlines()) == sorted(dumped(again, folder / "dump").splitlines())
    return Found(text == dumped(own, folder / "dump"), same_again, sentences, other, ties, probability, marginal)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print("| model | dump | written again | sentences | other labels | of these ties | probabilities | marginals |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for model in asked.models:
        with TemporaryDirectory() as folder:
            found = compared(model, asked.sentences, asked.seed, Path(folder))
        same = ["the same" if each else "DIFFERS" for each in found[:2]]
        counts = [str(each) for each in found[2:5]]
        print("|", " | ".join([Path(model).name, *same, *counts, f"{found.probability:.0e}", f"{found.marginal:.0e}"]), "|")


if __name__ == "__main__":
    main()
