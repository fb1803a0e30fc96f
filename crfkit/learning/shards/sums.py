"""Sums of weights over shards of the data, the same to the bit in any order.

Each number is rounded to a multiple of a quantum, which is below the precision of floats, and large enough that sums of as many
numbers as there are shards are exact in double precision. So the mean over shards does not depend on the order of summation.
"""

from __future__ import annotations

import array
import math
from typing import Any

import numpy as np

from crfkit.errors import TrainingError

_AT_ONCE = 1 << 18  # numbers, to keep temporary arrays small
_GROWTH = 1 << 16  # the largest weight, or what one step adds, may grow by this factor in a pass


def limit_of(weights: Any, step: float) -> float:
    """A bound for weights in a pass over a shard that starts with these. `step`: about what one step may add to a weight."""
    largest = float(np.abs(np.asarray(weights)).max(initial=step))
    return _GROWTH * 2.0 ** math.ceil(math.log2(largest))


def quantum_of(limit: float, shards: int) -> float:
    """The quantum for numbers up to the limit, when this many of them are added."""
    return limit * 2.0 ** (math.ceil(math.log2(shards)) - 51)


def add_rounded(total: Any, more: Any, limit: float, quantum: float) -> None:
    """Add some numbers, rounded. TrainingError if one is beyond the limit."""
    if len(more) != len(total):
        raise ValueError("numbers of another layout")
    sums, numbers = np.asarray(total), np.asarray(more)
    if not max(numbers.max(initial=0), -numbers.min(initial=0)) < limit:  # refuses NaN, too
        raise TrainingError(
            f"training diverged: a weight grew beyond {limit:g} within a pass over a shard; scale down the values of the features"
        )
    magic = quantum * 6755399441055744.0  # 1.5 * 2^52 quanta
    for first in range(0, len(numbers), _AT_ONCE):
        piece = numbers[first : first + _AT_ONCE].astype(np.float64)
        sums[first : first + _AT_ONCE] += (piece + magic) - magic


def merge(whole: Any, part: Any, largest: bool = False) -> None:
    """Add the numbers of a part to those of the whole, or keep the larger ones."""
    sums, numbers = np.asarray(whole), np.asarray(part)
    if sums.dtype != numbers.dtype or sums.shape != numbers.shape:
        raise ValueError("numbers of another layout")
    (np.maximum if largest else np.add)(sums, numbers, out=sums)


def mean(total: Any, shards: int) -> array.array:
    """The mean over shards of the sums, as weights."""
    return array.array("f", (np.asarray(total) / shards).astype(np.float32).tobytes())
