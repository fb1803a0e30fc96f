from collections.abc import Iterable
from typing import Any

from .rows import Rows

def fill_items(rows: Rows, sentences: Iterable[Iterable[Any]], labelled: bool = False, before: int = 0) -> None: ...
def read_sentence(sentence: Iterable[Any]) -> tuple[Rows, list[float]]: ...
