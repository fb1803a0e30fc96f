"""The lattice of a sentence in logarithms, as CRF++ has it: costs of labels and transitions, forward, backward and Viterbi scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from crfkit.decode.sentence import OneSentence


class Costs:
    """Arrays [t, label], for a sentence that was read; `steps` are [t, label, label of the next token]."""

    def __init__(self, sentence: OneSentence, labels: int):
        n = sentence.length
        self.emission, self.steps = numpy.empty((n, labels)), numpy.empty((max(n - 1, 0), labels, labels))
        sentence.fill_scores(self.emission, self.steps)

    @cached_property
    def alpha(self) -> numpy.ndarray:
        """Forward scores: the log sum over all paths that end in a label, the label included."""
        return _forward(self.emission, self.steps, numpy.logaddexp.reduce)

    @cached_property
    def beta(self) -> numpy.ndarray:
        """Backward scores: the log sum over all paths that start in a label, the label included."""
        return _forward(self.emission[::-1], self.steps[::-1].transpose(0, 2, 1), numpy.logaddexp.reduce)[::-1]

    @cached_property
    def best(self) -> numpy.ndarray:
        """Viterbi scores: the best path that ends in a label, the label included."""
        return _forward(self.emission, self.steps, numpy.max)


def _forward(emission: numpy.ndarray, steps: numpy.ndarray, combine: Callable[..., numpy.ndarray]) -> numpy.ndarray:
    """The forward recursion: `combine` reduces the scores of all paths into a label. It works in logarithms, since the scaled sums of the
    loops lose labels whose probability underflows a double."""
    found = emission.copy()
    for t, step in enumerate(steps, 1):
        found[t] += combine(found[t - 1][:, None] + step, axis=0)
    return found
