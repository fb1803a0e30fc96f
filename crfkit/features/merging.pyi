from array import array
from typing import Any

from typing_extensions import Buffer

from .builder import IndexBuilder

MOST_LABELS: int

def tables(builder: IndexBuilder) -> dict[str, Any]: ...
def add_tables(builder: IndexBuilder, part: dict[str, Any]) -> dict[str, array[int]]: ...
def followed(numbers: Buffer, new: Buffer) -> array[int]: ...
