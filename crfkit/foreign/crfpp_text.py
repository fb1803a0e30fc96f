"""CRF++'s text models, which `crf_learn -t` writes and `crf_learn -C` reads.

    version: 100            labels, one a line      template          place and name of each feature     weights
    cost-factor: 1          (blank line)            (blank line)      (blank line)
    maxid: ...
    xsize: ...
    (blank line)
"""

from __future__ import annotations

import array
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from crfkit.errors import ModelFileError
from crfkit.features.strings import StringTable
from crfkit.values import as_bytes

from .crfpp_parts import assembled, columns_in_use, taken_apart
from .parts import Parts, Places

if TYPE_CHECKING:
    import numpy

START = b"version: 100"

_HEADER = (("version", rb"100"), ("cost-factor", rb"[-+0-9.e]{1,30}"), ("maxid", rb"[0-9]{1,15}"), ("xsize", rb"[0-9]{1,9}"))
_FEATURE = re.compile(rb"([0-9]{1,15}) (.*)", re.DOTALL)
_WEIGHT = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|inf|nan)\r?")
_WHOLE = re.compile(rb"-?[0-9]+\.[0-9]{16}")  # as CRF++ writes a weight: with fewer digits, the file may have been cut


def read(data: memoryview) -> Parts:
    windows = data[:13] == b"version: 100\r"  # CRF++ for Windows ends all lines so
    lines = bytes(data).split(b"\r\n" if windows else b"\n")
    if _WHOLE.fullmatch(lines[-1]):  # editors leave out the last line end
        lines.append(b"")
    if lines[-1]:
        raise ModelFileError(f"{len(lines)}: damaged: the last line has no end")
    header: dict[str, bytes] = {}
    for number, (name, form) in enumerate(_HEADER, 1):
        line = lines[number - 1] if number <= len(lines) else b""
        key, _, value = line.partition(b": ")
        if key != name.encode() or not re.fullmatch(form, value):
            raise ModelFileError(f"{number}: damaged: expected {name!r} and its value, found {_shown(line)}")
        header[name] = value
    blocks, at = [], len(_HEADER)
    for what in ("the labels", "the template", "the features", "the weights"):
        if lines[at]:
            raise ModelFileError(f"{at + 1}: damaged: expected a blank line, and {what} behind it")
        try:
            end = lines.index(b"", at + 1)
        except ValueError:
            raise ModelFileError(f"{len(lines)}: damaged: {what} have no end") from None
        blocks.append((at + 1, lines[at + 1 : end]))
        at = end
    (_, labels), (_, template), (first, features), (first_weight, weights) = blocks
    if any(lines[at:]):
        raise ModelFileError(f"{at + 1}: damaged: more lines behind the weights")
    if len(weights) != int(header["maxid"]):
        raise ModelFileError(f"{first_weight + len(weights)}: damaged: {len(weights)} weights, {header['maxid'].decode()} are announced")
    return assembled(
        labels, template, int(header["xsize"]), _features(features, first), _weights(weights, first_weight), {"cost_factor": _cost(header["cost-factor"])}
    )


def _shown(line: bytes) -> str:
    return repr(line[:60].decode(errors="replace"))


def _cost(text: bytes) -> float:
    with suppress(ValueError):
        if math.isfinite(value := float(text)):
            return value
    raise ModelFileError(f"2: damaged: {_shown(text)} is not a cost factor")


def _features(lines: list[bytes], first: int) -> Places:
    found = []
    for number, line in enumerate(lines, first + 1):
        match = _FEATURE.fullmatch(line)
        if match is None:
            raise ModelFileError(f"{number}: damaged: expected a number, a blank and the name of a feature, found {_shown(line)}")
        found.append((int(match[1]), match[2]))
    found.sort()
    names = StringTable()
    for number, (_, name) in enumerate(found):
        if names.intern_bytes(name) != number:
            raise ModelFileError("damaged: two features of the same name")
    return Places(names, array.array("q", (place for place, _ in found)))


def _weights(lines: list[bytes], first: int) -> array.array:
    if not b"".join(lines).translate(None, b"0123456789.+-e"):  # else names of numbers, blanks and underscores, of which float takes more
        with suppress(ValueError):
            return array.array("d", map(float, lines))
    weights = array.array("d")
    for number, line in enumerate(lines, first + 1):
        if not _WEIGHT.fullmatch(line):
            raise ModelFileError(f"{number}: damaged: expected a weight, found {_shown(line)}")
        weights.append(float(line))
    return weights


def dump(data: memoryview) -> Iterator[bytes]:
    read(data)
    yield bytes(data)


def write(parts: Parts) -> bytes:
    return b"".join(text_of(*taken_apart(parts)))


def text_of(parts: Parts, template: list[bytes], features: list[tuple[bytes, int]], weights: numpy.ndarray) -> Iterator[bytes]:
    """A text model, in pieces."""
    from .placed import place_lines, weight_lines

    yield f"version: 100\ncost-factor: {parts.options.get('cost_factor', 1.0):g}\nmaxid: {len(weights)}\nxsize: {columns_in_use(parts)}\n\n".encode()
    for names in (map(as_bytes, parts.labels), template):
        yield b"".join(name + b"\n" for name in names) + b"\n"
    yield from place_lines(features)
    yield b"\n"
    yield from weight_lines(weights)
