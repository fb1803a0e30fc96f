from collections.abc import Sequence

from .tables import Features

class Extractor:
    features: Features
    def __init__(self, features: Features, columns: Sequence[int] | None = None) -> None: ...
