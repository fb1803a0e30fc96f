"""The slow twin of block coordinate descent: every term by forward and backward over whole samples."""

from __future__ import annotations

import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from trainers.twins import Built, Corpus, Feature, Weights, expectations, objective, problem, value

RADIUS, LEAST_KAPPA, TRIALS, VISITS_OF_PAIRS = 4.0, 0.1, 40, 4


def soft(z: float, r: float) -> float:
    """z, nearer to zero by r."""
    return z - r if z > r else z + r if z < -r else 0.0


def single(x: float) -> float:
    """As it is stored."""
    return array.array("f", [x])[0]


def blocks_of(built: Built) -> list[list[Feature]]:
    """The features of each attribute, in the order in which a pass visits them."""
    found: dict[tuple[int, int], list[Feature]] = defaultdict(list)
    for feature in built.cells:
        kind = "TBU".index(feature[0])
        number = 0 if kind == 0 else (built.b_new if kind == 1 else built.u_new)[feature[1]]
        found[kind, -number].append(feature)
    return [sorted(found[key], key=built.cells.__getitem__) for key in sorted(found)]


@dataclass
class Sbcd:
    """One pass at a time."""

    corpus: Corpus
    weights: Weights
    l1: float
    l2: float
    blocks: list[list[Feature]]
    first_kappa: float
    kappa: dict[int, float] = field(default_factory=dict)
    stride: float = 1.0
    before: Weights | None = None
    certain: bool = True  # no decision hung on the last digits

    def value(self) -> float:
        """What is minimised."""
        return value(self.weights, self.corpus, self.l2, self.l1)

    def positions(self, feature: Feature, expected: list) -> Iterator[tuple[float, float, float, bool]]:
        """(weight of the sample, value, probability, whether observed) wherever the feature's attribute is."""
        for sample, (_, nodes, pairs) in zip(self.corpus.samples, expected, strict=True):
            for t, label in enumerate(sample.labels):
                if feature[0] == "U":
                    items, p, seen = sample.unigrams[t], nodes[t][feature[2]], label == feature[2]
                elif t == 0:
                    continue
                else:
                    i, j = feature[-2:]
                    p, seen = pairs[t][i][j], (sample.labels[t - 1], label) == (i, j)
                    items = sample.bigrams[t] if feature[0] == "B" else [(None, 1.0)]
                attribute = feature[1] if feature[0] != "T" else None
                values = [v for a, v in items if a == attribute]
                if values:
                    yield sample.weight, sum(values), p, seen

    def visit(self, number: int, awake: set[Feature]) -> None:
        """One block: the step that its own second derivatives ask for, unless that raises the objective."""
        block, kappa = [k for k in self.blocks[number] if k in awake], self.kappa.get(number, self.first_kappa)
        expected = [expectations(problem(self.weights, sample, self.corpus.n_labels)) for sample in self.corpus.samples]
        found = {feature: list(self.positions(feature, expected)) for feature in block}
        g = {k: sum(weight * v * (p - seen) for weight, v, p, seen in found[k]) for k in block}
        h = {k: sum(weight * v * v * p * (1 - p) for weight, v, p, _ in found[k]) for k in block}
        largest = max((abs(v) for k in block for _, v, _, _ in found[k]), default=0.0)
        radius = RADIUS / max(largest, 1e-30)
        old, before, start = {k: self.weights[k] for k in block}, self.value(), value(self.weights, self.corpus, 0.0)
        for trial in range(TRIALS):
            for k in block:
                curvature = max(kappa * h[k], 1e-12)
                z = soft(curvature * old[k] - g[k], self.l1) / (curvature + self.l2)
                self.weights[k] = single(min(max(z, old[k] - radius), old[k] + radius))
            d = {k: self.weights[k] - old[k] for k in block}
            if trial == 0 and not any(d.values()):
                return
            slope, bend = sum(g[k] * d[k] for k in block), sum(h[k] * d[k] ** 2 for k in block)
            self.certain &= bend == 0 or bend > 1e-7
            met = 2 * (value(self.weights, self.corpus, 0.0) - start - slope) / bend if bend > 0 else kappa
            if self.no_more(self.value(), before):
                self.kappa[number] = max(LEAST_KAPPA, met, kappa / 2)
                return
            kappa = max(2 * kappa, met)
        self.weights.update(old)

    def no_more(self, a: float, b: float) -> bool:
        """Whether a is at most b, except for rounding; both sides need not agree on values that are all but the same."""
        self.certain &= abs(a - b) <= 1e-13 * abs(b) or abs(a - b) > 1e-8 * abs(b)
        return a - b <= 1e-13 * abs(b)

    def awake(self) -> set[Feature]:
        """The features that have weights, or want some."""
        gradient = objective(self.weights, self.corpus, 0.0)[1]
        self.certain &= all(w or abs(abs(gradient[k]) - self.l1) > 1e-9 for k, w in self.weights.items())
        return {k for k, w in self.weights.items() if w or abs(gradient[k]) > self.l1}

    def run_pass(self) -> float:
        """The active blocks, and farther along the way from their last end to this one; the objective."""
        start = self.before or dict(self.weights)
        awake = self.awake()
        for number, block in enumerate(self.blocks):
            for _ in range(0 if awake.isdisjoint(block) else VISITS_OF_PAIRS if block[0][0] == "T" else 1):
                self.visit(number, awake)
        end, lowest, best, step = dict(self.weights), self.value(), 0.0, self.stride
        while step <= 64:
            self.place(start, end, step)
            if self.no_more(lowest, self.value()):
                break
            lowest, best, step = self.value(), step, 2 * step
        self.place(start, end, best)
        self.before = end
        self.stride = max(0.5, best or self.stride / 2)
        return self.value()

    def place(self, start: Weights, end: Weights, step: float) -> None:
        """So much beyond the end."""
        for k, w in end.items():
            x = w + step * (w - start[k])
            self.weights[k] = single(x) if x * w > 0 else 0.0
