from collections.abc import Sequence, Set
from typing import Any

from crfkit.features.strings import StringTable

from .chunks import Counter
from .lines import Lines

class Tally:
    def __init__(
        self,
        tables: Sequence[tuple[bytes, bool]] = ...,
        *,
        word_starts: bytes | None = None,
        lexicon: Set[bytes] | None = None,
        keep: bool = False,
        raw: bool = False,
        outside: bytes = b"O",
        separator: str | bytes | None = None,
        path: str | None = None,
        form: str = "columns",
        gold_column: int = -1,
        before: int = 1,
        comments: bool = False,
    ) -> None: ...
    names: StringTable
    types: list[str]
    counters: list[Counter]
    first_lines: dict[str, int]
    path: str | None
    lines: Lines
    sentences: int
    sentences_correct: int
    tokens: int
    keep: bool
    lexicon: Set[bytes] | None
    word_starts: bytes | None
    @property
    def confusion(self) -> dict[tuple[str, str], int]: ...
    @property
    def word_counts(self) -> tuple[int, int, int, int, int]: ...
    def feed(self, block: Any, line: int) -> int: ...
    def add(self, gold: Sequence[str], found: Sequence[str]) -> None: ...
    def finish(self) -> None: ...
    def kept(self) -> memoryview[int]: ...
    def label_counts(self) -> dict[str, tuple[int, int, int]]: ...
    def prefixes(self) -> dict[str, str]: ...
