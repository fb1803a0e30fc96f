from collections.abc import Callable

from .scaled import ScaledTrainer

class Sapo(ScaledTrainer):
    looks_for_paths: bool
    def run_pass(self, should_stop: Callable[[], bool] | None = None) -> dict[str, float]: ...
