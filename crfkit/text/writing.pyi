from collections.abc import Sequence

from .rows import Rows

def tagged(rows: Rows, labels: Sequence[bytes], separator: bytes | None = None) -> bytes: ...
