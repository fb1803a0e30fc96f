from array import array
from typing import Any

from typing_extensions import Buffer

from .builder import TableBuilder

def tables(builder: TableBuilder) -> dict[str, Any]: ...
def add_tables(builder: TableBuilder, part: dict[str, Any]) -> dict[str, array[int]]: ...
def followed(numbers: Buffer, new: Buffer) -> array[int]: ...
