"""Templates in the languages of other programs, as found in their models.

CRF++ has one macro, %x[row,column]; the rest of a line is literal text, without annotations or doubled percent
signs. patterns.pyx applies Wapiti's patterns; the lines made of them here only say which cells they look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from crfkit.errors import TemplateError
from crfkit.values import as_bytes, counted

from .macros import Line, Macro
from .parsing import Template, read_text
from .pattern_syntax import KINDS
from .pattern_syntax import parse as parse_pattern

CRFPP = "crf++"
WAPITI = "wapiti"
MAXENT = "wapiti-maxent"  # the same patterns, in a model without label pairs

_NAMED = 3  # lines of which no feature is made; of more, their number
_CELL = r"%x\[(-?[0-9]{0,2}),([0-9]{0,6})\]"  # missing digits mean zero
_STRANGE = r"\0|%[^]%]{0,20}]?"  # what cannot be literal text


def _crfpp_line(text: str, number: int) -> Line:
    kind = text[0]
    if kind not in "UB":
        raise TemplateError(f"a line starts with {kind!r}, expected U or B", "template", number)
    literals, macros, at = [], [], 0
    for found in re.finditer(_CELL, text):
        literals.append(text[at : found.start()])
        macros.append(Macro("x", found[0], _integer(found[1]), _integer(found[2])))
        at = found.end()
    literals.append(text[at:])
    if strange := re.search(_STRANGE, re.sub(_CELL, "", text)):
        raise TemplateError(f"{strange[0]!r}: expected %x[row,column], without blanks or +, the row of two digits at most; CRF++ has no other macro", "template", number)
    return Line(number, text, kind, tuple(as_bytes(literal) for literal in literals), tuple(macros))


def _integer(digits: str) -> int:
    return int(digits) if digits.strip("-") else 0


def _maxent_line(text: str, number: int) -> Line:
    line = _wapiti_line(text, number)
    return line._replace(kinds=line.kinds.replace("B", ""))


def _wapiti_line(text: str, number: int) -> Line:
    literals, macros = [""], []
    for item in parse_pattern(text, number):
        if isinstance(item, str):
            literals[-1] += item
        else:
            letter, absolute, row, column, regex = item
            shown = f"%{letter}[{'@' * absolute}{row},{column}" + ("]" if regex is None else f',"{regex}"]')
            macros.append(Macro(letter.lower(), shown, row, column, pattern=regex or "", lower=letter.isupper()))
            literals.append("")
    return Line(number, text, KINDS[text[0]], tuple(as_bytes(literal) for literal in literals), tuple(macros))


_PARSERS: Mapping[str, Callable[[str, int], Line]] = {CRFPP: _crfpp_line, WAPITI: _wapiti_line, MAXENT: _maxent_line}


def parse(text: str, dialect: str, path: str | None = None) -> Template:
    """The template of a model, whose attributes are known by their strings alone; or one for training, from the file `path`."""
    if dialect not in _PARSERS:
        raise TemplateError(f"unknown language {dialect!r}")
    parser = _PARSERS[dialect]
    try:
        lines = tuple(parser(line, number) for number, line in enumerate(text.split("\n"), 1) if line)
        if not lines:
            raise TemplateError("the template has no line that starts with " + ("U or B" if dialect == CRFPP else "u, b or *"))
    except TemplateError as error:
        if path is None:
            raise
        raise TemplateError(error.reason, path, error.line) from None
    return Template(lines, text, path, by_string=path is None, dialect=dialect)


def load_crfpp(path: str, warn: Callable[[str], Any]) -> Template:
    """A template file of CRF++, for training. Like CRF++, this passes over lines of no kind; unlike it, it warns of those that are no comments."""
    strays: list[tuple[int, str]] = []
    lines = [line.removesuffix("\r") for line in read_text(path, loose=True).removeprefix("\ufeff").split("\n")]
    for number, line in enumerate(lines, 1):
        if line and line[0] not in "UB":
            lines[number - 1] = ""
            if line.strip() and not line.lstrip(" \t").startswith("#"):
                strays.append((number, line[0]))
    for number, kind in strays[:_NAMED]:
        warn(f"{path}:{number}: no feature is made of a line that starts with {kind!r}: CRF++ knows U and B")
    if len(strays) > _NAMED:
        warn(f"{path}: nor of {counted(len(strays) - _NAMED, 'more line')}: the template is given before the training data")
    return parse("\n".join(lines), CRFPP, path)
