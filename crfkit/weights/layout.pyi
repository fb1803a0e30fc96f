from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset

MAX_LABELS: int

class Layout:
    n_features: int
    @staticmethod
    def build(
        data: Dataset,
        labels: int,
        has_tau: bool,
        u_all: Buffer,
        u_min: Buffer,
        b_all: Buffer,
        b_min: Buffer,
        tau_all: int,
        b_reach: Buffer | None = None,
    ) -> tuple[Layout, array[int], array[int]]: ...
    @staticmethod
    def of_features(
        labels: int,
        has_tau: bool,
        hot: int,
        u_ptr: Buffer,
        u_label: Buffer,
        b_ptr: Buffer,
        b_prev: Buffer,
        b_label: Buffer,
        pairs: Iterable[int],
    ) -> Layout: ...
    @staticmethod
    def from_sections(
        labels: int,
        has_tau: bool,
        hot: int,
        u_ptr: Buffer,
        u_label: Buffer,
        b_ptr: Buffer,
        b_prev: Buffer,
        b_label: Buffer,
        b_prev2: Buffer | None = None,
        *,
        verify: bool = True,
    ) -> Layout: ...
    @property
    def labels(self) -> int: ...
    @property
    def n_cells(self) -> int: ...
    @property
    def n_attributes(self) -> tuple[int, int]: ...
    @property
    def hot(self) -> int: ...
    @property
    def has_tau(self) -> bool: ...
    def arrays(self) -> dict[str, array[Any]]: ...
    def pruned(self, w: Buffer) -> tuple[Layout, array[float], array[int], array[int]]: ...
    def cell(self, attribute: int, label: int) -> int: ...
    def rich_cell(self, attribute: int, previous: int, label: int) -> int: ...
    def history_cell(self, attribute: int, before: int, previous: int, label: int) -> int: ...
    def pair_cell(self, previous: int, label: int) -> int: ...
    def features(self, w: Buffer) -> Iterator[tuple[str, int, Any, int, float]]: ...
