"""Rows of attributes from Python, as lines of CRFsuite's format.

A row is a mapping {name: value}, or a list of names and of pairs (name, value); a name alone has the value 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from .errors import DataError

_ESCAPES = str.maketrans({"\\": "\\\\", ":": "\\:"})
_FORBIDDEN = frozenset("\t\n\r\0")


def attribute_lines(sentences: Iterable[Sequence[Any]]) -> bytes:
    """The sentences as text; in the place of each label stands a question mark."""
    lines: list[str] = []
    for s, sentence in enumerate(sentences, 1):
        for t, row in enumerate(sentence, 1):
            if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
                raise _misfit(s, t, row, "a list of attributes, or a mapping from names to values")
            items = row.items() if isinstance(row, Mapping) else row
            lines.append("\t".join(["?", *(_field(item, s, t) for item in items)]))
        lines.append("")
    try:
        return "\n".join([*lines, ""]).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"an attribute has characters that UTF-8 does not have: {error.object[error.start : error.end]!r}") from None


def _field(item: Any, s: int, t: int) -> str:
    if isinstance(item, str):
        name, value = item, 1.0
    else:
        try:
            name, value = item
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            raise _misfit(s, t, item, "a name, or a pair (name, number)") from None
    if not isinstance(name, str) or not name or _FORBIDDEN & set(name):
        raise _misfit(s, t, name, "the name of an attribute: a str with something in it, without tabs and line ends")
    if not isfinite(value):
        raise _misfit(s, t, value, f"a finite value of {name!r}")
    text = name.translate(_ESCAPES)
    return text if value == 1 else f"{text}:{value!r}"


def _misfit(s: int, t: int, found: Any, expected: str) -> DataError:
    return DataError(f"sentence {s}, token {t}: found {found!r}, expected {expected}")
