"""Slow twins of the trainers, written from the formulas: weights in dictionaries, arithmetic in double precision.

A feature is a tuple: ("U", attribute, label), ("B", attribute, previous, label), ("T", previous, label), or with
history ("H", attribute, before, previous, label), where -1 is any label, L and L+1 what lies before the sentence. Nothing
here is shared with crfkit's own loops; a corpus is given to both sides, and `Built` says which cell is which feature.
"""

from __future__ import annotations

import array
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import exp, log
from typing import Any
from unittest.mock import patch

from hypothesis import assume
from hypothesis import strategies as st
from reference import Problem

from crfkit.data.dataset import Dataset
from crfkit.weights import observed
from crfkit.weights.layout import Layout

Feature = tuple
Weights = dict[Feature, float]
Items = list[tuple[int, float]]


@dataclass
class Sample:
    """One labelled sequence: the attributes of each token with their values, which are 1 for bigram attributes."""

    labels: list[int]
    unigrams: list[Items]
    bigrams: list[Items]
    weight: float = 1.0

    def __post_init__(self) -> None:
        self.bigrams = [[(b, 1.0) for b, _ in items] for items in self.bigrams]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass
class Corpus:
    """Samples, and which features they are to have."""

    samples: list[Sample]
    n_labels: int
    n_u: int
    n_b: int = 0
    has_tau: bool = True
    tau_all: bool = False
    u_all: set[int] = field(default_factory=set)
    b_all: set[int] = field(default_factory=set)
    u_min: dict[int, int] = field(default_factory=dict)
    b_min: dict[int, int] = field(default_factory=dict)
    reach: list[int] | None = None  # of each bigram attribute: weights/cells.pxd

    def features(self) -> set[Feature]:
        """All features that exist: seen in the samples, or of attributes with all labels, and frequent enough."""
        every = range(self.n_labels)
        u_count, b_count, found = Counter(), Counter(), set()
        for sample in self.samples:
            for t, j in enumerate(sample.labels):
                for a, _ in sample.unigrams[t]:
                    u_count[a] += 1
                    found.update(("U", a, k) for k in (every if a in self.u_all else (j,)))
                for b, _ in sample.bigrams[t]:
                    b_count[b] += 1
                    if self.reach is not None:
                        found.update(self.with_history(b, sample.labels, t))
                    elif b in self.b_all:
                        found.update(("B", b, i, k) for i in every for k in every)
                    elif t:
                        found.add(("B", b, sample.labels[t - 1], j))
                if t and self.has_tau:
                    found.add(("T", sample.labels[t - 1], j))
        if self.has_tau and self.tau_all:
            found.update(("T", i, j) for i in every for j in every)
        rare = {("U", a) for a in u_count if u_count[a] < self.u_min.get(a, 1)}
        rare |= {("B", b) for b in b_count if b_count[b] < self.b_min.get(b, 1)}
        return {feature for feature in found if (feature[0].replace("H", "B"), feature[1]) not in rare or feature[0] == "T"}

    def with_history(self, b: int, labels: list[int], t: int) -> Iterator[Feature]:
        """The features that a bigram attribute has because it occurs at a token."""
        n, reach = self.n_labels, self.reach[b]
        if b not in self.b_all:
            contexts = [history(reach, labels, t, n)]
        elif reach == 3:
            contexts = [*product(range(n), range(n)), *((n, i) for i in range(n)), (n + 1, n)]
        elif reach == 2:
            contexts = [(h, -1) for h in range(n + 2)]
        else:
            contexts = [(-1, i) for i in range(n + reach)]
        for context in contexts:
            for label in range(n) if b in self.b_all else (labels[t],):
                if context is not None:
                    yield ("H", b, *context, label)


def history(reach: int, labels: Sequence[int], t: int, n_labels: int) -> tuple[int, int] | None:
    """The labels before token t that an attribute depends on; None if it has no feature there."""
    if reach == 0 and t == 0:
        return None
    before = labels[t - 2] if t > 1 else n_labels + 1 - t
    previous = labels[t - 1] if t > 0 else n_labels
    return before if reach & 2 else -1, -1 if reach == 2 else previous


