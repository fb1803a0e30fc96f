"""The costs of a sentence as CRF++ counts them, in the logarithm: those of labels, of steps, and of all ways to and from a label."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from crfkit.decode.sentence import OneSentence


class Costs:
    """The lattice of a sentence that was read. Arrays [t, label]; of steps [t, label, label of the next token]."""

    def __init__(self, sentence: OneSentence, labels: int):
        n = sentence.length
        self.emission, self.steps = numpy.empty((n, labels)), numpy.empty((max(n - 1, 0), labels, labels))
        sentence.fill_scores(self.emission, self.steps)

    @cached_property
    def alpha(self) -> numpy.ndarray:
        """All ways that lead to a label, it included."""
        return _ways(self.emission, self.steps, numpy.logaddexp.reduce)

    @cached_property
    def beta(self) -> numpy.ndarray:
        """All ways that lead on from a label, it included."""
        return _ways(self.emission[::-1], self.steps[::-1].transpose(0, 2, 1), numpy.logaddexp.reduce)[::-1]

    @cached_property
    def best(self) -> numpy.ndarray:
        """The best way that leads to a label, it included."""
        return _ways(self.emission, self.steps, numpy.max)


def _ways(emission: numpy.ndarray, steps: numpy.ndarray, whole: Callable[..., numpy.ndarray]) -> numpy.ndarray:
    """What the ways to each label are worth as a `whole`. In logarithms: the scaled sums of the loops lose labels that are too
    improbable for a double."""
    found = emission.copy()
    for t, step in enumerate(steps, 1):
        found[t] += whole(found[t - 1][:, None] + step, axis=0)
    return found
