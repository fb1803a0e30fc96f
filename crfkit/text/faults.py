"""Errors in the input: what is wrong, and where."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit.errors import DataError
from crfkit.values import as_bytes, lists, plural, shown

if TYPE_CHECKING:
    from .block import Block


def is_container(value: Any) -> bool:
    """Whether it lists attributes. Not in Cython, whose isinstance with several classes swallows an object's exception."""
    return isinstance(value, (list, tuple, Mapping, Set))


@contextmanager
def placed_in(path: str | None) -> Iterator[None]:
    """DataErrors that name no file name this one, if there is one."""
    try:
        yield
    except DataError as error:
        if path is None or error.path is not None:
            raise
        raise DataError(error.reason, path) from None


class Found(NamedTuple):
    """Where a parse failed, as a byte offset in the block. `found` and `expected` depend on the kind of fault."""

    block: Block
    at: int
    found: int
    expected: int

    @property
    def byte(self) -> int:
        """The column of the byte in its line, from 1."""
        return self.at - self.block.data.rfind(b"\n", 0, self.at)

    @property
    def field(self) -> bytes:
        """The field at that byte."""
        return self.block.data[self.at : self.at + self.found]


NO_TOKENS = "no tokens: expected one token per line and a blank line after each sentence"
COMMENTS_HINT = " (--comments passes over lines before a sentence that begin with '#')"
CONLLU_HINT = " (CoNLL-U is read with --format conllu)"
TAGGED_HINT = " (crfkit tag adds a column; crfkit tag --fill replaces labels where they stand)"
SENTENCE_HINT = " (expected one token per line, and its tag in another column, not a sentence of word/TAG)"

_CONLLU = re.compile(rb"\d+(?:[-.]\d+)?(?:\t[^\t]*){9,}")  # a line of it
_TAGGED = re.compile(rb"\S+[/_]\S+")  # a word with its tag


def kind_of(line: bytes) -> str:
    """What a line may be rather than a row: "conllu", "#" for a comment, or "" for nothing else."""
    return "conllu" if _CONLLU.match(line) else "#" if line.startswith(b"#") else ""


def _tagged(line: bytes) -> bool:
    """Whether it may be a sentence of words with their tags: word/TAG word/TAG word/TAG."""
    cells = line.split()
    return len(cells) > 2 and all(_TAGGED.fullmatch(cell) for cell in cells)


def _ragged(fault: Found) -> str:
    block, columns = fault.block, fault.block.columns
    message = f"found {plural(fault.found, 'column')}, expected {fault.expected}"
    if columns.path is not None:
        message += f" as in {columns.path}:{columns.line}"
    line = block.data[fault.at :].split(b"\n", 1)[0]
    first = columns.kind if columns.path == block.path else ""
    if columns.names is None and "conllu" in (kind_of(line), first):
        message += CONLLU_HINT
    elif "#" in (kind_of(line), first):
        message += COMMENTS_HINT
    elif _tagged(line):
        message += SENTENCE_HINT
    if b"\r" in line.rstrip(b"\r"):
        message += " (a carriage return is within the line: lines end with \\n or \\r\\n)"
    if block.loose and b"\t" in block.data:
        message += " (for CRF++ and Wapiti columns end at blanks, too)"
    return message


def _name(fault: Found) -> str:
    """The name of the column, in parentheses, if it has one: columns behind those with names may have none."""
    return "".join(f" ({name})" for name in (fault.block.columns.names or ())[fault.found - 1 : fault.found])


def _no_number(otherwise: str) -> Callable[[Found], str]:
    """The message for a malformed number, unless it is too large."""

    def message(fault: Found) -> str:
        large = too_large(fault.field)
        return f"'{fault.field[:40].decode(errors='replace')}' {'is too large: values are kept in single precision, up to 3.4e38' if large else otherwise}"

    return message


