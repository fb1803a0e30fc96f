from collections.abc import Sequence

from crfkit.text.rows import Rows

from .tables import Features

class Extractor:
    features: Features
    def __init__(self, features: Features, columns: Sequence[int] | None = None) -> None: ...
    def attributes_of(self, rows: Rows) -> list[tuple[list[int], list[int]]]: ...
