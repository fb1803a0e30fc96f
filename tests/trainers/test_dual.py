"""Dual coordinate ascent: its weights follow from its dual variables, and it ends at the optimum of L-BFGS."""

import array
import itertools
from dataclasses import replace
from math import inf

import pytest
from commands import memory_told, plain_build, python
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import Problem
from trainers.choices import left_open, opened
from trainers.samples import Numbers, end, many_labels, options_of, read, sentences, trainer_of, with_passes
from trainers.twins import Built, Corpus, Sample, corpora, expectations, objective, problem, seeded

from crfkit.learning.corpus import read_corpus
from crfkit.learning.reader import Reader
from crfkit.options import Run
from crfkit.options import trainers as options
from crfkit.template.parsing import Template
from crfkit.testing import curvature_of
from crfkit.trainers.batch.dual import DualAscent, dual_bytes
from crfkit.trainers.batch.lbfgs import Lbfgs, warm_up_bytes

SAFETY, LARGEST, TRUST, TYPICAL, GROWTH = 0.7, 0.5, 2.0, 2.0, 3.0
USUAL_CURVATURE, CURVATURES, SHORT = 0.5, (1e-3, 16.0), 0.4


class Twin:
    """The dual variables themselves, of every node and every edge; weights are computed from them, from nothing else. `choices`: the
    labels that each token may have, where not all are given."""

    def __init__(self, corpus, l2, choices=None):
        self.corpus, self.l2, self.choices = corpus, l2, choices
        self.labels = [sample.labels for sample in corpus.samples]
        if choices is not None:     # the first that a token may have
            self.labels = [[0 if choice is None else choice[0] for choice in of_sample] for of_sample in choices]
        self.features = corpus.features()
        self.used = {feature[:2] for feature in self.features}
        # of all labellings, and of those that may be true
        self.variables, self.observed = ([self.zeros(sample) for sample in corpus.samples] for _ in range(2))
        self.curvatures, self.usual, self.passes = [None] * len(corpus.samples), USUAL_CURVATURE, 0
        self.left, self.told, self.seen = [0.0] * len(corpus.samples), [0.0] * len(corpus.samples), []

    def zeros(self, sample):
        n = self.corpus.n_labels
        return [[0.0] * n for _ in sample.labels], {t: [[0.0] * n for _ in range(n)] for t in range(1, len(sample))}

    def weights(self):
        found = dict.fromkeys(self.features, 0.0)

        def add(feature, value):
            if feature in found:
                found[feature] -= value / self.l2

        labels = range(self.corpus.n_labels)
        for sign, variables in ((1, self.variables), (-1, self.observed)):
            for sample, (nodes, pairs) in zip(self.corpus.samples, variables, strict=True):
                weight = sign * sample.weight
                for t, row in enumerate(nodes):
                    for j in labels:
                        for a, v in sample.unigrams[t]:
                            add(("U", a, j), weight * v * row[j])
                        for i in labels if t else ():
                            add(("T", i, j), weight * pairs[t][i][j])
                            for b, v in sample.bigrams[t]:
                                add(("B", b, i, j), weight * v * pairs[t][i][j])
        return found

    def curvature(self):
        """The variance of each feature under the marginals, those of pairs as if labels were independent, less that among the
        labellings that may be true; by feature."""
        found = dict.fromkeys(self.features, 0.0)
        labels = range(self.corpus.n_labels)
        for sign, variables in ((1, self.variables), (-1, self.observed)):
            for sample, path, (nodes, _) in zip(self.corpus.samples, self.labels, variables, strict=True):
                marginals = [[min(max(x + (y == j), 0.0), 1.0) for j, x in enumerate(row)] for y, row in zip(path, nodes, strict=True)]
                for t, row in enumerate(marginals):
                    terms = [(("U", a, j), row[j], v) for a, v in sample.unigrams[t] for j in labels]
                    for i, j in itertools.product(labels, labels) if t else ():
                        both = marginals[t - 1][i] * row[j]
                        terms += [(("T", i, j), both, 1.0), *((("B", b, i, j), both, v) for b, v in sample.bigrams[t])]
                    for feature, p, v in terms:
                        if feature in found:
                            found[feature] += sign * sample.weight * p * (1 - p) * v * v
        return found

    def way(self, s, weights, observed=False):
        """From the dual variables to the model's marginals of all labellings, or of those that may be true; and the loss."""
        sample, labels = self.corpus.samples[s], range(self.corpus.n_labels)
        p = problem(weights, sample, self.corpus.n_labels)
        if observed:
            some = [labels if choice is None else choice for choice in self.choices[s]]
            p = Problem([[x if j in may else -inf for j, x in enumerate(row)] for row, may in zip(p.nodes, some, strict=True)], p.tau, p.edges)
        log_z, nodes, pairs = expectations(p)
        y, (own_nodes, own_pairs) = self.labels[s], (self.observed if observed else self.variables)[s]
        return (
            [[nodes[t][j] - (y[t] == j) - own_nodes[t][j] for j in labels] for t in range(len(y))],
            {
                t: [[pairs[t][i][j] - (y[t - 1] == i and y[t] == j) - own_pairs[t][i][j] for j in labels] for i in labels]
                for t in pairs
            },
            sample.weight * (log_z - p.score(y)),
        )

    def open(self, s):
        return self.choices is not None and any(choice is None or len(choice) > 1 for choice in self.choices[s])

    def distance(self, s, weights):
        """From the marginals of nodes of the labellings that may be true to those of all, less their dual variables."""
        nodes = self.way(s, weights)[0]
        if not self.open(s):
            return nodes
        return [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(nodes, self.way(s, weights, observed=True)[0], strict=True)]

    def advance(self, own, way, part):
        for row, by in zip(own[0], way[0], strict=True):
            row[:] = [x + part * y for x, y in zip(row, by, strict=True)]
        for t, square in own[1].items():
            for row, by in zip(square, way[1][t], strict=True):
                row[:] = [x + part * y for x, y in zip(row, by, strict=True)]

    def run_pass(self, order):
        enough = TYPICAL * sum(self.seen) / len(self.seen) if self.passes >= 3 and self.seen else 0.0
        self.seen = []
        for s in order:
            if self.left[s] < enough:
                self.left[s] *= GROWTH
            else:
                self.step(s)
        self.passes += 1
        return sum(self.told)

    def step(self, s):
        sample, weights = self.corpus.samples[s], self.weights()
        nodes, _, self.told[s] = way = self.way(s, weights)
        distance = self.distance(s, weights)
        length = sum(x * x for row in distance for x in row)
        self.left[s] = sample.weight * length
        self.seen.append(self.left[s])
        curvature = self.usual if self.curvatures[s] is None else self.curvatures[s]
        squared = sum(x * x for row in nodes for x in row)
        total = [sum(column) for column in zip(*nodes, strict=True)]
        used = [[(a, v) for a, v in items if ("U", a) in self.used] for items in sample.unigrams]
        own = [sum(v * v for _, v in items) for items in used]
        pairs_of = list(itertools.combinations(used, 2))
        overlap = max(0.0, sum(common(one, other) for one, other in pairs_of) / len(pairs_of)) if pairs_of else 0.0
        stretch = sum(size * x * x for row, size in zip(nodes, own, strict=True) for x in row)
        stretch += overlap * (sum(x * x for x in total) - squared)
        stretch = max(stretch, 0.0) * sample.weight / (self.l2 * max(squared, 1e-100))
        part = min(SAFETY / (1 + curvature * stretch), LARGEST)
        reach = max(max(map(abs, row)) * size for row, size in zip(nodes, own, strict=True)) + overlap * max(map(abs, total))
        if sample.weight * reach * part > TRUST * self.l2:
            part = TRUST * self.l2 / (sample.weight * reach)
        if self.open(s):
            observed = self.way(s, weights, observed=True)
            self.told[s] -= observed[2]
            self.advance(self.observed[s], observed, part)
        self.advance(self.variables[s], way, part)
        if stretch > SHORT and (self.curvatures[s] is None or (self.passes + s) % 3 == 0):
            after = self.distance(s, self.weights())
            left = sum(x * y for old, new in zip(distance, after, strict=True) for x, y in zip(old, new, strict=True))
            if length > 1e-8:
                best = part * length / max(length - left, 0.1 * length)
                found = min(max((1 / best - 1) / stretch, curvature / 2), 2 * curvature)
                self.curvatures[s] = min(max(found, CURVATURES[0]), CURVATURES[1])
                self.usual += 0.05 * (self.curvatures[s] - self.usual)


