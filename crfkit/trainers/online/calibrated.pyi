from crfkit.trainers.stepwise import OnlineTrainer

class CalibratedTrainer(OnlineTrainer):
    rate0: float
    @property
    def has_shares(self) -> bool: ...
