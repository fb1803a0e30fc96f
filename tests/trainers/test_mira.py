"""MIRA with one and with n candidates: step by step against a slow twin, its constraints, and end to end."""

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from trainers.samples import read, trainer_of, with_passes
from trainers.twins import Built, Corpus, Sample, corpora, passes_of_both, problem
from trainers.twins_margin import Mira, difference, dot, wrong

from crfkit.options import trainers as options
from crfkit.trainers.online.mira import Mira as Trainer

PRECISION = {"rel": 1e-5, "abs": 1e-5}  # weights are stored in single precision
CLEAR = 1e-4  # scores that differ less may be ranked otherwise by weights in single precision

small = corpora(labels=st.integers(1, 4))
seeds = st.integers(0, 2**32)
aggressiveness = st.sampled_from([0.01, 0.1, 1.0, 100.0])


def both(corpus, n, most, average, seed):
    """crfkit's trainer and the twin, from the same random weights, so that few scores are equal."""
    built, rng = Built(corpus), random.Random(seed)
    start = built.to_cells({feature: rng.gauss(0, 1) for feature in sorted(corpus.features(), key=str)})
    own = options.Mira(nbest=n, aggressiveness=most, average=average)
    trainer = Trainer(built.dataset, built.layout, own, initial=start, seed=seed)
    return built, trainer, Mira(corpus, built.to_weights(start), n=n, most=most)


@given(small, st.integers(1, 3), st.integers(1, 4), aggressiveness, st.booleans(), seeds)
def test_every_pass_is_that_of_the_twin(corpus, passes, n, most, average, seed):
    built, trainer, twin = both(corpus, n, most, average, seed)
    for loss, weights, expected_loss, expected in passes_of_both(built, trainer, twin, passes, average):
        assume(twin.gap > CLEAR)
        assert loss == pytest.approx(expected_loss, rel=1e-5, abs=1e-4)
        assert weights == pytest.approx(expected, **PRECISION)


@given(small, seeds)
def test_one_candidate_is_the_closed_form(corpus, seed):
    """tau = (wrong - margin) / |d|^2, within 0 and C."""
    corpus.samples = corpus.samples[:1]
    assume(corpus.features())
    built, trainer, twin = both(corpus, 1, 0.3, False, seed)
    sample, before = corpus.samples[0], twin.weights
    path = next(twin.candidates(sample, 1))
    assume(twin.gap > CLEAR)
    d = difference(before, sample, path)
    square = dot(d, d)
    tau = min(max((wrong(sample, path) - dot(d, before)) / square, 0), 0.3 * sample.weight) if square else 0
    trainer.run_pass()
    assert built.to_weights(trainer.weights()) == pytest.approx({f: w + tau * d.get(f, 0) for f, w in before.items()}, **PRECISION)


