from typing import Any

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .quasinewton import QuasiNewton

def warm_up_bytes(data: Dataset, layout: Layout, options: Any) -> int: ...

class Lbfgs(QuasiNewton):
    def __init__(
        self, data: Dataset, layout: Layout, options: Any, initial: Buffer | None = None, seed: int = 0, **others: Any
    ) -> None: ...
