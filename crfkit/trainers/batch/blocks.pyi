from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .chains import Chains

class Blocks:
    def __init__(self, data: Dataset, layout: Layout, chains: Chains, kappa: float) -> None: ...
