"""The sparse recursions against enumeration and against the dense ones."""

from __future__ import annotations

import random
from itertools import product
from math import exp, fsum, inf

import pytest
from hypothesis import given, settings
from problems import loaded, problems

from crfkit.errors import TrainingError
from crfkit.lattice.lattice import Lattice
from crfkit.lattice.sparse import SparseEdges

CLOSE = 1e-9


def close(value):
    return pytest.approx(value, rel=CLOSE, abs=CLOSE)


def sparse_edges(lattice):
    edges = SparseEdges()
    edges.load(lattice)
    return edges


@settings(max_examples=400)
@given(problems(zeros=True))
def test_agrees_with_enumeration(problem):
    lattice = loaded(problem)
    edges = sparse_edges(lattice)
    pairs = list(product(range(problem.labels), repeat=2))
    active = [
        (i, j)
        for i, j in pairs
        if problem.tau[i][j] or (problem.transitions and not problem.transitions[i][j])
    ]
    assert edges.active == len(active)
    if not problem.possible:
        for verb in (edges.viterbi, edges.expect):
            with pytest.raises(TrainingError, match="no sequence of labels is possible"):
                verb(lattice)
        return
    assert edges.viterbi(lattice) == problem.best()
    assert edges.expect(lattice) == close(problem.log_z)
    for row, wanted in zip(lattice.nodes(), problem.node_marginals(), strict=True):
        assert row == close(wanted)
    for t in range(1, problem.length):
        for row, wanted in zip(lattice.pair(t), problem.pair_marginals(t), strict=True):
            assert row == close(wanted)


@settings(max_examples=150)
@given(problems(zeros=True, constraints=False, scores=("ties", "plain", "wide", "mixed")))
def test_cancellation_costs_no_digits(problem):
    """Small marginals too are as exact as those of the dense loop, which subtracts nothing."""
    lattice = loaded(problem)
    edges = sparse_edges(lattice)
    results = []
    for expect in (lattice.expect, lambda: edges.expect(lattice)):
        expect()
        results.append(
            [*lattice.nodes(), *(row for t in range(1, problem.length) for row in lattice.pair(t))]
        )
    for dense, sparse in zip(*results, strict=True):
        assert sparse == pytest.approx(dense, rel=1e-10, abs=1e-290)


@pytest.mark.parametrize("weight", [-2.0, -12.0, -40.0, -600.0])
def test_a_label_that_nearly_nothing_leads_to(weight):
    """All the mass stands on labels from which the way to label 0 costs a lot: 1 - (1 - exp(weight)) must not be
    what is left of rounding."""
    labels = 6
    nodes = [[-30.0] + [0.0] * (labels - 1), [0.0] * labels]
    tau = [[0.0] * labels] + [[weight] + [0.0] * (labels - 1) for _ in range(labels - 1)]
    lattice = Lattice(labels)
    lattice.load(nodes, tau)
    sparse_edges(lattice).expect(lattice)
    ways = [exp(node + row[0]) for node, row in zip(nodes[0], tau, strict=True)]
    rest = (labels - 1) * (exp(-30.0) + labels - 1)
    assert lattice.nodes()[1][0] == pytest.approx(fsum(ways) / (fsum(ways) + rest), rel=1e-11)


@pytest.mark.parametrize("labels", [1, 8, 9, 30, 100])
@pytest.mark.parametrize("density", [0.0, 0.03, 0.3, 1.0])
@pytest.mark.parametrize("rich", [False, True])
def test_many_labels(labels, density, rich):
    """The same numbers as the dense loops; the same best path to the last bit, ties included."""
    rng = random.Random(labels)

    def matrix(rows, density=1.0):
        return [
            [float(rng.randint(-9, 9)) if rng.random() < density else 0.0 for _ in range(labels)]
            for _ in range(rows)
        ]

    lattice = Lattice(labels)
    edges = {t: matrix(labels) for t in (2, 5)} if rich else {}
    lattice.load(matrix(9), matrix(labels, density), edges)
    sparse = sparse_edges(lattice)
    assert sparse.viterbi(lattice) == lattice.viterbi()
    assert sparse.expect(lattice) == pytest.approx(lattice.expect(), rel=1e-12)
    wanted = lattice.nodes()
    sparse.expect(lattice)
    for row, other in zip(lattice.nodes(), wanted, strict=True):
        assert row == pytest.approx(other, rel=1e-10, abs=1e-14)


def test_allowed_labels_and_active_rows():
    """Every one of the best labels before is active: the best inactive one is found all the same."""
    labels = 20
    lattice = Lattice(labels)
    tau = [[-5.0] * labels if i < 15 else [0.0] * labels for i in range(labels)]
    lattice.load([[float(labels - i) for i in range(labels)], [0.0] * labels], tau)
    sparse = sparse_edges(lattice)
    assert sparse.viterbi(lattice) == lattice.viterbi() == (15.0, [0, 0])
    lattice.allow([[0] + [1] * (labels - 1), [0, 1] * (labels // 2)])
    assert sparse.viterbi(lattice) == lattice.viterbi() == (14.0, [1, 1])
    lattice.load([[0.0] * labels, [0.0] * labels], tau)
    assert sparse.viterbi(lattice) == lattice.viterbi() == (0.0, [15, 0])


def test_two_hundred_thousand_positions():
    rng = random.Random(5)
    lattice = Lattice(3)
    lattice.load(
        [[rng.uniform(-9, 9) for _ in range(3)] for _ in range(200_000)],
        [[0, 0, 2.0], [0, -3.0, 0], [0, 0, 0]],
    )
    sparse = sparse_edges(lattice)
    dense = lattice.expect()
    assert sparse.expect(lattice) == pytest.approx(dense, rel=1e-12)
    assert sparse.viterbi(lattice) == lattice.viterbi()


@pytest.mark.parametrize(
    ("labels", "active", "wanted"),
    [(47, 1, False), (48, 72, True), (48, 73, False), (87, 236, True), (87, 237, False), (88, 704, True), (88, 705, False)],
)
def test_the_choice_between_sparse_and_dense(labels, active, wanted):
    lattice = Lattice(labels)
    cells = [float(k < active) for k in range(labels * labels)]
    lattice.load([[0.0] * labels], [cells[i * labels : (i + 1) * labels] for i in range(labels)])
    sparse = sparse_edges(lattice)
    assert (sparse.active, sparse.worthwhile) == (active, wanted)


def test_faulty_calls():
    lattice, edges = Lattice(2), SparseEdges()
    with pytest.raises(RuntimeError, match="load"):
        edges.load(lattice)
    lattice.load([[0.0, 1.0]], [[0.0, 1.0], [-inf, 0.0]])
    with pytest.raises(RuntimeError, match="load"):
        edges.expect(lattice)
    edges.load(lattice)
    assert edges.active == 2
    other = Lattice(3)
    other.load([[0.0] * 3], [[0.0] * 3] * 3)
    with pytest.raises(RuntimeError, match="load"):
        edges.viterbi(other)
