"""CRF++'s binary model files, and what they have in common with its text models.

    version 100, type, cost factor (a double), maxid, xsize (columns in use), dsize
    the labels, the lines of the template: a length, and names that end with a zero byte
    dsize bytes: a double array of the names of features (darts.pyx), with the place of the first weight of each
    maxid weights in single precision

A feature of a U line has a weight for each label, one of a B line for each pair of labels, the label before first.
"""

from __future__ import annotations

import array
import math
import struct
from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING

from crfkit.errors import ModelFileError, TemplateError, UnsupportedError
from crfkit.template import dialects
from crfkit.template.macros import Line
from crfkit.template.parsing import Template
from crfkit.values import as_bytes, as_text

from .parts import Parts, Places, Rows
from .translating import translated

if TYPE_CHECKING:
    from crfkit.features.strings import StringTable

NAME = "crfpp"

_HEADER = struct.Struct("<IidIII")
_LENGTH = struct.Struct("<I")
_VERSION = 100
_START = struct.pack("<I", _VERSION)


def recognises(start: bytes) -> bool:
    """Whether a file that begins like this is one of CRF++'s binary models."""
    return start.startswith(_START)


def read(data: memoryview) -> Parts:
    """Take a model apart, in which nothing is trusted."""
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
    """A list of names, each with a zero byte behind it and zeros at the end, and where it ends."""
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


def assembled(
    labels: list[bytes], lines: list[bytes], xsize: int, features: Places, weights: array.array, options: dict
) -> Parts:
    """The parts of a model of CRF++, whose features stand in the order of their places."""
    from crfkit.weights.layout import MAX_LABELS

    names = [as_text(label) for label in labels]
    try:
        template = dialects.parse("".join(as_text(line) + "\n" for line in lines), dialects.CRFPP)
    except TemplateError as error:
        raise ModelFileError(f"its template cannot be read: {error}") from None
    if not names or not all(names) or len(set(names)) < len(names):
        raise ModelFileError("damaged: the labels are not different names")
    if len(names) > MAX_LABELS:
        raise ModelFileError(f"{len(names)} labels: crfkit has room for {MAX_LABELS}")
    if max(template.columns, default=-1) >= xsize:
        raise ModelFileError(f"damaged: the template uses column {max(template.columns)} of {xsize}")
    of_u, of_b = (_of_kind(features.names, kind) for kind in (b"U", b"B"))
    if len(of_u) + len(of_b) < len(features):
        name, place = next(found for found in features.items() if found[0][:1] not in (b"U", b"B"))
        raise ModelFileError(f"damaged: the feature {name!r} has its weights at {place} of {len(weights)}")
    taken = len(of_u) * len(names) + len(of_b) * len(names) ** 2
    if taken > len(weights):
        raise ModelFileError(f"damaged: the features have {taken} weights, the file {len(weights)}")
    unigrams = Rows.placed(features, of_u, None, weights, len(names), False)
    bigrams = Rows.placed(features, of_b, None, weights, len(names), True)
    plain, again = plain_line(template)
    pairs = None
    if plain is not None and plain in features:
        pairs = weights[features[plain] : features[plain] + len(names) ** 2]
        if not again:
            of_b.remove(features.names.find(plain))
            bigrams = Rows.placed(features, of_b, None, weights, len(names), True)
    return Parts("crf++", names, unigrams, bigrams, pairs, template, xsize + 1, options, features)


def _of_kind(names: StringTable, kind: bytes) -> list[int]:
    """The numbers of the names that begin so."""
    from .placed import initials

    return list(compress(range(len(names)), map(kind[0].__eq__, initials(names))))


def plain_line(template: Template) -> tuple[bytes | None, bool]:
    """The name of the plain pairs of labels, that of the first B line without macros; whether another line makes it."""
    plain = [line.literals[0] for line in template.lines if "B" in line.kinds and not line.macros]
    return (plain[0], plain[0] in plain[1:]) if plain else (None, False)


