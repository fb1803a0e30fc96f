from array import array
from typing import NamedTuple

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset
from crfkit.weights.layout import Layout

from .nests import Survey

class Whole(NamedTuple):
    survey: Survey | None
    sums: array[float]
    chunks: array[int]

class Worker: ...

class Objective:
    l2: float
    wrong: int
    flawed: int
    extent: tuple[Buffer, Buffer] | None
    def __init__(self, data: Dataset, layout: Layout, l2: float, threads: int, recursions: str = "auto", whole: Whole | None = None) -> None: ...
    def run(self, worker: Worker) -> None: ...
    def take_share(self, what: int, first: int, last: int) -> None: ...
    def at(self, cells: Buffer, bound: float = ...) -> tuple[float, array[float]]: ...

def chunk_starts(data: Dataset, before: int = 0) -> array[int]: ...
