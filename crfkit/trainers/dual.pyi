from typing import Any

from ..core.dataset import Dataset
from ..core.layout import Layout
from .base import OnlineTrainer

def dual_bytes(data: Dataset, layout: Layout) -> int: ...

class DualAscent(OnlineTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, recursions: str = "auto", **unused: Any) -> None: ...
