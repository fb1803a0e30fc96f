"""Scores, Viterbi and forward-backward against enumeration, and on sequences too long for it."""

from __future__ import annotations

import random
import sys
from itertools import chain
from math import exp, fsum, inf, log

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import CLOSE, apart, check_expectations, close, loaded, problems, thorough
from reference import Problem

from crfkit.errors import TrainingError
from crfkit.testing_lattices import OpenLattice


def relative_errors(lattice: OpenLattice, problem: Problem) -> float:
    """The largest relative error of the node marginals, small ones included."""
    pairs = zip(chain(*lattice.nodes()), chain(*problem.node_marginals()), strict=True)
    return max((abs(ours - true) / true for ours, true in pairs if true > 1e-280), default=0.0)


@thorough
@given(problems())
def test_agrees_with_enumeration(problem):
    lattice = loaded(problem)
    if not problem.possible:
        with pytest.raises(TrainingError, match="no sequence of labels is possible"):
            lattice.viterbi()
        with pytest.raises(TrainingError, match="no sequence of labels is possible"):
            lattice.expect()
        return
    assert lattice.viterbi() == problem.best()
    check_expectations(lattice, problem)
    assert lattice.viterbi() == problem.best()


@given(problems(constraints=False))
def test_small_marginals_are_as_exact_as_large_ones(problem):
    lattice = loaded(problem)
    lattice.expect()
    assert relative_errors(lattice, problem) < CLOSE


@given(problems(), st.randoms(use_true_random=False))
def test_path_score(problem, rng):
    lattice = loaded(problem)
    labels = [rng.randrange(problem.labels) for _ in range(problem.length)]
    assert lattice.path_score(labels) == problem.score(labels)
    if problem.possible:
        score, best = lattice.viterbi()
        assert lattice.path_score(best) == score


@given(st.data())
def test_a_lattice_keeps_nothing_of_the_sequence_before(data):
    first = data.draw(problems())
    second = data.draw(problems(labels=first.labels).filter(lambda p: p.possible))
    lattice = loaded(first)
    if first.possible:
        lattice.expect()
        lattice.pair_sums()
        lattice.viterbi()
    loaded(second, lattice)
    assert lattice.viterbi() == second.best()
    check_expectations(lattice, second)


@pytest.mark.parametrize("labels", [1, 2, 7, 8, 9, 16, 24, 32, 33, *(pytest.param(n, marks=pytest.mark.long) for n in (23, 31, 40, 64, 71))])
@pytest.mark.parametrize("rich", [False, True])
def test_any_number_of_labels(labels, rich):
    """Rows are padded to vectors of 8 and worked through in strips of 32 labels. Three positions can be enumerated
    by brute force over the middle one."""
    rng = random.Random(labels)

    def matrix(rows):
        return [[rng.uniform(-2, 2) for _ in range(labels)] for _ in range(rows)]

    nodes, tau = matrix(3), matrix(labels)
    edges = {2: matrix(labels)} if rich else {}
    problem = Problem(nodes, tau, edges)
    last = edges.get(2, tau)
    lattice = loaded(problem)
    label = range(labels)
    scores = [
        [[(((nodes[0][i] + tau[i][j]) + nodes[1][j]) + last[j][k]) + nodes[2][k] for k in label] for j in label] for i in label
    ]
    paths = numpy.array(scores)
    best = numpy.unravel_index(paths.argmax(), paths.shape)
    assert lattice.viterbi() == (paths[best], list(best))
    share = numpy.exp(paths)
    assert lattice.expect() == close(log(share.sum()))
    share /= share.sum()
    for t, found in enumerate(lattice.nodes()):
        assert not apart(found, share.sum(axis=tuple({0, 1, 2} - {t}))).any()
    first, second = share.sum(axis=2), share.sum(axis=0)
    assert not apart(lattice.pair(1), first).any()
    assert not apart(lattice.pair(2), second).any()
    assert not apart(lattice.pair_sums(), first + second).any()


