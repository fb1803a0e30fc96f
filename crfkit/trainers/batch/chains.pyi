from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .edges import Edges

class Chains:
    steps: int
    def __init__(self, data: Dataset, layout: Layout, edges: Edges) -> None: ...
