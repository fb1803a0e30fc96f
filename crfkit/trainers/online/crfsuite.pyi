from collections.abc import Iterator
from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .paths import AveragedTrainer
from .scaled import ScaledTrainer

RULES: dict[str, int]

class CrfsuiteTrainer(AveragedTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, **unused: Any) -> None: ...

class CrfsuiteSgd(ScaledTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, **unused: Any) -> None: ...
    def calibrate(self, factor: float, samples: int, candidates: int, most: int) -> Iterator[tuple[float, float, bool]]: ...
