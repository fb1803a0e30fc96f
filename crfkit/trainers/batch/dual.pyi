from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.trainers.stepwise import OnlineTrainer
from crfkit.weights.layout import Layout

def dual_bytes(data: Dataset, layout: Layout) -> int: ...

class DualAscent(OnlineTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, recursions: str = "auto", **unused: Any) -> None: ...
