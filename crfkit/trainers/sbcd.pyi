from typing import Any

from typing_extensions import Buffer

from .. import options as trainer_options
from ..core.dataset import Dataset
from ..core.layout import Layout
from .base import Trainer

def bytes_of_data(data: Dataset, layout: Layout) -> int: ...

class Sbcd(Trainer):
    def __init__(
        self, data: Dataset, layout: Layout, options: trainer_options.Sbcd, initial: Buffer | None = None, **unused: Any
    ) -> None: ...
    def set_l1(self, l1: float) -> None: ...
    def stability_factors(self) -> list[float]: ...
