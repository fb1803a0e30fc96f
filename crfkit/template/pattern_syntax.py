"""The syntax of Wapiti's patterns. patterns.pyx applies them.

    u:%x[-1,0]          a cell, relative to the token: row, column; capital letters in the place of x, t, m lower the case
    u:%x[@1,0]          of the first token; @-1 is the last one
    b:%t[0,0,"^\\u"]    true or false: does the regular expression fit?
    *:%m[0,0,"ing$"]    the part that fits, or nothing

Beyond the sentence cells read _x-1 to _x-4 and _x-#, _x+1 to _x+4 and _x+#. A regular expression knows . \\d \\a
\\w \\l \\u \\p \\s (capital: all else), ^ first and $ last, * and ? behind one character; * takes as little as will do.
"""

import re

from crfkit.errors import TemplateError

KINDS = {"u": "U", "b": "B", "*": "UB"}  # what lines of templates make of it: features of a label, of pairs of labels, of both
Item = str | tuple[str, bool, int, int, str | None]
NUMBER = r"[+-]?(?:0[xX][0-9a-fA-F]{1,6}|[0-9]{1,6})"
PARTS = re.compile(rf"([^%]+)|%([xXtTmM])\[(@?)[ \t]*({NUMBER}),[ \t]*\+?([0-9]{{1,6}})(?:,\"((?:[^\"\\]|\\.)*)\")?\]|%", re.DOTALL)


def parse(text: str, number: int) -> list[Item]:
    """The items of a pattern: literals as str, macros as (letter, absolute, row, column, regular expression or None)."""
    if text[:1] not in KINDS:
        raise TemplateError(f"a pattern starts with {text[:1]!r}, expected u, b or *", "patterns", number)
    items: list[Item] = []
    for found in PARTS.finditer(text):
        literal, letter, absolute, row, column, regex = found.groups()
        if literal is not None:
            items.append(literal)
            continue
        if letter is None or (regex is None) != (letter in "xX"):
            shown = text[found.start():found.start() + 40]
            raise TemplateError(f"{shown!r} is not a macro of Wapiti: %x[row,column], %t or %m[row,column,\"regex\"]", "patterns", number)
        check_regex(regex or "", number)
        items.append((letter, bool(absolute), c_integer(row, number), int(column), regex))
    return items


def plain_pattern(texts: list[str]) -> str | None:
    """The pattern of plain label pairs, or None: the only b or * pattern without macros, unless another one can make the same
    string, as an observation counts once for each pattern that makes it."""
    of_pairs = [text for text in texts if text[:1] in ("b", "*")]
    constant = [text for text in of_pairs if "%" not in text]
    if len(constant) != 1 or any("%" in text and may_say(text, constant[0]) for text in of_pairs):
        return None
    return constant[0]


def may_say(text: str, said: str) -> bool:
    """Whether a pattern with macros might make these characters: it begins and ends as they do, and is not longer. Cells have one
    character at least, what fits a regular expression may have none. Where this errs, plain pairs are looked up as others are."""
    items = parse(text, 0)
    first, last = [item if isinstance(item, str) else "" for item in (items[0], items[-1])]
    least = sum(len(item) if isinstance(item, str) else item[0] in "xX" for item in items)
    return least <= len(said) and said.startswith(first) and said.endswith(last)


def c_integer(digits: str, number: int) -> int:
    """A number as C parses it: octal after a leading 0, hexadecimal after 0x."""
    bare = digits.lstrip("+-").lower()
    try:
        return int(digits, 16 if bare.startswith("0x") else 8 if bare.startswith("0") else 10)
    except ValueError:
        raise TemplateError(f"{digits!r} is not a number: a leading zero makes it octal", "patterns", number) from None


def check_regex(regex: str, number: int) -> None:
    """Refuse regular expressions that Wapiti cannot run, or that would take too long."""
    operators = 0
    for operator, alone in re.findall(r"(?:\\.|[^\\*?])([*?]?)|(.)", regex.removeprefix("^"), re.DOTALL):
        if alone == "\\":
            raise TemplateError(f"regex {regex!r} ends with a backslash", "patterns", number)
        if alone:
            raise TemplateError(f"regex {regex!r}: nothing precedes its {alone}", "patterns", number)
        operators += len(operator)
    if operators > 200:
        raise TemplateError(f"a regex with {operators} operators * and ?, at most 200 are supported", "patterns", number)
