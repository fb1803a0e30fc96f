"""The arguments of CRFPP's calls. One of another type is a TypeError, as from SWIG, at once and with its name."""

from __future__ import annotations

from contextlib import suppress
from operator import index
from typing import Any

from crfkit.values import as_text, shown


def text_of(given: Any, name: str) -> str:
    """A text, of which CRF++ takes the bytes."""
    if not isinstance(given, (str, bytes)):
        raise TypeError(f"{name}: expected str or bytes, found {shown(given)}")
    return as_text(given) if isinstance(given, bytes) else given


def whole(given: Any, name: str) -> int:
    """A whole number, also of NumPy."""
    try:
        return index(given)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, found {shown(given)}") from None


def unsigned(given: Any, name: str) -> int:
    """A whole number that is not negative."""
    number = whole(given, name)
    if number < 0:
        raise OverflowError(f"{name}: expected a number of 0 or more, found {shown(given)}")  # as from SWIG
    return number


def within(given: Any, size: int, what: str) -> int:
    """The number of a token, a column or a label, of which there are so many; an IndexError for another one."""
    number = given if type(given) is int else whole(given, what)  # as most are: programs ask for each token
    if not 0 <= number < size:
        raise IndexError(f"there is no {what} {shown(number)}: there are {max(size, 0)}, counted from 0")
    return number


def real(given: Any, name: str) -> float:
    """A number in double precision."""
    if not isinstance(given, (str, bytes, bytearray)):  # which float reads
        with suppress(TypeError, ValueError, OverflowError):
            return float(given)
    raise TypeError(f"{name}: expected a number, found {shown(given)}")
