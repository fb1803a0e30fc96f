from typing import Any

from ..core.dataset import Dataset
from ..core.layout import Layout
from .base import OnlineTrainer

class ScaledTrainer(OnlineTrainer):
    rate0: float
    def __init__(self, data: Dataset, layout: Layout, options: Any, leader: Any = None, **unused: Any) -> None: ...
