"""Rows that are none, and the words for what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from typing import Any

from crfkit.errors import DataError
from crfkit.values import as_bytes, shown


def columns_of(row: Any, sentence: int, token: int) -> tuple[Any, ...]:
    """The columns of a row from Python, read once: how many there are is counted, never asked."""
    if type(row) is not list and type(row) is not tuple:
        unordered = isinstance(row, (str, bytes, Mapping, Set))
        if unordered or not hasattr(row, "__iter__") or getattr(row, "ndim", 1) != 1:  # a table is not a row
            raise misfit(sentence, token, f"{type(row).__name__} {shown(row)}", "a list of columns")
    return tuple(row)


def no_sentence(found: Any, number: int) -> DataError:
    """The error of something from Python that is no sentence."""
    return DataError(f"sentence {number}: found {shown(found)}, expected a sentence: a list of rows")


def misfit(sentence: int, token: int, found: str, expected: Any) -> DataError:
    """The error of a row from Python."""
    return DataError(f"sentence {sentence}, token {token}: found {found}, expected {expected}")


def bytes_behind(text: str, loose: bool, sentence: int, token: int) -> bytes:
    """What a str that is not UTF-8 stands for: if loose, the bytes that Python escapes so."""
    if loose:
        with suppress(UnicodeEncodeError):
            return as_bytes(text)
    raise misfit(sentence, token, shown(text), "characters that UTF-8 has")


def plural(n: int, noun: str) -> str:
    """1 noun, 2 nouns."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def too_large(number: bytes) -> bool:
    """Whether it is a number, and larger than a float holds."""
    try:
        return number[-1:].isdigit() and abs(float(number)) > 3e38
    except ValueError:
        return False


def begins_with_mark(data: bytes, line: int) -> bool:
    """Whether that line of a block, counted from 0, looks like a comment."""
    lines = data.split(b"\n", line + 1)
    return 0 <= line < len(lines) and lines[line].startswith(b"#")
