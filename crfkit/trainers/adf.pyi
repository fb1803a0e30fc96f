from typing import Any

from ..core.dataset import Dataset
from ..core.layout import Layout
from .base import OnlineTrainer

class Adf(OnlineTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, leader: Any = None, rates: Any = None, sequences: int | None = None, **unused: Any) -> None: ...
    def run_window(self) -> float: ...
    def rates(self) -> tuple[list[float], list[float], float]: ...
