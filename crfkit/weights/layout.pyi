from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset

from .evidence import Evidence
from .observed import Observed

MAX_LABELS: int

def pairs_in(data: Dataset, labels: int) -> list[tuple[int, int]]: ...

class Layout:
    n_features: int
    def __init__(
        self,
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
    ) -> None: ...
    @staticmethod
    def build(
        data: Dataset, labels: int, plain: int, u_rules: Buffer, b_rules: Buffer, b_reach: Buffer | None = None, *, at_once: int = 262144
    ) -> tuple[Layout, array[int], array[int]]: ...
    @staticmethod
    def of_evidence(
        u: Evidence,
        b: Evidence,
        pairs: Iterable[tuple[int, int]],
        labels: int,
        plain: int,
        u_rules: Buffer,
        b_rules: Buffer,
        b_reach: Buffer | None = None,
    ) -> tuple[Layout, array[int], array[int]]: ...
    @staticmethod
    def of_observed(
        labels: int, plain: int, u: Observed, b: Observed, pairs: Iterable[tuple[int, int]] | None
    ) -> tuple[Layout, array[int], array[int]]: ...
    def tell_absent(self, pairs: Buffer) -> int: ...
    @property
    def plain_pairs(self) -> bytes: ...
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
    def arrays(self) -> dict[str, memoryview[Any]]: ...
    def cell(self, attribute: int, label: int) -> int: ...
    def rich_cell(self, attribute: int, previous: int, label: int) -> int: ...
    def history_cell(self, attribute: int, before: int, previous: int, label: int) -> int: ...
    def pair_cell(self, previous: int, label: int) -> int: ...
    def features(self, w: Buffer) -> Iterator[tuple[str, int, Any, int, float]]: ...