def log_z_by_blocks(nodes, tau):
    """log Z of two labels, scaled at every step."""
    (a, b), total = (exp(nodes[0][0]), exp(nodes[0][1])), 0.0
    steps = [[exp(x) for x in row] for row in tau]
    totals = []
    for x, y in nodes[1:]:
        a, b = (a * steps[0][0] + b * steps[1][0]) * exp(x), (a * steps[0][1] + b * steps[1][1]) * exp(y)
        scale = a + b
        a, b = a / scale, b / scale
        totals.append(log(scale))
    return fsum([total, log(a + b), *totals])


@pytest.mark.parametrize("steepest", [320.0, 345.0, 600.0, 640.0])
def test_steps_that_are_much_steeper_than_positions(steepest):
    """The scores fit into one row of potentials, but the product of a row and the next step overflows."""
    rng = random.Random(5)
    for _ in range(50):
        labels, length, depth = rng.randint(2, 4), rng.randint(3, 5), rng.choice([5.0, 50.0])
        nodes = [[rng.choice([0.0, -depth]) for _ in range(labels)] for _ in range(length)]
        tau = [[rng.choice([0.0, -steepest, -steepest, -steepest]) for _ in range(labels)] for _ in range(labels)]
        problem = Problem(nodes, tau)
        lattice = loaded(problem)
        check_expectations(lattice, problem)
        assert relative_errors(lattice, problem) < 1e-11


def test_the_only_way_on_is_from_an_improbable_label():
    """Label 1 is improbable at first; then label 0 ends, and label 2 cannot be reached."""
    nodes = [[0.0, -150.0, 0.0], [0.0, -90.0, 0.0], [0.0, -150.0, 0.0], [0.0, 0.0, 0.0]]
    same = [[int(i == j) for j in range(3)] for i in range(3)]
    problem = Problem(nodes, [[0.0] * 3, [-100.0] * 3, [0.0] * 3], None, [[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]], same)
    check_expectations(loaded(problem), problem)


@pytest.mark.parametrize("lift", [-600.0, -250.0, -49.0, 0.0, 49.0, 51.0, 200.0, 500.0])
@pytest.mark.parametrize("forbidding", [False, True])
@pytest.mark.parametrize("form", ["none", "changes"])
def test_steps_of_their_own_far_above_and_below_the_shared_one(lift, forbidding, form):
    """Some of their scores are the shared ones, others are lifted, in every step, so that products of sums grow fast."""
    rng = random.Random(7)
    for _ in range(5):
        labels, length = rng.randint(2, 4), rng.randint(3, 6)
        nodes = [[rng.uniform(-2, 2) for _ in range(labels)] for _ in range(length)]
        tau = [[rng.uniform(-2, 2) for _ in range(labels)] for _ in range(labels)]
        edges = {t: [[x + lift * (rng.random() < 0.6) for x in row] for row in tau] for t in range(1, length)}
        allowed = [[int(i == j or rng.random() < 0.7) for j in range(labels)] for i in range(labels)]
        problem = Problem(nodes, tau, edges, transitions=allowed if forbidding else None)
        lattice = loaded(problem)
        lattice.use_lists(form)
        check_expectations(lattice, problem)
        assert relative_errors(lattice, problem) < 1e-11


@pytest.mark.parametrize("lifts", [(45.0,), (60.0,), (200.0, 220.0, 320.0)])
@pytest.mark.parametrize("form", ["none", "changes"])
def test_a_thousand_steps_of_their_own(lifts, form):
    """log Z is far beyond the range of a product, and so are a few sums."""
    rng = random.Random(8)
    nodes = [[rng.uniform(-1, 1), 0.0] for _ in range(1000)]
    tau = [[0.5, -0.25], [0.0, 0.125]]
    lift = [lifts[t % len(lifts)] for t in range(1000)]
    steep = {t: [[x + lift[t] for x in row] for row in tau] for t in range(1, 1000)}
    lattice = loaded(Problem(nodes, tau, steep))
    lattice.use_lists(form)
    assert lattice.expect() == close(log_z_by_blocks(nodes, tau) + fsum(lift[1:]))


