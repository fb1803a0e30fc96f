from array import array

from typing_extensions import Buffer

def cells(u_weight: Buffer, pairs: Buffer | None, labels: int, b_weight: Buffer) -> array[float]: ...
