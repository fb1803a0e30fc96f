"""CRF++'s text models, which `crf_learn -t` writes and `crf_learn -C` reads.

    version: 100            labels, one a line      template          place and name of each feature     weights
    cost-factor: 1          (blank line)            (blank line)      (blank line)
    maxid: ...
    xsize: ...
    (blank line)

As in CRF++, the first four lines may come in any order, and blanks around values and weights mean nothing.
"""

from __future__ import annotations

import array
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from crfkit.errors import ModelFileError
from crfkit.values import as_bytes

from .crfpp_parts import assembled, columns_in_use, taken_apart
from .parts import Parts, Places

if TYPE_CHECKING:
    import numpy

_BOM = "\ufeff".encode()
_HEADER = {b"version": rb"100", b"cost-factor": rb"[-+0-9.e]{1,30}", b"maxid": rb"[0-9]{1,15}", b"xsize": rb"[0-9]{1,9}"}
_BLANKS = b" \t"
START = b"(?:%b)?(?:%b)[ \t]*\r?(?:\n|$)" % (_BOM, b"|".join(name + b":[ \t]*" + form for name, form in _HEADER.items()))
_WHOLE = re.compile(rb"-?[0-9]+\.[0-9]{16}")  # as CRF++ writes a weight: with fewer digits, the file may have been cut


def read(data: memoryview) -> Parts:
    content = b"".join((data[len(_BOM) :] if data[: len(_BOM)] == _BOM else data, b"\n"))  # a blank line behind the last one
    if content[: content.find(b"\n")].endswith(b"\r"):  # CRF++ for Windows ends all lines so; elsewhere, names may end so
        content = content.replace(b"\r\n", b"\n")
    last = content[content.rfind(b"\n", 0, -1) + 1 : -1]
    if _WHOLE.fullmatch(last.strip(_BLANKS)):  # editors leave out the last line end
        content += b"\n"
    elif last:
        raise ModelFileError(f"{_line(content)}: damaged: the last line has no end")
    header: dict[bytes, bytes] = {}
    awaited = dict(_HEADER)
    at = 0
    while awaited:
        line = content[at : content.find(b"\n", at)]
        name, _, value = line.partition(b":")
        if name not in awaited or not re.fullmatch(awaited[name], value.strip(_BLANKS)):
            wanted = [name] if name in awaited else awaited
            raise _unexpected(content, at, f"{' or '.join(repr(name.decode()) for name in wanted)} and its value")
        del awaited[name]
        header[name], at = value.strip(_BLANKS), at + len(line) + 1
    blocks = []
    for what in ("the labels", "the template", "the features", "the weights"):
        if content[at : at + 1] != b"\n":
            raise ModelFileError(f"{_line(content, at)}: damaged: expected a blank line, and {what} behind it")
        end = content.find(b"\n\n", at) + 1
        if not end:
            raise ModelFileError(f"{_line(content)}: damaged: {what} have no end")
        blocks.append((at + 1, end))
        at = end
    labels, template, features, (first, end) = blocks
    if content[at:].strip(b"\n"):
        raise ModelFileError(f"{_line(content, at)}: damaged: more lines behind the weights")
    found = content.count(b"\n", first, end)
    if found != int(header[b"maxid"]):
        raise ModelFileError(f"{_line(content, end) - 1}: damaged: {found} weights, {header[b'maxid'].decode()} are announced")
    names, lines = (content[slice(*block)].split(b"\n")[:-1] for block in (labels, template))
    options = {"cost_factor": _cost(header[b"cost-factor"], list(header).index(b"cost-factor") + 1)}
    return assembled(names, lines, int(header[b"xsize"]), _features(content, *features), _weights(content, first, end), options)


def _line(content: bytes, at: int = -1) -> int:
    """The number of the line there; the last one has no end in the file."""
    return content.count(b"\n", 0, at) + 1


def _shown(line: bytes) -> str:
    return repr(line[:60].decode(errors="replace"))


def _cost(text: bytes, line: int) -> float:
    with suppress(ValueError):
        if math.isfinite(value := float(text)):
            return value
    raise ModelFileError(f"{line}: damaged: {_shown(text)} is not a cost factor")


def _features(content: bytes, begin: int, end: int) -> Places:
    from .placed import read_places

    found = content.count(b"\n", begin, end)
    at, names, places = read_places(content, begin, found)
    if at < end:
        raise _unexpected(content, at, "a number, a blank and the name of a feature, which begins with U or B")
    if len(names) < found:
        raise ModelFileError("damaged: two features of the same name")
    return Places(names, places)


def _weights(content: bytes, begin: int, end: int) -> array.array[float]:
    from .placed import read_decimals

    weights = array.array("d", bytes(8)) * content.count(b"\n", begin, end)
    at = read_decimals(content, begin, weights)
    if at < end:
        raise _unexpected(content, at, "a weight")
    return weights


def _unexpected(content: bytes, at: int, expected: str) -> ModelFileError:
    """The error for another line there."""
    line = content[at : content.find(b"\n", at)]
    return ModelFileError(f"{_line(content, at)}: damaged: expected {expected}, found {_shown(line)}")


def dump(data: memoryview) -> Iterator[bytes]:
    read(data)
    yield bytes(data)


def write(parts: Parts) -> bytes:
    return b"".join(text_of(*taken_apart(parts)))


def text_of(parts: Parts, template: list[bytes], features: Places, weights: numpy.ndarray) -> Iterator[bytes]:
    """A text model, in pieces."""
    from .placed import place_lines, weight_lines

    yield f"version: 100\ncost-factor: {parts.options.get('cost_factor', 1.0):g}\nmaxid: {len(weights)}\nxsize: {columns_in_use(parts)}\n\n".encode()
    for names in (map(as_bytes, parts.labels), template):
        yield b"".join(name + b"\n" for name in names) + b"\n"
    yield from place_lines(features.names, features.places)
    yield b"\n"
    yield from weight_lines(weights)
