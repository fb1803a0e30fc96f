"""Stochastic gradient descent, step by step against a slow twin, and end to end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainers.samples import many_labels, options_of, read
from trainers.twins import Built, Corpus, Sample, corpora, passes_of_both, weighted
from trainers.twins_online import Sgd, shares

from crfkit.errors import TrainingError
from crfkit.options import trainers as options
from crfkit.trainers.online.sgd import Sgd as Trainer

PRECISION = {"rel": 1e-5, "abs": 3e-6}  # weights are stored in single precision

schedules = st.sampled_from([0.0, 0.5, 0.9, 1.0])


def trained(corpus, passes, l2, rate, decay=0.85, seed=0, start=None, l1=0.0, found=False):
    """Both sides after each pass; `found`: as if the rate had been found for these data."""
    built = Built(corpus)
    own = options.Sgd(l1=l1, l2=l2, rate=rate, decay=decay)
    start = start or dict.fromkeys(corpus.features(), 0.0)
    trainer = Trainer(built.dataset, built.layout, own, initial=built.to_cells(start), seed=seed, found=found)
    twin = Sgd(corpus, dict(start), l2, rate, decay, l1, shares=shares(corpus) if found else {})
    return passes_of_both(built, trainer, twin, passes)


@given(corpora(), st.integers(1, 3), st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([0.1, 0.5]), schedules, st.booleans(), st.data())
def test_every_pass_is_that_of_the_twin(corpus, passes, l2, rate, decay, found, data):
    rate = 0.45 if found and rate == 0.5 else rate  # those that are found leave something of a weight in each step
    start = weighted(data.draw, corpus.features())
    seed = data.draw(st.integers(0, 9))
    for loss, weights, expected_loss, expected in trained(corpus, passes, l2, rate, decay, seed, start, found=found):
        assert loss == pytest.approx(expected_loss, rel=1e-5, abs=1e-5)
        assert weights == pytest.approx(expected, **PRECISION)


@pytest.mark.parametrize("l1", [0.0, 0.05])
@pytest.mark.parametrize("rate", [0.25, 0.5, 1.0, 1.5])
def test_a_decay_of_everything_at_once(rate, l1):
    """1 - rate * l2 / |S| is 0.5, 0, -1 and -2 here."""
    corpus = Corpus([Sample([0, 1], [[(0, 1.0)], [(0, 0.5)]], [[], []])], 2, 1)
    for _, weights, _, expected in trained(corpus, 4, 2.0, rate, 1.0, l1=l1):
        assert weights == pytest.approx(expected, **PRECISION)


def test_many_steps_under_a_strong_penalty():
    """The common factor of the weights shrinks by 1e-2 a pass: it must be carried out now and then."""
    samples = [Sample([0, 1, 1], [[(0, 1.0)], [(1, 1.0)], [(a, 1.0)]], [[], [], []]) for a in (0, 1, 2)]
    corpus = Corpus(samples, 2, 3, u_all={0})
    for _, weights, _, expected in trained(corpus, 20, 4.0, 0.6, 1.0):
        assert weights == pytest.approx(expected, **PRECISION)


def test_orders_differ_from_pass_to_pass_and_from_seed_to_seed():
    built = Built(Corpus([Sample([s % 2], [[(0, 1.0)]], [[]]) for s in range(30)], 2, 1))

    def orders(seed):
        trainer = Trainer(built.dataset, built.layout, options.Sgd(l2=1.0, rate=0.1), seed=seed)
        return [trainer.run_pass() and list(trainer.state()["order"]) for _ in range(3)]

    first = orders(7)
    assert first == orders(7)
    assert len({tuple(order) for order in first + orders(8)}) == 6


# --- L1 -----------------------------------------------------------------------------------------------------------


@given(corpora(), st.integers(1, 3), st.sampled_from([0.05, 0.5, 3.0]), st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([0.1, 0.5]), schedules, st.data())
def test_the_penalty_that_is_put_off_is_that_of_the_dense_twin(corpus, passes, l1, l2, rate, decay, data):
    start = weighted(data.draw, corpus.features())
    seed = data.draw(st.integers(0, 9))
    for loss, weights, expected_loss, expected in trained(corpus, passes, l2, rate, decay, seed, start, l1):
        assert loss == pytest.approx(expected_loss, rel=1e-5, abs=2e-5)
        assert weights == pytest.approx(expected, rel=1e-5, abs=1e-5)


def rare_and_frequent(n=12):
    """Attribute 0 is everywhere, the others once each, so that most of their penalty is put off."""
    return Corpus([Sample([s % 2, (s // 2) % 2], [[(0, 1.0), (s + 1, 1.0)], [(0, -0.5)]], [[], []]) for s in range(n)], 2, n + 1)


def test_many_labels_and_an_attribute_with_all_of_them():
    corpus = many_labels(130, 4, 9)
    corpus.n_u, corpus.u_all = 131, {130}
    for sample in corpus.samples[1:]:
        sample.unigrams[:5] = [[*items, (130, 0.5)] for items in sample.unigrams[:5]]
    for loss, weights, expected_loss, expected in trained(corpus, 1, 0.5, 0.25):
        assert loss == pytest.approx(expected_loss, rel=1e-5)
        assert weights == pytest.approx(expected, **PRECISION)


@pytest.mark.parametrize(("l1", "l2"), [(0.2, 0.0), (0.5, 3.0)])
def test_long_runs_stay_with_the_twin_and_zeros_are_exact(l1, l2):
    for _, weights, _, expected in trained(rare_and_frequent(), 15, l2, 0.5, 1.0, l1=l1):
        assert weights == pytest.approx(expected, rel=1e-5, abs=1e-5)
        zeros, expected_zeros = ({feature for feature, w in end.items() if w == 0} for end in (weights, expected))
        assert zeros == expected_zeros
    assert 0 < len(zeros) < len(weights)


def test_no_penalty_changes_no_bit():
    corpus = read("chunking", sentences=50)
    ends = []
    for chosen in ({}, {"l1": 0.0}, {"l1": 1e-30}):
        trainer = Trainer(corpus.dataset, corpus.layout, options_of("sgd", rate=0.1, **chosen))
        ends.append(([trainer.run_pass() for _ in range(3)], trainer.weights()))
    assert ends[0] == ends[1] == ends[2]


def test_a_rate_that_overflows_is_said_to():
    values = [1e20, -1e20, 1e19, -1e20]
    built = Built(Corpus([Sample([s % 2], [[(0, v)]], [[]]) for s, v in enumerate(values)], 2, 1, u_all={0}))
    trainer = Trainer(built.dataset, built.layout, options.Sgd(l2=1.0, rate=1e30))
    with pytest.raises(TrainingError):
        for _ in range(5):
            trainer.run_pass()


@pytest.mark.parametrize("l2, rate", [(1e300, 1.0), (0.0, 1e30)])
def test_an_l1_penalty_that_overflows_is_said_to(l2, rate):
    """All weights are zero then, but no checkpoint can hold the penalty that they could have received."""
    built = Built(Corpus([Sample([s % 2], [[(0, 1.0)]], [[]]) for s in range(4)], 2, 1))
    trainer = Trainer(built.dataset, built.layout, options.Sgd(l1=1e300, l2=l2, rate=rate))
    with pytest.raises(TrainingError, match="training diverged at the end of pass 1"):
        trainer.run_pass()


# --- end to end ---------------------------------------------------------------------------------------------------


def test_thirty_passes_come_near_the_optimum():
    """Falls with a wrong sign, schedule or penalty: the optimum is that of the objective with this very l2."""
    corpus = read("chunking", sentences=150)
    for decay in (0.0, 0.85):
        trainer = Trainer(corpus.dataset, corpus.layout, options.Sgd(l2=1.0, decay=decay))
        losses = [trainer.run_pass()["loss"] for _ in range(30)]
        assert corpus.left(trainer.weights()) < 0.01
        assert losses[-1] < losses[0] / 4
