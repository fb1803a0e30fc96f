"""The sparse recursions, compared with enumeration and with the dense ones."""

import random
from itertools import product
from math import exp, fsum, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import apart, check_expectations, loaded, problems, thorough
from reference import Problem

from crfkit.errors import TrainingError
from crfkit.testing import most_pairs
from crfkit.testing_lattices import OpenLattice, OpenSearch


@thorough
@given(problems(zeros=True), st.sampled_from(["shared", "all"]))
def test_agrees_with_enumeration(problem, lists):
    lattice = loaded(problem)
    pairs = list(product(range(problem.labels), repeat=2))
    active = [(i, j) for i, j in pairs if problem.tau[i][j] or (problem.transitions and not problem.transitions[i][j])]
    assert lattice.use_lists(lists) == len(active)
    if not problem.possible:
        for verb in (lattice.viterbi, lattice.expect):
            with pytest.raises(TrainingError, match="no sequence of labels is possible"):
                verb()
        return
    assert lattice.viterbi() == problem.best()
    check_expectations(lattice, problem)


@thorough
@given(problems(zeros=True), st.sampled_from(["rows", "changes", "listed"]))
def test_rows_that_are_not_looked_at_make_no_difference(problem, form):
    lattice = loaded(problem)
    lattice.use_lists(form)
    if problem.possible:
        assert lattice.viterbi() == problem.best()
        check_expectations(lattice, problem)
        assert lattice.viterbi() == problem.best()
    else:
        with pytest.raises(TrainingError, match="no sequence of labels is possible"):
            lattice.viterbi()


@given(problems(zeros=True, constraints=False, scores=("ties", "plain", "wide", "mixed")), st.sampled_from(["changes", "listed", "shared", "all"]))
def test_cancellation_costs_no_digits(problem, lists):
    """Small marginals are as exact as those of the dense loop, which has no subtraction."""
    lattice = loaded(problem)
    results = []
    for which in ("none", lists):
        lattice.use_lists(which)
        lattice.expect()
        results.append([*lattice.nodes(), *(row for t in range(1, problem.length) for row in lattice.pair(t))])
    for dense, sparse in zip(*results, strict=True):
        assert sparse == pytest.approx(dense, rel=1e-10, abs=1e-290)


@given(problems(zeros=True), st.integers(1, 9), st.integers(1, 9))
def test_searches_find_the_same_paths(problem, n, width):
    """Exactly, and by a beam that is too narrow: the same paths with the same bits, whatever form steps have."""
    lattice, search = loaded(problem), OpenSearch()
    found = {}
    for which in ("none", "rows", "changes", "listed", "shared", "all"):
        lattice.use_lists(which)
        found[which] = [search.nbest(lattice, n), search.nbest(lattice, n, 0.1), search.beam(lattice, n, width)]
        found[which] += [lattice.path_score(path) for _, path in found[which][0]]
    assert all(others == found["none"] for others in found.values())


@pytest.mark.parametrize("form", ["none", "changes", "listed", "shared", "all"])
def test_a_beam_knows_what_a_step_lowers(form):
    """The pair that most paths take is worth 3 elsewhere, here 1: by that score, the second path would seem too bad to be kept."""
    problem = Problem([[0.0, 2.0], [-3.0, 1.0], [-1.0, 3.0]], [[0.0, 0.0], [0.0, 3.0]], {2: [[0.0, 0.0], [0.0, 1.0]]})
    lattice = loaded(problem)
    lattice.use_lists(form)
    assert OpenSearch().beam(lattice, 2, 2) == problem.top(2)


@pytest.mark.parametrize("form", ["rows", "changes", "listed"])
def test_a_pair_of_one_step_makes_its_row_promising(form):
    """Elsewhere, nothing after the label before is worth as much as what its node lacks."""
    plain = [[0.0] * 9 for _ in range(9)]
    step = [[20.0 * (i == 7 and j == 3) for j in range(9)] for i in range(9)]
    problem = Problem([[5.0] + [0.0] * 8, [0.0] * 9], plain, {1: step})
    lattice = loaded(problem)
    lattice.use_lists(form)
    assert lattice.viterbi() == problem.best() == (20.0, [7, 3])


@pytest.mark.parametrize("weight", [-2.0, -12.0, -40.0, -600.0])
@pytest.mark.parametrize("labels", [6, 20])
def test_a_label_that_nearly_nothing_leads_to(labels, weight):
    """All the mass is on labels with a large negative weight towards label 0: 1 - (1 - exp(weight)) must not be a rounding
    error. Other labels, in other vectors of the loops, have a pair each that is none."""
    nodes = [[-30.0] + [0.0] * (labels - 1), [0.0] * labels]
    tau = [[0.0] * labels] + [[weight] + [0.5 if i == j else 0.0 for j in range(1, labels)] for i in range(1, labels)]
    lattice = loaded(Problem(nodes, tau))
    lattice.use_lists("shared")
    lattice.expect()
    ways = [exp(node + row[0]) for node, row in zip(nodes[0], tau, strict=True)]
    rest = (labels - 1) * (exp(-30.0) + labels - 2 + exp(0.5))
    assert lattice.nodes()[1][0] == pytest.approx(fsum(ways) / (fsum(ways) + rest), rel=1e-11, abs=0)


