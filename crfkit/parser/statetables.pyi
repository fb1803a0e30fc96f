from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .places import StateFeatures

class StateTables:
    n_views: int
    n_relations: int
    n_actions: int
    n_lines: int
    most_cells: int
    n_rows: int
    def __init__(
        self, features: StateFeatures, n_relations: int, sections: Mapping[str, memoryview] | None = None, verify: bool = True, sizes: Sequence[int] | None = None
    ) -> None: ...
    def pack(
        self, weights: array[float], sizes: Sequence[int], renumber: Callable[[list[array[int]]], tuple[array[int], list[array[int]]]]
    ) -> tuple[array[int], dict[str, Any]]: ...
    def verify(self, sizes: Sequence[int]) -> None: ...
    def entries(self, number: int) -> Iterator[tuple[int, list[int]]]: ...
    def row_keys(self) -> tuple[array[int], array[int]]: ...
    def cells(self, row: int) -> list[tuple[int, int]]: ...
