"""Rows that are none, and the words for what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from crfkit.errors import DataError
from crfkit.values import as_bytes, shown

if TYPE_CHECKING:
    from .reading import Block

# What a parse may find, as rows.pyx numbers them.
FAULTS = ("nul", "utf8", "long", "ragged", "label", "id", "name", "number", "reserved", "weight", "weights")


def fault_of(block: Block, kind: int, at: int, found: int, expected: int) -> DataError:
    """The error of a fault at that byte of a block. What else is known of it depends on its kind."""
    data, fault = block.data, FAULTS[kind]
    begin = data.rfind(b"\n", 0, at) + 1
    excerpt = data[at : at + min(found, 40)].decode("utf-8", "replace")
    if fault == "nul":
        message = f"byte {at - begin + 1} of the line is 0: expected text in UTF-8"
    elif fault == "utf8":
        message = f"byte {at - begin + 1} of the line (0x{data[at]:02X}) is not UTF-8: expected text in UTF-8"
    elif fault == "long":
        message = "the line has more than 2,147,483,647 bytes"
    elif fault == "ragged":
        layout = block.layout
        message = f"found {plural(found, 'column')}, expected {expected}"
        if layout.path is not None:
            message += f" as in {layout.path}:{layout.line}"
        told_by = None if layout.line is None or layout.path != block.path else layout.line - block.first_line
        if data[at : at + 1] == b"#" or (told_by is not None and begins_with_mark(data, told_by)):
            message += " (--comments passes over lines before a sentence that begin with '#')"
        if block.loose and b"\t" in data:
            message += " (for CRF++ and Wapiti columns end at blanks, too)"
    elif fault == "label":
        message = f"column {found} is empty: expected a label"
    elif fault == "id":
        message = "the first column of CoNLL-U must be a number, a range like 1-2 or a decimal like 1.1"
    elif fault == "name":
        message = f"byte {at - begin + 1} of the line begins a value: expected the name of an attribute"
    elif fault in ("number", "weight") and too_large(data[at : at + found]):
        message = f"'{excerpt}' is too large: values are kept in single precision, up to 3.4e38"
    elif fault == "number":
        message = f"'{excerpt}' is not a finite number: expected attribute:value (write \\: for a colon in a name)"
    elif fault == "reserved":
        message = "a line that begins with '@' must be '@weight:NUMBER'"
    elif fault == "weight":
        message = f"'{excerpt}' is not a weight: expected a finite number, 0 or more"
    else:
        message = "expected one @weight line a sequence, and tokens after it"
    return DataError(message, block.path, block.first_line + data.count(b"\n", 0, at))


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
