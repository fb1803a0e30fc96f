"""What the metrics share."""

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

__all__ = ["flatten"]

T = TypeVar("T")


def flatten(y: Iterable[Iterable[T]]) -> list[T]:
    """The items of all sequences in one list."""
    return list(chain.from_iterable(y))