class Built:
    """The same corpus as a data set of crfkit."""

    def __init__(self, corpus: Corpus, at_once: int = 5):
        self.corpus = corpus
        samples = corpus.samples
        seq_ptr, u_ptr, b_ptr = [0], [0], [0]
        u_items, b_items, labels = [], [], []
        for sample in samples:
            seq_ptr.append(seq_ptr[-1] + len(sample))
            labels += sample.labels
            for unigrams, bigrams in zip(sample.unigrams, sample.bigrams, strict=True):
                u_items += unigrams
                b_items += bigrams
                u_ptr.append(len(u_items))
                b_ptr.append(len(b_items))
        weights = [sample.weight for sample in samples]
        self.dataset = Dataset(
            seq_ptr,
            u_ptr,
            [a for a, _ in u_items],
            _unless_ones([v for _, v in u_items]),
            b_ptr if corpus.n_b else None,
            [b for b, _ in b_items] if corpus.n_b else None,
            labels,
            _unless_ones(weights),
            n_u=corpus.n_u,
            n_b=corpus.n_b,
            labels=[f"L{j:02}" for j in range(corpus.n_labels)],
        )
        with patch.object(observed, "TOKENS_AT_ONCE", at_once):
            self.layout, self.u_new, self.b_new = Layout.build(
                self.dataset,
                corpus.n_labels,
                corpus.has_tau + (corpus.has_tau and corpus.tau_all),
                _rules(corpus.n_u, u_items, corpus.u_all, corpus.u_min),
                _rules(corpus.n_b, b_items, corpus.b_all, corpus.b_min),
                None if corpus.reach is None else bytes(corpus.reach),
            )
        self.dataset.renumber(self.u_new, self.b_new)
        self.cells = {feature: self.cell(feature) for feature in corpus.features()}

    def cell(self, feature: Feature) -> int:
        """Where the layout has this feature, or -1."""
        kind, *rest = feature
        if kind == "T":
            return self.layout.pair_cell(*rest)
        if kind == "H":
            return self.layout.rich_cell(self.b_new[rest[0]], *rest[1:])
        if kind == "B":
            return self.layout.rich_cell(self.b_new[rest[0]], -1, *rest[1:])
        return self.layout.cell(self.u_new[rest[0]], rest[1])

    def to_cells(self, weights: Weights, code: str = "f") -> array.array:
        """Weights as the layout has them."""
        cells = array.array(code, [0]) * self.layout.n_cells
        for feature, weight in weights.items():
            cells[self.cells[feature]] = weight
        return cells

    def to_weights(self, cells: Sequence[float]) -> Weights:
        """The inverse of to_cells; cells without a feature must be zero."""
        others = set(range(len(cells))) - set(self.cells.values())
        assert not any(cells[k] for k in others)
        return {feature: cells[cell] for feature, cell in self.cells.items()}


def passes_of_both(built: Built, trainer: Any, twin: Any, n: int, average: bool = False) -> Iterator[tuple[float, Weights, float, Weights]]:
    """After each pass over all samples in the same order: loss and weights of the trainer, and those of the twin."""
    for _ in range(n):
        loss, order = trainer.run_pass()["loss"], list(trainer.state()["order"])
        assert sorted(order) == list(range(len(built.corpus.samples)))
        expected = twin.run_pass(order)
        yield loss, built.to_weights(trainer.weights()), expected, twin.average if average else twin.weights


def _rules(n: int, items: list[tuple[int, float]], every: set[int], least: dict[int, int]) -> bytes:
    """The features of each attribute: 0 none, 1 those seen in the data, 2 all."""
    counts = Counter(a for a, _ in items)
    return bytes(0 if counts[a] < least.get(a, 1) else 1 + (a in every) for a in range(n))


def _unless_ones(values: list[float]) -> list[float] | None:
    return None if all(value == 1 for value in values) else values


# --- the model ---------------------------------------------------------------------------------------------------


