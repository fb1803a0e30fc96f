from crfkit.text.rows import Rows

from .scratch import Scratch

class Printer:
    def __init__(
        self,
        *,
        verbose: int = 0,
        nbest: int = 0,
        posterior: bool = False,
        probability: bool = False,
        partial: bool = False,
        separator: bytes | None = None,
        cells: bool = False,
        fill: bool = False,
    ) -> None: ...
    def text(self, x: Scratch, rows: Rows) -> bytes: ...
