r"""The syntax of regular expressions in templates, and their compilation into programs.

    pattern --Parser--> tree --Program--> instructions and sets, which template/regex.pyx runs

    .                    any character
    \d \a \w \l \u \p \s digit, letter, letter or digit, lower case, upper case, punctuation, space;
                         in upper case everything else
    [a-z\d] [^...]       one of these characters, none of these
    ^ $                  begin and end of the cell
    \c                   any other character c itself
    * + ? {m} {m,} {m,n} greedy; lazy with a ? after it
    a|b (a) (?:a)        choices and groups (nothing is captured)

A tree is made of tuples: ("character", c), ("any",), ("set", kinds, ranges, negated), ("begin",), ("end",),
("sequence", nodes), ("choice", nodes) and ("repeat", node, least, most or None, greedy).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NoReturn

MAX_PROGRAM = 1000  # instructions
MAX_PATTERN = 10_000  # characters: sets can be long, and parsing a pattern is not always linear
MAX_DEPTH = 50  # of groups: parser and emitter are recursive

KINDS = "dawlus"  # punctuation becomes ranges: Python's tables have no test for it

Ranges = list[tuple[int, int]]  # code points, both bounds inclusive


def compile_pattern(pattern: str) -> tuple[list[tuple[str, int, int]], list[tuple[str, Ranges, bool]]]:
    """The instructions and the character sets of a pattern; ValueError says what is wrong with it."""
    program = Program()
    try:
        program.emit(Parser(pattern).parse())
    except ValueError as error:
        shown = pattern if len(pattern) <= 60 else pattern[:57] + "..."
        raise ValueError(f'regex "{shown}": {error}') from None
    program.instructions.append(("match", 0, 0))
    return program.instructions, program.sets


def misread(pattern: str) -> str | None:
    """The first part of a pattern that means something else in other programs, or None: \\b, \\x41, \\1, \\p{Lu}, [:alpha:]."""
    for found in re.finditer(r"\\p\{\^?[a-z]\w*\}|\\(.)|\[:\^?[a-z]+:\]", pattern, re.DOTALL | re.IGNORECASE):
        escaped = found[1]
        if not escaped or (escaped.isascii() and escaped.isalnum() and escaped.lower() not in KINDS + "p"):
            return found[0]
    return None


@cache
def punctuation(complement: bool) -> Ranges:
    """The ranges of punctuation and symbols, a superset of C's ispunct. Planes above 1 have none."""
    ranges = merge([(c, c) for c in range(0x20000) if unicodedata.category(chr(c))[0] in "PS"])
    if complement:
        bounds = [-1, *(bound for pair in ranges for bound in pair), 0x110000]
        ranges = [(low + 1, high - 1) for low, high in zip(bounds[::2], bounds[1::2], strict=True)]
    return ranges


def merge(ranges: Ranges) -> Ranges:
    """Sorted ranges that do not touch, covering the same characters."""
    merged: Ranges = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