def common(one, other):
    return sum(v * w for a, v in one for b, w in other if a == b)


@given(corpora(), st.sampled_from([0.5, 2.0, 10.0]), st.integers(0, 5), st.sampled_from(["dense", "sparse"]))
def test_every_pass_is_that_of_the_twin(corpus, l2, seed, recursions):
    built = Built(corpus)
    trainer = DualAscent(built.dataset, built.layout, options.Lbfgs(l2=l2), seed=seed, recursions=recursions)
    twin = Twin(corpus, l2)
    for _ in range(9):
        loss = trainer.run_pass()["loss"]
        assert loss == pytest.approx(twin.run_pass(list(trainer.state()["order"])), rel=1e-2, abs=1e-2)
        assert built.to_weights(trainer.weights()) == pytest.approx(twin.weights(), rel=1e-2, abs=1e-2)


@given(corpora(labels=st.integers(2, 4)), st.sampled_from([0.5, 2.0, 10.0]), seeded(), st.sampled_from(["dense", "sparse"]))
def test_passes_over_labels_that_are_not_all_given(corpus, l2, rng, recursions):
    built, choices = Built(corpus), left_open(rng, corpus)
    assume(any(choice is None or len(choice) > 1 for of_sample in choices for choice in of_sample))
    data = opened(built, choices)
    assert dual_bytes(data.dataset, data.layout) == 2 * dual_bytes(built.dataset, built.layout)
    trainer = DualAscent(data.dataset, data.layout, options.Lbfgs(l2=l2), recursions=recursions)
    twin = Twin(corpus, l2, choices)
    for _ in range(9):
        loss = trainer.run_pass()["loss"]
        assert loss == pytest.approx(twin.run_pass(list(trainer.state()["order"])), rel=1e-2, abs=1e-2)
        assert built.to_weights(trainer.weights()) == pytest.approx(twin.weights(), rel=1e-2, abs=1e-2)
    found, expected = curvature_of(trainer), twin.curvature()
    most = max(map(abs, expected.values()), default=0.0)
    for feature, cell in built.cells.items():
        assert found[cell] == pytest.approx(expected[feature], rel=2e-2, abs=1e-2 * (1 + most))


