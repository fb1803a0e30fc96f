"""The objective of the batch trainers and its gradient, against a slow twin, finite differences, and itself."""

import array
import math
import os
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random

import pytest
from commands import python
from hypothesis import given
from hypothesis import strategies as st
from trainers.samples import assert_close, many_labels
from trainers.twins import Built, Corpus, Sample, corpora, expectations, objective, problem, viterbi, weighted

from crfkit import constants, parallel
from crfkit.data.dataset import Dataset
from crfkit.testing import forms_of, value_at, visits_of
from crfkit.trainers.batch.objective import Objective, paying_threads
from crfkit.trainers.batch.quanta import largest_factors, sums_of_terms
from crfkit.trainers.batch.visits import bytes_of_visits

L2 = st.sampled_from([0.0, 0.5, 2.0])


@given(corpora(labels=st.integers(1, 3)), st.data())
def test_the_twin_agrees_with_enumeration(corpus, data):
    weights = weighted(data.draw, corpus.features())
    for sample in corpus.samples:
        p = problem(weights, sample, corpus.n_labels)
        log_z, nodes, pairs = expectations(p)
        assert log_z == pytest.approx(p.log_z, rel=1e-12, abs=1e-12)
        assert nodes == [pytest.approx(row, abs=1e-12) for row in p.node_marginals()]
        for t in pairs:
            assert pairs[t] == [pytest.approx(row, abs=1e-12) for row in p.pair_marginals(t)]
        assert viterbi(p) == p.best()[1]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=12, max_size=12), st.booleans(), st.data())
def test_values_of_zero_are_not_visited(values, every, data):
    """As if the tokens had no such attributes: the same bits. There is another value, as data that have none are another thing."""
    tokens = [[(0, 2.0), *enumerate(values[t : t + 3], 1)] for t in range(0, 12, 3)]
    built = Built(Corpus([Sample([0, 1], tokens[:2], [[]] * 2), Sample([1, 2], tokens[2:], [[]] * 2)], 3, 4, u_all={0, 1, 2, 3} if every else {1}))
    left = [[one for one in token if one[1]] for token in given_of(built.dataset)]
    ends = list(accumulate(map(len, left), initial=0))
    ids, others = ([one[k] for token in left for one in token] for k in (0, 1))
    arrays = built.dataset.arrays()
    less = Dataset(arrays["seq_ptr"], ends, ids, others, label=arrays["label"], n_u=built.dataset.n_u, labels=built.dataset.labels)
    assert visits_of(built.dataset, built.layout) == visits_of(less, built.layout)
    assert bytes_of_visits(built.dataset, built.layout, 1) == bytes_of_visits(less, built.layout, 1)
    weights = array.array("d", data.draw(st.lists(st.floats(-2, 2, width=32), min_size=built.layout.n_cells, max_size=built.layout.n_cells)))
    assert value_at(Objective(built.dataset, built.layout, 0.5, 1), weights) == value_at(Objective(less, built.layout, 0.5, 1), weights)


@given(st.lists(st.booleans(), min_size=12, max_size=12), st.booleans(), st.data())
def test_values_of_one_need_not_be_listed(values, every, data):
    """The same bits as where another sequence has another value, for which they are listed; and they take no memory. Attribute 5 has one label."""
    tokens = [[(0, 0.0), *enumerate(map(float, values[t : t + 3]), 1), *[(5, 1.0)] * (t in (3, 6))] for t in range(0, 12, 3)]
    samples = [Sample([0, 1], tokens[:2], [[]] * 2), Sample([1, 2], tokens[2:], [[]] * 2)]
    ones, others = (Built(Corpus([*samples, *more], 3, 6, u_all={1, 2, 3} if every else {1})) for more in ((), [Sample([0], [[(4, 2.0)]], [[]])]))
    weights = {feature: data.draw(st.floats(-2, 2, width=32)) for feature in sorted(ones.corpus.features())}
    found = [built.to_weights(value_at(Objective(built.dataset, built.layout, 0.5, 1), built.to_cells(weights, "d"))[1]) for built in (ones, others)]
    assert [found[0][feature] for feature in weights if feature[0] == "U"] == [found[1][feature] for feature in weights if feature[0] == "U"]
    left = [[a for a, value in token if value] for token in given_of(ones.dataset)]
    arrays = ones.dataset.arrays()
    none = Dataset(arrays["seq_ptr"], [*accumulate(map(len, left), initial=0)], [a for token in left for a in token], label=arrays["label"], n_u=ones.dataset.n_u)
    assert bytes_of_visits(ones.dataset, ones.layout, 1) == bytes_of_visits(none, ones.layout, 1)


