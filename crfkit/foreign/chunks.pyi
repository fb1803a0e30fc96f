from array import array

from typing_extensions import Buffer

from crfkit.features.strings import StringTable

def read_strings(data: Buffer, offset: int, n: int, what: str) -> StringTable: ...
def read_rows(
    data: Buffer, features: int, references: int, magic: bytes, n: int, n_labels: int
) -> tuple[array[int], array[int], array[float]]: ...
def write_strings(strings: StringTable) -> bytes: ...
