from ..core.dataset import Dataset
from ..core.layout import Layout

class Edges:
    n_kinds: int
    shared: bool
    def __init__(self, data: Dataset, layout: Layout, recursions: str = "auto") -> None: ...
