from collections.abc import Callable

from .scaled import ScaledTrainer

class Sapo(ScaledTrainer):
    def run_pass(self, should_stop: Callable[[], bool] | None = None) -> dict[str, float]: ...