@pytest.mark.parametrize(("every", "size"), [(False, 2 * (4 + 2)), (True, 4)])
def test_what_visits_take(every, size):
    """A place and a label for each label of an attribute, or, where it has all labels, only the place of its weights."""
    built = Built(Corpus([Sample([0, 1], [[(0, 1.0), (1, 1.0)]] * 2, [[], []])] * 3, 20, 2, u_all={0, 1} if every else set()))
    assert bytes_of_visits(built.dataset, built.layout, 1) == 6 * (24 + 2 * size)


def given_of(dataset):
    arrays = dataset.arrays()
    pairs = list(zip(arrays["u_id"], arrays["u_val"], strict=True))
    return [pairs[begin:end] for begin, end in pairwise(arrays["u_ptr"])]


def agrees_with_the_twin(built, weights, l2, recursions, **precision):
    f, gradient = value_at(Objective(built.dataset, built.layout, l2, 1, recursions), built.to_cells(weights, "d"))
    expected_f, expected = objective(weights, built.corpus, l2)
    assert f == pytest.approx(expected_f, **precision)
    assert built.to_weights(gradient) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(corpora(), L2, st.sampled_from(["dense", "sparse"]), st.data())
def test_value_and_gradient_are_those_of_the_twin(corpus, l2, recursions, data):
    weights = weighted(data.draw, corpus.features())
    if data.draw(st.booleans()):
        weights = {feature: w if data.draw(st.booleans()) else 0.0 for feature, w in weights.items()}
    agrees_with_the_twin(Built(corpus), weights, l2, recursions, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("wide", "rich"), [(3.0, False), (40.0, False), (3.0, True), (900.0, True)])
def test_lists_of_many_labels_are_those_of_the_twin(wide, rich):
    """Of lengths from none to many, of labels most of which have no feature at a position; and of pairs that hardly can be. Steps with rich
    attributes are changes of them, with weights so far apart, too, that sums are those of logarithms."""
    corpus = many_labels(130, 3, 9, rich)
    built, rng = Built(corpus), Random(1)
    weights = {feature: float(rng.choice([0, rng.randint(-8, 8) * wide / 8])) for feature in sorted(corpus.features(), key=str)}
    expected_f, expected = objective(weights, corpus, 0.5)
    for recursions, threads in (("auto", 1), ("sparse", 3), ("dense", 1)):
        of_all = Objective(built.dataset, built.layout, 0.5, threads, recursions, chunks=array.array("q", range(4)))
        f, gradient = value_at(of_all, built.to_cells(weights, "d"))
        assert f == pytest.approx(expected_f, rel=1e-10)
        assert_close(built.to_weights(gradient), expected, rel=1e-9, abs=1e-9)
        assert recursions != "auto" or {*forms_of(of_all)} == ({"changes of a list"} if rich else set())


@pytest.mark.parametrize("rich", [False, True])
@pytest.mark.parametrize("recursions", ["dense", "sparse"])
def test_labels_that_are_beside_all_others(recursions, rich):
    """As what is outside of all chunks: they have far more pairs than most."""
    labels, rng = 30, Random(2)
    order = [label for j in range(1, labels) for label in (0, j)] + [0, 5, 5, 7, 0]
    tokens = [[(rng.randrange(5), 1.0)] for _ in order]
    edges = [[(rng.randrange(3), 1.0)] * (rich and rng.random() < 0.7) for _ in order]
    corpus = Corpus([Sample(order[k : k + 9], tokens[k : k + 9], edges[k : k + 9]) for k in range(0, len(order), 8)], labels, 5, 3 * rich, u_all={1, 2})
    weights = {feature: rng.randint(-32, 32) / 8 for feature in sorted(corpus.features(), key=str)}
    agrees_with_the_twin(Built(corpus), weights, 0.5, recursions, rel=1e-11)


@given(corpora(), L2, st.data())
def test_the_gradient_is_the_slope(corpus, l2, data):
    built = Built(corpus)
    features = sorted(corpus.features(), key=str)
    f = Objective(built.dataset, built.layout, l2, 1)
    x = built.to_cells(weighted(data.draw, features), "d")
    gradient = value_at(f, x)[1]
    cell = built.cells[data.draw(st.sampled_from(features))]
    step = 2.0**-10  # weights are seen in single precision: this far they move exactly
    there, back = x[:], x[:]
    there[cell] += step
    back[cell] -= step
    assert (value_at(f, there)[0] - value_at(f, back)[0]) / (2 * step) == pytest.approx(gradient[cell], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("processors", "small", "large"), [(1, 1, 1), (3, 2, 3)])
