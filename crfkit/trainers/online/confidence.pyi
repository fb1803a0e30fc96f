from array import array

from .averaged import AveragedTrainer

class ConfidenceTrainer(AveragedTrainer):
    def variances(self) -> array[float]: ...