@pytest.mark.parametrize("spread", [0.5, 300.0])
def test_a_sequence_of_40_000_positions(spread):
    """Sums grow to millions; nothing overflows, underflows or drifts."""
    rng = random.Random(3)
    length = 40_000
    nodes = [[rng.uniform(-spread, spread), rng.uniform(-spread, spread)] for _ in range(length)]
    tau = [[0.5, -1.0], [-0.25, 1.5]]
    lattice = loaded(Problem(nodes, tau))
    assert lattice.expect() / length == pytest.approx(log_z_by_blocks(nodes, tau) / length, rel=1e-12)
    marginals = lattice.nodes()
    assert all(abs(row[0] + row[1] - 1) < 1e-9 for row in marginals)
    sums = lattice.pair_sums()
    assert fsum(sums[0] + sums[1]) == pytest.approx(length - 1, rel=1e-9)
    score, labels = lattice.viterbi()
    assert score == lattice.path_score(labels)
    assert score <= lattice.expect()


def test_a_long_way_through_forbidden_steps():
    """Label 2 can be reached only from label 1, which loses 40 per step against label 0. After 20 positions it is far below the
    smallest double, but the only path that exists leads through it."""
    length = 400
    nodes = [[40.0, 0.0, 0.0] for _ in range(length)]
    nodes[-1] = [-inf, -inf, 0.0]
    lattice = loaded(Problem(nodes, [[0.0, -inf, -inf], [-inf, 0.0, 0.5], [-inf, -inf, 0.0]]))
    # labels 1 .. 1 2 .. 2 with the step anywhere, or 2 from the beginning
    assert lattice.expect() == close(log((length - 1) * exp(0.5) + 1))
    assert lattice.nodes()[200][0] == 0
    assert lattice.viterbi() == (0.5, [1] * (length - 1) + [2])


@pytest.mark.parametrize(("unlikely", "times"), [(100.0, 1), (340.0, 1), (220.0, 3)])
@pytest.mark.parametrize("steep", [290.0, 310.0, 600.0])
def test_the_one_way_on_goes_through_an_unlikely_label(unlikely, times, steep):
    """A label that cannot be reached stands far above the one that can."""
    only = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    nodes = [*[[0.0, -unlikely, 0.0]] * times, [0.0, -steep, 0.0], [0.0, 0.5, 0.0]]
    problem = Problem(nodes, [[0.0] * 3] * 3, allowed=[*[[1, 1, 0]] * times, [0, 1, 1], [1, 1, 1]], transitions=only)
    check_expectations(loaded(problem), problem)


def test_many_labels_without_a_score_far_below_a_few():
    """No label can be left, and the last position has only those that are far below at the first."""
    tau = [[0.0 if i == j else -inf for j in range(136)] for i in range(136)]
    lattice = loaded(Problem([[900.0] * 8 + [0.0] * 128, [-inf] * 8 + [0.0] * 128], tau))
    assert lattice.expect() == close(log(128))
    assert [row[8:] for row in lattice.nodes()] == [[close(1 / 128)] * 128] * 2


@pytest.mark.parametrize("extra", [1, 2])
def test_labels_out_of_reach_do_not_overflow(extra):
    """Label 1 has the better scores everywhere but cannot be reached: its completions outweigh all real paths by
    more than the largest double."""
    length = 300
    nodes = [[0.0] + [60.0] * extra for _ in range(length)]
    nodes[0] = [0.0] + [-inf] * extra
    tau = [[0.0] + [-inf] * extra] + [[-inf] + [0.0] * extra] * extra
    lattice = loaded(Problem(nodes, tau))
    assert lattice.expect() == 0
    assert all(row == [1.0] + [0.0] * extra for row in lattice.nodes())
    assert lattice.pair(100)[0][0] == 1
    assert lattice.pair_sums()[0][0] == close(length - 1)


def test_steps_forbidden_where_there_are_none():
    lattice = loaded(Problem([[1.0, 2.0]], [[-inf, -inf], [-inf, -inf]]))
    assert lattice.viterbi() == (2.0, [1])
    assert lattice.expect() == close(log(exp(1) + exp(2)))
    assert lattice.pair_sums() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("labels", [0, 65536])
def test_numbers_of_labels_that_cannot_be(labels):
    with pytest.raises(ValueError, match="1 to 65,535"):
        OpenLattice(labels)


@pytest.mark.skipif(sys.maxsize > 2**32, reason="only with 32 bits a size may wrap round")
def test_a_table_larger_than_the_address_space():
    with pytest.raises(MemoryError, match="a quarter of the address space"):
        OpenLattice(9600)