def test_as_many_threads_as_pay(processors, small, large, monkeypatch):
    """Two, or more where there is much to do for each weight, and never more than there are processors."""
    monkeypatch.setattr(parallel, "available_cpus", lambda: processors)
    for corpus, n in (Corpus([Sample([0], [[(0, 1.0)]], [[]])], 30, 1, tau_all=True), small), (many_labels(), large):
        built = Built(corpus)
        assert paying_threads(built.dataset, built.layout) == n


def test_a_point_of_another_layout_is_refused():
    built = Built(Corpus([Sample([0, 1], [[(0, 1.0)], []], [[], []])], 2, 1))
    with pytest.raises(ValueError, match="another layout"):
        value_at(Objective(built.dataset, built.layout, 0.0, 1), built.to_cells({}, "d")[:-1])


@pytest.mark.parametrize("recursions", ["dense", "sparse"])
def test_extreme_weights_stay_finite(recursions):
    corpus = Corpus([Sample([0, 1, 0], [[(0, 1.0)]] * 3, [[], [(0, 1.0)], []])], 2, 1, 1, tau_all=True, u_all={0})
    weights = {feature: 1000.0 * (-1) ** sum(feature[1:]) for feature in corpus.features()}
    agrees_with_the_twin(Built(corpus), weights, 0.0, recursions, rel=1e-12)


@pytest.mark.parametrize("low", [-250.0, -800.0])
@pytest.mark.parametrize("recursions", ["sparse", "dense"])
def test_all_label_pairs_are_far_below_zero(recursions, low):
    """Where a pair without a feature, or weight, would be."""
    corpus = Corpus([Sample([0, 1, 2, 2, 0], [[(j, 1.0)] for j in (0, 1, 1, 0, 1)], [[]] * 5)], 3, 2, tau_all=True)
    weights = {feature: low + feature[1] - feature[2] / 2 if feature[0] == "T" else 0.5 for feature in corpus.features()}
    agrees_with_the_twin(Built(corpus), weights, 0.0, recursions, rel=1e-10)


@pytest.mark.parametrize("size", [1e6, 1e12, 1e20])
@pytest.mark.parametrize("dense", [True, False])
def test_large_values_do_not_blur_small_ones(size, dense):
    """Terms are rounded as befits the values of their own attribute, which has weights for all labels or for two of nine."""
    random = Random(3)

    def items(a):
        return [(a, random.gauss(0, size)), (a + 1, random.gauss(0, 1))]

    samples = [Sample([random.randrange(2) for _ in range(4)], [items(0) for _ in range(4)], [items(0) for _ in range(4)]) for _ in range(30)]
    built = Built(Corpus(samples, 2 if dense else 9, 2, 2, u_all={0, 1} if dense else set(), b_all={0, 1}, tau_all=True))
    assert built.layout.hot == (2 if dense else 0)
    weights = {f: random.gauss(0, 0.5) / (size if f[0] != "T" and f[1] == 0 else 1) for f in sorted(built.corpus.features(), key=str)}
    point = built.to_cells(weights, "d")
    exact = {f: float(array.array("f", [w])[0]) for f, w in weights.items()}  # as scores are made of them
    found = built.to_weights(value_at(Objective(built.dataset, built.layout, 0.0, 1), point)[1])
    expected = objective(exact, built.corpus, 0.0)[1]
    for feature, slope in expected.items():
        assert found[feature] == pytest.approx(slope, abs=1e-6 * (size if feature[0] != "T" and feature[1] == 0 else 1))


@pytest.mark.steady
@pytest.mark.parametrize("threads", [1, 2])
def test_an_evaluation_given_up_leaves_nothing_behind(threads):
    built, cells = points()
    for recursions, point in cells.items():
        objective = Objective(built.dataset, built.layout, 1.0, threads, recursions)
        expected = value_at(objective, point)
        assert value_at(objective, point, expected[0]) == expected
        assert value_at(objective, point, 0.3 * expected[0])[0] == math.inf
        assert value_at(objective, point) == expected


# --- the same bits ------------------------------------------------------------------------------------------------


