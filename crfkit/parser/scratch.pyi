from array import array
from collections.abc import Sequence

from crfkit.features.tables import Features
from crfkit.text.rows import Rows

from .statetables import StateTables
from .trees import TreeColumns

class Scratch:
    def __init__(
        self,
        index: Features,
        tables: StateTables,
        weights: memoryview[float] | array[float],
        depth: int,
        columns: Sequence[int],
        compared: Sequence[int],
        relations: Sequence[str],
        root_relation: int,
    ) -> None: ...
    def heads(self, rows: Rows, s: int) -> list[int] | list[tuple[int, str]]: ...
    def text(self, rows: Rows, columns: TreeColumns) -> tuple[bytes, bytes]: ...

def packed_values(index: Features, marks: Sequence[Sequence[int]]) -> tuple[array[int], list[array[int]]]: ...
