"""The n best paths against enumeration: all of them, in their order, with their scores to the last bit."""

import random
from math import exp, inf

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from problems import MOST_PATHS, loaded, problems, thorough
from reference import Problem

from crfkit.testing_lattices import OpenLattice, OpenSearch

SEARCH = OpenSearch()  # one for all tests: what earlier searches left behind must not matter


@thorough
@given(problems(), st.integers(1, 12))
def test_nbest_agrees_with_enumeration(problem, n):
    assert SEARCH.nbest(loaded(problem), n) == problem.top(n)


@thorough
@given(problems(), st.sampled_from([0.0, 0.3]))
def test_two_paths_are_found_in_another_way_than_three(problem, ratio):
    assert SEARCH.nbest(loaded(problem), 2, ratio) == SEARCH.nbest(loaded(problem), 3, ratio)[:2]


@given(problems(scores=("ties", "mixed")))
def test_all_paths_in_order(problem):
    """More paths than there are: each exactly once."""
    assert SEARCH.nbest(loaded(problem), 2 * MOST_PATHS) == problem.paths


@given(problems(scores=("plain", "ties")), st.sampled_from([0.05, 0.3, 1.0]))
@example(Problem([[1.0, 1.0], [0.0, 0.5]], [[0.0, 0.0], [0.0, 0.0]]), 1.0)
def test_early_stop(problem, ratio):
    best = problem.paths[0][0] if problem.possible else 0.0
    wanted = [path for path in problem.paths if exp(path[0] - best) >= ratio]
    assert SEARCH.nbest(loaded(problem), MOST_PATHS, ratio) == wanted
    assert SEARCH.beam(loaded(problem), MOST_PATHS, ratio=ratio) == wanted


@pytest.mark.parametrize("large", [1e3, 1e9, 1e18, 1e300])
def test_beginnings_whose_scores_are_much_larger_than_that_of_the_whole(large):
    """What a path may lose is then less than a unit in the last place of these scores."""
    problem = Problem([[0.0, 0.0], [large, large], [0.0, 0.0], [0.0, 0.0], [-large, -large], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]])
    for n in (6, MOST_PATHS):
        assert SEARCH.nbest(loaded(problem), n, 0.5) == problem.top(n)


@given(st.integers(6, 40), st.integers(2, 3), st.booleans(), st.sampled_from([0.01, 0.3]), st.integers(0, 10**6))
def test_many_labels(labels, length, own, ratio, seed):
    """More than a register holds, of which few count. The beam has room for all paths but the last position's, of which
    it leaves out most. Scores in eighths have exact sums, and ties."""
    length = min(length, 2 if labels > 20 else 3)
    draw = random.Random(seed)

    def matrix(rows, widest):
        return [[draw.randint(-widest, widest) / 8 for _ in range(labels)] for _ in range(rows)]

    problem = Problem(matrix(length, 64), matrix(labels, 40), {1: matrix(labels, 40)} if own else {})
    best = problem.paths[0][0]
    wanted = [path for path in problem.paths if exp(path[0] - best) >= ratio]
    assert SEARCH.nbest(loaded(problem), len(problem.paths), ratio) == wanted
    assert SEARCH.nbest(loaded(problem), 30) == problem.paths[:30]
    assert SEARCH.beam(loaded(problem), 5, width=labels ** (length - 1)) == problem.paths[:5]


def sparse(draw, labels, length):
    """A problem with a weight for few label pairs, and steps of their own with more. Scores in eighths have exact sums, and ties."""

    def matrix(rows, share):
        return [[draw.randint(-24, 24) / 8 if draw.random() < share else 0.0 for _ in range(labels)] for _ in range(rows)]

    return Problem(matrix(length, 0.3), matrix(labels, 0.05), {t: matrix(labels, 0.1) for t in range(2, length, 3)})


@given(st.integers(1, 7), st.sampled_from([0.0, 0.05, 0.7]), st.integers(0, 10**6))
def test_many_labels_in_lists(n, ratio, seed):
    """Where steps are lists, few of the ways into a cell are looked at: the paths are those of matrices, ties included."""
    draw = random.Random(seed)
    lattice = loaded(sparse(draw, 64, draw.randint(1, 7)))
    wanted = SEARCH.nbest(lattice, n, ratio)
    for lists in ("shared", "all"):
        lattice.use_lists(lists)
        assert SEARCH.nbest(lattice, n, ratio) == wanted


def test_labels_with_a_weight_from_every_label():
    """All labels before are looked through there, and none are left over for those without a weight."""
    for seed in range(15):
        draw = random.Random(seed)
        problem = sparse(draw, 64, 6)
        for t in range(1, 6):
            problem.edges[t] = [[draw.randint(0, 24) / 8 if j % 16 == 0 else 0.0 for j in range(64)] for _ in range(64)]
        lattice = loaded(problem)
        wanted = SEARCH.nbest(lattice, 7)
        lattice.use_lists("all")
        assert SEARCH.nbest(lattice, 7) == wanted


@pytest.mark.parametrize("seed", range(2))
def test_many_labels_in_lists_against_enumeration(seed):
    problem = sparse(random.Random(seed), (41, 33)[seed], 2 + seed)
    lattice = loaded(problem)
    lattice.use_lists("all")
    assert SEARCH.nbest(lattice, 4) == problem.top(4)


@pytest.mark.parametrize("labels", [2, 9, 40])
def test_scores_beyond_all_bounds(labels):
    """What a learning rate that is far too high leads to: infinite sums, and differences that are NaN."""
    problem = Problem([[1e308] + [0.0] * (labels - 1)] * 4, [[0.0] * labels] * labels)
    for ratio in (0.0, 0.05):
        (score, path), *_ = SEARCH.nbest(loaded(problem), 5, ratio)
        assert (score, path) == (inf, [0, 0, 0, 0])


