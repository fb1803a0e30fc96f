from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .chains import Chains

class Occurrences:
    n: int
    def __init__(self, data: Dataset, n: int, rich: bool) -> None: ...
    def of(self, attribute: int) -> list[tuple[int, float]]: ...

class Blocks:
    def __init__(self, data: Dataset, layout: Layout, chains: Chains, kappa: float) -> None: ...
