from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .quasinewton import QuasiNewton

def ascent_bytes(data: Dataset, layout: Layout, options: Any) -> int: ...

class Owlqn(QuasiNewton):
    def __init__(self, data: Dataset, layout: Layout, options: Any, initial: Any = None, seed: int = 0, objective: Any = None, **others: Any) -> None: ...
    def set_l1(self, l1: float) -> None: ...
