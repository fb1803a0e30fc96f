"""Slow twins of the trainers that work with margins: differences as dictionaries, the joint step by trying all cases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf, sqrt
from typing import Any

import numpy as np
from trainers.twins import Corpus, Sample, Weights, batches, path_features, problem


def difference(weights: Weights, sample: Sample, path: Sequence[int]) -> Weights:
    """Features of the true labels minus those of a path; only those that exist."""
    found: Weights = defaultdict(float)
    for labels, sign in ((sample.labels, 1), (path, -1)):
        for feature, v in path_features(sample, labels):
            if feature in weights:
                found[feature] += sign * v
    return found


def dot(x: Weights, y: Weights) -> float:
    """Inner product."""
    return sum(v * y[feature] for feature, v in x.items() if feature in y)


def wrong(sample: Sample, path: Sequence[int]) -> int:
    """How many labels differ from the true ones."""
    return sum(a != b for a, b in zip(path, sample.labels, strict=True))


def best_box(products: np.ndarray, missing: np.ndarray, most: float) -> np.ndarray:
    """The a with 0 <= a <= most that maximises a . missing - a . products a / 2.

    At some maximum every a_k is 0, or `most`, or one of those that solve the equations left: all cases are tried, and
    the best of those within the bounds is taken.
    """
    n = len(missing)
    best, best_value = np.zeros(n), 0.0
    for case in product((0, 1, 2), repeat=n):
        a = np.array([most if c == 1 else 0.0 for c in case])
        free = [k for k in range(n) if case[k] == 2]
        if free:
            own = products[np.ix_(free, free)]
            if np.linalg.matrix_rank(own) < len(free):
                continue
            a[free] = np.linalg.solve(own, missing[free] - products[free] @ a)
        value = a @ missing - a @ products @ a / 2
        if a.min() >= -1e-12 and a.max() <= most + 1e-12 and value > best_value:
            best, best_value = a, value
    return best


@dataclass
class Averaged(ABC):
    """Weights, their sum over all steps, and how clear every choice of candidates was. The perceptron learns from `size` samples at once."""

    corpus: Corpus
    weights: Weights
    size: int = 1
    steps: int = 0
    total: Weights = field(default_factory=lambda: defaultdict(float))
    gap: float = inf

    def run_pass(self, order: Sequence[int]) -> float:
        """The samples in this order; the loss met on the way."""
        loss = 0.0
        for batch in batches(order, self.size):
            loss += self.step(*(self.corpus.samples[s] for s in batch))
            for feature, w in self.weights.items():
                self.total[feature] += w
            self.steps += 1
        return loss

    @abstractmethod
    def step(self, *samples: Sample) -> float:
        """Learn from samples; their loss."""

    def candidates(self, sample: Sample, n: int) -> Iterator[list[int]]:
        """The n best paths."""
        paths = problem(self.weights, sample, self.corpus.n_labels).paths
        if len(paths) > n:
            self.gap = min(self.gap, paths[n - 1][0] - paths[n][0])
        return (path for _, path in paths[:n])

    @property
    def average(self) -> Weights:
        """Mean of the weights after every step so far."""
        return {feature: self.total[feature] / self.steps for feature in self.weights}


@dataclass
class Mira(Averaged):
    """The nearest weights that give n candidates a margin of their number of wrong labels, as far as C allows."""

    n: int = 1
    most: float = 1.0

    def step(self, sample: Sample) -> float:
        """The nearest weights, by all cases."""
        paths = list(self.candidates(sample, self.n))
        changes = [difference(self.weights, sample, path) for path in paths]
        missing = np.array([wrong(sample, path) - dot(d, self.weights) for path, d in zip(paths, changes, strict=True)])
        products = np.array([[dot(x, y) for y in changes] for x in changes])
        a = best_box(products, missing, self.most * sample.weight)
        for amount, d in zip(a, changes, strict=True):
            for feature, v in d.items():
                self.weights[feature] += amount * v
        return sample.weight * max(0.0, *missing)


@dataclass
class Confident(Averaged):
    """w_k += a s_k d_k, 1 / s_k += g d_k^2, with d from the best path that is not the true one."""

    variances: Weights = field(default_factory=dict)

    def step(self, sample: Sample) -> float:
        """One step with the factors of the subclass."""
        s = {feature: self.variances.setdefault(feature, self.first_variance(feature)) for feature in self.weights}
        path = next(self.candidates(sample, 1))
        if path == list(sample.labels):
            others = list(self.candidates(sample, 2))[1:]
            if not others:
                return 0.0
            path = others[0]
        d = difference(self.weights, sample, path)
        m, v = dot(d, self.weights), sum(x * x * s[feature] for feature, x in d.items())
        if v == 0 or sample.weight == 0 or self.lacking(m, v) <= 0:
            return 0.0
        a, g = self.factors(m, v, sample.weight)
        for feature, x in d.items():
            self.weights[feature] += a * s[feature] * x
            self.variances[feature] = 1 / (1 / s[feature] + g * x * x)
        return sample.weight * self.lacking(m, v)

    def first_variance(self, feature: Any) -> float:
        """1, or less where the attribute has values above 1; more for all unigram attributes where none of them has a value of 0.1."""
        kind = {"U": "unigrams", "B": "bigrams"}.get(feature[0])
        found = (abs(v) for s in self.corpus.samples for items in (getattr(s, kind) if kind else ()) for a, v in items if a == feature[1])
        values = [abs(v) for s in self.corpus.samples for items in s.unigrams for _, v in items]
        if feature[0] == "U" and 0 < max(values, default=0) < 0.1:
            return 1 / (max(values) * sqrt(sum(v * v for v in values) / len(values)))
        return 1 / max(1.0, *found, 0.0) ** 2

    @abstractmethod
    def lacking(self, m: float, v: float) -> float:
        """How far the margin falls short."""

    @abstractmethod
    def factors(self, m: float, v: float, weight: float) -> tuple[float, float]:
        """a and g"""


@dataclass
class Arow(Confident):
    """a = (1 - m) / (v + r), g = 1 / r."""

    r: float = 1.0

    def lacking(self, m: float, v: float) -> float:
        """Hinge loss."""
        return 1 - m

    def factors(self, m: float, v: float, weight: float) -> tuple[float, float]:
        """The sequence counts `weight` times as much."""
        return (1 - m) / (v + self.r / weight), weight / self.r


@dataclass
class Cw(Confident):
    """The a with m + a v = phi v / (1 + 2 a phi v), and g = 2 a phi: the margin is phi times its variance afterwards."""

    phi: float = 1.0

    def lacking(self, m: float, v: float) -> float:
        """What is missing to the margin, given its variance."""
        return self.phi * v - m

    def factors(self, m: float, v: float, weight: float) -> tuple[float, float]:
        """By bisection: the left side grows with a, the right side falls."""
        low, high = 0.0, max(1.0, (self.phi * v - m) / v)
        for _ in range(200):
            middle = (low + high) / 2
            if m + middle * v < self.phi * v / (1 + 2 * middle * self.phi * v):
                low = middle
            else:
                high = middle
        return low, 2 * low * self.phi
