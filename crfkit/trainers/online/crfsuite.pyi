from typing import Any

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .averaged import AveragedTrainer

RULES: dict[str, int]

class CrfsuiteTrainer(AveragedTrainer):
    def __init__(self, data: Dataset, layout: Layout, options: Any, **unused: Any) -> None: ...
