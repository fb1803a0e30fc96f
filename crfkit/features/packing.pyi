from array import array
from typing import Any

from .tables import Features

class Packer:
    def __init__(self, features: Features, u_new: Any, b_new: Any) -> None: ...
    def sections(self) -> dict[str, memoryview[Any]]: ...

def pack(
    features: Features,
    u_new: array[int] | memoryview[int] | None = None,
    b_new: array[int] | memoryview[int] | None = None,
) -> dict[str, memoryview[Any]]: ...
