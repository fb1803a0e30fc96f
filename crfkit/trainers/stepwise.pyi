from typing import Any

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset
from crfkit.errors import TrainingError
from crfkit.weights.layout import Layout

from .base import Trainer

class OnlineTrainer(Trainer):
    passes: int
    steps: int
    threads: int
    def __init__(
        self,
        data: Dataset,
        layout: Layout,
        options: Any,
        initial: Buffer | None = None,
        seed: int = 0,
        threads: int = 1,
        leader: Trainer | None = None,
        **unused: Any,
    ) -> None: ...
    def diverged(self, where: str = "") -> TrainingError: ...
    def crf_loss(self) -> float: ...
    def work(self, leader: OnlineTrainer) -> None: ...
