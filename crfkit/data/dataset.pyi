from array import array
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

class Dataset:
    n_u: int
    n_b: int
    labels: list[str]
    nesting: tuple[array[int], list[int]] | None
    def __init__(
        self,
        seq_ptr: Sequence[int] = (0,),
        u_ptr: Sequence[int] = (0,),
        u_id: Iterable[int] = (),
        u_val: Iterable[float] | None = None,
        b_ptr: Sequence[int] | None = None,
        b_id: Iterable[int] | None = None,
        b_val: Iterable[float] | None = None,
        label: Iterable[int] | None = None,
        seq_weight: Iterable[float] | None = None,
        *,
        n_u: int = 0,
        n_b: int = 0,
        labels: Iterable[str] = (),
        folder: str | bytes | PathLike[str] | None = None,
    ) -> None: ...
    @property
    def n_sequences(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def longest(self) -> int: ...
    @property
    def n_incidences(self) -> tuple[int, int]: ...
    @property
    def largest_value(self) -> float: ...
    def renumber(
        self, u_new: array[int] | memoryview[int], b_new: array[int] | memoryview[int] | None = None
    ) -> None: ...
    def u_counts(self) -> array[int]: ...
    def b_counts(self) -> array[int]: ...
    def checksum(self) -> str: ...
    def arrays(self) -> dict[str, array[Any]]: ...