@given(problems(), st.integers(1, 12))
def test_a_beam_with_room_for_all_paths_is_exact(problem, n):
    assert SEARCH.beam(loaded(problem), n, width=MOST_PATHS) == problem.top(n)


@given(problems(), st.integers(1, 4), st.integers(1, 4))
def test_a_narrow_beam(problem, n, width):
    """Real paths with their real scores, in order, never better than the exact ones; some path if there is any."""
    found = SEARCH.beam(loaded(problem), n, width)
    assert bool(found) == problem.possible
    assert len({tuple(labels) for _, labels in found}) == len(found) <= n
    for (score, labels), (best, _) in zip(found, problem.paths, strict=False):
        assert score == problem.score(labels) <= best
    assert found == sorted(found, key=lambda path: -path[0])


def beam_of(problem, n, width, ratio=0.0):
    """What a beam finds, step by step: its partial paths stay in order, by the score, the label, the way into it, and the same of the
    position before."""
    layer = sorted((-problem.node(0, j), j, 0.0, 0, 0, [j]) for j in range(problem.labels) if problem.node(0, j) > -inf)[:width]
    for t in range(1, problem.length):
        ways = [
            (problem.edge(t, path[-1], j) - score, j, path, rank)
            for rank, (score, *_, path) in enumerate(layer)
            for j in range(problem.labels)
        ]
        layer = sorted(
            (-(way + problem.node(t, j)), j, -way, path[-1], rank, [*path, j]) for way, j, path, rank in ways if way + problem.node(t, j) > -inf
        )[:width]
        if not layer:
            return problem.top(n)
    return [(-score, path) for score, *_, path in layer[:n] if exp(layer[0][0] - score) >= ratio]


@thorough
@given(problems(scores=("ties", "plain", "mixed"), zeros=True), st.integers(1, 4), st.integers(0, 8), st.sampled_from([0.0, 0.05, 0.6]))
def test_a_beam_by_its_definition(problem, n, more, ratio):
    """Whether the exact search finds its paths or it does itself, and whatever form steps have."""
    lattice, wanted = loaded(problem), beam_of(problem, n, n + more, ratio)
    for lists in ("none", "changes", "listed", "shared", "all"):
        lattice.use_lists(lists)
        assert SEARCH.beam(lattice, n, n + more, ratio) == wanted


@pytest.mark.parametrize("width", [3, 12, 40])
@pytest.mark.parametrize("nodes", [(0, 1), (0, 1, 2, 3, 4, 5, 6, 7)])
def test_a_beam_over_lists_of_many_labels(width, nodes):
    """Most labels go on alike, and many tie; pairs are better or worse than that, or forbidden."""
    for seed in range(12):
        draw = random.Random(seed)
        tau = [[draw.choice([0.0] * 9 + [-1.0, 0.5, 2.0, -inf]) for _ in range(24)] for _ in range(24)]
        problem = Problem([[float(draw.choice(nodes)) for _ in range(24)] for _ in range(5)], tau, {})
        lattice = loaded(problem)
        lattice.use_lists("shared")
        assert SEARCH.beam(lattice, 3, width) == beam_of(problem, 3, width)


@pytest.mark.parametrize(("labels", "length", "width"), [(2, 450, 3), (2, 200, 40), (12, 30, 20), (9, 20, 200)])
@pytest.mark.parametrize("spread", [1, 6])
def test_longer_sequences_in_a_beam(labels, length, width, spread):
    rng = random.Random(length + spread)

    def matrix(rows):
        return [[rng.gauss(0, spread) for _ in range(labels)] for _ in range(rows)]

    problem = Problem(matrix(length), matrix(labels), {t: matrix(labels) for t in range(2, length, 3)})
    for ratio in (0.0, 0.05):
        assert SEARCH.beam(loaded(problem), 3, width, ratio) == beam_of(problem, 3, width, ratio)


def test_two_paths_that_stay_in_the_beam_need_no_beam():
    """They are known from Viterbi's tables, which must still be there when it is counted how many prefixes come before theirs."""
    rng = random.Random(1)
    lattice, search = OpenLattice(9), OpenSearch()
    nodes = [[rng.gauss(0, 2) + 9 * (j == t % 9) for j in range(9)] for t in range(25)]
    lattice.load(nodes, [[rng.gauss(0, 1) for _ in range(9)] for _ in range(9)])
    assert search.beam(lattice, 2) == search.nbest(lattice, 2) and not search.extended


def test_a_beam_that_runs_into_a_dead_end():
    """The best partial paths cannot go on: the exact search answers."""
    lattice = loaded(Problem([[5.0, 0.0], [0.0, 0.0]], [[-inf, -inf], [1.0, 2.0]]))
    assert SEARCH.beam(lattice, 1, width=1) == [(2.0, [1, 1])]


def test_a_hundred_thousand_positions():
    """The way back to the beginning is walked, not recursed."""
    length = 100_000
    rng = random.Random(1)
    lattice = loaded(Problem([[float(rng.randint(0, 3)), 1.5] for _ in range(length)], [[0.0, -0.5], [-0.5, 0.0]]))
    found = SEARCH.nbest(lattice, 3)
    assert found[0] == lattice.viterbi()
    assert len({tuple(labels) for _, labels in found}) == 3
    assert [lattice.path_score(labels) for _, labels in found] == [score for score, _ in found]


def test_no_path_and_none_wanted():
    lattice = loaded(Problem([[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]))
    assert SEARCH.nbest(lattice, 0) == SEARCH.beam(lattice, 0) == []
    lattice.forbid([[0, 0], [0, 0]])
    assert SEARCH.nbest(lattice, 5) == SEARCH.beam(lattice, 5) == []
