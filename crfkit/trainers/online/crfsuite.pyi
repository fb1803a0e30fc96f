from array import array
from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .paths import AveragedTrainer
from .scaled import ScaledTrainer

RULES: dict[str, int]

def shuffled(n: int) -> array[int]: ...

class CrfsuiteTrainer(AveragedTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, **unused: Any) -> None: ...

class CrfsuiteSgd(ScaledTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, **unused: Any) -> None: ...
    def draw(self, samples: int) -> float: ...
    def begin_at(self, rate: float) -> None: ...
    def trial(self, rate: float, samples: int) -> float: ...
