"""The slow twin of OWL-QN, in the notation of Andrew & Gao (2007): vectors are dictionaries, the history is exact."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

from trainers.twins import Corpus, Weights, objective, value
from trainers.twins_margin import dot


def sign(x: float) -> int:
    """1, 0 or -1."""
    return (x > 0) - (x < 0)


def pseudo_gradient(x: Weights, g: Weights, l1: float) -> Weights:
    """Of the two slopes of f + l1 |x| along an axis, the one to the side where it falls; zero where neither falls."""
    found = {}
    for k in x:
        right, left = g[k] + l1 * (sign(x[k]) or 1), g[k] + l1 * (sign(x[k]) or -1)
        found[k] = left if left > 0 else right if right < 0 else 0.0
    return found


def scales(corpus: Corpus, l2: float) -> Weights:
    """The root of the curvature along each weight, over that without values; both from the largest value and the sum of all,
    and the curvature of a score is taken for 0.1."""
    found = {}
    for feature in corpus.features():
        terms = [
            (sample.weight, abs(v))
            for sample in corpus.samples
            for position in (sample.unigrams if feature[0] == "U" else sample.bigrams if feature[0] == "B" else ())
            for a, v in position
            if a == feature[1]
        ]
        largest, total = max((v for _, v in terms), default=0.0), 0.1 * sum(weight * v for weight, v in terms)
        found[feature] = sqrt((l2 + total * largest) / (l2 + total / largest)) if total else 1.0
    return found


@dataclass
class Owlqn:
    """One iteration at a time. The history is that of weights times their scale."""

    corpus: Corpus
    x: Weights
    l1: float
    l2: float
    memory: int = 6
    pairs: list[tuple[Weights, Weights]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scale = scales(self.corpus, self.l2)

    def smooth(self, x: Weights) -> tuple[float, Weights]:
        """The likelihood, the L2 penalty, and their gradient."""
        return objective(x, self.corpus, self.l2)

    def total(self, x: Weights) -> float:
        """What is minimised."""
        return value(x, self.corpus, self.l2, self.l1)

    def newton(self, pseudo: Weights) -> Weights:
        """-H pseudo, by the two loops."""
        d, alphas = {k: -v / self.scale[k] for k, v in pseudo.items()}, []
        for s, y in reversed(self.pairs):
            alphas.append(dot(s, d) / dot(s, y))
            d = {k: d[k] - alphas[-1] * y[k] for k in d}
        if self.pairs:
            s, y = self.pairs[-1]
            d = {k: d[k] * dot(s, y) / dot(y, y) for k in d}
        for s, y in self.pairs:
            beta = dot(y, d) / dot(s, y)
            alpha = alphas.pop()
            d = {k: d[k] + (alpha - beta) * s[k] for k in d}
        return {k: v / self.scale[k] for k, v in d.items()}

    def iterate(self) -> float:
        """Move; the objective there."""
        x, g = self.x, self.smooth(self.x)[1]
        before = self.total(x)
        pseudo = pseudo_gradient(x, g, self.l1)
        d = {k: v if v * pseudo[k] < 0 or not self.l1 else 0.0 for k, v in self.newton(pseudo).items()}
        side = {k: sign(x[k]) or -sign(pseudo[k]) for k in x}
        scaled = {k: v / self.scale[k] for k, v in pseudo.items()}
        step = 1.0 if self.pairs else min(1.0, 1 / sqrt(dot(scaled, scaled)))
        while True:
            new = {k: x[k] + step * d[k] for k in x}
            if self.l1:
                new = {k: v if sign(v) == side[k] else 0.0 for k, v in new.items()}
            after = self.total(new)
            if after < before and after <= before + 1e-4 * sum(pseudo[k] * (new[k] - x[k]) for k in x):
                break
            step /= 2
        new_g = self.smooth(new)[1]
        scale = self.scale
        self.pairs.append(({k: (new[k] - x[k]) * scale[k] for k in x}, {k: (new_g[k] - g[k]) / scale[k] for k in x}))
        del self.pairs[: -self.memory]
        self.x = new
        return after