class Parser:
    """Recursive descent; messages count characters from 1."""

    def __init__(self, pattern: str):
        if len(pattern) > MAX_PATTERN:
            raise ValueError(f"too long: more than {MAX_PATTERN} characters")
        self.pattern = pattern
        self.at = 0
        self.depth = 0

    def fail(self, what: str, at: int) -> NoReturn:
        raise ValueError(f"{what} at character {at + 1}")

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def accept(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def parse(self) -> tuple:
        tree = self.choice()
        if self.at < len(self.pattern):
            self.fail("')' without '('", self.at)
        return tree

    def choice(self) -> tuple:
        branches = [self.sequence()]
        while self.accept("|"):
            branches.append(self.sequence())
        return branches[0] if len(branches) == 1 else ("choice", branches)

    def sequence(self) -> tuple:
        items = []
        while self.peek() not in ("", "|", ")"):
            items.append(self.repeated())
        return ("sequence", items)

    def repeated(self) -> tuple:
        begin = self.at
        if self.bounds() is not None:
            self.fail("nothing to repeat", begin)
        item = self.atom()
        begin = self.at
        bounds = self.bounds()
        if bounds is None:
            return item
        if item[0] in ("begin", "end"):
            self.fail("nothing to repeat", begin)
        least, most = bounds
        if max(least, most or 0) > MAX_PROGRAM:
            self.fail(f"more than {MAX_PROGRAM} repeats", begin)
        if most is not None and most < least:
            self.fail("repeat with a minimum above its maximum", begin)
        greedy = not self.accept("?")
        begin = self.at
        if self.bounds() is not None:
            self.fail("repeat of a repeat (use a group)", begin)
        return ("repeat", item, least, most, greedy)

    def bounds(self) -> tuple[int, int | None] | None:
        """The bounds of a repeat, if there is one here. A brace that does not form one is literal."""
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.accept(sign):
                return least, most
        close = self.pattern.find("}", self.at) if self.peek() == "{" else -1
        if close < 0:
            return None
        low, comma, high = self.pattern[self.at + 1 : close].partition(",")
        if not (low or comma) or (low + high).strip("0123456789"):
            return None
        if max(len(low), len(high)) > 9:
            self.fail(f"more than {MAX_PROGRAM} repeats", self.at)
        self.at = close + 1
        least = int(low or 0)
        return least, least if not comma else int(high) if high else None

    def atom(self) -> tuple:
        begin = self.at
        c = self.peek()
        self.at += 1
        simple = {".": "any", "^": "begin", "$": "end"}.get(c)
        if simple:
            return (simple,)
        if c == "[":
            return self.character_set(begin)
        if c == "(":
            return self.group(begin)
        if c == "\\":
            kinds, ranges = self.escape(begin)
            if kinds or len(ranges) > 1:
                return ("set", kinds, ranges, False)
            c = chr(ranges[0][0])
        return ("character", ord(c))

    def group(self, begin: int) -> tuple:
        if not self.accept("?:") and self.peek() == "?":
            self.fail("a group of the form (?...), of which only (?:...) is known,", begin)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"groups nested more than {MAX_DEPTH} deep", begin)
        inside = self.choice()
        self.depth -= 1
        if not self.accept(")"):
            self.fail("'(' without ')'", begin)
        return ("sequence", [inside])  # a node of its own: ^ may not be repeated, (^) may

    def character_set(self, begin: int) -> tuple:
        negated = self.accept("^")
        kinds, ranges = "", []
        inside = self.at
        while self.peek() != "]" or self.at == inside:  # a ] at the beginning is literal
            here = self.at
            kind, low = self.member(begin)
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("", "]"):
                self.at += 1
                high_kind, high = self.member(begin)
                if kind or high_kind or len(low) != 1 or len(high) != 1 or low[0][0] > high[0][0]:
                    self.fail(f"bad range '{self.pattern[here : self.at]}'", here)
                low = [(low[0][0], high[0][0])]
            kinds += kind
            ranges += low
        self.at += 1
        return ("set", kinds, merge(ranges), negated)

    def member(self, begin: int) -> tuple[str, Ranges]:
        """One member of a set, which may be a kind of characters."""
        c = self.peek()
        if not c:
            self.fail("'[' without ']'", begin)
        here = self.at
        self.at += 1
        return self.escape(here) if c == "\\" else ("", [(ord(c), ord(c))])

    def escape(self, begin: int) -> tuple[str, Ranges]:
        """The meaning of a backslash and the next character: a kind, or ranges."""
        c = self.peek()
        if not c:
            self.fail("nothing after the backslash", begin)
        self.at += 1
        if c in KINDS or c in KINDS.upper():
            return c, []
        return "", punctuation(c == "P") if c in "pP" else [(ord(c), ord(c))]


class Program:
    """Instructions (operation, x, y), in which a thread goes on with the next one unless it says otherwise:

    character x, any, set x    take one character       begin, end    are at that end of the text
    jump x    go on at x       split x y    go on at both, x preferred       match"""

    def __init__(self) -> None:
        self.instructions: list[tuple[str, int, int]] = []
        self.sets: list[tuple[str, Ranges, bool]] = []

    def add(self, operation: str, x: int = 0, y: int = 0) -> int:
        """Append an instruction; its index."""
        if len(self.instructions) >= MAX_PROGRAM - 1:
            raise ValueError(f"too long: it needs more than {MAX_PROGRAM} instructions")
        self.instructions.append((operation, x, y))
        return len(self.instructions) - 1

    def emit(self, tree: tuple) -> None:
        """Append the instructions for a tree, after which a thread continues with what follows."""
        kind = tree[0]
        if kind == "sequence":
            for item in tree[1]:
                self.emit(item)
        elif kind == "choice":
            self.emit_choice(tree[1])
        elif kind == "repeat":
            self.emit_repeat(*tree[1:])
        elif kind == "set":
            self.add("set", len(self.sets))
            self.sets.append(tree[1:])
        else:
            self.add(*tree)

    def emit_choice(self, branches: list[tuple]) -> None:
        jumps = []
        for branch in branches[:-1]:
            split = self.add("split")
            self.emit(branch)
            jumps.append(self.add("jump"))
            self.instructions[split] = ("split", split + 1, len(self.instructions))
        self.emit(branches[-1])
        for jump in jumps:
            self.instructions[jump] = ("jump", len(self.instructions), 0)

    def emit_repeat(self, item: tuple, least: int, most: int | None, greedy: bool) -> None:
        """x{2,4} is xx(x(x)?)?, x+ loops back, and x* is (x+)?, so that a round that takes nothing leads out
        of the loop, as it usually does in a backtracking matcher."""
        splits = []
        begin = len(self.instructions)
        for done in range(max(least, 1) if most is None else most):
            if done >= least:
                splits.append(self.add("split"))
            begin = len(self.instructions)
            self.emit(item)
            if len(self.instructions) == begin:  # the item is empty, and so are any more of it
                break
        if most is None and len(self.instructions) > begin:
            loop = self.add("split")
            self.instructions[loop] = self.split(greedy, begin, loop + 1)
        for split in splits:
            self.instructions[split] = self.split(greedy, split + 1, len(self.instructions))

    @staticmethod
    def split(greedy: bool, inside: int, outside: int) -> tuple[str, int, int]:
        return ("split", inside, outside) if greedy else ("split", outside, inside)
