from typing import Any

from ..core.dataset import Dataset
from ..core.layout import Layout
from .quasinewton import QuasiNewton

class Owlqn(QuasiNewton):
    def __init__(self, data: Dataset, layout: Layout, options: Any, **unused: Any) -> None: ...
    def set_l1(self, l1: float) -> None: ...
