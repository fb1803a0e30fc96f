"""The section container that models are kept in: named arrays behind a checked header.

    prefix    24 bytes: magic, format version, header length, header checksum
    header    canonical JSON: {"metadata": ..., "sections": [table]}, then zeros up to a multiple of 64
    payload   the sections, each at a multiple of 64, zeros between them, nothing after the last

docs/model-format.md describes every byte. Nothing here knows what the sections mean. A file is treated as hostile: nothing is used before
it was checked, and only ModelFileError or FileError comes out. Python's integers cannot overflow, so sums of offsets and products of shapes
are exact; what has to be bounded is how much text is parsed and how large the factors are.
"""

from __future__ import annotations

import math
import mmap
import re
import struct
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import canonical
from .errors import FileError, ModelFileError, UnsupportedError
from .modelbytes import held, named_in_faults
from .replacing import replacing, write_all, written_to
from .text.compression import Compression
from .text.opening import other_form

if TYPE_CHECKING:
    from typing_extensions import Buffer

if sys.byteorder != "little":
    raise ImportError("crfkit maps little-endian model files into memory and needs a little-endian processor")

# Not text, and a transfer that "repairs" text damages it.
MAGIC = b"\x89crfkit\n"
# What such a transfer makes of it: the first byte re-encoded or without its eighth bit, the line end turned.
_CONVERTED = tuple(first + b"crfkit" for first in (b"\x89", b"\x09", b"\xc2\x89", b"\xe2\x80\xb0", b"\xef\xbf\xbd", b"?"))
VERSION = 1
CHECKPOINT = "checkpoint"  # the "kind" in the header of a file that is no model
PARSER = "parser"  # and of one that finds trees
ALIGNMENT = 64
PREFIX = struct.Struct("<8sIIQ")  # magic, version, length of the JSON text, its XXH3-64
MAX_HEADER = 16 << 20  # bytes of JSON text
MAX_TABLE = 64 << 10  # of them for the table of sections and what is counted in the end; both take a few thousand
MAX_NAME = 255  # characters of a section's name
MAX_NDIM = 8
_CHECKSUM = re.compile("[0-9a-f]{16}")