@pytest.mark.parametrize("weight", [-2.0, -700.0, -1500.0, -2100.0, -5000.0])
def test_every_pair_is_on_the_list_and_far_below_zero(weight):
    """No pair has the weight zero, whose potential is exp(-weight) times theirs: too large for a number."""
    lattice = loaded(Problem([[0.0] * 3 for _ in range(4)], [[weight] * 3 for _ in range(3)]))
    lattice.use_lists("shared")
    assert lattice.expect() == pytest.approx(3 * weight + 4 * log(3), rel=1e-12)
    assert lattice.nodes() == [pytest.approx([1 / 3] * 3, rel=1e-12)] * 4


@pytest.mark.parametrize("labels", [1, 8, 9, 30, 100])
@pytest.mark.parametrize("density", [0.0, 0.03, 0.3, 1.0])
@pytest.mark.parametrize("lists", ["rows", "shared", "all"])
def test_many_labels(labels, density, lists):
    """The same numbers as the dense loops; the same best path to the last bit, ties included."""
    rng = random.Random(labels)

    def matrix(rows, density=1.0, high=9):
        return [
            [float(rng.randint(-9, high)) if rng.random() < density else 0.0 for _ in range(labels)]
            for _ in range(rows)
        ]

    dense, sparse = OpenLattice(labels), OpenLattice(labels)
    for high in (9, 0, 0):  # each search finds what the one before left; pairs that are not listed matter most where all others are below 0
        scores = matrix(9), matrix(labels, density, high), {t: matrix(labels, density, high) for t in (2, 5)} if lists == "all" else {}
        for lattice in (dense, sparse):
            lattice.load(*scores)
        sparse.use_lists(lists)
        assert sparse.viterbi() == dense.viterbi()
    assert sparse.expect() == pytest.approx(dense.expect(), rel=1e-12)
    assert not apart(sparse.nodes(), dense.nodes(), rel=1e-10, abs=1e-14).any()


@pytest.mark.parametrize("lists", ["shared", "listed"])
@pytest.mark.parametrize("labels", [20, 41, 65])
def test_two_labels_that_have_pairs_with_all(labels, lists):
    """Their sums go on in further lanes. One is as good as forbidden before and after nearly all."""
    rng = random.Random(labels)
    nodes, far = [[rng.uniform(-1, 1) for _ in range(labels)] for _ in range(9)], labels - 3
    tau = [[rng.uniform(-1, 1) if i == j or 0 in (i, j) else 0.0 for j in range(labels)] for i in range(labels)]
    for j in range(1, labels - 1):
        tau[far][j] = tau[j][far] = -60.0
    own = {t: [[cell + 1 if (i, j) in ((0, t), (t, 0), (t, t)) else cell for j, cell in enumerate(row)] for i, row in enumerate(tau)] for t in (2, 5)}
    dense, sparse = OpenLattice(labels), OpenLattice(labels)
    for lattice in (dense, sparse):
        lattice.load(nodes, tau, own)
    sparse.use_lists(lists)
    assert sparse.expect() == pytest.approx(dense.expect(), rel=1e-13)
    for one, other in ((sparse.nodes(), dense.nodes()), (sparse.pair_sums(), dense.pair_sums())):
        assert not apart(one, other, rel=1e-10, abs=1e-290).any()


@pytest.mark.parametrize("high", [40.0, 51.0, 300.0])
def test_a_score_far_above_those_of_the_shared_step(high):
    """Potentials are divided by the largest shared one, however far a step has one above it."""
    labels, rng = 12, random.Random(1)
    nodes = [[rng.uniform(-1, 1) for _ in range(labels)] for _ in range(4)]
    tau = [[rng.uniform(-1, 1) if (i + j) % 3 == 0 else 0.0 for j in range(labels)] for i in range(labels)]
    own = {t: [list(row) for row in tau] for t in (1, 3)}
    own[1][2][5], own[3][1][1] = high, -high
    dense, sparse = OpenLattice(labels), OpenLattice(labels)
    for lattice in (dense, sparse):
        lattice.load(nodes, tau, own)
    sparse.use_lists("all")
    assert sparse.expect() == pytest.approx(dense.expect(), rel=1e-12)
    assert not apart(sparse.nodes(), dense.nodes(), rel=1e-10, abs=1e-14).any()


@pytest.mark.parametrize("high", [(60.0,), (200.0, 220.0, 320.0)])
def test_every_step_has_a_score_far_above_those_of_the_shared_one(high):
    """A product of three sums is beyond all numbers. All but one path are negligible."""
    n, length = 12, 10
    tau = [[0.0] * n for _ in range(n)]
    tau[0][1] = 0.5
    own = {t: [[high[t % len(high)] if i == j == 3 else x for j, x in enumerate(row)] for i, row in enumerate(tau)] for t in range(1, length)}
    lattice = loaded(Problem([[0.0] * n for _ in range(length)], tau, own))
    lattice.use_lists("all")
    assert lattice.expect() == pytest.approx(sum(own[t][3][3] for t in own), rel=1e-12)
    assert [row[3] for row in lattice.nodes()] == pytest.approx([1.0] * length, rel=1e-12)


