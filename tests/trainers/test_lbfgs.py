"""L-BFGS ends where the gradient is zero, wherever it starts."""

import array

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainers.samples import ends_at_the_minimum, many_labels, read, sentences, template
from trainers.twins import Built, Corpus, Sample, corpora

from crfkit import constants
from crfkit.learning.learn import learn
from crfkit.options import trainers as options
from crfkit.testing import scaled_by_threads, value_at
from crfkit.trainers.batch.lbfgs import Lbfgs
from crfkit.trainers.batch.objective import Objective


@pytest.mark.parametrize(("threads", "last"), [(1, [15, None]), (2, [7, 15]), (3, [7, 15])])
def test_threads_that_find_a_direction_have_rooms_of_their_own(threads, last):
    """Of sixteen parts. In the room of another thread one would overwrite, now and then, what that is about to read."""
    gradient, curvature = array.array("d", range(1, 65)), array.array("f", [4.0] * 64)
    expected = [[0.0] * 4 if part is None else [g / 2 for g in gradient[4 * part : 4 * part + 4]] for part in last]
    assert scaled_by_threads(gradient, curvature, threads) == expected


@given(corpora(), st.sampled_from([0.1, 1.0, 5.0]), st.sampled_from([1, 4, 64]))
def test_the_result_is_a_zero_of_the_twins_gradient(corpus, l2, memory):
    built = Built(corpus)
    trainer = Lbfgs(built.dataset, built.layout, options.Lbfgs(l2=l2, memory=memory, epsilon=1e-9, delta=0.0))
    ends_at_the_minimum(trainer, built, 0.0, l2, 1e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_where_steps_are_changes_of_a_list(threads, monkeypatch):
    """Also those of the warm-up."""
    monkeypatch.setattr(constants, "CHUNK_TOKENS", 16)  # so that there is work for two
    built = Built(many_labels(60, 10, 3, rich=True))
    trainer = Lbfgs(built.dataset, built.layout, options.Lbfgs(l2=0.5, epsilon=1e-9, delta=0.0), threads=threads)
    assert list(trainer.prepare())
    ends_at_the_minimum(trainer, built, 0.0, 0.5, 1e-3)


@pytest.fixture(scope="module")
def corpus():
    return read("chunking", sentences=150, rules="chunking-rich")


def test_the_line_search_finds_the_minimum_of_a_parabola_at_once():
    """With one label there is but the penalty. The first step, by which scores change by 1, goes too far."""
    built = Built(Corpus([Sample([0], [[(0, 1.0)]], [[]])], 1, 1))
    trainer = Lbfgs(built.dataset, built.layout, options.Lbfgs(l2=50.0, epsilon=0.0, delta=0.0), initial=built.to_cells({("U", 0, 0): 0.4}))
    trainer.run_pass()
    assert trainer.trials == 2 and built.to_weights(trainer.weights()) == {("U", 0, 0): pytest.approx(0.0, abs=1e-6)}


def test_the_first_step_is_no_longer_than_the_gradient():
    """Near the optimum, where that changes scores by less than 1."""
    built = Built(Corpus([Sample([0], [[(0, 1.0)]], [[]])], 1, 1))
    trainer = Lbfgs(built.dataset, built.layout, options.Lbfgs(l2=0.5, epsilon=0.0, delta=0.0), initial=built.to_cells({("U", 0, 0): 0.4}))
    trainer.run_pass()
    assert trainer.trials == 1 and built.to_weights(trainer.weights()) == {("U", 0, 0): pytest.approx(0.4 - 0.5 * 0.4)}


@pytest.mark.parametrize("memory", [1, 3, 64])
def test_steps_go_in_the_direction_of_the_two_loops(memory):
    """Those of Nocedal & Wright (algorithm 7.4), in double precision, from the points and gradients met."""
    built = Built(many_labels(9, 30, 5))
    f = Objective(built.dataset, built.layout, 0.5, 1)
    trainer = Lbfgs(built.dataset, built.layout, options.Lbfgs(l2=0.5, memory=memory, epsilon=0.0, delta=0.0, warm_up=0))
    points, gradients = [], []
    for _ in range(8):
        point = array.array("d", trainer.weights())
        points.append(numpy.array(point))
        gradients.append(numpy.array(value_at(f, point)[1]))
        trainer.run_pass()
        way = numpy.array(trainer.weights()) - points[-1]
        s, y = (numpy.diff(vectors, axis=0)[-memory:] for vectors in (points, gradients))
        d, shares = -gradients[-1], []
        for step, change in zip(s[::-1], y[::-1], strict=True):
            shares.append(step @ d / (step @ change))
            d = d - shares[-1] * change
        if len(s):
            d = d * (s[-1] @ y[-1]) / (y[-1] @ y[-1])
        for step, change, share in zip(s, y, shares[::-1], strict=True):
            d = d + (share - change @ d / (step @ change)) * step
        assert way @ d == pytest.approx(numpy.linalg.norm(way) * numpy.linalg.norm(d), rel=1e-7)


def test_what_is_logged_is_the_objective_of_the_weights_that_are_kept(corpus):
    trainer = Lbfgs(corpus.dataset, corpus.layout, options.Lbfgs(l2=1.0))
    for _ in range(5):
        logged = trainer.run_pass()["objective"]
        assert corpus.value_at(1.0, corpus.doubles(trainer.weights()))[0] == pytest.approx(logged, rel=1e-6)


# --- end to end ---------------------------------------------------------------------------------------------------


def test_a_penalty_of_next_to_nothing_is_none():
    """After a warm-up the objective would not be finite."""
    first, *others = (learn(sentences("chunking", limit=20), template("chunking"), l2=l2, max_iter=5).weights.tobytes() for l2 in (0, 1e-50, 1e-90))
    assert others == [first, first]
