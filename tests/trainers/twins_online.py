"""Slow twins of the online trainers, built from twins.py."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, sqrt

from trainers.twins import Corpus, Feature, Sample, Weights, batches, likelihood, log_sum, path_features, problem, viterbi
from trainers.twins_margin import Averaged, difference, wrong

Shares = dict[tuple[str, int], float]


def shares(corpus: Corpus) -> Shares:
    """Of the first rate, where that is found: 1 / v^2 for attributes with values above 1, v^2 the largest value times the root of the
    mean square."""
    values: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    for sample in corpus.samples:
        for kind, tokens in ("U", sample.unigrams), ("B", sample.bigrams):
            for attribute, value in (item for items in tokens for item in items if item[1]):
                values[kind, attribute].append(abs(value))
    return {attribute: 1 / max(1, max(own) * sqrt(sum(v * v for v in own) / len(own))) for attribute, own in values.items()}


@dataclass
class Sgd:
    """w <- (1 - rate l2/U) w + rate (observed - expected), at every one of the U updates of a pass, each from `size` samples; and then the
    cumulative penalty of L1: all that a weight should have been moved so far (u) or has been moved (q, with its sign) shrinks as the
    weight does. With a share f of the rate, w <- (1 - rate l2/U)^f w + f rate (...)."""

    corpus: Corpus
    weights: Weights
    l2: float
    rate: float
    decay: float = 0.85
    l1: float = 0.0
    size: int = 1
    steps: int = 0
    passes: int = 0
    u: float = 0.0
    q: Weights = field(default_factory=lambda: defaultdict(float))
    shares: Shares = field(default_factory=dict)

    def run_pass(self, order: Sequence[int]) -> float:
        """The samples in this order; the loss met on the way."""
        loss, updates = 0.0, len(list(batches(order, self.size)))
        penalty = self.l2 / updates
        for batch in batches(order, self.size):
            rate = self.rate * self.decay**self.passes if self.decay else self.rate / (1 + self.rate * penalty * self.steps)
            change: Weights = defaultdict(float)
            for sample in [self.corpus.samples[s] for s in batch]:
                nll, surplus = self.look(sample)
                loss += sample.weight * nll
                for feature, by in surplus.items():
                    change[feature] -= sample.weight * by
            for feature, w in self.weights.items():
                share = self.shares.get(feature[:2], 1.0)
                self.weights[feature] = (1 - rate * penalty) ** share * w + share * rate * change[feature]
            self.clip(1 - rate * penalty, rate * self.l1 / updates)
            self.steps += 1
        self.passes += 1
        return loss

    def look(self, sample: Sample) -> tuple[float, Weights]:
        """The loss of a sample, and expected minus observed features."""
        return likelihood(self.weights, sample, self.corpus.n_labels)

    def clip(self, shrink: float, due: float) -> None:
        """Move every weight towards zero by what is due, but not across."""
        self.u = abs(shrink) * self.u + due
        for feature, w in self.weights.items():
            q = shrink * self.q[feature]
            left = max(0.0, w - (self.u + q)) if w > 0 else min(0.0, w + (self.u - q))
            self.weights[feature], self.q[feature] = left, q + left - w


@dataclass
class Adf:
    """w_k <- w_k + rate_k (observed - expected - l2/U w_k), all k at every one of the U updates of a pass, each from `size` samples; after
    each window of q updates, a tenth of those of a pass, rate_k *= alpha - u (alpha - beta), u the part of its samples in which the
    feature's attribute occurred."""

    corpus: Corpus
    weights: Weights
    l2: float
    rate: float
    alpha: float
    beta: float
    size: int = 1
    steps: int = 0
    rates: dict[Feature, float] = field(default_factory=dict)
    seen: Counter[Feature] = field(default_factory=Counter)
    shares: Shares = field(default_factory=dict)

    def run_pass(self, order: Sequence[int]) -> float:
        """The samples in this order; the loss met on the way."""
        loss, updates = 0.0, len(list(batches(order, self.size)))
        q = max(1, updates // 10)
        for batch in batches(order, self.size):
            samples, gradient = [self.corpus.samples[s] for s in batch], Counter[Feature]()
            for sample in samples:
                nll, own = likelihood(self.weights, sample, self.corpus.n_labels)
                loss += sample.weight * nll
                gradient.update({feature: sample.weight * g for feature, g in own.items()})
            for feature, w in self.weights.items():
                rate = self.rates.setdefault(feature, self.shares.get(feature[:2], 1.0) * self.rate)
                self.weights[feature] = w - rate * (gradient[feature] + self.l2 / updates * w)
                self.seen[feature] += sum(self.is_used(feature, sample) for sample in samples)
            self.steps += 1
            if self.steps % q == 0:
                for feature in self.weights:
                    u = self.seen[feature] / (q * self.size)
                    self.rates[feature] *= self.alpha - u * (self.alpha - self.beta)
                self.seen.clear()
        return loss

    @staticmethod
    def is_used(feature: Feature, sample: Sample) -> bool:
        """Whether its attribute occurs, whatever the labels; that of plain label pairs does in all longer samples."""
        if feature[0] == "T":
            return len(sample) > 1
        return any(feature[1] == a for items in (sample.unigrams if feature[0] == "U" else sample.bigrams) for a, _ in items)


@dataclass
class Sapo(Sgd):
    """Expected features are sum_k P_k features of path k, k the n best."""

    n: int = 1
    ratio: float = 0.0
    updates: int = 0  # samples of the last pass that had another candidate

    def run_pass(self, order: Sequence[int]) -> float:
        """The samples in this order; the loss met on the way."""
        self.updates = 0
        return super().run_pass(order)

    def look(self, sample: Sample) -> tuple[float, Weights]:
        """The loss of a sample over its candidates, and expected minus observed features."""
        p = problem(self.weights, sample, self.corpus.n_labels)
        found = [(score, path) for score, path in p.top(self.n) if exp(score - p.best()[0]) >= self.ratio]
        total = log_sum([score for score, _ in found])
        self.updates += any(path != sample.labels for _, path in found)
        surplus: Weights = defaultdict(float)
        for share, path in [(-1.0, sample.labels), *((exp(score - total), path) for score, path in found)]:
            for feature, v in path_features(sample, path):
                surplus[feature] += share * v
        return total - p.score(sample.labels), surplus


@dataclass
class Perceptron(Averaged):
    """w += features of the true path - features of the best one."""

    def step(self, *samples: Sample) -> float:
        """How many labels are wrong."""
        paths = [viterbi(problem(self.weights, sample, self.corpus.n_labels)) for sample in samples]
        for sample, best in zip(samples, paths, strict=True):
            for feature, v in difference(self.weights, sample, best).items():
                self.weights[feature] += sample.weight * v
        return sum(map(wrong, samples, paths))
