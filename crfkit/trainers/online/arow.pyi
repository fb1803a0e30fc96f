from array import array
from typing import Any

from crfkit import options as trainer_options
from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .confidence import ConfidenceTrainer

class Arow(ConfidenceTrainer):
    r: float
    def __init__(
        self, data: Dataset, layout: Layout, options: trainer_options.Arow, initial: array[float] | None = ..., **unused: Any
    ) -> None: ...
