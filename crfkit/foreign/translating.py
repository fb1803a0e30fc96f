"""Translation of templates of crfkit and CRF++ to Wapiti's patterns, and back, as far as both languages allow.

That is lines of literal text and %x. The names of their features change, too: the first letter, and the paddings, _B-1 or _x-1. A cell
of the data may look like a padding; such a feature gets both names. One that looks like a padding of the other language would be taken for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from crfkit.errors import UnsupportedError
from crfkit.features.strings import StringTable
from crfkit.template import dialects
from crfkit.template.macros import Line
from crfkit.values import as_text

from .parts import FeatureRows, Parts, Places

FARTHEST = 4  # tokens away: beyond that Wapiti has one name for all

MOST_FORMS = 1 << 12  # of one name: each cell that looks like a padding may be one, or not

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
    return replace(parts, unigrams=rows[0], bigrams=rows[1], template=template, places=Places.of(StringTable()))


def written(line: Line) -> bytes:
    """A line with only %x macros, in the syntax of CRF++ and Wapiti."""
    text = line.literals[0]
    for macro, literal in zip(line.macros, line.literals[1:], strict=True):
        text += b"%%x[%d,%d]" % (macro.row, macro.column) + literal
    return text


def _check(line: Line, to: str) -> None:
    """UnsupportedError for a line that the other language cannot express."""
    where, program = f"line {line.number} of the template", {dialects.WAPITI: "Wapiti", dialects.CRFPP: "CRF++"}[to]
    for macro in line.macros:
        if macro.kind != "x" or macro.lower or "@" in macro.text:
            raise UnsupportedError(f"{where}: {macro.text} has another meaning in {program}, or none; only %x[row,column] is the same")
        if not -FARTHEST <= macro.row <= FARTHEST:
            raise UnsupportedError(f"{where}: {macro.text} looks further than {FARTHEST} tokens, where {program} has other names for cells beyond the sentence")
    if b"%" in b"".join(line.literals):
        raise UnsupportedError(f"{where}: {program} has no way to write a percent sign")


def _texts(line: Line, to: str) -> Iterator[bytes]:
    """The line in the other language; two where that has no lines for both single labels and pairs."""
    body = written(line)[1:]
    single, pair, both = _LETTERS[to]
    if line.kinds == "UB" and both is not None:
        yield both + body
    else:
        yield from (letter + body for kind, letter in (("U", single), ("B", pair)) if kind in line.kinds)


def _renamed(parts: Parts, bigram: bool, to: str) -> FeatureRows:
    """The features of one kind under their names in the other language."""
    from .names import renamed

    template = parts.template
    assert template is not None
    old, dialect = parts.bigrams if bigram else parts.unigrams, template.dialect
    # Of lines that make the same names under the same conditions, one.
    alike = {(line.kinds, line.literals, tuple(macro.row for macro in line.macros)): line for line in template.lines if "UB"[bigram] in line.kinds}
    starts = b"".join({line.literals[0][:1] for line in alike.values()})
    letters = b"".join(sorted({_letter(line, bigram, to) for line in alike.values()}))
    by_beginning: dict[bytes, list[Line]] = {}
    for line in alike.values():
        by_beginning.setdefault(line.literals[0], []).append(line)
    lengths = {len(text) for text in by_beginning}
    own, their = _PADDINGS.get(dialect or "", b"_B"), _PADDINGS[to]

    def makers_of(name: bytes) -> Iterator[Line]:
        return (line for length in lengths for line in by_beginning.get(name[:length], ()))

    def others(name: bytes) -> set[bytes]:
        """Its names in the other language."""
        return {_letter(line, bigram, to) + other[1:] for line in makers_of(name) for other in _names(name, line, own, their)}

    def special(name: bytes) -> tuple[list[bytes], bool]:
        """The same, and whether a token that the model lacks would get one of them."""
        found = others(name)
        twins = (twin for letter in starts if old.names.find(twin := bytes([letter]) + name[1:]) < 0)
        beyond = (twin for line in makers_of(name) for twin in _names(name, line, their, own))
        return sorted(found), any(old.names.find(twin) < 0 for twin in beyond) or any(found & others(twin) for twin in twins)

    makers = {(1 << letters.index(_letter(line, bigram, to)), line.literals) for line in alike.values()}
    names, numbers, clashes = renamed(old.names, makers, letters, starts, (own, their + b"-", their + b"+"), special)
    for one, other in clashes:
        if one is None or old.features(one) != old.features(other):
            raise UnsupportedError(f"{old.names[other].decode(errors='replace')!r} and another feature would get the same name")
    return old.renamed(names, numbers)


def _letter(line: Line, bigram: bool, to: str) -> bytes:
    """The first letter of the line's names in the other language."""
    single, pair, both = _LETTERS[to]
    return both if line.kinds == "UB" and both else pair if bigram else single


def _names(name: bytes, line: Line, before: bytes, after: bytes) -> Iterator[bytes]:
    """The names of a feature `name` of the line where cells beyond the sentence are `after` instead of `before`; the name begins as the line does."""
    beyond = [[padding for padding in _beyond(macro.row, before) if padding in name] for macro in line.macros]
    if prod(len(found) + 1 for found in beyond) > MOST_FORMS:
        raise UnsupportedError(f"line {line.number} of the template: too many of its macros look beyond the sentence at once to rename them all")
    for chosen in product(*([None, *found] for found in beyond)):
        found = _cells(line, chosen, name)
        if found is None:
            continue
        text = line.literals[0]
        for cell, padding, literal in zip(found, chosen, line.literals[1:], strict=True):
            text += (cell if padding is None else padding.replace(before, after)) + literal
        yield text


def _cells(line: Line, chosen: tuple[bytes | None, ...], name: bytes) -> tuple[bytes, ...] | None:
    """The cells in a name, if those with a `chosen` padding are that; None if the line does not make such a name."""
    if not line.macros:
        return () if name == line.literals[0] else None
    if len(line.macros) == 1 and chosen[0] is None:  # as most lines are: a pattern for each of thousands takes long to compile
        first, last = line.literals
        long_enough = len(name) >= len(first) + len(last)
        return (name[len(first) : len(name) - len(last)],) if long_enough and name.endswith(last) else None
    forms = [rb"(.*)" if padding is None else b"(" + re.escape(padding) + b")" for padding in chosen]
    pattern = re.escape(line.literals[0]) + b"".join(form + re.escape(literal) for form, literal in zip(forms, line.literals[1:], strict=True))
    found = re.fullmatch(pattern, name, re.DOTALL)
    return None if found is None else found.groups()


def _beyond(row: int, prefix: bytes) -> list[bytes]:
    """The names of the cells beyond the sentence that a macro with this row can see."""
    return [prefix + b"%+d" % (distance if row > 0 else -distance) for distance in range(1, abs(row) + 1)]
