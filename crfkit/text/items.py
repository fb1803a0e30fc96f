"""Rows of attributes from Python, as lines of CRFsuite's format.

A row is a mapping {name: value}, or a list of names and of pairs (name, value); a name alone has the value 1. In
training data it stands in a pair with its label: (row, label).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from crfkit.errors import DataError

_ESCAPES = str.maketrans({"\\": "\\\\", ":": "\\:"})
_FORBIDDEN = frozenset("\t\n\r\0")


def attribute_lines(sentences: Iterable[Iterable[Any]], labelled: bool = False) -> bytes:
    """The sentences as text; where they are not labelled, a question mark stands in the place of each label."""
    lines: list[str] = []
    for s, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, Iterable):
            raise DataError(f"sentence {s}: found {type(sentence).__name__}, expected a list of rows")
        for t, row in enumerate(sentence, 1):
            label = "?"
            if labelled:
                row, label = _pair(row, s, t)
            if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
                raise _misfit(s, t, row, "a list of attributes, or a mapping from names to values")
            items = row.items() if isinstance(row, Mapping) else row
            lines.append("\t".join([label, *(_field(item, s, t) for item in items)]))
        lines.append("")
    try:
        return "\n".join([*lines, ""]).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"an attribute has characters that UTF-8 does not have: {error.object[error.start : error.end]!r}") from None


def _pair(row: Any, s: int, t: int) -> tuple[Any, str]:
    """A row and its label, as it stands in a line."""
    if not isinstance(row, (list, tuple)) or len(row) != 2 or not isinstance(row[1], str):
        raise _misfit(s, t, row, "a pair (attributes, label)")
    if not row[1] or row[1][0] == "@" or _FORBIDDEN & set(row[1]):
        raise _misfit(s, t, row[1], "a label: a str with something in it, without tabs and line ends, that does not begin with '@'")
    return row[0], row[1].translate(_ESCAPES)


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
