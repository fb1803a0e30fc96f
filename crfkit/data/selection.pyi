from array import array

from typing_extensions import Buffer

from .dataset import Dataset

def mutual_information(data: Dataset, bigram: bool = False, rules: Buffer | None = None) -> array[float]: ...
def keep_best(scores: tuple[array[float], array[float]], rules: tuple[bytearray, bytearray], n: int) -> None: ...
