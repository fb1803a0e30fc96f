from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

class Edges:
    n_kinds: int
    shared: bool
    def __init__(self, data: Dataset, layout: Layout, recursions: str = "auto") -> None: ...
