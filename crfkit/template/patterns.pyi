from crfkit.text.rows import Rows

Item = str | tuple[str, bool, int, int, str | None]

KINDS: dict[str, int]
NUMBER: str

def plain_pattern(texts: list[str]) -> str | None: ...
def parse(text: str, number: int) -> list[Item]: ...

class Patterns:
    texts: list[str]
    last_column: int
    def __init__(self, texts: list[str], single: bool = False) -> None: ...
    @property
    def has_plain(self) -> bool: ...
    def strings(self, rows: Rows) -> list[list[bytes]]: ...
