"""The reference implementation of template lines and macros: the feature string at a token, written for clarity.

The compiled walk (features/walk.pyx) finds the same features by interned cells; the tests compare it, and the
transforms in features/cells.pyx and template/regex.pyx, with this module. It shares no code with them: case and
character classes come from Python's str, regular expressions run in Python's re.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby

from .macros import MOST_COUNTED, Line, Macro

Sentence = Sequence[Sequence[str]]

_PADDING = re.compile(r"_B[+-][1-9][0-9]*")


def expand(
    line: Line, rows: Sentence, t: int, labels: Sequence[str] | None = None, places: Callable[[str], int | None] | None = None
) -> str | None:
    """The feature string of a line at token `t` of a sentence; None if a macro has no value there.

    `rows` holds the columns of each token. `labels` are the labels so far, for lines with %y. For P lines, `places`
    finds the token at a place of a parser, and `t` is ignored."""
    text = line.literals[0].decode()
    for macro, literal in zip(line.macros, line.literals[1:], strict=True):
        value = _value(macro, rows, t, labels) if places is None else _placed(macro, rows, places)
        if value is None:
            return None
        text += value + literal.decode()
    return text


def _value(macro: Macro, rows: Sentence, t: int, labels: Sequence[str] | None) -> str | None:
    if macro.kind == "y":
        if labels is None:
            raise ValueError(f"{macro.text} needs the labels of the tokens before")
        return labels[t + macro.row] if t + macro.row >= 0 else f"_B{t + macro.row}"
    cell = _cell(rows, t + macro.row, macro.column)
    if macro.kind == "=":
        return "true" if cell == _cell(rows, t + macro.row2, macro.column2) else "false"
    if _PADDING.fullmatch(cell):
        # A cell of the data that reads like a padding is one: features are strings, and could not tell them apart.
        return {"t": "false", "m": "", "p": None, "s": None}.get(macro.kind, cell)
    value = _transform(macro, cell)
    return _lower(value) if macro.lower and value is not None else value


def _placed(macro: Macro, rows: Sentence, places: Callable[[str], int | None]) -> str | None:
    """The value of a macro of a P line at its places; the padding if one is empty."""
    here, there = places(macro.place), places(macro.place2 or macro.place)
    if here is None or there is None:
        return "_B-1"
    if macro.kind == "d":
        return str(abs(there - here))
    if macro.kind == "v":
        return str(1 + sum(places(f"{macro.place}{k}") is not None for k in range(2, MOST_COUNTED + 1)))
    return _value(macro._replace(row2=there - here), rows, here, None)


def _cell(rows: Sentence, i: int, column: int) -> str:
    """A cell, or CRF++'s padding: _B-1 just before the sentence, _B+1 just after it."""
    if i < 0:
        return f"_B{i}"
    if i >= len(rows):
        return f"_B+{i - len(rows) + 1}"
    return rows[i][column]


def _transform(macro: Macro, cell: str) -> str | None:
    if macro.kind == "p":
        return cell[: macro.length] if len(cell) >= macro.length else None
    if macro.kind == "s":
        return cell[-macro.length :] if len(cell) >= macro.length else None
    if macro.kind == "N":
        return _lower("".join("#" if c.isdecimal() else c for c in cell))
    if macro.kind == "S":
        shape = "".join(map(_shape, cell))
        return "".join(c for c, _ in groupby(shape)) if macro.collapse else shape
    if macro.kind in "tm":
        match = _python_regex(macro.pattern).search(cell)
        if macro.kind == "t":
            return "true" if match else "false"
        return match[0] if match else ""
    return cell


def _lower(text: str) -> str:
    # Character by character, so that the length stays: the lower case of İ alone would have two characters.
    return "".join(c.lower()[0] for c in text)


def _shape(c: str) -> str:
    if c.istitle() or c.isupper():
        return "X"
    if c.isalpha() or c.islower():
        return "x"
    return "0" if c.isdecimal() else c


_KINDS = {
    "d": str.isdecimal,
    "a": str.isalpha,
    "w": str.isalnum,
    "l": str.islower,
    "u": str.isupper,
    "s": str.isspace,
    "p": lambda c: unicodedata.category(c)[0] in "PS",
}


@cache
def _members(kind: str) -> str:
    r"""The inside of a character set for a class, such as a-zA-Z for \a."""
    flags = bytes(map(_KINDS[kind.lower()], map(chr, range(0x110000))))
    runs = re.finditer(b"\1+" if kind.islower() else b"\0+", flags)
    return "".join(f"\\U{run.start():08x}-\\U{run.end() - 1:08x}" for run in runs)


# What means something else to Python: a backslash and a character, a set, the end. In a set, the members.
_TOKEN = re.compile(r"\\(.)|\[(\^?)(\]?(?:\\.|[^]\\])*)\]|\$", re.DOTALL)
_MEMBER = re.compile(r"\\(.)|[][&~|]", re.DOTALL)


@cache
def _python_regex(pattern: str) -> re.Pattern[str]:
    """A pattern of ours as one of Python: character classes as sets, other escapes as literals."""

    def token(found: re.Match[str]) -> str:
        escaped, negated, members = found.groups()
        if members is not None:
            return f"[{negated}{_MEMBER.sub(member, members)}]"
        return r"\Z" if escaped is None else f"[{_members(escaped)}]" if _is_class(escaped) else re.escape(escaped)

    def member(found: re.Match[str]) -> str:
        escaped = found[1]
        return "\\" + found[0] if escaped is None else _members(escaped) if _is_class(escaped) else re.escape(escaped)

    return re.compile(_TOKEN.sub(token, pattern), re.DOTALL)


def _is_class(escaped: str) -> bool:
    return escaped.isascii() and escaped.lower() in _KINDS
