from collections.abc import Iterator, Mapping

from typing_extensions import Buffer

from crfkit.template.parsing import Template

from .tables import Features

class Index(Features):
    sections: Mapping[str, Buffer]
    def __init__(
        self, template: Template | None, sections: Mapping[str, Buffer], *, verify: bool = True, backward: bool = False
    ) -> None: ...
    def attributes(self, bigram: bool = False) -> Iterator[bytes]: ...
