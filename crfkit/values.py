"""Values that users give: what an option takes, and how values and counts are shown in a message."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import pairwise
from sys import float_info
from typing import Any, NamedTuple

from .errors import OptionError

# Beyond any use as a count, and within the integers of the loops and of model files.
LARGEST = 2**31 - 1
LONGEST_PATH = 4096  # longer ones cannot be opened
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", os.PathLike: "a path"}


def copied(value: Any) -> Any:
    """A copy of what JSON can hold, all the way down; faster than `deepcopy`, which must expect more."""
    if isinstance(value, dict):
        return {key: copied(item) if isinstance(item, (dict, list)) else item for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) if isinstance(item, (dict, list)) else item for item in value]
    return value


def added_to(value: Any, own: Container[str]) -> dict[str, Any] | None:
    """What a subclass has added to an object beside the attributes that its class has, for a pickle; None if that is nothing."""
    return {name: found for name, found in vars(value).copy().items() if name not in own} or None


def as_text(data: bytes) -> str:
    """Bytes as text; those that are no UTF-8 come back with `as_bytes`."""
    return data.decode(errors="surrogateescape")


def as_bytes(text: str) -> bytes:
    """The bytes that a text was made of."""
    return text.encode(errors="surrogateescape")


def legible(data: bytes) -> str:
    """Bytes as text for people, and as Python has the names of attributes: those that are no UTF-8 are escaped, as in \\xff."""
    return data.decode(errors="backslashreplace")


def flag(name: str) -> str:
    """The option as it is written on the command line, and in messages (crfkit.errors)."""
    return "--" + name.replace("_", "-")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The only name that a shortened one begins, else the one most similar to a misspelled one; None if there is none."""
    import difflib

    all_names = list(names)
    longer = [known for known in all_names if known.startswith(name)] if name else []
    return longer[0] if len(longer) == 1 else next(iter(difflib.get_close_matches(name, all_names, 1)), None)


def is_frame(value: Any) -> bool:
    """Whether it is a data frame of pandas. Asked for a list, it lists the names of its columns."""
    return hasattr(value, "iterrows")


def lists(value: Any) -> bool:
    """Whether a list can be made of it: it is iterable, if only by indexes, which then have an end. None can be made of a text, a NumPy array
    without dimensions, and a data frame."""
    if type(value) is list:  # as most are; the rest takes longer than labelling a word
        return True
    iterable = isinstance(value, Iterable) or (hasattr(type(value), "__getitem__") and hasattr(type(value), "__len__"))
    return iterable and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) != 0 and not is_frame(value)


def shown(value: Any) -> str:
    """A value in a message, of bounded length: a list may hold itself many times over, and a number have any size."""
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a whole number of {value.bit_length():,} bits"
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    if is_frame(value):
        return f"a {type(value).__name__}, whose rows are in its .values"
    import reprlib

    bounded = reprlib.Repr()
    bounded.maxstring = bounded.maxother = 200
    bounded.repr_int = lambda number, _: shown(number) if number.bit_length() > 64 else repr(number)  # type: ignore[assignment, method-assign]
    return bounded.repr(value).replace("\n", " ")


def bounded(name: str) -> str:
    """The name of an option in a message, quoted and shortened if it is long, or no name."""
    return name if len(name) <= 200 and name.isprintable() else shown(name)


def named(path: str) -> str:
    """A path in a message. What is none, such as nothing, or a text that was given in its place, is quoted and shortened."""
    return path if path and path.isprintable() and len(path) < LONGEST_PATH else shown(path)


def name_of(file: Any, otherwise: str) -> str:
    """The name of an open file in messages. It may have none, or a number, or None as temporary files do."""
    name = getattr(file, "name", None)
    return os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else otherwise


