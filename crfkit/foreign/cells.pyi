from array import array

from typing_extensions import Buffer

from crfkit.weights.layout import Layout

def cells(u_weight: Buffer, pairs: Buffer | None, labels: int, b_weight: Buffer) -> array[float]: ...
def doubles(layout: Layout, cell: Buffer) -> tuple[array[float], array[float] | None, array[float]]: ...
