"""Attributes with small values: penalties beside the one that is chosen, and trainers that choose a rate beside `lbfgs`. Last, made DNA.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_values.py [--only WORDS] [--sentences N] [--rounds DRAWS]

The tables of docs/defaults.md, "The penalty and values" and "Values below 0.1": the mean square of the values, and the shares of held-out labels that are right. Most
data are made; book reviews and parts of speech are there with corpora. Made DNA: letters of two hidden labels that hardly ever change, for docs/trainers.md.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from statistics import fmean
from typing import Any

import common
from bench_options import run
from bench_passes import Data, counted

FACTORS = (10.0, 3.0, 1.0, 1 / 3, 0.1)  # on the penalty that is chosen
NAMES = ("sgd", "adf", "sapo")  # which find their rate
DNA: dict[str, dict[str, Any]] = {
    "lbfgs": {},
    "lookahead": {},
    "lookahead --depth 4": {"depth": 4},
    "sapo": {},
    **{f"sapo --rate {rate}": {"rate": rate} for rate in (0.01, 0.03, 0.1, 0.3)},
}
WINDOWS = "".join(f"U{k}:%x[{k - 4},0]\n" for k in range(9)) + "".join(f"U1{k}:%x[{k - 4},0]/%x[{k - 3},0]\n" for k in range(8)) + "B\n"

Documents = list[tuple[Counter[str], str]]


def weighted(documents: Documents) -> list[Any]:
    """Items with tf-idf vectors of length 1."""
    number = Counter(chain.from_iterable(counts for counts, _ in documents))
    made = []
    for counts, label in documents:
        vector = {word: n * math.log(len(documents) / number[word]) for word, n in counts.items()}
        length = math.hypot(*vector.values()) or 1.0
        made.append([({word: x / length for word, x in vector.items()}, label)])
    return made


def reviews(chance: random.Random) -> list[Any]:
    documents = counted("books")
    chance.shuffle(documents)
    return weighted(documents)


def texts(share: float, spread: float, chance: random.Random) -> list[Any]:
    """Of five classes, 70 words each: this share of them of the 300 rare words of the class; the others are frequent in all classes, by a factor that has this spread."""
    own = [[f"c{label} {k}" for k in range(300)] for label in range(5)]
    frequent = [f"w{k}" for k in range(3000)]
    shares = [[math.exp(chance.gauss(0, spread)) / (k + 10) for k in range(len(frequent))] for _ in own]
    documents = []
    for k in range(1600):
        label, n = k % 5, sum(chance.random() < share for _ in range(70))
        documents.append((Counter(chance.choices(own[label], k=n) + chance.choices(frequent, shares[label], k=70 - n)), f"c{label}"))
    return weighted(documents)


def points(scale: float, centres: list[list[float]], spread: float, chance: random.Random) -> list[Any]:
    """Sequences of 10 points, each near one of the centres, which is its label."""
    made = []
    for _ in range(600):
        labels = chance.choices(range(len(centres)), k=10)
        made.append([({f"x{d}": scale * chance.gauss(x, spread) for d, x in enumerate(centres[label])}, f"c{label}") for label in labels])
    return made


def plane(scale: float, chance: random.Random) -> list[Any]:
    return points(scale, [[1, 1], [1, -1], [-1, 1], [-1, -1]], 0.4, chance)


def sensors(chance: random.Random) -> list[Any]:
    return points(1e-5, [[chance.gauss(0, 1.5) for _ in range(8)] for _ in range(5)], 1.0, chance)


def vectors(length: float, chance: random.Random) -> list[Any]:
    """Parts of speech, told by 50 numbers: the sum of random numbers of all words that stand beside the word anywhere."""
    folder = common.corpora("ewt-pos")
    assert folder is not None
    whole = [[(row[0].lower(), row[-1]) for row in rows] for rows in common.rows_of(folder / "train.txt")]
    own: dict[tuple[int, str], list[float]] = defaultdict(lambda: [chance.gauss(0, 1) for _ in range(50)])
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0] * 50)
    for rows in whole:
        words = ["", *(word for word, _ in rows), ""]
        for before, word, after in zip(words, words[1:], words[2:], strict=False):
            sums[word] = [a + b + c for a, b, c in zip(sums[word], own[0, before], own[1, after], strict=True)]
    units = {word: {f"v{k}": length * x / math.hypot(*found) for k, x in enumerate(found)} for word, found in sums.items()}
    return [[(units[word], label) for word, label in rows] for rows in chance.sample(whole, 1000)]


def dna(chance: random.Random) -> list[Any]:
    """Letters of one of two labels, which changes at one in fifty: A and T are more frequent with the first, C and G with the other."""
    made = []
    for _ in range(300):
        label, rows = chance.randrange(2), []
        for _ in range(450):
            label ^= chance.random() < 0.02
            rows.append([chance.choices("ATCG", (2, 2, 3, 3) if label else (3, 3, 2, 2))[0], str(label)])
        made.append(rows)
    return made


MADE: dict[str, Callable[[random.Random], list[Any]]] = {
    "tf-idf of made documents, classes with rare words of their own": partial(texts, 0.03, 0.0),
    "tf-idf of made documents, all words tell a little": partial(texts, 0.0, 0.3),
    "four classes in a plane, values near 0.001": partial(plane, 0.001),
    "four classes in a plane, values near 0.01": partial(plane, 0.01),
    "four classes in a plane, values near 0.1": partial(plane, 0.1),
    "sensors with tiny values": sensors,
}
REAL: dict[str, Callable[[random.Random], list[Any]]] = {
    "tf-idf of book reviews": reviews,
    "vectors of 50 numbers, length 1": partial(vectors, 1.0),
    "vectors of 50 numbers, length 2": partial(vectors, 2.0),
}


def mean_square(data: list[Any]) -> float:
    return fmean(x * x for rows in data for values, _ in rows for x in values.values())


def means(rows: Iterable[list[float]]) -> list[str]:
    """Of the columns, with two digits."""
    return [f"{fmean(column):.2f}" for column in zip(*rows, strict=True)]


def main() -> None:
    parser = common.parser_of_tasks("Attributes with small values: penalties beside the chosen one, and other trainers beside lbfgs.", rounds=3)
    given = parser.parse_args()
    penalties, others, letters = [], [], []
    for name, make in {**(REAL if common.corpora("sentiment") and common.corpora("ewt-pos") else {}), **MADE, "DNA": dna}.items():
        if not common.is_wanted(name, given.only):
            continue
        squares, tried, beside = [], [], []
        for draw in range(given.rounds):
            data = make(random.Random(draw))[: given.sentences]
            held_out, train = data[: min(500, len(data) // 2)], data[min(500, len(data) // 2) :]
            if name == "DNA":
                one = Data(name, lambda data=data: data, common.rules(WINDOWS))
                letters.append([run(one, train, held_out, trainer.split()[0], options)["score"] for trainer, options in DNA.items()])
                continue
            one = Data(name, lambda data=data: data, None)
            squares.append(mean_square(train))
            usual = {trainer: run(one, train, held_out, trainer, {}) for trainer in ("lbfgs", *NAMES)}
            of_one = {trainer: run(one, train, held_out, trainer, {"l2": 1.0})["score"] for trainer in usual}
            chosen = usual["lbfgs"]["chosen"]["l2"]
            tried.append([of_one["lbfgs"], *(run(one, train, held_out, "lbfgs", {"l2": chosen * factor})["score"] for factor in FACTORS)])
            beside.append([score for trainer in usual for score in (of_one[trainer], usual[trainer]["score"])])
        if squares:
            penalties.append([name, f"{fmean(squares):.1g}", *means(tried)])
            others.append([name, *means(beside)])
            print(*penalties[-1], *others[-1][1:], sep=" | ", flush=True)
    print(f"\n{parser.description}\n{common.machine()}")
    if penalties:
        common.table(["lbfgs", "mean square", "l2 1", *(f"{factor:.2g} times the chosen" for factor in FACTORS)], penalties)
        common.table(["data", *(f"{trainer}, {which}" for trainer in ("lbfgs", *NAMES) for which in ("l2 1", "chosen"))], others)
    if letters:
        common.table(["DNA", "right"], [[name, common.mean(scores)] for name, *scores in zip(DNA, *letters, strict=True)])


if __name__ == "__main__":
    main()
