from collections.abc import Iterator, Mapping

from typing_extensions import Buffer

from crfkit.template.parsing import Template

from .names import Names
from .tables import Features

class Index(Features):
    sections: Mapping[str, Buffer]
    def __init__(
        self, template: Template | None, sections: Mapping[str, Buffer], *, verify: bool = True, backward: bool = False
    ) -> None: ...
    def attribute(self, a: int, bigram: bool = False) -> bytes: ...
    def attributes(self, bigram: bool = False) -> Iterator[bytes]: ...
    def find(self, string: bytes, bigram: bool = False) -> int: ...
    def names(self, bigram: bool = False) -> Names: ...
