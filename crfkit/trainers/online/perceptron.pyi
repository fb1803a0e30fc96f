from typing import Any

from crfkit import options as trainer_options
from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .paths import AveragedTrainer

class Perceptron(AveragedTrainer):
    def __init__(
        self, data: Dataset, layout: Layout, options: trainer_options.Perceptron, **unused: Any
    ) -> None: ...
