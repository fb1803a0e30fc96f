"""Slow twins of mini-batches: the twins of single steps say what each sequence wants, at the same weights; then one update."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trainers import twins_online as twins
from trainers.twins import Corpus, Weights
from trainers.twins_online import batches

Look = Callable[[Weights, int], tuple[float, Weights]]


def looks(corpus: Corpus, kind: str, nbest: int = 0) -> Look:
    """A function that returns the loss and the change for one sequence, without rate and penalty."""

    def look(weights: Weights, s: int) -> tuple[float, Weights]:
        after = dict(weights)
        if kind == "perceptron":
            loss: float = twins.Perceptron(corpus, after).run_pass([s])
        elif kind == "sapo":
            loss = twins.Sapo(corpus, after, nbest, 0.0, 1.0, 1.0).run_pass([s])[0]
        else:
            loss = twins.Sgd(corpus, after, 0.0, 1.0, 1.0).run_pass([s])
        return loss, {feature: after[feature] - w for feature, w in weights.items()}

    return look


def summed(look: Look, weights: Weights, batch: Sequence[int]) -> tuple[float, Weights]:
    """The same of several sequences."""
    total, change = 0.0, defaultdict(float)
    for s in batch:
        loss, own = look(weights, s)
        total += loss
        for feature, by in own.items():
            change[feature] += by
    return total, change


@dataclass
class Gradient:
    """sgd and sapo: w <- w - rate l2/U w + rate (sum of changes), U the number of updates a pass."""

    look: Look
    weights: Weights
    l2: float
    rate: float
    decay: float
    size: int
    steps: int = 0
    passes: int = 0
    shares: twins.Shares = field(default_factory=dict)

    def run_pass(self, order: Sequence[int]) -> float:
        """The loss met on the way."""
        total, penalty = 0.0, self.l2 / len(list(batches(order, self.size)))
        for batch in batches(order, self.size):
            rate = self.rate * self.decay**self.passes if self.decay else self.rate / (1 + self.rate * penalty * self.steps)
            loss, change = summed(self.look, self.weights, batch)
            total += loss
            for feature, w in self.weights.items():
                share = self.shares.get(feature[:2], 1.0)
                self.weights[feature] = (1 - rate * penalty) ** share * w + share * rate * change[feature]
            self.steps += 1
        self.passes += 1
        return total


@dataclass
class Averaged:
    """The perceptron; the average is over the weights after each update."""

    look: Look
    weights: Weights
    size: int
    steps: int = 0
    total: Weights = field(default_factory=lambda: defaultdict(float))

    def run_pass(self, order: Sequence[int]) -> float:
        """How many labels were wrong on the way."""
        wrong = 0.0
        for batch in batches(order, self.size):
            loss, change = summed(self.look, self.weights, batch)
            wrong += loss
            for feature in self.weights:
                self.weights[feature] += change[feature]
                self.total[feature] += self.weights[feature]
            self.steps += 1
        return wrong

    @property
    def average(self) -> Weights:
        """Mean of the weights after every update so far."""
        return {feature: self.total[feature] / self.steps for feature in self.weights}
