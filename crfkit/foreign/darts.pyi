from array import array

from typing_extensions import Buffer

from crfkit.features.strings import StringTable

def read_names(data: Buffer) -> tuple[StringTable, array[int]]: ...
def write_names(features: list[tuple[bytes, int]]) -> bytes: ...

class DoubleArray: ...
