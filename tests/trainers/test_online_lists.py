"""Online trainers whose steps are lists of label pairs, or matrices of which only a few places are written, against the same
trainers with whole matrices."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import apart
from trainers.samples import many_labels, options_of
from trainers.twins import Built, corpora, weighted

from crfkit.testing import forms_of
from crfkit.trainers import trainer_class

PATHS = {
    "perceptron": [{}, {"batch_size": 3}],
    "mira": [{}, {"nbest": 3}],
    "arow": [{}],
    "cw": [{}],
    "sapo": [{"rate": 0.25, "nbest": 4}, {"rate": 0.25, "batch_size": 2}, {"rate": 0.25, "search": "beam", "beam": 2}],
}
SUMS = {
    "sgd": [{"rate": 0.25, "l2": 0.5}, {"rate": 0.25, "l1": 0.5}, {"rate": 0.25, "batch_size": 2}],
    "adf": [{"rate": 0.25, "l2": 0.5}, {"rate": 0.25, "batch_size": 2}],
}


OF_PATHS, OF_SUMS = (
    pytest.mark.parametrize(("name", "chosen"), [(name, chosen) for name, all_of_them in trainers.items() for chosen in all_of_them])
    for trainers in (PATHS, SUMS)
)


def trained(name, chosen, built, start, recursions, passes=3, form=None):
    initial = built.to_cells(start) if start is not None else None
    trainer = trainer_class(name)(built.dataset, built.layout, options_of(name, **chosen), initial=initial, seed=1, recursions=recursions)
    said = [trainer.run_pass() for _ in range(passes)]
    if form:
        assert form in forms_of(trainer)
    return said, trainer.weights()


def agrees_with_matrices(found, name, chosen, built, start, passes, rel=1e-5):
    """Assert that records and weights are, up to rounding, those of the same passes with whole matrices."""
    (said, weights), (matrices, by_matrices) = found, trained(name, chosen, built, start, "dense", passes)
    assert not apart(weights, by_matrices, rel=1e-4, abs=1e-5).any()
    assert said[-1]["loss"] == pytest.approx(matrices[-1]["loss"], rel=rel)


@OF_PATHS
@given(corpora(), st.data())
def test_trainers_that_look_for_paths_keep_every_bit(name, chosen, corpus, data):
    built, start = Built(corpus), weighted(data.draw, corpus.features())
    assert trained(name, chosen, built, start, "sparse") == trained(name, chosen, built, start, "dense")


@OF_SUMS
@given(corpora(), st.data())
def test_trainers_that_need_sums_come_to_the_same_weights(name, chosen, corpus, data):
    """One pass: what rounding does to a weight in single precision may grow from pass to pass."""
    built, start = Built(corpus), weighted(data.draw, corpus.features())
    dense, expected = trained(name, chosen, built, start, "dense", 1)
    for which in ("sparse", "auto"):
        said, weights = trained(name, chosen, built, start, which, 1)
        assert said[0]["loss"] == pytest.approx(dense[0]["loss"], rel=1e-6, abs=1e-6)
        assert not apart(weights, expected, rel=1e-5, abs=1e-6).any()


@pytest.mark.parametrize("rich", [False, True])
@pytest.mark.parametrize(("name", "chosen"), [(name, all_of_them[0]) for name, all_of_them in {**PATHS, **SUMS}.items()])
def test_lists_are_chosen_where_labels_are_many(name, chosen, rich):
    """The choice of lists or matrices, and of changes of lists for steps with rich attributes, changes only the time."""
    built = Built(many_labels(rich=rich))
    found = trained(name, chosen, built, None, "auto", 2, "changes of a list" if rich else None)
    assert found == trained(name, chosen, built, None, "sparse", 2)
    agrees_with_matrices(found, name, chosen, built, None, 2)


@OF_PATHS
def test_rows_of_matrices_are_chosen_by_scores_as_they_are(name, chosen):
    """Scores in lists must follow the weights, which change with every step."""
    built = Built(many_labels(61, 60, 12))
    assert trained(name, chosen, built, None, "auto") == trained(name, chosen, built, None, "sparse")


@OF_SUMS
@pytest.mark.parametrize("labels", [40, 61])
def test_places_of_matrices_are_all_that_changes(name, chosen, labels):
    """Of weights that begin far apart, so that the largest passes whole numbers on its way."""
    built = Built(many_labels(labels, 60, labels // 5))
    rng = random.Random(1)
    start = {feature: rng.uniform(-3, 3) for feature in sorted(built.cells, key=str)}
    agrees_with_matrices(trained(name, chosen, built, start, "auto", 2), name, chosen, built, start, 2)


@pytest.mark.parametrize("rich", [False, True])
@pytest.mark.parametrize(
    ("name", "chosen"),
    [pytest.param(name, chosen, marks=pytest.mark.long if k else ()) for name, all_of_them in SUMS.items() for k, chosen in enumerate(all_of_them)],
)
def test_sums_over_lists_are_chosen_for_more_pairs(name, chosen, rich):
    """With a hundred labels and more, and pairs that are too many for those who look for paths. It changes nothing but time."""
    built = Built(many_labels(130, 400, 24, rich))
    pairs = sum(kind == "T" for kind, *_ in built.cells)
    assert 130 * 130 // 11 < pairs < 130 * 130 // 4
    found = trained(name, chosen, built, None, "auto", 1, "changes of a list" if rich else None)
    assert found == trained(name, chosen, built, None, "sparse", 1)
    agrees_with_matrices(found, name, chosen, built, None, 1, rel=1e-6)
