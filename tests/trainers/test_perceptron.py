"""The structured perceptron, step by step against a slow twin, and end to end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainers.twins import Built, Corpus, Sample, corpora, passes_of_both, weighted
from trainers.twins_online import Perceptron

from crfkit.options import trainers as options
from crfkit.trainers.online.perceptron import Perceptron as Trainer


@given(corpora(), st.integers(1, 4), st.booleans(), st.data())
def test_every_pass_is_that_of_the_twin(corpus, passes, average, data):
    built = Built(corpus)
    start = weighted(data.draw, corpus.features())
    trainer = Trainer(
        built.dataset, built.layout, options.Perceptron(average=average), initial=built.to_cells(start), seed=data.draw(st.integers(0, 9))
    )
    twin = Perceptron(corpus, dict(start))
    for loss, weights, expected_loss, expected in passes_of_both(built, trainer, twin, passes, average):
        assert loss == expected_loss
        assert weights == (pytest.approx(expected, rel=1e-5, abs=1e-6) if average else expected)  # sums of quarters: exact


def test_nothing_changes_once_all_is_right():
    built = Built(Corpus([Sample([j], [[(j, 1.0)]], [[]]) for j in range(3)], 3, 3))
    trainer = Trainer(built.dataset, built.layout, options.Perceptron(average=False))
    while trainer.run_pass()["loss"]:
        pass
    weights = trainer.weights()
    assert trainer.run_pass() == {"loss": 0}
    assert trainer.weights() == weights