def problem(weights: Weights, sample: Sample, n_labels: int) -> Problem:
    """The scores of a sample under weights; features that do not exist weigh nothing."""
    labels = range(n_labels)
    get = weights.get
    nodes = [[sum([v * get(("U", a, j), 0.0) for a, v in items]) for j in labels] for items in sample.unigrams]
    tau = [[get(("T", i, j), 0.0) for j in labels] for i in labels]
    edges = {
        t: [[tau[i][j] + sum([v * get(("B", b, i, j), 0.0) for b, v in items]) for j in labels] for i in labels]
        for t, items in enumerate(sample.bigrams)
        if t and items
    }
    return Problem(nodes, tau, edges)


def path_features(sample: Sample, labels: Sequence[int]) -> Iterator[tuple[Feature, float]]:
    """The features of a labelling with their values."""
    for t, j in enumerate(labels):
        for a, v in sample.unigrams[t]:
            yield ("U", a, j), v
        if t:
            yield ("T", labels[t - 1], j), 1.0
            for b, v in sample.bigrams[t]:
                yield ("B", b, labels[t - 1], j), v


def log_sum(terms: Sequence[float]) -> float:
    """log of the sum of exp."""
    highest = max(terms)
    return highest + log(sum([exp(term - highest) for term in terms]))


def forward(p: Problem) -> list[list[float]]:
    """[t][j] log of the sum over the ways to label j at t."""
    alpha = [list(p.nodes[0])]
    for t in range(1, p.length):
        columns = zip(p.nodes[t], zip(*p.edges.get(t, p.tau), strict=True), strict=True)
        alpha.append([node + log_sum([a + e for a, e in zip(alpha[-1], column, strict=True)]) for node, column in columns])
    return alpha


def expectations(p: Problem) -> tuple[float, list[list[float]], dict[int, list[list[float]]]]:
    """log Z, node marginals [t][j], pair marginals {t: [i][j]}, by forward and backward in the log domain."""
    alpha, beta, pairs = forward(p), [0.0] * p.labels, {}
    log_z = log_sum(alpha[-1])
    nodes = [[exp(a - log_z) for a in alpha[-1]]]
    for t in range(p.length - 1, 0, -1):
        ahead = [node + b for node, b in zip(p.nodes[t], beta, strict=True)]
        ways = [[e + b for e, b in zip(row, ahead, strict=True)] for row in p.edges.get(t, p.tau)]
        pairs[t] = [[exp(a + way - log_z) for way in row] for a, row in zip(alpha[t - 1], ways, strict=True)]
        beta = [log_sum(row) for row in ways]
        nodes.insert(0, [exp(a + b - log_z) for a, b in zip(alpha[t - 1], beta, strict=True)])
    return log_z, nodes, pairs


def viterbi(p: Problem) -> list[int]:
    """The best path; of equal ones that with the smaller label, looking from the end."""
    labels = range(p.labels)
    delta, back = [p.node(0, j) for j in labels], []
    for t in range(1, p.length):
        came = [max(labels, key=lambda i: (delta[i] + p.edge(t, i, j), -i)) for j in labels]
        delta = [delta[came[j]] + p.edge(t, came[j], j) + p.node(t, j) for j in labels]
        back.append(came)
    path = [max(labels, key=lambda j: (delta[j], -j))]
    for came in reversed(back):
        path.insert(0, came[path[0]])
    return path


def expected_features(p: Problem, sample: Sample) -> tuple[float, Weights]:
    """log Z, and the expectation of each feature."""
    log_z, nodes, pairs = expectations(p)
    expected: Weights = defaultdict(float)
    for t, row in enumerate(nodes):
        for a, v in sample.unigrams[t]:
            for j, share in enumerate(row):
                expected["U", a, j] += v * share
        for b, v in sample.bigrams[t] if t else ():
            for i, shares in enumerate(pairs[t]):
                for j, share in enumerate(shares):
                    expected["B", b, i, j] += v * share
    for i, rows in enumerate(zip(*pairs.values(), strict=True)):
        for j, shares in enumerate(zip(*rows, strict=True)):
            expected["T", i, j] = sum(shares)
    return log_z, expected


