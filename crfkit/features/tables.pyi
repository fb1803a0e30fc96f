from collections.abc import Iterator

from .cells import View
from .plan import Plan
from .strings import StringTable

class Features:
    growing: bool
    plan: Plan
    columns: list[StringTable]
    views: list[View]
    literals: list[StringTable]
    @property
    def n_attributes(self) -> tuple[int, int]: ...
    def shared(self) -> list[int]: ...

class Names:
    def __init__(self, features: Features, bigram: bool) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, a: int, /) -> bytes: ...
    def __iter__(self) -> Iterator[bytes]: ...
