"""Small models of the synthetic corpora, trained once a run, and their scores worked out from the features."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from reference import Problem

import crfkit
from crfkit.template.meaning import expand

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = {"letters": "letter-to-sound"}


@cache
def model(corpus: str, algorithm: str = "lbfgs", template: str | None = None):
    """A model after a few passes: better than chance, and trained quickly."""
    passes = {"lbfgs": {"max_iter": 12}, "perceptron": {"passes": 3}, "lookahead": {"passes": 1}}[algorithm]
    if corpus == "reals":
        return crfkit.learn(ROOT / "data/reals.train.txt", format="crfsuite", algorithm=algorithm, **passes)
    path = ROOT / "templates" / f"{template or TEMPLATES.get(corpus, corpus)}.txt"
    return crfkit.learn(ROOT / f"data/{corpus}.train.txt", template=path, algorithm=algorithm, **passes)


def rows_of(text: str) -> list[list[list[str]]]:
    """The sentences of a file of columns."""
    return [[line.split() for line in block.splitlines()] for block in text.strip().split("\n\n")]


@cache
def sentences(corpus: str, part: str = "test") -> list[list[list[str]]]:
    """The sentences of a corpus as rows, labels included."""
    return rows_of((ROOT / f"data/{corpus}.{part}.txt").read_text(encoding="utf-8"))


def attributes(trained, rows):
    """Of each token (unigram attributes, bigram attributes), all of them (name, value); (None, 1) for plain label pairs."""
    for t, row in enumerate(rows):
        unigrams, bigrams = [], [(None, 1.0)] * (t > 0)
        if trained.template is None:
            unigrams += row.items()
        for line in trained.template.lines if trained.template is not None else ():
            text = expand(line, rows, t)
            if text is not None and (line.macros or text != "B"):
                unigrams += [(text, 1.0)] * ("U" in line.kinds)
                bigrams += [(text, 1.0)] * ("B" in line.kinds and t > 0)
        yield unigrams, bigrams


# Few labels and rich edges, or many labels: sentences that enumeration can handle.
CASES = [("segmentation", 5), ("chunking", 3), ("ner", 3)]
SMALL = [(corpus, k) for corpus, _ in CASES for k in (0, 7, 20)]


def short(corpus, k):
    length = dict(CASES)[corpus]
    return [row[:-1] for row in sentences(corpus)[k][:length]]


def names(trained, path):
    return [trained.labels[j] for j in path]


@cache
def _features(trained):
    found: dict = {}
    for attribute, previous, label, weight in trained.features():
        found.setdefault((attribute, previous is None), []).append((previous, label, weight))
    return found


def problem(trained, rows, allowed=None, transitions=None) -> Problem:
    """The scores of a sentence, computed slowly: expand the template and add up the weights."""
    numbers = {label: number for number, label in enumerate(trained.labels)}
    width = len(numbers)
    features = _features(trained)
    nodes, *edges = ([[0.0] * width for _ in range(height)] for height in [len(rows), *[width] * len(rows)])
    for t, (unigrams, bigrams) in enumerate(attributes(trained, rows)):
        for name, value in unigrams:
            for _, label, weight in features.get((name, True), ()):
                nodes[t][numbers[label]] += value * weight
        for name, value in bigrams:
            for previous, label, weight in features.get((name, False), ()):
                edges[t][numbers[previous]][numbers[label]] += value * weight
    return Problem(nodes, edges[0], dict(enumerate(edges)), allowed, transitions)
