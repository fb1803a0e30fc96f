"""Templates of crfkit and CRF++ as patterns of Wapiti, and back: what both sides can say.

That is lines with literal text and %x alone. Names of features change with them: their first letter, and the names of cells
beyond the sentence, _B-1 or _x-1. A cell of the data may read like one of these; such a feature is written under both names.
"""

from __future__ import annotations

import array
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from crfkit.errors import UnsupportedError
from crfkit.template import dialects
from crfkit.template.macros import Line
from crfkit.values import as_text

from .parts import Parts, Rows

FARTHEST = 4  # tokens away: beyond that Wapiti has one name for all

# First letters for single labels, for pairs, for both; the names of cells beyond the sentence.
_LETTERS = {dialects.WAPITI: (b"u", b"b", b"*"), dialects.CRFPP: (b"U", b"B", None)}
_PADDINGS = {dialects.WAPITI: b"_x", dialects.MAXENT: b"_x", dialects.CRFPP: b"_B"}


def translated(parts: Parts, to: str) -> Parts:
    """The same model with a template in another language, dialects.WAPITI or CRFPP."""
    assert parts.template is not None
    if parts.template.dialect == to or (parts.template.dialect == dialects.MAXENT and to == dialects.WAPITI):
        return parts
    for line in parts.template.lines:
        _check(line, to)
    lines = [text for line in parts.template.lines for text in _texts(line, to)]
    template = dialects.parse("".join(as_text(line) + "\n" for line in lines), to)
    rows = [_renamed(parts, bool(bigram), to) for bigram in (False, True)]
    return replace(parts, unigrams=rows[0], bigrams=rows[1], template=template, places={})


def _check(line: Line, to: str) -> None:
    """UnsupportedError for a line that the other language cannot say."""
    where, program = f"line {line.number} of the template", {dialects.WAPITI: "Wapiti", dialects.CRFPP: "CRF++"}[to]
    for macro in line.macros:
        if macro.kind != "x" or macro.lower or "@" in macro.text:
            raise UnsupportedError(f"{where}: {macro.text} is not the same in {program}; only %x[row,column] is")
        if not -FARTHEST <= macro.row <= FARTHEST:
            raise UnsupportedError(f"{where}: {macro.text} looks further than {FARTHEST} tokens, where {program} names cells beyond the sentence otherwise")
    if b"%" in b"".join(line.literals):
        raise UnsupportedError(f"{where}: {program} has no way to write a percent sign")


def _texts(line: Line, to: str) -> Iterator[bytes]:
    """The line in the other language; two where that has no lines for both single labels and pairs."""
    body = line.literals[0][1:]
    for macro, literal in zip(line.macros, line.literals[1:], strict=True):
        body += b"%%x[%d,%d]" % (macro.row, macro.column) + literal
    single, pair, both = _LETTERS[to]
    if line.kinds == "UB" and both is not None:
        yield both + body
    else:
        yield from (letter + body for kind, letter in (("U", single), ("B", pair)) if kind in line.kinds)


def _renamed(parts: Parts, bigram: bool, to: str) -> Rows:
    """The features of one kind under their names in the other language."""
    assert parts.template is not None
    lines = [line for line in parts.template.lines if "UB"[bigram] in line.kinds]
    old, new = (parts.bigrams if bigram else parts.unigrams), Rows.empty()
    made: dict[bytes, tuple] = {}
    for number, name in enumerate(old.names):
        for other in sorted({renamed for line in lines for renamed in _names(name, line, bigram, parts.template.dialect, to)}):
            span = slice(old.ptr[number], old.ptr[number + 1])
            features = old.label[span], old.weight[span], old.previous[span] if bigram else array.array("H")
            if made.setdefault(other, features) != features:
                raise UnsupportedError(f"{name.decode(errors='replace')!r} and another feature would get the same name")
            if new.names.intern_bytes(other) == len(new.ptr) - 1:
                new.label.extend(features[0])
                new.weight.extend(features[1])
                new.previous.extend(features[2])
                new.ptr.append(len(new.label))
    return new


def _names(name: bytes, line: Line, bigram: bool, source: str | None, to: str) -> Iterator[bytes]:
    """What the line, in the other language, says where it says `name` in its own."""
    before, after = _PADDINGS.get(source or "", b"_B"), _PADDINGS[to]
    if not name.startswith(line.literals[0]):
        return
    letter = _LETTERS[to][2] if line.kinds == "UB" and _LETTERS[to][2] else _LETTERS[to][bigram]
    assert letter is not None
    cells = [rb"(.*)"] * len(line.macros)
    beyond = [_beyond(macro.row, before) if before in name else [] for macro in line.macros]
    for chosen in product(*([None, *found] for found in beyond)):
        forms = [cell if padding is None else b"(" + re.escape(padding) + b")" for cell, padding in zip(cells, chosen, strict=True)]
        pattern = re.escape(line.literals[0]) + b"".join(form + re.escape(literal) for form, literal in zip(forms, line.literals[1:], strict=True))
        found = re.fullmatch(pattern, name, re.DOTALL)
        if found is None:
            continue
        text = letter + line.literals[0][1:]
        for cell, padding, literal in zip(found.groups(), chosen, line.literals[1:], strict=True):
            text += (cell if padding is None else padding.replace(before, after)) + literal
        yield text


def _beyond(row: int, prefix: bytes) -> list[bytes]:
    """The names of the cells beyond the sentence that a macro with this row can see."""
    return [prefix + b"%+d" % (distance if row > 0 else -distance) for distance in range(1, abs(row) + 1)]
