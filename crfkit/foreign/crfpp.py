"""CRF++'s binary model files.

    version 100, type, cost factor (a double), maxid, xsize (columns in use), dsize
    the labels, the lines of the template: a length, and names that end with a zero byte
    dsize bytes: a double array of the names of features (darts.pyx), with the place of the first weight of each
    maxid weights in single precision

A feature of a U line has a weight for each label, one of a B line for each pair of labels, the label before first.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from crfkit.errors import ModelFileError, UnsupportedError
from crfkit.values import as_bytes

from .crfpp_parts import assembled, columns_in_use, taken_apart
from .crfpp_text import text_of
from .parts import BEYOND, Parts, Places

START = struct.pack("<I", 100)  # the version

_HEADER = struct.Struct("<4sidIII")
_LENGTH = struct.Struct("<I")


def read(data: memoryview) -> Parts:
    from .darts import read_names
    from .placed import doubles

    if len(data) < _HEADER.size:
        raise ModelFileError(f"damaged: truncated to {len(data)} bytes")
    _, kind, cost_factor, maxid, xsize, dsize = _HEADER.unpack_from(data)
    if not math.isfinite(cost_factor):
        raise ModelFileError(f"damaged: {cost_factor} as cost factor")
    labels, at = _names(data, _HEADER.size, "labels")
    lines, at = _names(data, at, "lines of the template")
    if at + dsize + 4 * maxid != len(data):
        raise ModelFileError(f"damaged: {len(data)} bytes, the header says {at + dsize + 4 * maxid}")
    found = Places(*read_names(data[at : at + dsize]))
    return assembled(labels, lines, xsize, found, doubles(data[at + dsize :]), {"type": kind, "cost_factor": cost_factor})


def _names(data: memoryview, at: int, what: str) -> tuple[list[bytes], int]:
    """A list of names, each followed by a zero byte, with zeros at the end; and its end."""
    if at > len(data) - _LENGTH.size:
        raise ModelFileError(f"damaged: the {what} are missing")
    (size,) = _LENGTH.unpack_from(data, at)
    at += _LENGTH.size
    if size > len(data) - at:
        raise ModelFileError(f"damaged: the {what} take {size} bytes, {len(data) - at} are left")
    text = bytes(data[at : at + size])
    if text and text[-1]:
        raise ModelFileError(f"damaged: the {what} do not end with a zero byte")
    return text.rstrip(b"\0").split(b"\0"), at + size


def dump(data: memoryview) -> Iterator[bytes]:
    """The model as CRF++'s text model, which `crf_learn -t` writes."""
    yield from text_of(*taken_apart(read(data)))


def write(parts: Parts) -> bytes:
    import numpy

    from .darts import write_names

    parts, lines, features, weights = taken_apart(parts)
    labels = b"".join(as_bytes(label) + b"\0" for label in parts.labels)
    template = b"".join(line + b"\0" for line in lines)
    template += bytes(-(len(labels) + len(template)) % 4)
    names = write_names(features.names, features.places)
    with numpy.errstate(over="ignore"):
        singles = weights.astype("<f4")
    if not numpy.isfinite(singles).all():
        raise UnsupportedError(f"a weight is {BEYOND}, in which CRF++'s binary models are")
    kind, cost = parts.options.get("type", 0), parts.options.get("cost_factor", 1.0)
    header = _HEADER.pack(START, kind, cost, len(weights), columns_in_use(parts), len(names))
    blocks = [_LENGTH.pack(len(labels)), labels, _LENGTH.pack(len(template)), template, names, singles.tobytes()]
    return header + b"".join(blocks)
