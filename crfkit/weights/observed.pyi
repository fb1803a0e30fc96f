from array import array

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset

class Observed: ...

def seen_in(
    data: Dataset, labels: int, bigram: bool, reaches: Buffer | None = None
) -> tuple[array[int], array[int], array[int] | None, array[int] | None, array[int]]: ...
