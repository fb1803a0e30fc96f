from .dataset import Dataset

WINDOW_BYTES: int

class Ordered:
    def __init__(self, data: Dataset) -> None: ...
