from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.trainers.online.calibrated import CalibratedTrainer
from crfkit.weights.layout import Layout

class ScaledTrainer(CalibratedTrainer):
    scale: float
    rate: float
    age: float
    def __init__(self, data: Dataset, layout: Layout, options: Any, leader: Any = None, found: bool | None = None, shares: bool = True, **unused: Any) -> None: ...
