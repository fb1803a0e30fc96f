"""Values of any size: probabilities beside sums over all sequences of labels, with sixty digits."""

from decimal import Decimal, localcontext
from itertools import product

import pytest
from trainers.samples import named_weights

import crfkit

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
