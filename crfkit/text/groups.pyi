import array
import threading
from collections.abc import Iterable
from typing import Any

from .rows import Rows

class Groups:
    groups: array.array[int]
    @property
    def rows(self) -> Rows: ...
    @property
    def lock(self) -> threading.Lock: ...
    def add(self, sentence: Iterable[Any], labels: Iterable[str | bytes], group: int) -> None: ...
    def append(self, source: Rows, s: int, labels: Iterable[str | bytes] | None, group: int) -> None: ...

def append_sequence(rows: Rows, source: Rows, s: int, labels: Iterable[str | bytes] | None = None) -> None: ...
