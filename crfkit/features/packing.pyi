from array import array
from typing import Any

from .strings import StringTable
from .tables import Features

class Packer:
    def __init__(self, features: Features, u_new: Any, b_new: Any) -> None: ...
    def sections(self) -> dict[str, memoryview[Any]]: ...

def pack(
    features: Features,
    u_new: array[int] | memoryview[int] | None = None,
    b_new: array[int] | memoryview[int] | None = None,
) -> dict[str, memoryview[Any]]: ...
def string_sections(name: str, table: StringTable) -> dict[str, memoryview[Any]]: ...
