from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .nests import Survey

def bytes_of_visits(data: Dataset, layout: Layout, threads: int) -> int: ...

class Visits:
    def __init__(self, data: Dataset, layout: Layout, survey: Survey | None = None) -> None: ...