# Names of faults, as rows.pyx gives them -> messages.
_MESSAGES: dict[str, Callable[[Found], str]] = {
    "nul": lambda fault: f"byte {fault.byte} of the line is 0: expected text in UTF-8",
    "utf8": lambda fault: f"byte {fault.byte} of the line (0x{fault.block.data[fault.at]:02X}) is not UTF-8: expected text in UTF-8",
    "long": lambda fault: "the line has more than 2,147,483,647 bytes",
    "ragged": _ragged,
    "label": lambda fault: f"column {fault.found}{_name(fault)} is empty: expected a label",
    "id": lambda fault: "the first column of CoNLL-U must be a number, a range like 1-2 or a decimal like 1.1",
    "name": lambda fault: f"byte {fault.byte} of the line begins a value: expected the name of an attribute",
    "number": _no_number("is not a finite number: expected attribute:value (write \\: for a colon in a name)"),
    "reserved": lambda fault: "a line that begins with '@' must be '@weight:NUMBER'",
    "weight": _no_number("is not a weight: expected a finite number, 0 or more"),
    "weights": lambda fault: "expected one @weight line per sequence, and tokens after it",
}


def fault_of(kind: str, block: Block, at: int, found: int, expected: int) -> DataError:
    """The error of a fault of that kind at that byte of a block."""
    line = block.first_line + block.data.count(b"\n", 0, at)
    return DataError(_MESSAGES[kind](Found(block, at, found, expected)), block.path, line)


def columns_of(row: Any, sentence: int, token: int) -> tuple[Any, ...]:
    """The columns of a row from Python. It is iterated once, and its columns are counted, as len() cannot be trusted."""
    if type(row) is not list and type(row) is not tuple:
        unordered = isinstance(row, (str, bytes, Mapping, Set))
        if unordered or not hasattr(row, "__iter__") or getattr(row, "ndim", 1) != 1:  # a table is not a row
            raise misfit(sentence, token, f"{type(row).__name__} {shown(row)}", "a list of columns")
    return tuple(row)


def no_sentence(found: Any, number: int) -> DataError:
    """The error for an object from Python that is not a sentence."""
    return DataError(f"sentence {number}: found {shown(found)}, expected a sentence: a list of rows")


def list_of(found: Any, expected: str) -> list[Any]:
    """An iterable from Python as a list. It is iterated once, as its len() cannot be trusted."""
    if not lists(found):
        raise DataError(f"found {shown(found)}, expected {expected}")
    return list(found)


def misfit(sentence: int, token: int, found: str, expected: Any) -> DataError:
    """The error for a row from Python."""
    return DataError(f"sentence {sentence}, token {token}: found {found}, expected {expected}")


def misfit_value(sentence: int, token: int, name: bytes, value: float) -> DataError:
    """The error for an attribute whose value does not fit single precision."""
    named = shown(name.decode(errors="replace"))
    return misfit(sentence, token, repr(value), f"a value of {named} from -3.4e38 to 3.4e38" if math.isfinite(value) else f"a finite value of {named}")


def ordered(found: Set[Any]) -> list[Any]:
    """A set as a list, in the same order in every run. Sets within it have none: `<` asks whether one contains the other."""
    try:
        items = sorted(found)
        if not items or isinstance(items[0], str) or not isinstance(items[0], Set):  # the class in collections.abc takes longer to ask
            return items
    except TypeError:
        pass
    return sorted(found, key=lambda item: repr(ordered(item) if isinstance(item, Set) else item))


def bytes_behind(text: str, loose: bool, sentence: int, token: int) -> bytes:
    """The bytes of a str with surrogates: if loose, the bytes that Python escaped as such; otherwise an error."""
    if loose:
        with suppress(UnicodeEncodeError):
            return as_bytes(text)
    raise misfit(sentence, token, shown(text), "text that UTF-8 can encode")


def too_large(number: bytes) -> bool:
    """Whether it is a number too large for a float."""
    try:
        return number[-1:].isdigit() and abs(float(number)) > 3e38
    except ValueError:
        return False


def line_of(data: bytes, number: int) -> bytes:
    """A line of a block, counted from 0; empty if there is no such line."""
    lines = data.split(b"\n", number + 1)
    return lines[number] if 0 <= number < len(lines) else b""
