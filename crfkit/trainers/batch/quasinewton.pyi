from typing import Any

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset
from crfkit.trainers.base import Trainer
from crfkit.weights.layout import Layout

from .objective import Objective

def walk_parts(trainer: QuasiNewton, what: int, first: int, last: int) -> None: ...

class QuasiNewton(Trainer):
    trials: int
    step: float
    def __init__(
        self, data: Dataset, layout: Layout, options: Any, initial: Buffer | None = None, threads: int = 1, objective: Objective | None = None, **unused: Any
    ) -> None: ...
