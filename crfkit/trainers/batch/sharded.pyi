from array import array
from collections.abc import Iterable
from typing import Any

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .objective import Objective, Whole

class Share:
    def __init__(self, layout: Layout, threads: int, counts: bool) -> None: ...
    def add(self, data: Dataset, whole: Whole) -> None: ...
    def touched(self, which: Iterable[int]) -> array[int]: ...
    def evaluate(
        self, weights: Buffer, which: Iterable[int], bound: float = ..., cells: Buffer | None = None
    ) -> tuple[array[float], memoryview[Any], int, int] | None: ...

class Sharded(Objective):
    def __init__(
        self,
        layout: Layout,
        l2: float,
        threads: int,
        tokens: int,
        sequences: int,
        extent: tuple[Buffer, Buffer] | None = None,
    ) -> None: ...
    def collect(self, weights: Any, bound: float) -> Any: ...
    def add(self, gradient: Buffer, cells: Buffer) -> None: ...
