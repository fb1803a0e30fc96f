from array import array

from .paths import AveragedTrainer

class ConfidenceTrainer(AveragedTrainer):
    def variances(self) -> array[float]: ...
