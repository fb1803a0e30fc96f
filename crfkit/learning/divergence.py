"""Detecting divergence: weights or losses that are not finite, or that grow out of all proportion."""

from __future__ import annotations

import array
import math
from typing import TYPE_CHECKING, Any

from crfkit.constants import LARGEST_FOR_RATES, LARGEST_VALUE, SMALLEST_VALUE
from crfkit.errors import TrainingError
from crfkit.values import flag

if TYPE_CHECKING:
    from .progress import Progress

GROWN = 10.0  # times the least loss of a pass before, and
ABSURD = 1000.0  # times the loss of weights of zero: beyond both, training ends
CRUSHING = 1e30  # as --l2: it makes zeros of weights in single precision, whatever their --l1
POOR, USELESS = 10.0, 0.98  # times the loss of weights of zero: worth a warning at the end


class Divergence:
    """Checks each pass of a run. `tokens` counts each sequence by its weight; `labels`: how many a token may have; `largest`: the largest value
    of a feature. Only trainers with a rate can have a wrong one, and only where labels can be wrong. `of_zeros`: what a model whose
    weights are all zero does."""

    def __init__(self, options: Any, tokens: float, labels: int, largest: float = 1.0, of_zeros: str = "every token will have the same label"):
        self.has_choice = labels > 1
        self.has_rate, self.largest, self.l2 = hasattr(options, "rate") and self.has_choice, largest, getattr(options, "l2", None) or 0.0
        self.untrained, self.of_zeros = tokens * math.log(labels), of_zeros
        self.advice = ("lower --rate, or " if self.has_rate else "") + "scale down the values of the features"

    def check(self, record: dict[str, Any], least: float | None) -> None:
        """TrainingError if a pass shows that training diverges; `least` is the least loss of the passes before."""
        loss = record.get("loss", record.get("objective", 0.0))
        if not math.isfinite(loss) or not math.isfinite(record.get("mean_abs_weight", 0.0)):
            raise TrainingError(f"training diverged in pass {record['pass']}: not all numbers are finite; {self.advice}")
        if self.has_rate and least is not None and loss > GROWN * least and loss > ABSURD * self.untrained:
            raise TrainingError(
                f"training diverged in pass {record['pass']}: the loss is {loss:.3g}, it has been {least:.3g}; {self.advice}"
            )

    def warning(self, loss: float) -> str | None:
        """A warning about the loss at the end of training, or None."""
        if not self.has_rate or loss <= (USELESS if self.largest > LARGEST_FOR_RATES else POOR) * self.untrained:
            return None
        if loss <= POOR * self.untrained:
            return f"the loss, {loss:.4g}, is no better than that of no training at all, {self.untrained:.4g}: next to nothing was learned; bring the values of the features near 0: they reach {self.largest:.4g}"
        return f"the loss, {loss:.3g}, is far above that of no training at all, {self.untrained:.3g}: probabilities will mean nothing; {self.advice}"

    def finish(self, weights: array.array, loss: float | None, l1: float | None, prune: float | None, progress: Progress) -> None:
        """Check the last loss and the weights, of which those below `prune` become zero: TrainingError, or warnings. `l1` is the penalty."""
        from crfkit.trainers import base

        if not base.all_finite(weights):
            raise TrainingError(f"training diverged: a weight is not finite; {self.advice}")
        progress.warn(self.warning(loss or 0.0))
        name, penalty = ("l2", self.l2) if self.l2 >= CRUSHING else ("l1", l1)
        advice = f"; lower --{name}, which is {penalty:g}" if penalty else ""
        if prune is not None and base.summarise(weights)[0]:
            advice = f"; lower --prune, which is {prune:g}"
            base.prune(weights, prune)
        if self.has_choice and not base.summarise(weights)[0]:  # a single label needs none
            progress.warn(f"all weights are zero: {self.of_zeros}{advice}")


def value_warning(largest: float, algorithm: str, options: Any) -> str | None:
    """A warning about data whose values reach `largest`, or None."""
    if largest < SMALLEST_VALUE:
        return f"values of the features reach only {largest:.3g}; below {SMALLEST_VALUE:g} trainers may learn badly or not at all: scale them up"
    given = [flag(name) for name in ("rate", "l1") if getattr(options, name, None)] if hasattr(options, "rate") else []
    if LARGEST_FOR_RATES < largest <= LARGEST_VALUE and given:
        return f"values of the features reach {largest:.3g}; beyond {LARGEST_FOR_RATES:g} {algorithm} may learn next to nothing with one rate for all: scale them down, leave out {' and '.join(given)}, or use lbfgs"
    if largest <= LARGEST_VALUE:
        return None
    return f"values of the features reach {largest:.3g}; beyond {LARGEST_VALUE:g} trainers may learn badly or not at all: scale them down"
