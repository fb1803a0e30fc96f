from array import array

from crfkit.data.dataset import Dataset

from .layout import Layout

def frequent(layout: Layout, data: Dataset, least: float) -> tuple[Layout, array[int], array[int]] | None: ...
