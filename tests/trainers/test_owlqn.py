"""OWL-QN: step by step against a slow twin. It ends where no weight can lower the objective."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainers.samples import (
    end,
    ends_at_the_minimum,
    read,
    trainer_of,
)
from trainers.twins import Built, Corpus, Sample, corpora
from trainers.twins_owlqn import Owlqn as Twin
from trainers.twins_owlqn import pseudo_gradient


def random_corpus(random, values=True, n_labels=3, n_u=6, n_b=2):
    """Sequences at random, with rich edges and values."""

    def items(n):
        return [(k, random.choice([0.5, 1.0, -1.5]) if values else 1.0) for k in random.sample(range(n), random.randint(0, n))]

    samples = []
    for _ in range(8):
        labels = random.choices(range(n_labels), k=random.randint(1, 5))
        samples.append(Sample(labels, [items(n_u) for _ in labels], [items(n_b) for _ in labels], random.choice([1.0, 2.0])))
    return Corpus(samples, n_labels, n_u, n_b, u_all=set(range(n_u)), tau_all=True)


# --- the twin -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
@pytest.mark.parametrize(("l1", "l2"), [(0.3, 0.0), (1.0, 0.5), (0.0, 1.0)])
def test_every_iteration_is_that_of_the_twin(seed, l1, l2):
    random = Random(seed)
    corpus = random_corpus(random)
    built = Built(corpus)
    start = {feature: random.choice([0.0, 0.0, 0.5, -0.25]) for feature in sorted(corpus.features(), key=str)}
    trainer = trainer_of("owlqn", built, built.to_cells(start), l1=l1, l2=l2, memory=3)
    twin = Twin(corpus, start, l1, l2, memory=3)
    for _ in range(8):
        objective_of_twin = twin.iterate()
        assert trainer.run_pass()["objective"] == pytest.approx(objective_of_twin, rel=1e-5)
        weights = built.to_weights(trainer.weights())
        assert weights == pytest.approx(twin.x, abs=2e-4)
        assert [k for k in weights if weights[k] == 0] == [k for k in weights if twin.x[k] == 0]


@pytest.mark.parametrize("l1", [0.2, 1.0])
def test_the_twins_pseudo_gradient_is_a_one_sided_difference(l1):
    random = Random(5)
    corpus = random_corpus(random, n_u=3)
    x = {feature: random.choice([0.0, 0.5, -0.25]) for feature in sorted(corpus.features(), key=str)}
    twin = Twin(corpus, x, l1, 0.1)
    pseudo, here, h = pseudo_gradient(x, twin.smooth(x)[1], l1), twin.total(x), 1e-5
    for k in x:
        right, left = ((twin.total({**x, k: x[k] + s}) - here) / s for s in (h, -h))
        if x[k]:
            assert pseudo[k] == pytest.approx((left + right) / 2, abs=1e-3)
        elif pseudo[k]:
            assert pseudo[k] == pytest.approx(left if pseudo[k] > 0 else right, abs=1e-3)
        else:
            assert right > -1e-3 and left < 1e-3


# --- the optimum --------------------------------------------------------------------------------------------------


@given(corpora(), st.sampled_from([0.1, 0.5, 2.0]), st.sampled_from([0.0, 0.3]))
def test_at_the_end_no_weight_can_move(corpus, l1, l2):
    built = Built(corpus)
    # where a valley is nearly flat points in single precision go on along it for ever, ten digits behind the comma
    trainer = trainer_of("owlqn", built, l1=l1, l2=l2, epsilon=1e-9, delta=1e-9)
    ends_at_the_minimum(trainer, built, l1, l2, 2e-3)


@pytest.fixture(scope="module")
def corpus():
    return read("chunking", sentences=60, rules="chunking-rich")


def test_without_its_penalty_it_ends_where_lbfgs_does(corpus):
    assert end(trainer_of("owlqn", corpus, l1=0.0, l2=1.0))[-1] == pytest.approx(corpus.optimum(1.0), rel=1e-5)


@pytest.mark.parametrize(("before", "after"), [(3.0, 1.0), (1.0, 3.0)])
def test_going_on_with_another_penalty(corpus, before, after):
    """As a trainer does that starts from these weights; objectives of the one before are no measure of progress."""
    first = trainer_of("owlqn", corpus, l1=before)
    end(first)
    second = trainer_of("owlqn", corpus, first.weights(), l1=after)
    first.set_l1(after)
    assert first.converged is None
    values, others = end(first), end(second)
    assert values[:3] == pytest.approx(others[:3], rel=1e-5)
    assert values[-1] == pytest.approx(others[-1], rel=1e-4)


# --- CRFsuite -----------------------------------------------------------------------------------------------------


# --- end to end ---------------------------------------------------------------------------------------------------
