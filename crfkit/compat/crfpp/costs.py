"""The costs of a sentence as CRF++ counts them, in the logarithm: those of labels, of steps, and of all ways to and from a label."""

from __future__ import annotations

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
        found = self.emission.copy()
        for t, step in enumerate(self.steps, 1):
            found[t] += numpy.logaddexp.reduce(found[t - 1][:, None] + step, axis=0)
        return found

    @cached_property
    def beta(self) -> numpy.ndarray:
        """All ways that lead on from a label, it included."""
        found = self.emission.copy()
        for t in range(len(self.steps) - 1, -1, -1):
            found[t] += numpy.logaddexp.reduce(self.steps[t] + found[t + 1], axis=1)
        return found

    @cached_property
    def best(self) -> numpy.ndarray:
        """The best way that leads to a label, it included."""
        found = self.emission.copy()
        for t, step in enumerate(self.steps, 1):
            found[t] += (found[t - 1][:, None] + step).max(axis=0)
        return found
