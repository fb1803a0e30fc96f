from array import array
from collections.abc import Sequence
from typing import Any

from crfkit.data.dataset import Dataset

from .layout import Layout

class Family: ...

class Growing:
    rate: float
    sequences: int
    def __init__(self, options: Any, has_tau: bool) -> None: ...
    def borrow(self, data: Dataset) -> tuple[Layout, array[float], array[float]]: ...
    def give_back(self, layout: Layout, weights: array[float], rates: array[float]) -> None: ...
    def finish(self, labels: Sequence[str], order: Sequence[str]) -> tuple[Layout, array[float]]: ...
