from ..core.dataset import Dataset
from ..core.layout import Layout
from .base import OnlineTrainer

def dual_bytes(data: Dataset, layout: Layout) -> int: ...

class DualAscent(OnlineTrainer): ...
