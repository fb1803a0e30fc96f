from collections.abc import Sequence
from typing import Any, Protocol

from typing_extensions import Buffer

from crfkit.features.tables import Features
from crfkit.weights.layout import Layout

class _Constraints(Protocol):
    @property
    def transitions(self) -> bytes: ...
    @property
    def starts(self) -> bytes: ...
    @property
    def ends(self) -> bytes: ...

class Decoder:
    index: Features
    layout: Layout
    labels: list[str]
    def __init__(
        self,
        index: Features,
        layout: Layout,
        weights: Buffer,
        labels: Sequence[str],
        *,
        verified: bool = True,
        constraints: _Constraints | None = None,
        depth: int = -1,
        backward: bool = False,
        recursions: str = "auto",
        columns: Sequence[int] | None = None,
        rest: Buffer | None = None,
    ) -> None: ...
    def with_columns(self, columns: Sequence[int]) -> Decoder: ...
    def label_ids(self, labels: Any, place: str = "token") -> list[int]: ...
