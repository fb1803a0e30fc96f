from typing import Any

from ..core.dataset import Dataset
from ..core.layout import Layout
from .quasinewton import QuasiNewton

def warm_up_bytes(data: Dataset, layout: Layout, options: Any) -> int: ...

class Lbfgs(QuasiNewton): ...
