"""Learning and tagging with lookahead as the paper writes it: the tree of all actions, searched depth first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from trainers.twins import Corpus, Feature, Sample, Weights, history


def token_features(corpus: Corpus, sample: Sample, labels: Sequence[int], t: int) -> Iterator[tuple[Feature, float]]:
    """The features of the label of token t, given those before it, with their values."""
    j = labels[t]
    for a, v in sample.unigrams[t]:
        yield ("U", a, j), v
    if t:
        yield ("T", labels[t - 1], j), 1.0
    for b, v in sample.bigrams[t]:
        if corpus.reach is not None:
            context = history(corpus.reach[b], labels, t, corpus.n_labels)
            if context is not None:
                yield ("H", b, *context, j), v
        elif t:
            yield ("B", b, labels[t - 1], j), v


def score(corpus: Corpus, weights: Weights, sample: Sample, labels: Sequence[int], first: int = 0) -> float:
    """Of the labels from `first` on."""
    tokens = range(first, len(labels))
    return sum(v * weights.get(f, 0.0) for t in tokens for f, v in token_features(corpus, sample, labels, t))


def search(corpus: Corpus, weights: Weights, sample: Sample, depth: int, state: list[int], first: int) -> tuple[list[int], float]:
    """Figure 2: the best state after `depth` more labels, or at the end of the sentence."""
    if depth == 0 or len(state) == len(sample):
        return state, score(corpus, weights, sample, state, first)
    best, highest = state, -inf
    for j in range(corpus.n_labels):
        leaf, value = search(corpus, weights, sample, depth - 1, [*state, j], first)
        if value > highest:
            best, highest = leaf, value
    return best, highest


def leaves(corpus: Corpus, weights: Weights, sample: Sample, depth: int, before: list[int]) -> list[tuple[list[int], float]]:
    """For each label of the token after these: the best leaf that begins with it, and its value."""
    return [search(corpus, weights, sample, depth, [*before, j], len(before)) for j in range(corpus.n_labels)]


@dataclass
class Lookahead:
    """Figure 3 for every token, after the true labels; the average is over the weights after each token."""

    corpus: Corpus
    weights: Weights
    depth: int
    margin: float
    decisions: int = 0
    total: Weights = field(default_factory=lambda: defaultdict(float))

    def run_pass(self, order: Sequence[int]) -> float:
        """The samples in this order; the sum of what was missing to the margin."""
        loss = 0.0
        for s in order:
            sample = self.corpus.samples[s]
            for t in range(len(sample)):
                loss += self.decide(sample, t)
                self.decisions += 1
                for feature, w in self.weights.items():
                    self.total[feature] += w
        return loss

    def decide(self, sample: Sample, t: int) -> float:
        """One decision; what was missing to the margin."""
        correct = sample.labels[t]
        found = leaves(self.corpus, self.weights, sample, self.depth, sample.labels[:t])
        values = [value - (self.margin if j == correct else 0) for j, (_, value) in enumerate(found)]
        best = values.index(max(values))
        if best != correct:
            for labels, by in ((found[correct][0], sample.weight), (found[best][0], -sample.weight)):
                for k in range(t, len(labels)):
                    for feature, v in token_features(self.corpus, sample, labels, k):
                        if feature in self.weights:
                            self.weights[feature] += by * v
        return values[best] - values[correct]

    @property
    def average(self) -> Weights:
        """Mean of the weights after every decision so far."""
        return {feature: self.total[feature] / self.decisions for feature in self.weights}
