from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.trainers.base import OnlineTrainer
from crfkit.weights.layout import Layout

class ScaledTrainer(OnlineTrainer):
    rate0: float
    def __init__(self, data: Dataset, layout: Layout, options: Any, leader: Any = None, **unused: Any) -> None: ...
