from array import array
from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset
from crfkit.errors import TrainingError
from crfkit.weights.layout import Layout

class Vector: ...

class Trainer:
    data: Dataset
    layout: Layout
    options: Any
    converged: str | None
    interrupted: bool
    threaded: bool
    lock_free: bool
    def __init__(
        self,
        data: Dataset,
        layout: Layout,
        options: Any,
        initial: Buffer | None = None,
        leader: Trainer | None = None,
        **unused: Any,
    ) -> None: ...
    @classmethod
    def expected_bytes(cls, data: Dataset, layout: Layout, options: Any, threads: int) -> int: ...
    @staticmethod
    def bytes_per_cell(options: Any, threads: int) -> int: ...
    def finish(self) -> None: ...
    def prepare(self, should_stop: Callable[[], bool] | None = None) -> Iterable[dict[str, float]]: ...
    def run_pass(self, should_stop: Callable[[], bool] | None = None) -> dict[str, float]: ...
    def weights(self) -> array[float]: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
    def measures(self) -> dict[str, float]: ...

class OnlineTrainer(Trainer):
    passes: int
    steps: int
    threads: int
    def __init__(
        self,
        data: Dataset,
        layout: Layout,
        options: Any,
        initial: Buffer | None = None,
        seed: int = 0,
        threads: int = 1,
        leader: Trainer | None = None,
        **unused: Any,
    ) -> None: ...
    def sequence_order(self) -> list[int]: ...
    def diverged(self, where: str = "") -> TrainingError: ...
    def crf_loss(self) -> float: ...

def run_worker(worker: OnlineTrainer, leader: OnlineTrainer) -> None: ...

def summarise(cells: Buffer) -> tuple[int, float]: ...
def all_finite(cells: Buffer) -> bool: ...
def prune(cells: Buffer, threshold: float) -> None: ...
