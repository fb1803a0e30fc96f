from crfkit.text.rows import Rows

from .decoder import Decoder

class Scratch:
    decoder: Decoder
    level: float
    def __init__(self, decoder: Decoder) -> None: ...
    def labels_of(self, rows: Rows, first: int, last: int, posterior: bool = False) -> list[list[str]]: ...

def gold_labels(rows: Rows) -> list[list[str]]: ...