def large() -> Corpus:
    """Random samples, enough for several chunks: values, weights, repeated attributes, rich edges, cold rows."""
    random = Random(1)

    def items(n, most):
        return [(int(n * random.random() ** 4), random.choice([1.0, random.gauss(0, 3)])) for _ in range(random.randrange(most))]

    def sample():
        length = random.randrange(1, 30)
        return Sample(
            [min(int(random.expovariate(0.5)), 8) for _ in range(length)],
            [items(2000, 8) for _ in range(length)],
            [items(20, 3) for _ in range(length)],
            random.choice([1.0, 1.0, 0.3, 2.7]),
        )

    return Corpus([sample() for _ in range(320)], 9, 2000, 20, u_all=set(range(0, 300, 7)), b_all={3})


@cache
def points():
    """The samples, and a random point for both kinds of recursions."""
    corpus = large()
    built, found = Built(corpus), {}
    assert 0 < built.layout.hot < built.layout.n_attributes[0]
    for recursions, share in (("dense", 1.0), ("sparse", 0.2)):
        random = Random(2)
        weights = {f: random.gauss(0, 1) * (f[0] == "U" or random.random() < share) for f in sorted(corpus.features(), key=str)}
        found[recursions] = built.to_cells(weights, "d")
    return built, found


def bits(threads: int) -> str:
    """Values and gradients at these points, to the last bit."""
    built, cells = points()
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "CHUNK_TOKENS", 256)  # so that there are many of them
        for recursions, point in cells.items():
            f, gradient = value_at(Objective(built.dataset, built.layout, 1.0, threads, recursions), point)
            found.append(f"{f.hex()}-{gradient.tobytes().hex()}")
    return "-".join(found)


@pytest.fixture(scope="module")
def on_one_thread():
    return bits(1)


@pytest.mark.steady
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(on_one_thread, threads):
    for _ in range(3):
        assert bits(threads) == on_one_thread


@pytest.mark.long
@pytest.mark.parametrize("variant", ["base", "avx2", "avx512"])
def test_every_variant_of_the_loops_gives_the_same_bits(on_one_thread, variant):
    program = "from trainers.test_objective import bits; from crfkit.loops.kernels import variant; print(variant(), bits(2))"
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH")]))
    found = python(program, env={**os.environ, "CRFKIT_SIMD": variant, "PYTHONPATH": path}, code=None)
    if "no such variant on this processor" in found.stderr:
        pytest.skip(f"no {variant} here")
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == f"{variant} {on_one_thread}"


@given(st.integers(2, 40), st.data())
def test_sums_are_exact_however_often_an_attribute_repeats(copies, data):
    """The bound that the rounding of gradient terms relies on: each token has the same attribute many times. Chunks, whose sums are the terms of
    label pairs, are single sequences."""
    samples = [Sample([0, 1], [[(0, 1.0)] * copies] * 2, [[], []], 3.0), Sample([1], [[(0, 2.75)] * copies], [[]])]
    built = Built(Corpus(samples * data.draw(st.integers(1, 20)), 2, 1))
    backwards = Built(Corpus(built.corpus.samples[::-1], 2, 1))
    weights = weighted(data.draw, built.corpus.features())
    chunks = array.array("q", range(len(built.corpus.samples) + 1))
    first, second = (
        b.to_weights(value_at(Objective(b.dataset, b.layout, 0.0, 1, chunks=chunks), b.to_cells(weights, "d"))[1]) for b in (built, backwards)
    )
    assert first == second


def test_sums_of_terms_do_not_depend_on_the_parts_of_the_data():
    """To the last bit; and each is a bound on what it stands for."""
    random = Random(5)
    values, weights = ([random.gauss(0, 3) for _ in range(1000)] for _ in range(2))

    def part(first, last):
        n = last - first
        return Dataset(range(n + 1), range(n + 1), [0] * n, values[first:last], label=[0] * n, seq_weight=list(map(abs, weights[first:last])), n_u=1)

    largest = largest_factors(part(0, 1000))
    whole, *parts = (sums_of_terms(part(*ends), largest) for ends in ((0, 1000), (0, 10), (10, 300), (300, 1000)))
    assert list(whole) == [sum(terms) for terms in zip(*parts, strict=True)]
    exact = [sum(map(abs, weights)), sum(abs(v * w) for v, w in zip(values, weights, strict=True))]
    assert all(x <= bound * (1 + 1e-6) and bound < x * (1 + 1e-4) for x, bound in zip(exact, whole, strict=True))
