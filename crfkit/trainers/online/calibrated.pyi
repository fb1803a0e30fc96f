from crfkit.trainers.base import OnlineTrainer

class CalibratedTrainer(OnlineTrainer):
    rate0: float
