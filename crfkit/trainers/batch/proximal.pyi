from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .dual import DualAscent

class Proximal(DualAscent):
    def __init__(self, data: Dataset, layout: Layout, options: Any, **others: Any) -> None: ...
    def set_l1(self, l1: float) -> None: ...
