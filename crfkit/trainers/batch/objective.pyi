from array import array

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

class Worker: ...

class Objective:
    l2: float
    wrong: int
    flawed: int
    def __init__(self, data: Dataset, layout: Layout, l2: float, threads: int, recursions: str = "auto") -> None: ...
    def at(self, cells: Buffer, bound: float = ...) -> tuple[float, array[float]]: ...

def take_share(objective: Objective, what: int, first: int, last: int) -> None: ...
def run_worker(objective: Objective, worker: Worker) -> None: ...
