from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import Buffer

from crfkit.template.parsing import Template
from crfkit.text.rows import Rows

from .names import Names
from .walk import Features

class Extractor:
    def __init__(self) -> None: ...

class Index(Features):
    def __init__(
        self, template: Template | None, sections: Mapping[str, Buffer], *, verify: bool = True, backward: bool = False
    ) -> None: ...
    @property
    def n_attributes(self) -> tuple[int, int]: ...
    def attribute(self, a: int, bigram: bool = False) -> bytes: ...
    def attributes(self, bigram: bool = False) -> Iterator[bytes]: ...
    def find(self, string: bytes, bigram: bool = False) -> int: ...
    def names(self, bigram: bool = False) -> Names: ...
    def attributes_of(self, rows: Rows) -> list[tuple[list[int], list[int]]]: ...
    def repack(
        self,
        u_new: array[int] | memoryview[int] | None = None,
        b_new: array[int] | memoryview[int] | None = None,
    ) -> dict[str, memoryview[Any]]: ...