@given(corpora(), st.sampled_from([0.1, 2.0]), st.sampled_from(["dense", "sparse"]))
def test_the_curvature_is_that_of_the_twins_marginals(corpus, l2, recursions):
    built = Built(corpus)
    trainer = DualAscent(built.dataset, built.layout, options.Lbfgs(l2=l2), recursions=recursions)
    twin = Twin(corpus, l2)
    for _ in range(2):
        trainer.run_pass()
        twin.run_pass(list(trainer.state()["order"]))
    found, expected = curvature_of(trainer), twin.curvature()
    most = max(expected.values(), default=0.0)
    for feature, cell in built.cells.items():
        assert found[cell] == pytest.approx(expected[feature], rel=2e-2, abs=1e-2 * (1 + most))


@pytest.mark.long
@pytest.mark.parametrize("l2", [0.3, 1.0, 10.0])
@pytest.mark.parametrize(("rules", "recursions"), [("chunking", "dense"), ("chunking-rich", "dense"), ("chunking-rich", "sparse")])
def test_it_ends_at_the_optimum_of_lbfgs(rules, recursions, l2):
    corpus = read("chunking", sentences=150, rules=rules)
    trainer = with_passes(150, DualAscent(corpus.dataset, corpus.layout, options.Lbfgs(l2=l2), recursions=recursions))
    assert corpus.value_at(l2, corpus.doubles(trainer.weights()))[0] == pytest.approx(corpus.optimum(l2), rel=1e-5)


@pytest.mark.long
def test_attributes_that_all_positions_share_do_not_make_it_overshoot():
    """Twenty attributes that stand at every token, sequences of 74 tokens: without the overlap of positions in its steps
    the ascent is at more than the double of the optimum after 100 passes."""
    rows = sentences("segmentation")
    long = [list(itertools.chain.from_iterable(rows[k : k + 5])) for k in range(0, len(rows), 5)]
    shared = "".join(f"U{k:02}\n" for k in range(20))
    rules = Template.parse(shared + "U90:%x[0,0]\nU91:%x[1,0]\nU92:%x[-1,0]\nU93:%x[-1,0]/%x[0,0]\nB\n")
    corpus = Numbers(read_corpus(Reader(long, rules, Run())))
    trainer = with_passes(100, DualAscent(corpus.dataset, corpus.layout, options.Lbfgs(l2=1.0)))
    assert corpus.value_at(1.0, corpus.doubles(trainer.weights()))[0] < 1.1 * corpus.optimum(1.0)


