"""CRFsuite's model files: a header, features with weights in double precision, the names of labels and attributes.

    0x00  lCRF, size of the file, FOMC, version, 0, labels, attributes
    0x1c  where the chunks stand: features, labels, attributes, features of labels, features of attributes
    0x30  in version 101, which a fork writes, where a semi-Markov model stands: nowhere in a model of sequences

chunks.pyx has the chunks. All offsets have 32 bits: a file has less than 4 GB.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any

from crfkit.errors import ModelFileError, UnsupportedError
from crfkit.features.strings import StringTable
from crfkit.parallel import in_order
from crfkit.values import as_bytes, as_text

from .parts import FeatureRows, Parts, pair_table

if TYPE_CHECKING:
    import numpy

START = b"lCRF"

_HEADER = struct.Struct("<4sI4s4I5I")
_CHUNK = struct.Struct("<4sII")
_VERSION, _OF_FORK = 100, 101
_OTHERS = {b"TREE": "trees", b"HOSM": "segments"}  # of the fork, with other types than FOMC
_MANY = 30_000  # attributes: from here on their names are read on one thread, their weights on another
_FIELDS = ("size", "type", "version", "num_features", "num_labels", "num_attrs")
_OFFSETS = ("off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs")


def read(data: memoryview) -> Parts:
    from .chunks import read_rows, read_strings

    header = _header(data)
    n_labels, n_attributes = header["num_labels"], header["num_attrs"]
    labels = [as_text(label) for label in read_strings(data, header["off_labels"], n_labels, "label")]
    attributes: tuple[Callable[[], Any], ...] = (
        partial(read_strings, data, header["off_attrs"], n_attributes, "attribute"),
        partial(read_rows, data, header["off_features"], header["off_attrrefs"], b"AFRF", n_attributes, n_labels),
    )
    names, rows = in_order(lambda work: work(), attributes, 1 if n_attributes < _MANY else 2)
    unigrams = FeatureRows(names, *rows)
    ptr, after, weights = read_rows(data, header["off_features"], header["off_labelrefs"], b"LFRF", n_labels, n_labels)
    before = chain.from_iterable(repeat(label, end - begin) for label, (begin, end) in enumerate(pairwise(ptr)))
    pairs = pair_table(zip(before, after, weights, strict=True), n_labels) if len(after) else None
    return Parts("crfsuite", labels, unigrams, FeatureRows.empty(), pairs)


def _header(data: memoryview) -> dict[str, int]:
    """The fields in the first 48 bytes."""
    if len(data) < _HEADER.size:
        raise ModelFileError(f"damaged: truncated to {len(data)} bytes, an incomplete header")
    magic, *values = _HEADER.unpack_from(data)
    header = dict(zip((*_FIELDS, *_OFFSETS), values, strict=True))
    if header["type"] in _OTHERS:
        raise ModelFileError(f"a model of {_OTHERS[header['type']]} by a fork of CRFsuite: crfkit reads those of sequences, which it trains with --type=crf1d")
    if magic != START or header["type"] != b"FOMC":
        raise ModelFileError("not a first-order model of CRFsuite, the only kind that it writes")
    if header["version"] not in (_VERSION, _OF_FORK):
        raise ModelFileError(f"a CRFsuite model of version {header['version']}, expected {_VERSION} or {_OF_FORK}")
    if header["size"] != len(data):
        raise ModelFileError(f"damaged: {len(data)} bytes, the header says {header['size']}")
    if not header["num_labels"]:
        raise ModelFileError("has no labels: it was trained without data")
    if header["num_labels"] > 0xFFFF:
        raise ModelFileError(f"{header['num_labels']} labels, up to 65535 are possible")
    return header


def dump(data: memoryview) -> Iterator[bytes]:
    from .chunks import name_lines, state_lines

    parts, header = read(data), _header(data)
    rows, labels = parts.unigrams, [as_bytes(label) for label in parts.labels]
    head = f"FILEHEADER = {{\n  magic: lCRF\n  size: {header['size']}\n  type: FOMC\n"
    head += "".join(f"  {name}: {header[name]}\n" for name in _FIELDS[2:]) + "".join(f"  {name}: 0x{header[name]:X}\n" for name in _OFFSETS)
    yield f"{head}}}\n\nLABELS = {{\n".encode()
    yield from name_lines(StringTable(labels))
    yield b"}\n\nATTRIBUTES = {\n"
    yield from name_lines(rows.names)
    yield b"}\n\nTRANSITIONS = {\n"
    yield as_bytes("".join(f"  (1) {parts.labels[before]} --> {parts.labels[after]}: {weight:f}\n" for before, after, weight in parts.pair_weights()))
    yield b"}\n\nSTATE_FEATURES = {\n"
    yield from state_lines(rows.names, rows.ptr, rows.label, rows.weight, labels)
    yield b"}\n\n"


def write(parts: Parts) -> bytes:
    import numpy

    from .chunks import write_strings

    feature = numpy.dtype([("of_pairs", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
    if parts.template is not None:
        raise UnsupportedError("a CRFsuite model has no template: only models of attribute lines (--format crfsuite) can become one")
    n, rows = len(parts.labels), parts.unigrams.without_zeros()
    pairs = numpy.asarray(parts.pairs or ())
    of_pairs = pairs.nonzero()[0]
    before, after = numpy.divmod(of_pairs, n)
    of_attributes, of_labels = numpy.diff(rows.ptr).astype(numpy.intp), numpy.bincount(before, minlength=n)
    # With many features the chunks are most of the memory that a training run takes: each is made in place, and copied once, to the whole.
    of_states, n_features = len(rows.weight), len(rows.weight) + len(before)
    chunk = bytearray(_addressable(_CHUNK.size + feature.itemsize * n_features))
    _CHUNK.pack_into(chunk, 0, b"FEAT", len(chunk), n_features)
    features = numpy.frombuffer(chunk, feature, offset=_CHUNK.size)
    features["of_pairs"][of_states:] = 1
    features["source"][:of_states] = numpy.repeat(numpy.arange(len(rows.names), dtype="<u4"), of_attributes)
    features["source"][of_states:], features["target"][of_states:], features["weight"][of_states:] = before, after, pairs[of_pairs]
    features["target"][:of_states], features["weight"][:of_states] = rows.label, rows.weight
    chunks = [chunk, write_strings(StringTable(map(as_bytes, parts.labels))), write_strings(rows.names)]
    behind = _HEADER.size + sum(map(len, chunks))
    chunks[-1] += bytes(-behind % 4)
    # Two lists without features follow those of labels: CRFsuite once meant them for the ends of a sequence.
    for magic, sizes, first, empty in ((b"LFRF", of_labels, len(rows.weight), 2), (b"AFRF", of_attributes, 0, 0)):
        offsets = [_HEADER.size + sum(map(len, chunks[:number])) for number in range(len(chunks) + 1)]
        chunks.append(_references(magic, sizes, first, empty, offsets[-1]))
    size = _addressable(offsets[-1] + len(chunks[-1]))
    return b"".join([_HEADER.pack(START, size, b"FOMC", _VERSION, 0, n, len(rows.names), *offsets), *chunks])


def _addressable(size: int) -> int:
    """The size of a part of the file, or of all of it; UnsupportedError if offsets do not reach its end."""
    if size > 0xFFFFFFFF:
        raise UnsupportedError(f"a CRFsuite model of {size} bytes or more: its offsets end at 4 GB")
    return size


def _references(magic: bytes, sizes: numpy.ndarray, first: int, empty: int, start: int) -> bytes:
    """The chunk, at byte `start` of the file, with the lists of features of all labels or attributes: the i-th has sizes[i] features,
    numbered consecutively from `first`. `empty` lists without features follow."""
    import numpy

    begins = numpy.cumsum(sizes) - sizes
    lists = numpy.insert(numpy.arange(first, first + sizes.sum(), dtype="<u4"), begins, sizes)  # each behind its length
    head = _CHUNK.size + 4 * (len(sizes) + empty)
    places = start + head + 4 * (begins + numpy.arange(len(sizes)))
    return _CHUNK.pack(magic, head + 4 * len(lists), len(sizes) + empty) + places.astype("<u4").tobytes() + bytes(4 * empty) + lists.tobytes()
