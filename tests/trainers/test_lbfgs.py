"""L-BFGS ends where the gradient is zero, wherever it starts."""

import array
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainers.samples import end, ends_at_the_minimum, named_weights, read, sentences, template
from trainers.twins import Built, corpora

from crfkit import options
from crfkit.learning.learn import learn
from crfkit.trainers.batch.lbfgs import Lbfgs


@given(corpora(), st.sampled_from([0.1, 1.0, 5.0]), st.sampled_from([1, 4, 64]))
def test_the_result_is_a_zero_of_the_twins_gradient(corpus, l2, memory):
    built = Built(corpus)
    trainer = Lbfgs(built.dataset, built.layout, options.Lbfgs(l2=l2, memory=memory, epsilon=1e-9, delta=0.0))
    ends_at_the_minimum(trainer, built, 0.0, l2, 1e-3)


@pytest.fixture(scope="module")
def corpus():
    return read("chunking", sentences=150, rules="chunking-rich")


def test_the_optimum_does_not_depend_on_the_start(corpus):
    random, ends = Random(3), []
    for spread in (0.0, 10.0):
        start = array.array("f", bytes(4 * corpus.layout.n_cells))
        for feature_cell in existing_cells(corpus):
            start[feature_cell] = random.gauss(0, spread)
        trainer = Lbfgs(corpus.dataset, corpus.layout, options.Lbfgs(l2=1.0, epsilon=1e-8, delta=1e-9), initial=start)
        ends.append((end(trainer)[-1], trainer.weights()))
    best, weights = ends[0]
    for value, others in ends[1:]:
        assert value == pytest.approx(best, rel=1e-6)
        assert max(abs(a - b) for a, b in zip(weights, others, strict=True)) < 1e-2


def existing_cells(corpus):
    """The cells of features."""
    n_u, n_b = corpus.layout.n_attributes
    labels = range(corpus.layout.labels)
    cells = [corpus.layout.cell(a, j) for a in range(n_u) for j in labels]
    cells += [corpus.layout.pair_cell(i, j) for i in labels for j in labels]
    cells += [corpus.layout.rich_cell(b, -1, i, j) for b in range(n_b) for i in labels for j in labels]
    return [cell for cell in cells if cell >= 0]


@pytest.mark.parametrize("memory", [1, 3, 64])
def test_any_memory_finds_it(corpus, memory):
    trainer = Lbfgs(corpus.dataset, corpus.layout, options.Lbfgs(l2=5.0, memory=memory))
    assert end(trainer)[-1] == pytest.approx(corpus.optimum(5.0), rel=1e-5)


def test_what_is_logged_is_the_objective_of_the_weights_that_are_kept(corpus):
    trainer = Lbfgs(corpus.dataset, corpus.layout, options.Lbfgs(l2=1.0))
    for _ in range(5):
        logged = trainer.run_pass()["objective"]
        assert corpus.objective(1.0).at(corpus.doubles(trainer.weights()))[0] == pytest.approx(logged, rel=1e-6)


# --- end to end ---------------------------------------------------------------------------------------------------


def test_a_penalty_shrinks_the_weights():
    def size(l2):
        weights = named_weights(learn(sentences("chunking", limit=100), template("chunking"), l2=l2))
        return sum(abs(w) for w in weights.values())

    sizes = [size(l2) for l2 in (0.1, 1.0, 10.0, 100.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 10


def test_a_penalty_of_next_to_nothing_is_none():
    """After a warm-up the objective would not be finite."""
    first, *others = (learn(sentences("chunking", limit=20), template("chunking"), l2=l2, max_iter=5).weights.tobytes() for l2 in (0, 1e-50, 1e-90))
    assert others == [first, first]
