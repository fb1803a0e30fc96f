"""Scores of crfkit.CRF, and of sklearn-crfsuite's."""

import pytest
from test_estimator import FEW, LABELS, ROWS, TEMPLATE

import crfkit
from crfkit import CRF
from crfkit.compat import sklearn_crfsuite
from crfkit.errors import OptionError

ITEMS = [[{"w": row[0], "pos": row[1]} for row in sentence] for sentence in ROWS]


def test_score_is_the_metric():
    crf = CRF("perceptron", TEMPLATE, **FEW).fit(ROWS, LABELS)
    found = crf.predict(ROWS)
    scores = crfkit.evaluate(LABELS, found)
    pairs = [pair for both in zip(LABELS, found, strict=True) for pair in zip(*both, strict=True)]
    assert crf.score(ROWS, LABELS) == sum(a == b for a, b in pairs) / len(pairs)
    for metric in ("sentence_accuracy", "f1", "precision", "recall"):
        assert crf.score(ROWS, LABELS, metric) == getattr(scores, metric)
    assert crf.score([], []) == 0
    with pytest.raises(OptionError, match=r"metric: expected one of accuracy, .*, found 'auc'"):
        crf.score(ROWS, LABELS, "auc")


def test_scores_with_another_label_outside_of_chunks():
    """As with O: of the estimator, and of the passes, by which it keeps weights."""
    named = [["_" if label == "O" else label for label in labels] for labels in LABELS]
    want = CRF("perceptron", TEMPLATE, **FEW).fit(ROWS[:40], LABELS[:40], ROWS[40:], LABELS[40:])
    crf = CRF("perceptron", TEMPLATE, outside="_", **FEW).fit(ROWS[:40], named[:40], ROWS[40:], named[40:])
    assert list(crf.model_.weights) == list(want.model_.weights)
    plain = CRF("perceptron", TEMPLATE, **FEW).fit(ROWS[:40], named[:40])
    items = sklearn_crfsuite.CRF(max_iterations=9).fit(ITEMS[:40], named[:40])
    for metric in ("accuracy", "f1", "precision", "recall"):
        assert crf.score(ROWS, named, metric) == want.score(ROWS, LABELS, metric) == crf.score(ROWS, LABELS, metric)
        assert plain.score(ROWS, named, metric, outside="_") == CRF("perceptron", TEMPLATE, outside="_", **FEW).fit(ROWS[:40], named[:40]).score(ROWS, named, metric)
        of_items = [["O" if label == "_" else label for label in labels] for labels in items.predict(ITEMS)]
        assert items.score(ITEMS, named, metric, outside="_") == getattr(crfkit.evaluate(LABELS, of_items), metric)
    assert plain.score(ROWS, named, "f1") != plain.score(ROWS, named, "f1", outside="_")
    assert plain.set_params(outside=None).score(ROWS, LABELS, "f1") == plain.score(ROWS, LABELS, "f1", outside="O")
