"""The parts of a parsed template: lines, and the macros in them."""

from __future__ import annotations

import re
from typing import NamedTuple

# The places of P lines: the stack from its top, the queue, and from words of the stack any path down to children.
ROOTS = ("s0", "s1", "s2", "q0", "q1", "q2")
PLACE = re.compile(r"q[0-2]|s[0-2](?:\.[lr][2-9]?){0,4}")
MOST_COUNTED = 4  # children: %v does not tell more from each other


class Macro(NamedTuple):
    """One macro of a line. Fields that its kind does not use keep their defaults."""

    kind: str  # x cell, t regex test, m regex match, p prefix, s suffix, S shape, N normalised, = equality, y label, d distance, v number of children
    text: str  # as written, for messages
    row: int = 0  # relative to the token
    column: int = -1  # -1: a column named in `column_name` and not yet resolved, or none (kind y)
    row2: int = 0  # the other cell of an equality test
    column2: int = -1
    length: int = 0  # of prefix or suffix, in characters
    pattern: str = ""  # of a regex
    lower: bool = False  # upper-case letter in the template: the result is lower-cased
    collapse: bool = False  # %C: a shape with runs of one character collapsed
    column_name: str | None = None
    column2_name: str | None = None
    place: str = ""  # in a P line: a PLACE, instead of a row
    place2: str = ""


class Line(NamedTuple):
    """One feature line of a template."""

    number: int  # in the file, from 1
    text: str  # the whole line as written
    kinds: str  # "U", "B", "UB", "T" or "P"
    literals: tuple[bytes, ...]  # around the macros: literals[0] macros[0] literals[1] ... literals[-1]
    macros: tuple[Macro, ...]
    rule: str | None = None  # "observed" or "all", where the line overrides --features
    min_freq: int | None = None  # where the line overrides --min-freq
    reach: int = 0  # which earlier labels it looks at, more than a B line does: 1 the last, 2 that before it, 3 both
