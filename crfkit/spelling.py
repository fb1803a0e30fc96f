"""Features as text: in dumps, and where the label of a token is explained."""

from __future__ import annotations

# The label before that of a feature, or the two before it.
Previous = str | tuple[str | int | None, str | int | None] | None

# What stands for no attribute, and for no previous label. An attribute or a label of that name gets a backslash.
ANY_ATTRIBUTE, NO_LABEL = "*", "#"
PADDINGS = ("_B-1", "_B-2")  # one place and two places before the sentence
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def escaped(name: str) -> str:
    """An attribute or a label as it stands in a line, where it can be mistaken for nothing else."""
    return "\\" + name if name in (ANY_ATTRIBUTE, NO_LABEL) else name.translate(_ESCAPES)


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
