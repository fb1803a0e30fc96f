from collections.abc import Iterator
from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .scaled import ScaledTrainer

class CrfsuiteSgd(ScaledTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, **unused: Any) -> None: ...
    def calibrate(self, factor: float, samples: int, candidates: int, most: int) -> Iterator[tuple[float, float, bool]]: ...