def test_no_step_leads_away_from_the_marginals():
    """The first token shares no attributes with the others, but two positions do on average. When it alone is far from the marginals, its
    steps seem to take less than nothing from each other."""
    built = Built(Corpus([Sample([0, 1, 1], [[], [(0, 10.0)], [(0, 10.0)]], [[]] * 3)], 2, 1, has_tau=False, u_all={0}))
    trainer = with_passes(100, DualAscent(built.dataset, built.layout, options.Lbfgs(l2=0.1)))
    optimum = end(trainer_of("lbfgs", built, l2=0.1, warm_up=0, epsilon=1e-6))[-1]
    assert objective(built.to_weights(trainer.weights()), built.corpus, 0.1)[0] < 1.01 * optimum


def all_passes(data, layout, own):
    """L-BFGS to its end: the passes of its warm-up, the objective after each of its own."""
    trainer = Lbfgs(data, layout, own)
    prepared = [record["loss"] for record in trainer.prepare()]
    values = []
    while not trainer.converged:
        values.append(trainer.run_pass()["objective"])
    return prepared, values


def test_a_warm_up_saves_iterations_and_changes_nothing_else():
    corpus = read("chunking", 300)
    cold = all_passes(corpus.dataset, corpus.layout, options.Lbfgs(l2=1.0, warm_up=0))
    warm = all_passes(corpus.dataset, corpus.layout, options.Lbfgs(l2=1.0))
    assert cold[0] == []
    assert len(warm[0]) > 3
    assert len(warm[1]) < len(cold[1]) / 2
    assert warm[1][0] < cold[1][10]
    assert warm[1][-1] == pytest.approx(cold[1][-1], rel=1e-4)


@pytest.mark.parametrize("l2", [0.3, 1.0, 3.0])
def test_the_first_step_after_a_warm_up_has_the_right_length_at_once(l2):
    corpus = read("chunking", sentences=300)
    trainer = Lbfgs(corpus.dataset, corpus.layout, options.Lbfgs(l2=l2, epsilon=1e-9, delta=0.0))
    assert list(trainer.prepare())
    tried = []
    for _ in range(3):
        trainer.run_pass()
        tried.append(trainer.trials)
    assert sum(tried) <= 4


@pytest.mark.parametrize("rules", ["chunking", "chunking-rich"])
def test_the_curvature_that_a_warm_up_tells_saves_iterations_where_the_penalty_is_small(rules):
    """Compared with L-BFGS from the same weights, which does not know it."""
    corpus = read("chunking", sentences=300, rules=rules)
    own = options.Lbfgs(l2=0.03, delta=0.0, epsilon=1e-9, warm_up=20)
    trainer = Lbfgs(corpus.dataset, corpus.layout, own)
    list(trainer.prepare())
    unaware = Lbfgs(corpus.dataset, corpus.layout, own, initial=array.array("f", trainer.weights()))
    knowing = [trainer.run_pass()["objective"] for _ in range(6)][-1]
    assert min(unaware.run_pass()["objective"] for _ in range(9)) > knowing


def test_a_history_of_one_pair_has_no_room_for_the_curvature():
    corpus = read("chunking", sentences=60, rules="chunking")
    prepared, values = all_passes(corpus.dataset, corpus.layout, options.Lbfgs(l2=0.3, memory=1))
    assert prepared
    assert values[-1] == pytest.approx(corpus.optimum(0.3), rel=1e-3)


def test_the_warm_up_ends_when_asked_to():
    corpus = read("chunking", sentences=50, rules="chunking")
    assert len(list(Lbfgs(corpus.dataset, corpus.layout, options_of("lbfgs")).prepare(lambda: True))) == 1


@pytest.mark.parametrize("value", [1.0, 10.0])
def test_a_warm_up_that_ends_above_zero_weights_is_as_good_as_none(value):
    built = Built(Corpus([Sample([0, 1, 1], [[(0, value)]] * 3, [[]] * 3)], 2, 1, u_all={0}, tau_all=True))
    runs = [Lbfgs(built.dataset, built.layout, options.Lbfgs(l2=0.001 * value**2, warm_up=n)) for n in (0, 1)]
    assert [len(list(trainer.prepare())) for trainer in runs] == [0, 1] and not any(runs[1].weights())
    cold, warm = ([trainer.run_pass()["objective"] for _ in range(4)] for trainer in runs)
    assert cold == warm