def rich_sample(rng, labels, length, attributes=12):
    """Attributes that occur twice, values, and bigram attributes."""
    unigrams = [[(rng.randrange(attributes), rng.choice([1.0, 0.5, -1.5])) for _ in range(attributes // 3)] for _ in range(length)]
    bigrams = [[(rng.randrange(5), rng.choice([1.0, 2.0])) for _ in range(2)] for _ in range(length)]
    return Sample([rng.randrange(labels) for _ in range(length)], unigrams, bigrams)


@pytest.mark.parametrize(("n", "seed", "attributes"), [*((n, seed, 12) for n in (1, 2, 5, 20) for seed in range(5)), (5, 0, 600)])
def test_a_step_satisfies_all_its_constraints(n, seed, attributes):
    """C is ample and all features exist, so nothing stands in the way: no slack is left."""
    rng = random.Random(seed)
    sample = rich_sample(rng, 3, 6, attributes)
    corpus = Corpus([sample], 3, attributes, 5, tau_all=True, u_all=set(range(attributes)), b_all=set(range(5)))
    built, trainer, twin = both(corpus, n, 1e6, False, seed)
    paths = [path for _, path in problem(twin.weights, sample, 3).top(n)]
    before = [dot(difference(twin.weights, sample, path), twin.weights) - wrong(sample, path) for path in paths]
    trainer.run_pass()
    weights = built.to_weights(trainer.weights())
    after = [dot(difference(weights, sample, path), weights) - wrong(sample, path) for path in paths]
    assert min(before) < -1
    assert min(after) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(("n", "attributes"), [(1, 1500), (3, 1500), (1, 10000), (3, 10000)])
def test_sequences_after_one_whose_differences_made_the_table_grow(n, attributes):
    """With 10,000 attributes there are too many cells for a table that has a slot for each."""
    rng, many = random.Random(4), attributes == 10000
    corpus = Corpus([rich_sample(rng, 3, 4, attributes) for _ in range(2)], 3, attributes, 5, u_all=set(range(attributes)) if many else set())
    built, trainer, twin = both(corpus, n, 0.1, False, 2)
    assert (built.layout.n_cells > 1 << 16) == many
    for loss, weights, expected_loss, expected in passes_of_both(built, trainer, twin, 3):
        assert twin.gap > CLEAR and loss == pytest.approx(expected_loss, rel=1e-5)
        assert weights == pytest.approx(expected, **PRECISION)


@pytest.mark.parametrize("most", [1e-3, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_slack_is_left_only_to_what_reached_its_limit(most, seed):
    """By the conditions of optimality: the step is a sum of differences times amounts from 0 to C, a margin that is
    more than reached has 0, and one that is missed has C."""
    rng = random.Random(seed)
    sample = rich_sample(rng, 3, 6)
    corpus = Corpus([sample], 3, 12, 5, tau_all=True, u_all=set(range(12)), b_all=set(range(5)))
    built, trainer, twin = both(corpus, 4, most, False, seed)
    start = dict(twin.weights)
    paths = [path for _, path in problem(start, sample, 3).top(4)]
    trainer.run_pass()
    weights = built.to_weights(trainer.weights())
    changes = [difference(start, sample, path) for path in paths]
    surplus = [dot(d, weights) - wrong(sample, path) for path, d in zip(paths, changes, strict=True)]
    rest = {feature: weights[feature] - start[feature] for feature in weights}
    for d, extra in zip(changes, surplus, strict=True):
        if extra < -1e-4:
            rest = {feature: w - most * d.get(feature, 0) for feature, w in rest.items()}
    reached = [d for d, extra in zip(changes, surplus, strict=True) if abs(extra) <= 1e-4]
    assert any(extra < -1e-4 for extra in surplus) or reached
    if len(reached) == 0:
        assert rest == pytest.approx(dict.fromkeys(rest, 0), abs=1e-5)
    else:  # what the others have added is a sum of these
        features = sorted(rest, key=str)
        matrix = [[d.get(feature, 0) for d in reached] for feature in features]
        left = [rest[feature] for feature in features]
        assert residual(matrix, left) < 1e-4


def residual(matrix, right):
    """The greatest error of the best solution of linear equations."""
    import numpy as np

    a, b = np.array(matrix), np.array(right)
    return abs(a @ np.linalg.lstsq(a, b, rcond=None)[0] - b).max()


def test_a_sequence_of_weight_zero_teaches_nothing():
    built = Built(Corpus([Sample([1], [[(0, 1.0)]], [[]], weight=0.0), Sample([0], [[(1, 1.0)]], [[]])], 2, 2))
    trainer = with_passes(1, Trainer(built.dataset, built.layout, options.Mira(nbest=2, average=False)))
    assert built.to_weights(trainer.weights())["U", 0, 1] == 0


@pytest.mark.parametrize(("n", "sequences", "asked"), [(1, 30, 1), (16, 30, 1), (100, 30, 3)])
def test_it_asks_more_often_whether_to_stop_where_a_sequence_has_many_candidates(n, sequences, asked):
    corpus, times = read("chunking", sentences=sequences), []
    trainer_of("mira", corpus, nbest=n).run_pass(lambda: times.append(1))
    assert len(times) == asked


# --- end to end ---------------------------------------------------------------------------------------------------
