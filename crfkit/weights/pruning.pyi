from array import array

from typing_extensions import Buffer

from .layout import Layout

def pruned(layout: Layout, w: Buffer) -> tuple[Layout, array[float], array[int], array[int]]: ...
