from array import array

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset

from .layout import Layout

def pruned(layout: Layout, w: Buffer) -> tuple[Layout, array[float], array[int], array[int]]: ...
def frequent(layout: Layout, data: Dataset, least: float) -> tuple[Layout, array[int], array[int]] | None: ...
