from array import array

from typing_extensions import Buffer

from ..core.dataset import Dataset
from ..core.layout import Layout

class Worker: ...

class Objective:
    l2: float
    def __init__(self, data: Dataset, layout: Layout, l2: float, threads: int) -> None: ...
    def at(self, cells: Buffer) -> tuple[float, array[float]]: ...

def run_worker(objective: Objective, worker: Worker) -> None: ...
