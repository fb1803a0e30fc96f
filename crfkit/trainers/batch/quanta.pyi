from array import array

from typing_extensions import Buffer

from crfkit.data.dataset import Dataset

def largest_factors(data: Dataset) -> array[float]: ...
def sums_of_terms(data: Dataset, largest: Buffer | None) -> array[float]: ...
