from typing import Any

from .. import options as trainer_options
from ..core.dataset import Dataset
from ..core.layout import Layout
from .confidence import ConfidenceTrainer

class Arow(ConfidenceTrainer):
    def __init__(
        self, data: Dataset, layout: Layout, options: trainer_options.Arow, **unused: Any
    ) -> None: ...
