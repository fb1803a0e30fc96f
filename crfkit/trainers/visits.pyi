from ..core.dataset import Dataset
from ..core.layout import Layout

class Visits:
    def __init__(self, data: Dataset, layout: Layout) -> None: ...
