"""What python-crfsuite accepts as a sequence of items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from crfkit.text.items import read_sentence
from crfkit.text.packed import Packed


class ItemSequence:
    """A sequence of items, converted once and used as often as needed.

    An item is a list, or anything else to iterate over, of names; or a mapping from names to values.
    In the place of either list, a str is the list of its characters. Values may be:

        number, bool      name: value
        text              "name:text", with the value 1
        list, set         "name:text" for each of its texts
        mapping           the same again, with "name:" before each name
    """

    __slots__ = ("packed",)

    def __init__(self, pyseq: Iterable[Any] | ItemSequence):
        self.packed: Packed = pyseq.packed if isinstance(pyseq, ItemSequence) else read_sentence(pyseq)

    def items(self) -> list[dict[str, float]]:
        """The attributes of each item, as a mapping from names to values."""
        return self.packed.attributes(True)

    def __reduce__(self) -> tuple[Any, ...]:
        return ItemSequence, (self.packed.attributes(),)

    def __len__(self) -> int:
        return len(self.packed)

    def __repr__(self) -> str:
        return repr(self.packed)
