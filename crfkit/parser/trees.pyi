from collections.abc import Sequence

from crfkit.features.builder import TableBuilder
from crfkit.features.strings import StringTable
from crfkit.text.rows import Rows

class Compared:
    def __init__(self, columns: Sequence[int]) -> None: ...

class TreeColumns:
    id: int
    head: int
    relation: int
    def __init__(self, names: Sequence[str], path: str | None = None) -> None: ...

def check_ids(rows: Rows, column: int) -> None: ...

class Treebank:
    n_tokens: int
    n_sequences: int
    n_crossing: int
    longest: int
    def __init__(self, width: int) -> None: ...
    def sizes(self) -> list[int]: ...
    def add(
        self,
        rows: Rows,
        columns: TreeColumns,
        builder: TableBuilder,
        compared: Compared,
        relations: StringTable | None = None,
        learn: bool = True,
        skip: bool = True,
    ) -> None: ...
    def heads(self, s: int) -> tuple[list[int], list[int]]: ...
    def root_relation(self) -> int: ...
    def checksum(self) -> str: ...
