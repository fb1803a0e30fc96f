"""Attributes with small values: penalties beside the one that is chosen, and trainers that choose a rate beside `lbfgs`. Last, data on which
trainers or options are far apart.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_values.py [--only WORDS] [--sentences N] [--rounds DRAWS]

The tables of docs/defaults.md, "The penalty and values" and "Values below 0.1": the mean square of the values, and the shares of held-out labels that are right. Most
data are made; book reviews and parts of speech are there with corpora. For docs/trainers.md: made DNA, letters of two hidden labels that hardly ever change; chunks
whose labels tell the tag of their last word; parts of speech told by six numbers of each of three words, with --dropout. Means and deviations of draws.
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
from bench_strangers import corpus

FACTORS = (10.0, 3.0, 1.0, 1 / 3, 0.1)  # on the penalty that is chosen
NAMES = ("sgd", "adf", "sapo")  # which find their rate
DNA: dict[str, dict[str, Any]] = {
    "lbfgs": {},
    "lookahead": {},
    "lookahead --depth 4": {"depth": 4},
    "sapo": {},
    **{f"sapo --rate {rate}": {"rate": rate} for rate in (0.01, 0.03, 0.1, 0.3)},
}
LAST_WORDS: dict[str, dict[str, Any]] = {
    "lbfgs": {},
    "lookahead": {},
    "lookahead --depth 2": {"depth": 2},
    "lookahead --direction backward": {"direction": "backward"},
}
DROPOUT = {name + way: options for name in ("sgd", "adf", "sapo", "perceptron", "mira", "arow") for way, options in (("", {}), (" --dropout 0.1", {"dropout": 0.1}))}
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


def last_words(chance: random.Random) -> list[Any]:
    """Chunks of news, whose labels tell the tag of their last word, too."""
    made = chance.sample(corpus("conll2000"), 2500)
    for rows in made:
        tag = ""
        for row in reversed(rows):
            tag = tag or row[1]
            row[-1] += "-" + tag if row[-1] != "O" else ""
            if row[-1][0] != "I":
                tag = ""
    return made


def measures(chance: random.Random) -> list[Any]:
    """Parts of speech, told by the word, the one before and the one behind: length, place in the sentence, logarithm of the frequency, shares of capitals, digits and
    vowels."""
    whole = corpus("ewt-pos")
    number = Counter(row[0] for rows in whole for row in rows)
    made = []
    for rows in chance.sample(whole, 1500):
        words = [row[0] for row in rows]
        kinds = [[sum(map(kind, word)) / len(word) for kind in (str.isupper, str.isdigit, "aeiouAEIOU".__contains__)] for word in words]
        each = [[len(word) / 5, t / len(words), math.log(number[word]) / 5, *shares] for t, (word, shares) in enumerate(zip(words, kinds, strict=True))]
        beside = [[0.0] * 6, *each, [0.0] * 6]
        made.append([({f"{k} {n}": x for k in range(3) for n, x in enumerate(beside[t + k])}, row[-1]) for t, row in enumerate(rows)])
    return made


APART: dict[str, tuple[Callable[[random.Random], list[Any]], Any, dict[str, dict[str, Any]]]] = {
    "DNA": (dna, common.rules(WINDOWS), DNA),
    "chunks and the tag of their last word": (last_words, common.rules("ner-words.txt"), LAST_WORDS),
    "parts of speech by measures": (measures, None, DROPOUT),
}
"""Data, their template, and trainers with options."""
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
    complete = all(map(common.corpora, ("sentiment", "ewt-pos", "conll2000")))
    penalties, others, apart = [], [], []
    for name, make in {**(REAL if complete else {}), **MADE, **{name: one[0] for name, one in APART.items() if complete or name == "DNA"}}.items():
        if not common.is_wanted(name, given.only):
            continue
        squares, tried, beside, scores = [], [], [], []
        for draw in range(given.rounds):
            data = make(random.Random(draw))[: given.sentences]
            held_out, train = data[: min(500, len(data) // 2)], data[min(500, len(data) // 2) :]
            if name in APART:
                _, template, ways = APART[name]
                one = Data(name, lambda data=data: data, template)
                scores.append([run(one, train, held_out, way.split()[0], options)["score"] for way, options in ways.items()])
                continue
            one = Data(name, lambda data=data: data, None)
            squares.append(mean_square(train))
            usual = {trainer: run(one, train, held_out, trainer, {}) for trainer in ("lbfgs", *NAMES)}
            of_one = {trainer: run(one, train, held_out, trainer, {"l2": 1.0})["score"] for trainer in usual}
            chosen = usual["lbfgs"]["chosen"]["l2"]
            tried.append([of_one["lbfgs"], *(run(one, train, held_out, "lbfgs", {"l2": chosen * factor})["score"] for factor in FACTORS)])
            beside.append([score for trainer in usual for score in (of_one[trainer], usual[trainer]["score"])])
        if scores:
            apart.append((name, [[way, common.mean(column)] for way, *column in zip(APART[name][2], *scores, strict=True)]))
        if squares:
            penalties.append([name, f"{fmean(squares):.1g}", *means(tried)])
            others.append([name, *means(beside)])
            print(*penalties[-1], *others[-1][1:], sep=" | ", flush=True)
    print(f"\n{parser.description}\n{common.machine()}")
    if penalties:
        common.table(["lbfgs", "mean square", "l2 1", *(f"{factor:.2g} times the chosen" for factor in FACTORS)], penalties)
        common.table(["data", *(f"{trainer}, {which}" for trainer in ("lbfgs", *NAMES) for which in ("l2 1", "chosen"))], others)
    for name, rows in apart:
        common.table([name, "right"], rows)


if __name__ == "__main__":
    main()
