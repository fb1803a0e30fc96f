from crfkit.decode.scratch import Scratch
from crfkit.text.rows import Rows

Found = tuple[int, int, int, list[tuple[int, int, int]]]

class LinePrinter:
    def __init__(
        self, *, only: bool = False, check: bool = False, scores: bool = False, posterior: bool = False, force: bool = False, nbest: int = 1
    ) -> None: ...
    def text(self, x: Scratch, rows: Rows) -> tuple[bytes, int, Found | None]: ...

class Count:
    def __init__(self, L: int) -> None: ...
    def found(self, tokens: int) -> Found: ...