def dump(data: memoryview) -> Iterator[str]:
    """The model as CRF++'s text model, which `crf_learn -t` writes."""
    from .crfpp_text import lines

    yield from lines(*taken_apart(read(data)))


Taken = tuple[Parts, list[bytes], list[tuple[bytes, int]], array.array]


def taken_apart(parts: Parts) -> Taken:
    """What a file of CRF++ says of a model: lines of the template, (name, place of the first weight), weights."""
    import numpy

    if parts.template is None:
        raise UnsupportedError("a CRF++ model needs a template: give the one that made the attributes with --template")
    if parts.template.dialect in (dialects.WAPITI, dialects.MAXENT):
        parts = translated(parts, dialects.CRFPP)
    assert parts.template is not None
    lines = sorted(map(line_of, parts.template.lines), key=lambda line: line[:1] == b"B")
    plain, again = plain_line(parts.template)
    if plain is None and parts.pairs is not None and any(parts.pairs):
        raise UnsupportedError("the model has weights of pairs of labels, but its template no line for them, B without macros")
    n = len(parts.labels)
    names = [*parts.unigrams.names, *(name for name in parts.bigrams.names if not (again and name == plain))]
    if plain is not None:
        names.append(plain)
    names.sort(key=lambda name: parts.places.get(name, len(names) * n * n))
    places, total = {}, 0
    for name in names:
        places[name] = total
        total += n * n if name[:1] == b"B" else n
    weights = numpy.zeros(total)
    for rows in (parts.unigrams, parts.bigrams):
        starts = numpy.fromiter((places[name] for name in rows.names), numpy.int64, len(rows.names))
        at = numpy.repeat(starts, numpy.diff(rows.ptr)) + numpy.asarray(rows.label)
        if rows is parts.bigrams:
            at += n * numpy.asarray(rows.previous, numpy.int64)
        weights[at] = rows.weight
    if plain is not None and parts.pairs is not None:
        weights[places[plain] : places[plain] + n * n] = parts.pairs
    return parts, lines, sorted(places.items()), array.array("d", weights.tobytes())


def columns_in_use(parts: Parts) -> int:
    """How many columns data need: CRF++ counts to the last one that the template looks at."""
    columns = () if parts.template is None else parts.template.columns
    return parts.columns - 1 if parts.program == "crf++" or not columns else max(columns) + 1


def line_of(line: Line) -> bytes:
    """A line of the template in CRF++'s language."""
    if line.kinds not in ("U", "B") or line.text[0] not in "UB":
        raise UnsupportedError(f"line {line.number} of the template: CRF++ has only U and B lines, found {line.text[:1]}")
    text = line.literals[0]
    for macro, literal in zip(line.macros, line.literals[1:], strict=True):
        if macro.kind != "x" or macro.lower or not -8 <= macro.row <= 8:
            raise UnsupportedError(f"line {line.number} of the template: CRF++ has only %x[row,column], with rows from -8 to 8; found {macro.text}")
        text += b"%%x[%d,%d]" % (macro.row, macro.column) + literal
    if b"%" in b"".join(line.literals):
        raise UnsupportedError(f"line {line.number} of the template: CRF++ has no way to write a percent sign")
    return text


def write(parts: Parts) -> bytes:
    """The bytes of a binary model file."""
    from .darts import write_names

    parts, lines, features, weights = taken_apart(parts)
    labels = b"".join(as_bytes(label) + b"\0" for label in parts.labels)
    template = b"".join(line + b"\0" for line in lines)
    template += bytes(-(len(labels) + len(template)) % 4)
    names = write_names(features)
    kind, cost = parts.options.get("type", 0), parts.options.get("cost_factor", 1.0)
    header = _HEADER.pack(_VERSION, kind, cost, len(weights), columns_in_use(parts), len(names))
    blocks = [_LENGTH.pack(len(labels)), labels, _LENGTH.pack(len(template)), template, names, array.array("f", weights).tobytes()]
    return header + b"".join(blocks)
