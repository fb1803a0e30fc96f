from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .quasinewton import QuasiNewton

class Owlqn(QuasiNewton):
    def __init__(self, data: Dataset, layout: Layout, options: Any, **unused: Any) -> None: ...
    def set_l1(self, l1: float) -> None: ...
