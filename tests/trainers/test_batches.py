"""Mini-batches: every trainer that makes them, update by update against a slow twin, and end to end."""

from functools import partial
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainers.samples import options_of, with_passes
from trainers.twins import Built, Corpus, Sample, corpora, passes_of_both, weighted
from trainers.twins_online import Adf, Perceptron, Sapo, Sgd, shares

from crfkit.trainers import trainer_class

PRECISION = {"rel": 1e-5, "abs": 1e-5}  # weights are stored in single precision

sizes = st.sampled_from([2, 3, 7])  # of up to six samples: rest batches, and one of all
seeds = st.integers(0, 9)
TWINS = {"sgd": Sgd, "sapo": partial(Sapo, n=3**4)}


def trainer_of(name, built, start, seed, found=None, **chosen):
    own = options_of(name, **chosen)
    return trainer_class(name)(built.dataset, built.layout, own, initial=built.to_cells(start), seed=seed, found=found)


def agree(built, trainer, twin, passes, average=False):
    for loss, weights, expected_loss, expected in passes_of_both(built, trainer, twin, passes, average):
        assert loss == pytest.approx(expected_loss, **PRECISION)
        assert weights == pytest.approx(expected, **PRECISION)


@given(corpora(labels=st.integers(1, 3), most_samples=6), st.just(1) | sizes, st.sampled_from(["sgd", "sapo"]), st.sampled_from([0.0, 2.0]),
       st.sampled_from([0.0, 0.5]), st.booleans(), seeds, st.data())
def test_gradients(corpus, size, name, l2, decay, found, seed, data):
    built, start = Built(corpus), weighted(data.draw, corpus.features())
    chosen = {"nbest": 3**4, "ratio": 0.0} if name == "sapo" else {}  # all paths: which ones does not hang on the last digits
    trainer = trainer_of(name, built, start, seed, found, l2=l2, rate=0.2, decay=decay, batch_size=size, **chosen)
    twin = TWINS[name](corpus, dict(start), l2, 0.2, decay, size=size, shares=shares(corpus) if found else {})
    agree(built, trainer, twin, 2)


@given(corpora(most_samples=6), sizes, st.booleans(), seeds, st.data())
def test_the_perceptron(corpus, size, average, seed, data):
    built, start = Built(corpus), weighted(data.draw, corpus.features())
    trainer = trainer_of("perceptron", built, start, seed, average=average, batch_size=size)
    agree(built, trainer, Perceptron(corpus, dict(start), size), 3, average)


@given(corpora(labels=st.integers(1, 3), most_samples=40), sizes, st.sampled_from([0.0, 3.0]), st.sampled_from([(0.995, 0.6), (0.9, 0.1)]),
       seeds, st.data())
def test_batches_of_adf_are_those_of_the_twin(corpus, size, l2, bounds, seed, data):
    built, start = Built(corpus), weighted(data.draw, corpus.features())
    trainer = trainer_of("adf", built, start, seed, l2=l2, rate=0.2, alpha=bounds[0], beta=bounds[1], batch_size=size)
    agree(built, trainer, Adf(corpus, dict(start), l2, 0.2, *bounds, size), 2)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("name", ["sgd", "sapo"])
def test_penalties_of_rows_with_a_share_of_the_rate(name, size):
    """Each update takes away 0.8 of a weight with the whole rate, and less of others. So within a pass what is common to all weights is
    carried out, too."""
    samples = [Sample([s % 2, 1], [[(0, 2.0 + s % 3), (1, 0.5)], [(s % 3, 1.5)]], [[], [(0, 1.0)]]) for s in range(12)]
    corpus = Corpus(samples, 2, 3, 1)
    built, start = Built(corpus), dict.fromkeys(corpus.features(), 1.0)
    l2, own = 1.6 * len(samples) / size, shares(corpus)
    chosen = {"nbest": 4, "ratio": 0.0} if name == "sapo" else {}
    trainer = trainer_of(name, built, start, 0, True, l2=l2, rate=0.5, decay=0.9, batch_size=size, **chosen)
    agree(built, trainer, TWINS[name](corpus, start, l2, 0.5, 0.9, size=size, shares=own), 2)
    assert min(own.values()) < 0.1 < max(own.values()) == own["B", 0] == 1


@pytest.mark.parametrize("size", [1, 2])
def test_attributes_whose_values_are_all_small_have_a_higher_rate(size):
    """Divided by the largest value times the root of the mean square of all. That of label pairs stays as it is."""
    samples = [Sample([s % 2, 1], [[(0, 0.02), (1, -0.05)], [(s % 3, 0.03)]], [[], []]) for s in range(12)]
    corpus = Corpus(samples, 2, 3)
    built, start = Built(corpus), dict.fromkeys(corpus.features(), 1.0)
    own = 1 / (0.05 * sqrt((0.02**2 + 0.05**2 + 0.03**2) / 3))
    trainer = trainer_of("sgd", built, start, 0, True, l2=1e-3, rate=0.05, decay=0.9, batch_size=size)
    agree(built, trainer, Sgd(corpus, start, 1e-3, 0.05, 0.9, size=size, shares={("U", a): own for a in range(3)}), 2)


@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_l1_of_batches(l2):
    """A batch of copies of a sequence is a step with one that has their weight."""
    ends = []
    for copies in (1, 3):
        samples = [Sample([0, 1], [[(0, 1.0)], [(1, 2.0), (2, -1.0)]], [[], []], weight=3 / copies) for _ in range(4 * copies)]
        built = Built(Corpus(samples, 2, 3, u_all={0, 1, 2}))
        trainer = trainer_of("sgd", built, {}, 0, l1=1.0, l2=l2, rate=0.2, decay=0.9, batch_size=copies)
        ends.append([(trainer.run_pass()["loss"], *trainer.weights()) for _ in range(3)])
    assert ends[0] == [pytest.approx(end, **PRECISION) for end in ends[1]]
    assert 0 in ends[0][-1] and max(ends[0][-1][1:]) > 0.5


@given(corpora(most_samples=5))
def test_batches_of_all_data_are_gradient_steps(corpus):
    """So the order of the sequences does not matter."""
    built, start = Built(corpus), dict.fromkeys(corpus.features(), 0.0)
    found = []
    for seed in (1, 2):
        trainer = with_passes(1, trainer_of("sgd", built, start, seed, rate=0.1, batch_size=len(corpus.samples)))
        found.append(list(trainer.weights()))
    assert found[0] == pytest.approx(found[1], **PRECISION)