def likelihood(weights: Weights, sample: Sample, n_labels: int) -> tuple[float, Weights]:
    """Negative log-likelihood of a sample, without its weight, and the gradient: expected minus observed."""
    p = problem(weights, sample, n_labels)
    log_z, gradient = expected_features(p, sample)
    for feature, v in path_features(sample, sample.labels):
        gradient[feature] -= v
    return log_z - p.score(sample.labels), gradient


# --- the trainers ------------------------------------------------------------------------------------------------


def value(weights: Weights, corpus: Corpus, l2: float, l1: float = 0.0) -> float:
    """sum of weight (log Z - score) + l2/2 |w|^2 + l1 |w|"""
    total = l2 / 2 * sum(w * w for w in weights.values()) + l1 * sum(map(abs, weights.values()))
    for sample in corpus.samples:
        p = problem(weights, sample, corpus.n_labels)
        total += sample.weight * (log_sum(forward(p)[-1]) - p.score(sample.labels))
    return total


def objective(weights: Weights, corpus: Corpus, l2: float) -> tuple[float, Weights]:
    """The value without l1, and its gradient."""
    f = l2 / 2 * sum(w * w for w in weights.values())
    gradient = {feature: l2 * w for feature, w in weights.items()}
    for sample in corpus.samples:
        nll, own = likelihood(weights, sample, corpus.n_labels)
        f += sample.weight * nll
        for feature, g in own.items():
            if feature in gradient:
                gradient[feature] += sample.weight * g
    return f, gradient


def batches(order: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """As many as there are; the last one may be smaller."""
    for first in range(0, len(order), size):
        yield order[first : first + size]


# --- making corpora ----------------------------------------------------------------------------------------------

# Sums of few of these are exact in single precision: both sides then see the very same scores.
QUARTERS = [n / 4 for n in range(-8, 9)]
NUMBERS_OF_LABELS = st.one_of(st.integers(1, 5), st.just(9))  # nine take two vectors, and some rows are not dense


@st.composite
def seeded(draw) -> random.Random:
    """A random generator for the contents of a problem whose form hypothesis draws: one draw instead of hundreds, which would be slow."""
    return random.Random(draw(st.integers(0, 2**32 - 1)))


@st.composite
def corpora(draw, labels=NUMBERS_OF_LABELS, most_samples=4, rich=True, weighted=True):
    """A small Corpus with all that can occur in one: repeated attributes, values, weights, dropped attributes."""
    n_labels, n_u = draw(labels), draw(st.integers(1, 5))
    n_b = draw(st.integers(0, 3)) if rich else 0
    values = QUARTERS if draw(st.booleans()) else [1.0]
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=most_samples))
    has_tau, tau_all = draw(st.booleans()), draw(st.booleans())
    rng = draw(seeded())

    def items(n):
        return [(rng.randrange(n), rng.choice(values)) for _ in range(rng.randrange(4))] if n else []

    def sample(length):
        weight = rng.choice([1.0, 1.0, 2.0, 0.5]) if weighted else 1.0
        places = range(length)
        return Sample([rng.randrange(n_labels) for _ in places], [items(n_u) for _ in places], [items(n_b) for _ in places], weight)

    def some(n):
        return set(rng.sample(range(n), rng.randint(0, n)))

    corpus = Corpus(
        [sample(length) for length in lengths],
        n_labels,
        n_u,
        n_b,
        has_tau=has_tau,
        tau_all=tau_all,
        u_all=some(n_u),
        b_all=some(n_b),
        u_min=dict.fromkeys(some(n_u), 2),
        b_min=dict.fromkeys(some(n_b), 2),
    )
    assume(corpus.features())
    return corpus


def weighted(draw, features: Iterable[Feature]) -> Weights:
    """A weight for each feature."""
    rng = draw(seeded())
    return {feature: rng.choice(QUARTERS) for feature in sorted(features, key=str)}
