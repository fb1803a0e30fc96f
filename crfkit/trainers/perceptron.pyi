from typing import Any

from .. import options as trainer_options
from ..core.dataset import Dataset
from ..core.layout import Layout
from .averaged import AveragedTrainer

class Perceptron(AveragedTrainer):
    def __init__(
        self, data: Dataset, layout: Layout, options: trainer_options.Perceptron, **unused: Any
    ) -> None: ...
