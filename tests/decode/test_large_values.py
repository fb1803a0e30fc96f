"""Values and weights of any size: probabilities beside sums over all sequences of labels, with sixty digits."""

import io
from decimal import Decimal, localcontext
from itertools import pairwise, product
from math import log
from pathlib import Path

import numpy
import pytest
from trainers.samples import named_weights

import crfkit
from crfkit.decode.printing import Printer
from crfkit.text.reading import Source

LABELS = ["X", "Y", "Z"]
SENTENCES = [[({"a": 1.0}, "X"), ({"b": 1.0}, "Y"), ({"a": 1.0, "c": 0.5}, "Z")], [({"b": 2.0}, "Y"), ({"c": 1.0}, "X")]]


@pytest.fixture(scope="module")
def model():
    return crfkit.learn(SENTENCES, format="crfsuite", l2=0.3, max_iter=30)


def exact(model, items, allowed=None):
    """{labels: probability}, and the logarithm of the sum."""
    weights = named_weights(model)
    with localcontext() as context:
        context.prec = 60
        scores = {}
        for path in product(range(len(LABELS)), repeat=len(items)):
            names = [LABELS[label] for label in path]
            if allowed is not None and any(name not in some for name, some in zip(names, allowed, strict=True)):
                continue
            score = Decimal(0)
            for t, item in enumerate(items):
                score += sum(Decimal(float(weights.get((name, None, names[t]), 0))) * Decimal(value) for name, value in item.items())
                if t:
                    score += Decimal(float(weights.get((None, names[t - 1], names[t]), 0)))
            scores[tuple(names)] = score
        return shares_of(scores)


def shares_of(scores):
    """{labels: probability}, and the logarithm of the sum, of {labels: score}."""
    most = max(scores.values())
    total = sum((score - most).exp() for score in scores.values())
    return {path: float((score - most).exp() / total) for path, score in scores.items()}, float(most + total.ln())


@pytest.mark.parametrize("value", [1.0, -3.0, 2.0**20, -(2.0**28), 2.0**30, -(2.0**34), 2.0**40, 2.0**57, -(2.0**80), 2.0**120, -(2.0**127)])
@pytest.mark.parametrize("allowed", [None, [["Y", "Z"], LABELS, ["X", "Z"]]])
def test_probabilities(model, value, allowed):
    items = [{"a": value, "b": 1.0}, {"b": 0.5}, {"c": 1.0, "a": -value}]
    wanted, log_z = exact(model, items, allowed)
    tagger = model.tagger()
    found = tagger.marginals(items, allowed=allowed)
    assert found.sum(axis=1) == pytest.approx([1, 1, 1], abs=1e-6)
    for t in range(3):
        for j, label in enumerate(LABELS):
            assert found[t, j] == pytest.approx(sum(p for path, p in wanted.items() if path[t] == label), abs=1e-5)
    best = tagger.nbest(items, 27, allowed=allowed)
    assert sum(p for p, _ in best) == pytest.approx(1, abs=1e-5)
    assert best[0][0] == pytest.approx(max(wanted.values()), abs=1e-5)
    assert wanted[tuple(tagger.tag(items, allowed=allowed))] == pytest.approx(max(wanted.values()), abs=1e-5)
    assert tagger.log_z(items, allowed=allowed) == pytest.approx(log_z, rel=1e-6)
    for path, p in wanted.items():
        assert tagger.probability(items, list(path), allowed=allowed) == pytest.approx(p, abs=1e-5)