@pytest.mark.parametrize("weight", [0.01, 100.0])
def test_a_warm_up_where_all_sequences_have_another_weight(weight):
    """With a penalty as many times as large it ends at the same weights, which then are as much better than none."""
    corpus, ends = many_labels(6, 30, 4), []
    for times in (1.0, weight):
        built = Built(replace(corpus, samples=[replace(sample, weight=times) for sample in corpus.samples]))
        trainer = Lbfgs(built.dataset, built.layout, options.Lbfgs(l2=0.5 * times))
        assert list(trainer.prepare())
        ends.append(built.to_weights(trainer.weights()))
    assert any(ends[0].values()) and ends[1] == pytest.approx(ends[0], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("without", [{"warm_up": 0}, {"l2": 0.0}])
def test_no_warm_up(without):
    corpus = read("chunking", sentences=20, rules="chunking")
    assert list(Lbfgs(corpus.dataset, corpus.layout, options_of("lbfgs", **without)).prepare()) == []


def test_weights_to_start_from_are_kept():
    corpus = read("chunking", sentences=20, rules="chunking")
    trainer = Lbfgs(corpus.dataset, corpus.layout, options_of("lbfgs"), initial=array.array("f", corpus.zeros()))
    assert list(trainer.prepare()) == []


def test_no_warm_up_where_it_would_take_many_times_the_memory():
    """Hundreds of labels and short sequences: all pairs for each of them. Half a gigabyte is taken in any case."""

    def needed(n_labels, n):
        wide = Built(Corpus([Sample([s % n_labels, 0], [[(0, 1.0)]] * 2, [[]] * 2) for s in range(n)], n_labels, 1, tau_all=True))
        assert dual_bytes(wide.dataset, wide.layout) == 4 * n * (2 * -(-n_labels // 8) * 8 + n_labels**2)
        return warm_up_bytes(wide.dataset, wide.layout, options.Lbfgs(l2=1.0, memory=1))

    assert needed(50, 300) > 0
    assert needed(200, 3200) > 0
    assert needed(200, 3600) == 0


@plain_build
@memory_told
def test_the_ascent_and_the_visits_do_not_take_memory_at_the_same_time():
    program = """
from crfkit import options
from crfkit.compat.pycrfsuite import ItemSequence
from crfkit.compat.pycrfsuite.groups import Groups
from crfkit.learning.memory import in_use
from crfkit.trainers.batch.lbfgs import Lbfgs, warm_up_bytes
from crfkit.trainers.batch.visits import bytes_of_visits
from crfkit.weights.layout import Layout

groups = Groups()
items = ItemSequence([[f"{k * 7 % 997}" for k in range(100 * t, 100 * (t + 1))] for t in range(10)]).packed
for s in range(4000):
    groups.add(items, [f"{(s + t) % 64}" for t in range(10)], 0)
data = groups.divided(-1)[0]
layout, *new = Layout.build(data, 64, 1, bytes([2]) * data.n_u, b"")
data.renumber(*new)
chosen = options.make("lbfgs", {"l2": 1.0, "warm_up": 1})
duals, visits = warm_up_bytes(data, layout, chosen), bytes_of_visits(data, layout, 1)
before, _ = in_use()
trainer = Lbfgs(data, layout, chosen, threads=1)
for _ in trainer.prepare():
    pass
print(in_use()[1] - before, duals, visits)
"""
    peak, duals, visits = map(int, python(program).stdout.split())
    assert duals > 10**7 and visits > 10**7 and peak < visits + 0.75 * duals


@pytest.mark.parametrize(("size", "tokens", "weight"), [(1e-30, 1, 1.0), (1e15, 1, 1.0), (1e38, 1, 1.0), (1e-3, 3, 1e35)])  # in the last one the warm-up diverges
def test_numbers_out_of_all_proportion_do_no_harm(size, tokens, weight):
    samples = [Sample([j] * tokens, [[(0, v * size)]] * tokens, [[]] * tokens, weight) for j, v in ((0, 1.0), (1, -0.5))]
    built = Built(Corpus(samples, 2, 1, u_all={0}))
    trainer = Lbfgs(built.dataset, built.layout, options_of("lbfgs"))
    list(trainer.prepare())
    assert all(abs(w) < float("inf") for w in trainer.weights())
