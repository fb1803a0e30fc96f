from collections.abc import Iterable
from typing import Any

from crfkit import options as trainer_options
from crfkit.data.dataset import Dataset
from crfkit.trainers.stepwise import OnlineTrainer
from crfkit.weights.layout import Layout

class Lookahead(OnlineTrainer):
    decisions: int
    def __init__(
        self, data: Dataset, layout: Layout, options: trainer_options.Lookahead, shared: Iterable[int] = (), **unused: Any
    ) -> None: ...