@pytest.mark.parametrize("value", [1.0, 2.0**30, -(2.0**57), 2.0**120])
def test_labels_that_the_rows_allow(model, value):
    """Where these forbid the label that would have had the largest score, the others differ by little."""
    allowed = [["Y", "Z"], LABELS, ["X", "Z"]]
    items = [{"a": value, "b": 1.0}, {"b": 0.5}, {"c": 1.0, "a": -value}]
    wanted, _ = exact(model, items, allowed)
    text = "".join(f"{'|'.join(some)}\t" + "\t".join(f"{name}:{x!r}" for name, x in item.items()) + "\n" for some, item in zip(allowed, items, strict=True))
    source, printer = Source(io.BytesIO(text.encode()), "crfsuite"), Printer(probability=True, partial=True)
    lines = b"".join(model.tagger().text(source, printer, partial=True)).decode().split("\n")[:3]
    labels, marginals, whole = zip(*(line.split("\t")[-3:] for line in lines), strict=True)
    assert wanted[labels] == pytest.approx(max(wanted.values()), abs=1e-5)
    assert float(whole[0]) == pytest.approx(wanted[labels], abs=1e-5)
    for t, found in enumerate(marginals):
        assert float(found) == pytest.approx(sum(p for path, p in wanted.items() if path[t] == labels[t]), abs=1e-5)


@pytest.mark.parametrize("form", [lambda w: w, lambda w: -w])
@pytest.mark.parametrize("size", [1.0, 2.0**40, 2.0**57, 2.0**70, 2.0**127])
@pytest.mark.parametrize(("template", "large"), [("U:%x[0,0]\nB\n", "labels"), ("U:%x[0,0]\nB\n", "pairs"), ("U:%x[0,0]\nB:%x[0,0]\n", "labels")])
def test_large_weights(template, large, size, form):
    """Beside weights that all labels, or all pairs, have in turns; where those cancel, small ones decide."""
    weights = crfpp_weights(form(size) if large == "labels" else 0.25, form(size) if large == "pairs" else 0.5)
    Path("text").write_text(crfpp_text(template, weights))
    tagger = crfkit.load("text")
    rows = [["a"], ["b"], ["a"], ["c"]]
    wanted, log_z = exact_crfpp(template, weights, rows)
    marginals = tagger.marginals(rows)
    for t in range(len(rows)):
        for j, label in enumerate("AB"):
            assert marginals[t][j] == pytest.approx(sum(p for path, p in wanted.items() if path[t] == label), abs=1e-6)
    best = max(wanted, key=wanted.get)
    assert tagger.tag(rows) == list(best)
    assert tagger.probability(rows, list(best)) == pytest.approx(wanted[best], abs=1e-6)
    assert tagger.log_z(rows) == pytest.approx(log_z, rel=1e-6)
    assert tagger.score(rows, list(best)) == pytest.approx(log_z + log(wanted[best]), rel=1e-6)


def crfpp_weights(node, pair):
    """Weights of features of CRF++, in single precision: a large one here and there, the same for each label or each pair."""
    single = [float(numpy.float32(x)) for x in (node, pair, 0.1, 0.7, 0.3)]
    node, pair, few, many, some = single
    return {"U:a": [node, node], "U:b": [few, many], "U:c": [some, few], "B": [pair, few, many, pair]}


def crfpp_text(template, weights):
    """A text model of CRF++; B lines with a macro have the same weights for every word."""
    names = ["U:a", "U:b", "U:c", *(["B"] if template.endswith("B\n") else ["B:a", "B:b", "B:c"])]
    lines, values = [], []
    for name in names:
        lines.append(f"{len(values)} {name}")
        values += weights[name if name in weights else "B"]
    head = f"version: 100\ncost-factor: 1\nmaxid: {len(values)}\nxsize: 1\n\nA\nB\n\n{template}\n"
    return head + "".join(line + "\n" for line in lines) + "\n" + "".join(f"{value!r}\n" for value in values)


def exact_crfpp(template, weights, rows):
    """{labels: probability} with sixty digits, and the logarithm of the sum."""
    with localcontext() as context:
        context.prec = 60
        scores = {}
        for path in product(range(2), repeat=len(rows)):
            score = sum(Decimal(weights["U:" + word][label]) for (word,), label in zip(rows, path, strict=True))
            score += sum(Decimal(weights["B"][2 * before + after]) for before, after in pairwise(path))
            scores["".join("AB"[label] for label in path)] = score
        return shares_of(scores)