@pytest.mark.parametrize("lists", ["none", "changes", "listed", "all"])
@pytest.mark.parametrize("high", [200.0, 400.0])
def test_sums_may_be_asked_for_again(high, lists):
    """Between numbers, or logarithms where scores lie too far apart: the potentials that are there already do not tell how far."""
    tau = [[0.0, 0.5, 0.0], [0.0] * 3, [0.0, 0.0, 1.0]]
    own = {t: [[0.0, 0.5, high], [0.0] * 3, [high, 0.0, 1.0]] for t in (1, 2, 3)}
    lattice = loaded(Problem([[0.0, 1.0, 2.0]] * 4, tau, own))
    lattice.use_lists(lists)
    for _ in range(2):
        assert lattice.expect() == pytest.approx(3 * high + 4 + log(2), rel=1e-12)
        assert lattice.nodes()[1] == pytest.approx([0.5, 0.0, 0.5], rel=1e-12)


@pytest.mark.parametrize("low", [-250.0, -800.0])
def test_a_step_with_all_scores_far_below_those_of_the_shared_one(low):
    lattice = loaded(Problem([[0.0] * 3 for _ in range(4)], [[0.0, 1.0, 0.0]] + [[0.0] * 3] * 2, {2: [[low] * 3 for _ in range(3)]}))
    lattice.use_lists("all")
    ways = 8 + exp(1)
    assert lattice.expect() == pytest.approx(low + 2 * log(ways), rel=1e-12)
    assert lattice.nodes()[2] == pytest.approx([(2 + exp(1)) / ways, 3 / ways, 3 / ways], rel=1e-12)


def test_allowed_labels_and_active_rows():
    """All of the best previous labels are active; the best inactive one must be found, too."""
    labels = 20
    tau = [[-5.0] * labels if i < 15 else [0.0] * labels for i in range(labels)]
    for lists in ("none", "rows", "shared"):
        lattice = loaded(Problem([[float(labels - i) for i in range(labels)], [0.0] * labels], tau))
        lattice.use_lists(lists)
        assert lattice.viterbi() == (15.0, [0, 0])
        lattice.allow([[0] + [1] * (labels - 1), [0, 1] * (labels // 2)])
        assert lattice.viterbi() == (14.0, [1, 1])
        lattice.load([[0.0] * labels, [0.0] * labels], tau)
        assert lattice.viterbi() == (0.0, [15, 0])


@pytest.mark.parametrize("labels", [8, 33, 40])
@pytest.mark.parametrize("lists", ["none", "rows", "shared"])
def test_the_best_label_leads_badly_to_one(labels, lists):
    """To any other label it leads better than all others do, so only the step into that one tells which rows matter."""
    for to in range(labels):
        tau = [[0.0] * labels for _ in range(labels)]
        tau[3][to] = -10.0
        lattice = loaded(Problem([[0.0 if i == 3 else -5.0 if i == 6 else -50.0 for i in range(labels)], [0.0 if j == to else -90.0 for j in range(labels)]], tau))
        lattice.use_lists(lists)
        assert lattice.viterbi() == (-5.0, [6, to])


@pytest.mark.long
def test_two_hundred_thousand_positions():
    rng = random.Random(5)
    dense, sparse = OpenLattice(3), OpenLattice(3)
    nodes = [[rng.uniform(-9, 9) for _ in range(3)] for _ in range(200_000)]
    for lattice in (dense, sparse):
        lattice.load(nodes, [[0, 0, 2.0], [0, -3.0, 0], [0, 0, 0]])
    sparse.use_lists("shared")
    assert sparse.expect() == pytest.approx(dense.expect(), rel=1e-12)
    assert sparse.viterbi() == dense.viterbi()


@pytest.mark.parametrize(
    ("labels", "part", "summed"), [(2, None, None), (47, None, None), (48, 32, 8), (87, 32, 8), (88, 11, 4), (400, 11, 4)]
)
def test_the_choice_between_lists_and_matrices(labels, part, summed):
    """Lists of a 32nd of all pairs, or of an eleventh where labels are many, are faster than matrices, and four and nearly three times as long ones
    for sums alone: benchmarks/sparse_threshold.py."""
    assert most_pairs(labels, "auto") == (-1 if part is None else labels * labels // part)
    assert most_pairs(labels, "auto", True) == (-1 if summed is None else labels * labels // summed)
    assert most_pairs(labels, "sparse") == labels * labels
    assert most_pairs(labels, "dense") == -1


def test_how_many_pairs_are_listed():
    assert loaded(Problem([[0.0, 1.0]], [[0.0, 1.0], [-inf, 0.0]])).use_lists("shared") == 2
