"""What python-crfsuite accepts as a sequence of items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from crfkit.text.items import read_sentence
from crfkit.text.rows import Rows
from crfkit.values import as_text


class ItemSequence:
    """A sequence of items, converted once and used as often as needed.

    An item is a list, or anything else to iterate over, of names; or a mapping from names to values.
    In the place of either list, a str is the list of its characters. Values may be:

        number, bool      name: value
        text              "name:text", with the value 1
        list, set         "name:text" for each of its texts
        mapping           the same again, with "name:" before each name
    """

    __slots__ = ("_values", "rows")

    def __init__(self, pyseq: Iterable[Any] | ItemSequence):
        self.rows: Rows
        self._values: list[float]
        self.rows, self._values = (pyseq.rows, pyseq._values) if isinstance(pyseq, ItemSequence) else read_sentence(pyseq)

    def items(self) -> list[dict[str, float]]:
        """The attributes of each item, as a mapping from names to values."""
        values = iter(self._values)
        return [{as_text(name): next(values) for name, _ in token} for token in self.rows.attributes()[0]]

    def __reduce__(self) -> tuple[Any, ...]:
        values = iter(self._values)
        return ItemSequence, ([[(name, next(values)) for name, _ in token] for token in self.rows.attributes()[0]],)

    def __len__(self) -> int:
        return self.rows.n_tokens

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"
