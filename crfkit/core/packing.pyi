from array import array
from typing import Any

from .features import Features

def pack(
    features: Features,
    u_new: array[int] | memoryview[int] | None = None,
    b_new: array[int] | memoryview[int] | None = None,
) -> dict[str, memoryview[Any]]: ...
