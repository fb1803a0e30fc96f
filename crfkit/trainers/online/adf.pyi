from array import array
from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.trainers.online.calibrated import CalibratedTrainer
from crfkit.weights.layout import Layout

class Adf(CalibratedTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, leader: Any = None, rates: Any = None, sequences: int | None = None, found: bool | None = None, shares: bool = True, **unused: Any) -> None: ...
    def run_window(self) -> float: ...
    def rates(self) -> array[float]: ...
