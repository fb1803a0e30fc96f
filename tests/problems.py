"""Random small problems for hypothesis, and a lattice loaded with one."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from reference import Problem

from crfkit.testing_lattices import OpenLattice

MOST_PATHS = 1100
CLOSE = 1e-9
thorough = settings(max_examples=4 * settings().max_examples)  # for what everything else stands on

# Whole numbers give ties and exact sums; the wide ranges leave the linear domain.
SCORES = {
    "ties": st.integers(-2, 2).map(float),
    "plain": st.floats(-5, 5),
    "wide": st.floats(-100, 100),
    "huge": st.floats(-1000, 1000),
    "mixed": st.one_of(st.just(0.0), st.floats(-5, 5), st.sampled_from([-1000.0, -300.0, 300.0, 1000.0])),
}


@st.composite
def problems(draw, scores=tuple(SCORES), constraints=True, rich=True, zeros=False, labels=None):
    """A Problem with 1 to 5 labels and 1 to 6 positions; `zeros` makes most label pairs weigh nothing."""
    labels = labels or draw(st.integers(1, 5))
    length = draw(st.integers(1, 6).filter(lambda n: labels**n <= MOST_PATHS))
    cell = SCORES[draw(st.sampled_from(scores))]
    step = st.one_of(st.just(0.0), st.just(0.0), cell) if zeros else cell

    def matrix(rows, cells):
        return draw(st.lists(st.lists(cells, min_size=labels, max_size=labels), min_size=rows, max_size=rows))

    nodes, tau = matrix(length, cell), matrix(labels, step)
    own = draw(st.sets(st.integers(1, length - 1))) if rich and length > 1 else ()
    edges = {t: matrix(labels, cell) for t in sorted(own)}
    flag = st.sampled_from([1, 1, 1, 0])
    allowed = matrix(length, flag) if constraints and draw(st.booleans()) else None
    transitions = matrix(labels, flag) if constraints and draw(st.booleans()) else None
    return Problem(nodes, tau, edges, allowed, transitions)


def loaded(problem: Problem, lattice: OpenLattice | None = None) -> OpenLattice:
    """A lattice loaded with the problem. A lattice that is given is reused, so that leftovers of its last problem would show."""
    lattice = lattice or OpenLattice(problem.labels)
    lattice.load(problem.nodes, problem.tau, problem.edges)
    if problem.allowed:
        lattice.allow(problem.allowed)
    if problem.transitions:
        lattice.forbid(problem.transitions)
    return lattice


def close(value):
    """Equal up to rounding: relative for large numbers, absolute for probabilities."""
    return pytest.approx(value, rel=CLOSE, abs=CLOSE)


def apart(found, expected, rel=CLOSE, abs=CLOSE):
    """Which of many numbers, in lists however nested, pytest.approx would not take for equal; in a tenth of its time."""
    ours, theirs = numpy.array(found, float), numpy.array(expected, float)
    assert ours.shape == theirs.shape
    with numpy.errstate(invalid="ignore"):  # the difference of two infinities
        return (ours != theirs) & ~(numpy.abs(ours - theirs) <= numpy.maximum(rel * numpy.abs(theirs), abs))


def check_expectations(lattice: OpenLattice, problem: Problem) -> None:
    """log Z and all marginals."""
    assert lattice.expect() == close(problem.log_z)
    assert not apart(lattice.nodes(), problem.node_marginals()).any()
    for t in range(1, problem.length):
        assert not apart(lattice.pair(t), problem.pair_marginals(t)).any()
    assert not apart(lattice.pair_sums(), problem.pair_sums()).any()