# The name of an element type -> (the code memoryview and struct have for it, bytes).
DTYPES: dict[str, tuple[Any, int]] = {
    "int8": ("b", 1),
    "uint8": ("B", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "uint64": ("Q", 8),
    "float32": ("f", 4),
    "float64": ("d", 8),
}
# What other buffers call the same types: "l" is 4 or 8 bytes wide, depending on the platform.
_DTYPE_OF = {(code, size): name for name, (code, size) in DTYPES.items()}
_DTYPE_OF |= {("l", 4): "int32", ("L", 4): "uint32", ("l", 8): "int64", ("L", 8): "uint64"}

_FOREIGN = (
    (b"lCRF", "a CRFsuite model; crfkit convert makes one of crfkit's of it"),
    (b"#mdl#", "a Wapiti model; crfkit convert makes one of crfkit's of it"),
    (b"d\0\0\0", "a CRF++ binary model; crfkit convert makes one of crfkit's of it"),
    (b"\0\0\0d", "a CRF++ binary model of a machine with another byte order; its text model, which crf_learn -t writes, opens"),
    (b"\x80", "a Python pickle, which crfkit never loads"),
    (b"version https://git-lfs", "a Git LFS pointer instead of the file itself; run git lfs pull"),
)


class Section(NamedTuple):
    """One row of the section table."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int  # from the start of the payload
    length: int  # bytes
    checksum: str  # XXH3-64, 16 hexadecimal digits


class ModelFile(NamedTuple):
    """A model file that was checked: its metadata and its sections, mapped rather than copied.

    The memory stays valid for as long as this object or any section taken from it lives; there is nothing to close.
    """

    name: str
    header: dict[str, Any]
    sections: dict[str, Section]
    payload: memoryview

    def contents(self) -> dict[str, memoryview]:
        """The elements of each section, as a flat read-only view, aligned to 64 bytes. Who needs a certain type asks `numbers`."""
        pieces = {name: self.payload[entry.offset : entry.offset + entry.length] for name, entry in self.sections.items()}
        return {name: piece.cast(DTYPES[self.sections[name].dtype][0]) for name, piece in pieces.items()}


def read(path_or_bytes: Any, verify: bool = True, what: str = "model") -> ModelFile:
    """Open a model file, or what else is kept in this container, and check all of it before any of it is used.

    verify=False leaves out only the checksums of what is in the sections, so that the time does not depend on the size of the file.
    """
    from xxhash import xxh3_64_hexdigest

    name, data = held(path_or_bytes)
    with named_in_faults(name):
        start, header, sections = _parse(data, what)
        for section in sections.values() if verify else ():
            body = data[start + section.offset : start + section.offset + section.length]
            if xxh3_64_hexdigest(body) != section.checksum:
                raise ModelFileError(f"damaged: the checksum of section {section.name!r} does not match")
    return ModelFile(name, header, sections, data[start:])


def write(path: Any, header: dict[str, Any], sections: Mapping[str, Buffer]) -> int:
    """Write a model file, to a path or into a file that is open for bytes, and return its size in bytes.

    The header is anything JSON can hold, a section a contiguous buffer of one of the DTYPES; what the format has no room for is a ValueError
    or TypeError, before anything is written. The same arguments give the same bytes. The file appears at its place complete or not at all:
    on any failure what was there before is still there.
    """
    parts = _encode(header, sections)
    if hasattr(path, "write"):
        with written_to(path) as name:
            try:
                for part in parts:
                    write_all(path, part)
            except TypeError:
                raise FileError(f"{name}: the file is open as text: open it in binary mode") from None
    else:
        with replacing(path) as file:
            file.writelines(parts)
    return sum(len(part) for part in parts)


def check_header(header: dict[str, Any]) -> None:
    """UnsupportedError for more than a file has room for: to be called before hours of training."""
    size = len(canonical.dumps(header))
    if size > MAX_HEADER - MAX_TABLE:
        what = f"{MAX_HEADER - MAX_TABLE:,} bytes of labels, names of columns and template"
        raise UnsupportedError(f"a model has room for {what}, and these take {size:,}; is another column the label?")


def dumps(header: dict[str, Any], sections: Mapping[str, Buffer]) -> bytes:
    """The bytes that write would put into a file."""
    return b"".join(_encode(header, sections))


def _cut_short(source: Any) -> bool:
    """Whether it is a mapped file that has become shorter."""
    try:
        return isinstance(source, mmap.mmap) and source.size() < len(source)
    except OSError:  # memory without a file
        return False


def _encode(header: dict[str, Any], sections: Mapping[str, Buffer]) -> list[bytes | memoryview]:
    """The pieces of the file in order; the contents of the sections are not copied."""
    from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

    table: list[dict[str, Any]] = []
    payload: list[bytes | memoryview] = []
    end = 0
    for name, buffer in sections.items():
        if not 1 <= len(name) <= MAX_NAME:
            raise ValueError(f"section {name!r}: its name is not a string of 1 to {MAX_NAME} characters")
        view = memoryview(buffer)
        if _cut_short(view.obj):  # to read on would end the program
            raise FileError("the file of the model was truncated while it was in use: replace a model with save, which keeps the old file until the new one is complete")
        dtype = _DTYPE_OF.get((view.format, view.itemsize))
        if dtype is None or not view.c_contiguous or not 1 <= view.ndim <= MAX_NDIM:
            raise TypeError(f"section {name!r}: not a contiguous array of one of {', '.join(DTYPES)}")
        body = view.cast("B") if view.nbytes else b""
        gap = -end % ALIGNMENT
        payload += [bytes(gap), body]
        table.append(Section(name, dtype, view.shape or (), end + gap, len(body), xxh3_64_hexdigest(body))._asdict())
        end += gap + len(body)
    text = canonical.dumps({"metadata": header, "sections": table})
    if len(text) > MAX_HEADER:
        raise UnsupportedError(f"the header needs {len(text)} bytes, more than the {MAX_HEADER} of the format")
    try:
        canonical.loads(text)
    except ModelFileError as error:  # better now than when the model is needed
        raise ValueError(f"the header could not be read again: {error}") from None
    prefix = PREFIX.pack(MAGIC, VERSION, len(text), xxh3_64_intdigest(text))
    return [prefix, text, bytes(-(len(prefix) + len(text)) % ALIGNMENT), *payload]


def _parse(data: memoryview, what: str) -> tuple[int, dict[str, Any], dict[str, Section]]:
    """Where the payload starts, the metadata and the section table, all checked against the file's length."""
    from xxhash import xxh3_64_intdigest

    if data[: len(MAGIC)] != MAGIC:
        raise ModelFileError(_foreign(bytes(data[:1024]), what))
    if len(data) < PREFIX.size:
        raise ModelFileError(f"damaged: truncated to {len(data)} bytes")
    _, version, length, checksum = PREFIX.unpack_from(data)
    if version > VERSION:
        raise ModelFileError(f"has format version {version}, this crfkit reads up to version {VERSION}; upgrade crfkit")
    if version < 1:
        raise ModelFileError(f"damaged: there is no format version {version}")
    if length > MAX_HEADER:
        raise ModelFileError(f"damaged: a header of {length} bytes, expected at most {MAX_HEADER}")
    end = PREFIX.size + length
    start = end + -end % ALIGNMENT
    if len(data) < start:
        raise ModelFileError(f"damaged: truncated to {len(data)} bytes, the header alone takes {start}")
    text = bytes(data[PREFIX.size : end])
    if xxh3_64_intdigest(text) != checksum:
        raise ModelFileError("damaged: the checksum of the header does not match")
    _check_zeros(data[end:start], "the header")
    document = canonical.loads(text)
    if type(document) is not dict or document.keys() != {"metadata", "sections"}:
        raise ModelFileError("damaged: the header is not an object of metadata and sections")
    metadata, table = document["metadata"], document["sections"]
    if type(metadata) is not dict or type(table) is not list:
        raise ModelFileError("damaged: the metadata are not an object, or the section table is not a list")
    return start, metadata, _parse_table(table, data[start:])


def _foreign(start: bytes, what: str) -> str:
    """What a file is that does not start with the magic, as far as one can tell, to one who expects a model or a checkpoint."""
    if not start:
        return "is empty"
    if MAGIC.startswith(start):
        return f"damaged: truncated to {len(start)} bytes"
    if start.startswith(_CONVERTED):
        return "damaged: it was transferred as text; transfer it as a binary file"
    for magic, hint in _FOREIGN:
        if start.startswith(magic):
            return f"not a crfkit {what}: {hint}"
    form = other_form(start)
    if isinstance(form, Compression):
        return f"not a crfkit {what}: compressed with {form.name}; {form.undone_by} it first"
    text = start.decode("utf-8", "ignore")
    if "\0" not in text and len(start) - len(text.encode()) <= 3:  # the end may cut a character
        return f"not a crfkit {what}: a text file; the {what} is what crfkit learn writes"
    return f"not a crfkit {what}"


def _parse_table(table: list[Any], payload: memoryview) -> dict[str, Section]:
    """The section table, when its sections lie one behind the other and cover the payload exactly."""
    sections: dict[str, Section] = {}
    end = 0
    for number, row in enumerate(table):
        section = _section(row, f"damaged: section {number}")
        where, start = f"damaged: section {number} ({section.name!r})", section.offset
        if section.name in sections:
            raise ModelFileError(f"{where}: a second section of this name")
        if start != end + -end % ALIGNMENT:
            raise ModelFileError(f"{where}: it starts at {start}, expected the first multiple of {ALIGNMENT} after the section before, which ends at {end}")
        if section.length > len(payload) - start:
            raise ModelFileError(f"{where}: truncated: it ends at {start + section.length}, the data at {len(payload)}")
        _check_zeros(payload[end:start], f"what precedes section {section.name!r}")
        sections[section.name] = section
        end = start + section.length
    if end != len(payload):
        raise ModelFileError(f"damaged: {len(payload) - end} bytes follow the last section")
    return sections


def _section(row: Any, where: str) -> Section:
    """A row of the table, when its fields are possible."""
    if type(row) is not dict or row.keys() != set(Section._fields):
        raise ModelFileError(f"{where}: not an object of {', '.join(Section._fields)}")
    section = Section(**row)
    if type(section.name) is not str or not 1 <= len(section.name) <= MAX_NAME:
        raise ModelFileError(f"{where}: its name is not a string of 1 to {MAX_NAME} characters")
    where += f" ({section.name!r})"
    if type(section.dtype) is not str or section.dtype not in DTYPES:
        raise ModelFileError(f"{where}: its type is not one of {', '.join(DTYPES)}")
    if type(section.shape) is not list or not 1 <= len(section.shape) <= MAX_NDIM or not all(map(_is_size, section.shape)):
        raise ModelFileError(f"{where}: its shape is not a list of 1 to {MAX_NDIM} sizes")
    if not _is_size(section.offset) or not _is_size(section.length):
        raise ModelFileError(f"{where}: its offset or length is not a size")
    if type(section.checksum) is not str or not _CHECKSUM.fullmatch(section.checksum):
        raise ModelFileError(f"{where}: its checksum is not 16 hexadecimal digits")
    if math.prod(section.shape) * DTYPES[section.dtype][1] != section.length:
        raise ModelFileError(f"{where}: its shape does not agree with its length of {section.length} bytes")
    return section._replace(shape=tuple(section.shape))


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= sys.maxsize


def _check_zeros(gap: memoryview, place: str) -> None:
    if bytes(gap) != bytes(len(gap)):
        raise ModelFileError(f"damaged: the padding of {place} is not zero")


def numbers(sections: Mapping[str, Any], name: str, dtype: str) -> Any:
    """A section as numbers; ModelFileError if it is missing, or is no whole number of them."""
    try:
        section = memoryview(sections[name])
    except KeyError:
        raise ModelFileError(f"section {name!r} is missing") from None
    code, size = DTYPES[dtype]
    if section.nbytes % size:
        raise ModelFileError(f"section {name!r} is not of type {dtype}")
    return section.toreadonly().cast("B").cast(code)