def plural(n: int, noun: str) -> str:
    """1 noun, 2 nouns."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def counted(n: int, noun: str) -> str:
    """1 noun, 2,000 nouns: for counts that are large."""
    return f"{n:,}{plural(n, noun).removeprefix(str(n))}"


def exactly(value: Any) -> str:
    """A value that has the wrong type: 5.0 is not 5."""
    return repr(value) if isinstance(value, float) else shown(value)


def plain(value: Any) -> Any:
    """A number or a text of any kind, such as NumPy's or a member of an Enum, as Python's own; everything else as it is."""
    if isinstance(value, str):
        return str.__str__(value)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if type(value) in (bool, int, float):
        return value
    import numbers

    if not isinstance(value, numbers.Real):
        return value
    try:
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    except OverflowError:
        return value


class Expected(NamedTuple):
    """What an option takes: a value of a kind and a range, or one that `parse` understands (None: it does not).

    `low` and `high` may be reached, `above` must be exceeded; a text is one of `choices`, if there are any; a tuple has
    falling numbers; `files`: an open file will do for a path. Of an `object` those judge who use it.
    """

    kind: Any = object
    low: float | None = None
    above: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None
    parse: Callable[[Any], Any] | None = None
    files: bool = False
    words: str | None = None

    def take(self, name: str, value: Any) -> Any:
        """The value as the option has it, or OptionError."""
        value = plain(value)
        taken = self._understood(value)
        if taken is None:
            found = shown(value) if self.kind is float else exactly(value)
            raise OptionError(f"{flag(name)}: expected {self._described(value)}, found {found}")
        return taken

    def _understood(self, value: Any) -> Any:
        """The value as it is kept, or None."""
        kind = self.kind
        if kind is tuple:
            return self._falling(value)
        if kind is os.PathLike:
            return value if self.files and callable(getattr(value, "write", None)) else _path(value)
        if self.parse is not None:
            return None if self.parse(value) is None else value
        if kind is float and type(value) is int:
            value = float(value) if abs(value) <= float_info.max else math.inf
        if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, object)):
            return None
        if self.choices is not None and value not in self.choices:
            return None
        return value if kind not in (int, float) or self._in_range(value) else None

    def _in_range(self, value: float) -> bool:
        most: float = LARGEST if self.kind is int else float_info.max
        return (
            (-most if self.low is None else self.low) <= value <= (most if self.high is None else self.high)
            and (self.above is None or value > self.above)
        )

    def _falling(self, value: Any) -> tuple[float, ...] | None:
        """Falling numbers, from a list, from a text with commas between, or one number."""
        found = value.split(",") if isinstance(value, str) else [value] if isinstance(value, (int, float)) else value
        if not lists(found) or isinstance(found, Mapping):
            return None
        try:
            numbers = tuple(math.nan if isinstance(plain(x), bool) else float(x) for x in found)
        except (TypeError, ValueError, OverflowError):
            return None
        return numbers if numbers and all(map(self._in_range, numbers)) and all(a > b for a, b in pairwise(numbers)) else None

    def _described(self, value: Any) -> str:
        """What is expected, to one who gave this value."""
        if self.words is not None:
            return self.words
        if self.choices is not None:
            return " or ".join(self.choices)
        infinite = self.kind is float and isinstance(value, (int, float)) and not abs(value) <= float_info.max
        words = "a finite number" if infinite else _NAMES[self.kind] + " or an open file" * self.files
        high = LARGEST if self.high is None and self.kind is int and isinstance(value, int) and value > LARGEST else self.high
        if self.low is not None:
            return words + (f" of at least {self.low:g}" if high is None else f" from {self.low:g} to {_short(high)}")
        above = [] if self.above is None else [f"above {self.above:g}"]
        return " ".join([words, " and ".join(above + ([] if high is None else [f"at most {_short(high)}"]))]).strip()


def option(
    default: Any, help: str, *, short: str | None = None, metavar: str | None = None, kind: Any = None, **expected: Any
) -> Any:
    """A field of a dataclass of options. `short` is its other flag on the command line, `metavar` stands for its value."""
    from dataclasses import field  # slow to import; `--version` and compat.pycrfsuite do without

    takes = Expected(kind or (object if default is None else type(default)), **expected)
    return field(default=default, metadata={"help": help, "short": short, "metavar": metavar, "expected": takes})


def _path(value: Any) -> str | None:
    try:
        return os.fsdecode(value)
    except TypeError:
        return None


def _short(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}".replace("e+", "e")


def selected(text: Any) -> int | None:
    """How many attributes `mi:N` keeps."""
    match = re.fullmatch("mi:0*([1-9][0-9]{0,17})", text) if isinstance(text, str) else None
    return None if match is None else int(match[1])


def _written(value: Any) -> str:
    """A text, or a whole number of a size that may be meant, as a text; anything else is an empty one."""
    return value if type(value) is str else str(value) if type(value) is int and value.bit_length() <= 64 else ""


def interval(every: Any) -> tuple[int, float] | None:
    """How many passes and how many seconds lie between checkpoints: of N, or Nm for minutes, the other one is 0."""
    match = re.fullmatch(r"(\d{1,9})|(\d{1,6}(?:\.\d{1,6})?)m", _written(every), re.ASCII)
    return None if match is None or not float(match[1] or match[2]) else (int(match[1] or 0), 60 * float(match[2] or 0))


def size(text: Any) -> int | None:
    """Bytes of a size such as 800M or 2G."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([KMGT]?)B?", _written(text), re.ASCII)
    return None if match is None else int(float(match[1]) * UNITS[match[2]]) or None


def digits_of(value: Any) -> Any:
    """`5` of the text `5.0`: scripts that compute with decimals write whole numbers so. Anything else as it is."""
    written = re.fullmatch(r"\s*([+-]?[0-9]+)(?:\.0*)?\s*", value, re.ASCII) if isinstance(value, str) else None
    return written[1] if written else value
