"""What python-crfsuite takes for the attributes of an item, as names with values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

from crfkit.errors import DataError

Attributes = list[tuple[str, float]]


class ItemSequence:
    """A sequence of items, converted once and used as often as needed.

    An item is a list, or anything else to iterate over, of names; or a mapping from names to values:

        number, bool      name: value
        text              "name:text", with the value 1
        list, set         "name:text" for each of its texts
        mapping           the same again, with "name:" before each name
    """

    __slots__ = ("_items",)

    def __init__(self, pyseq: Iterable[Any] | ItemSequence):
        if isinstance(pyseq, ItemSequence):
            self._items: list[Attributes] = pyseq._items
            return
        if not isinstance(pyseq, Iterable):
            raise DataError(f"found {pyseq!r}, expected a sequence of items")
        self._items = [_attributes(item, number) for number, item in enumerate(pyseq)]

    @classmethod
    def of(cls, items: list[Attributes]) -> ItemSequence:
        """Items that are names with values already."""
        self = cls.__new__(cls)
        self._items = items
        return self

    def items(self) -> list[dict[str, float]]:
        """The attributes of each item, as a mapping from names to values."""
        return [dict(attributes) for attributes in self._items]

    def attributes(self) -> list[Attributes]:
        """The same as lists, in the order in which they were given."""
        return self._items

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def _attributes(item: Any, number: int) -> Attributes:
    try:
        if isinstance(item, Mapping):
            return list(_named(item, ""))
        return [(_text(name), 1.0) for name in item]
    except TypeError as error:
        raise DataError(f"item {number}: {error}") from None


def _text(name: Any) -> str:
    if isinstance(name, str):
        return name
    if isinstance(name, bytes):
        return name.decode()
    raise TypeError(f"found {name!r}, expected the name of an attribute")


def _named(values: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, float]]:
    for key, value in values.items():
        name = prefix + _text(key)
        if isinstance(value, Real):
            yield name, float(value)
        elif isinstance(value, (str, bytes)):
            yield f"{name}:{_text(value)}", 1.0
        elif isinstance(value, Mapping):
            yield from _named(value, name + ":")
        elif isinstance(value, (list, tuple, set, frozenset)):
            for text in dict.fromkeys(value):
                yield f"{name}:{_text(text)}", 1.0
        else:
            raise TypeError(f"found {value!r} as the value of {name!r}, expected a number, a text, a list, a set or a mapping")
