"""Sums of what trainers have learned from shards of the data, the same whoever adds which first.

Each number is rounded to a multiple of a quantum, small beside what single precision resolves, and large enough that double
precision adds as many such numbers as there are shards exactly. So the mean of all shards does not depend on who adds what.
"""

from __future__ import annotations

import array
import math
from typing import Any

import numpy as np

from crfkit.errors import TrainingError

_GROWTH = 1 << 16  # how much the largest weight may grow in a pass, beyond one


def limit_of(weights: Any) -> float:
    """What no weight may reach in a pass over a shard that starts with these."""
    largest = float(np.abs(np.asarray(weights)).max(initial=1))
    return _GROWTH * 2.0 ** math.ceil(math.log2(largest))


def quantum_of(limit: float, shards: int) -> float:
    """What numbers up to the limit are rounded to when so many of them are added."""
    return limit * 2.0 ** (math.ceil(math.log2(shards)) - 51)


def add_rounded(total: Any, more: Any, limit: float, quantum: float) -> None:
    """Add some numbers, rounded. TrainingError if one is beyond the limit."""
    if len(more) != len(total):
        raise ValueError("numbers of another layout")
    numbers = np.asarray(more).astype(np.float64)
    if not (np.abs(numbers) < limit).all():
        raise TrainingError(
            f"training diverged: a weight grew beyond {limit:g} within a pass over a shard; scale down the values of the features"
        )
    magic = quantum * 6755399441055744.0  # 1.5 * 2^52 quanta
    numbers += magic
    numbers -= magic
    np.asarray(total)[:] += numbers


def add_scaled(to: Any, more: Any, factor: float) -> None:
    """to += factor * more."""
    if len(more) != len(to):
        raise ValueError("numbers of another layout")
    np.asarray(to)[:] += factor * np.asarray(more)


def mean(total: Any, shards: int) -> array.array:
    """The mean of what so many shards have added, as weights."""
    return array.array("f", (np.asarray(total) / shards).astype(np.float32).tobytes())
