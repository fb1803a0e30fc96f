"""Features as text: in dumps, and where the label of a token is explained."""

from __future__ import annotations

import re

# The label before that of a feature, or the two before it.
Previous = str | tuple[str | int | None, str | int | None] | None

# What stands for no attribute, and for no previous label. An attribute or a label of that name gets a backslash.
ANY_ATTRIBUTE, NO_LABEL = "*", "#"
PADDINGS = ("_B-1", "_B-2")  # one place and two places before the sentence
_MARKS = (ANY_ATTRIBUTE, NO_LABEL, *PADDINGS)
_MEANT = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r", "s": " "}  # behind a backslash
_ESCAPES = str.maketrans({meant: f"\\{letter}" for letter, meant in _MEANT.items() if meant != " "})


def escaped(name: str) -> str:
    """An attribute or a label as it stands in a line, where it can be mistaken for nothing else."""
    if name in (ANY_ATTRIBUTE, NO_LABEL):
        return "\\" + name
    return name if name.isprintable() and "\\" not in name else name.translate(_ESCAPES)  # most are, and translate takes five times as long


def attribute_text(name: str | None) -> str:
    """The attribute of a feature; None: that of plain label pairs."""
    return ANY_ATTRIBUTE if name is None else escaped(name)


def previous_text(label: Previous) -> str:
    """The previous label of a feature, or its two previous labels."""
    if isinstance(label, tuple):
        return " ".join(map(_earlier, label))
    return NO_LABEL if label is None else escaped(label)


def _earlier(label: str | int | None) -> str:
    """One of two previous labels."""
    if isinstance(label, int):
        return PADDINGS[-1 - label]
    return NO_LABEL if label is None else "\\" + label if label in PADDINGS else escaped(label).replace(" ", "\\s")


def attribute_of(text: str) -> str | None:
    """The inverse of `attribute_text`; ValueError for a backslash that means nothing."""
    return None if text == ANY_ATTRIBUTE else unescaped(text)


def earlier_of(text: str) -> str | int | None:
    """One of two previous labels, which a blank separates: the inverse of what `previous_text` makes of it."""
    if text in PADDINGS:
        return -1 - PADDINGS.index(text)
    return None if text == NO_LABEL else unescaped(text)


def unescaped(text: str) -> str:
    """The inverse of `escaped`."""
    if "\\" not in text:
        return text
    if text[1:] in _MARKS:
        return text[1:]
    return re.sub(r"\\(.?)", _meant, text, flags=re.DOTALL)


def _meant(escape: re.Match[str]) -> str:
    if escape[1] not in _MEANT:
        raise ValueError(f"{escape[0]!r} stands for nothing: a backslash is written \\\\")
    return _MEANT[escape[1]]
