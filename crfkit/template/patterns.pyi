from crfkit.text.rows import Rows

Item = str | tuple[str, bool, int, int, str | None]

KINDS: dict[str, int]
NUMBER: str

def parse(text: str, number: int) -> list[Item]: ...

class Patterns:
    texts: list[str]
    last_column: int
    def __init__(self, texts: list[str]) -> None: ...
    @property
    def has_bigrams(self) -> bool: ...
    def strings(self, rows: Rows) -> list[list[bytes]]: ...
