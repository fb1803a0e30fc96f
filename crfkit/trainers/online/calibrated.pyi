from crfkit.trainers.stepwise import OnlineTrainer

class CalibratedTrainer(OnlineTrainer):
    looks_for_paths: bool
    seeks_optimum: bool
    rate0: float
    @property
    def has_shares(self) -> bool: ...
