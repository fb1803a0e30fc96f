from array import array

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

def mistakes(data: Dataset, layout: Layout, weights: array[float], threads: int = 1) -> tuple[int, int]: ...
