"""Where the bytes of a model come from: a path, an open file, or bytes in memory."""

from __future__ import annotations

import io
import mmap
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from .errors import FileError, ModelFileError
from .replacing import reason_of, refusal
from .text.opening import is_endless, open_file
from .values import name_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

_IN_MEMORY = "model in memory"  # the name of one without a path
_START = 64  # bytes from which every format of a model can be told


class Held(NamedTuple):
    """The bytes of a model, read only and from the start of a memory page, and what messages call them.

    They do not change with what they were read from: a path is mapped, a file that takes its place leaves them as they are; the rest is copied.
    """

    name: str
    data: memoryview

    @property
    def start(self) -> bytes:
        """The first bytes, which tell the format."""
        return bytes(self.data[:_START])


def held(source: Any) -> Held:
    """The bytes of a model that is given by its path, as an open file or as a bytes-like object. Those that are held already stay as they are."""
    if isinstance(source, Held):
        return source
    if isinstance(source, (str, os.PathLike)):
        name = os.fsdecode(source)
        return Held(name, _of_path(name))
    is_file = hasattr(source, "read") and not isinstance(source, mmap.mmap)  # which has the methods of a file, but is bytes
    name = name_of(source, _IN_MEMORY) if is_file else _IN_MEMORY
    data = _read(source, name) if is_file else source
    try:
        return Held(name, _aligned(data))
    except ValueError as error:  # released, or closed
        raise FileError(f"{name}: cannot be read: {error}") from None
    except TypeError:
        raise ModelFileError(f"found {type(data).__name__}, expected the path of a model, an open file or its bytes") from None


@contextmanager
def named_in_faults(name: str) -> Iterator[None]:
    """Errors in a model begin with the name of its file, and the line if they begin with that."""
    try:
        yield
    except ModelFileError as error:
        line = re.match(r"\d+: ", error.message)
        raise ModelFileError(f"{name}:{'' if line else ' '}{error}") from None


def _read(file: Any, name: str) -> Any:
    try:
        data = _rest_of(file)
    except UnicodeDecodeError:
        data = ""
    except (OSError, ValueError) as error:  # not open for reading, or not any more
        raise FileError(f"{name}: cannot be read: {refusal(error)}") from None
    if isinstance(data, str):
        raise FileError(f"{name}: the file is open as text: open it in binary mode")
    return data


# A class with another one, as one that deciphers, may have what else it offers from the file that it wraps.
_READS = {kind.read for kind in (io.FileIO, io.BufferedReader, io.BufferedRandom)}


def _rest_of(file: Any) -> Any:
    """What is left of an open file. One on the disk is read to where it stays: a copy of a large one would take longer than reading it."""
    if is_endless(file):
        return file.read(_START)
    n = 0
    with suppress(AttributeError, OSError, TypeError, ValueError):  # it has no place in a file on the disk
        n = os.fstat(file.fileno()).st_size - file.tell()
    if n <= 0 or getattr(type(file), "read", None) not in _READS:
        return file.read()
    room = _room(n)
    taken = file.readinto(room)
    rest = file.read()  # of one that grows, or is unpacked as it is read
    return room[:taken] + rest if rest or taken < n else room


class _Room(mmap.mmap):
    """Memory that begins with a page, and that nobody else knows."""


def _room(n: int) -> _Room:
    room = _Room(-1, n, access=mmap.ACCESS_COPY)
    with suppress(AttributeError, OSError):  # large pages, where there are any: taking small ones is most of the time of reading
        room.madvise(mmap.MADV_HUGEPAGE)
    return room


def _of_path(path: str) -> memoryview:
    if os.path.isdir(path):
        raise FileError(f"{path}: is a folder, not a file")
    with open_file(path) as file:
        try:
            return _aligned(file.read(_START)) if is_endless(file) else _mapped(file)
        except OSError as error:
            raise FileError(f"{path}: cannot be read: {reason_of(error)}") from error


def _mapped(file: BinaryIO) -> memoryview:
    """What an open file holds, whatever becomes of its name."""
    try:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # an empty file, a pipe, or a file system without mappings
        return _aligned(file.read())


def _aligned(buffer: Buffer) -> memoryview:
    """A private copy at the start of a memory page, read only."""
    if isinstance(buffer, _Room):
        return memoryview(buffer).toreadonly()
    data = memoryview(buffer)
    if not data.nbytes:
        return memoryview(b"")
    copy = _room(data.nbytes)
    copy[:] = data.cast("B") if data.c_contiguous else data.tobytes()
    return memoryview(copy).toreadonly()
