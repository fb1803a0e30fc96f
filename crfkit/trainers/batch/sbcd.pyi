from typing import Any

from typing_extensions import Buffer

from crfkit import options as trainer_options
from crfkit.data.dataset import Dataset
from crfkit.trainers.base import Trainer
from crfkit.weights.layout import Layout

from .chains import Chains

def bytes_of_data(data: Dataset, layout: Layout) -> int: ...

class Sbcd(Trainer):
    chains: Chains
    def __init__(
        self, data: Dataset, layout: Layout, options: trainer_options.Sbcd, initial: Buffer | None = None, **unused: Any
    ) -> None: ...
    def set_l1(self, l1: float) -> None: ...
    def stability_factors(self) -> list[float]: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
