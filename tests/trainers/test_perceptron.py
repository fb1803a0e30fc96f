"""The structured perceptron, step by step against a slow twin, and end to end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainers.samples import accuracy, read
from trainers.twins import Built, Corpus, Sample, corpora, weighted
from trainers.twins_online import Perceptron

from crfkit import options
from crfkit.trainers.online.perceptron import Perceptron as Trainer


@given(corpora(), st.integers(1, 4), st.booleans(), st.data())
def test_every_pass_is_that_of_the_twin(corpus, passes, average, data):
    built = Built(corpus)
    start = weighted(data.draw, corpus.features())
    trainer = Trainer(
        built.dataset, built.layout, options.Perceptron(average=average), initial=built.to_cells(start), seed=data.draw(st.integers(0, 9))
    )
    twin = Perceptron(corpus, dict(start))
    for _ in range(passes):
        loss = trainer.run_pass()["loss"]
        assert loss == twin.run_pass(trainer.sequence_order())
        weights = built.to_weights(trainer.weights())
        if average:
            assert weights == pytest.approx(twin.average, rel=1e-5, abs=1e-6)
        else:
            assert weights == twin.weights  # sums of quarters: exact


def test_stopped_early_the_average_is_over_the_steps_taken():
    corpus = Corpus([Sample([s % 2, s % 3 == 0], [[(s % 5, 1.0)], [(s % 7, 1.0)]], [[], []]) for s in range(200)], 2, 7)
    built = Built(corpus)
    trainer = Trainer(built.dataset, built.layout, options.Perceptron())
    trainer.run_pass(lambda: True)
    assert 0 < trainer.steps < 200
    twin = Perceptron(corpus, dict.fromkeys(corpus.features(), 0.0))
    twin.run_pass(trainer.sequence_order()[: trainer.steps])
    assert built.to_weights(trainer.weights()) == pytest.approx(twin.average, rel=1e-5, abs=1e-6)


def test_nothing_changes_once_all_is_right():
    corpus = Corpus([Sample([j], [[(j, 1.0)]], [[]]) for j in range(3)], 3, 3)
    built = Built(corpus)
    trainer = Trainer(built.dataset, built.layout, options.Perceptron(average=False))
    while trainer.run_pass()["loss"]:
        pass
    weights = trainer.weights()
    assert trainer.run_pass() == {"loss": 0}
    assert trainer.weights() == weights


def test_the_average_tags_new_text_well_and_the_last_weights_less_so():
    averaged, last = (accuracy("perceptron", passes=1, seed=1, average=average) for average in (True, False))
    assert averaged > 0.92
    assert last < averaged - 0.02


def test_mistakes_become_few():
    corpus = read("chunking", sentences=150)
    trainer = Trainer(corpus.dataset, corpus.layout, options.Perceptron())
    losses = [trainer.run_pass()["loss"] for _ in range(10)]
    assert losses[-1] < losses[0] / 10
