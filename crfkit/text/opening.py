"""Inputs given as paths, '-', streams or parts of files, as decompressed text.

Text from a pipe or a terminal is yielded as soon as it arrives.
"""

from __future__ import annotations

import io
import os
import re
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

from crfkit.errors import DataError, FileError, unreadable
from crfkit.values import name_of, named, shown

from .compression import COMPRESSIONS, Compression, reading_errors
from .scanning import first_cut

LONGEST_LINE = 1 << 28  # bytes


class Stretch(NamedTuple):
    """The sentences of a file that begin at byte `start` or later, but before byte `end` (None: the end of the file)."""

    path: str
    start: int = 0
    end: int | None = None


def path_of(entry: Any) -> str:
    """The name of an input in messages."""
    if hasattr(entry, "read"):
        return name_of(entry, "<stream>")
    return "<stdin>" if is_stdin(entry) else os.fsdecode(entry)


def is_stdin(entry: Any) -> bool:
    """Whether an input is standard input."""
    return isinstance(entry, str) and entry == "-"  # `python -bb` does not compare it with bytes


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether there is a pipe of this name, which can be read only once."""
    return os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)


@contextmanager
def input_file(entry: Any) -> Iterator[tuple[BinaryIO, str]]:
    """The file to read, and its name for messages. Files that the caller opened are not closed."""
    if isinstance(entry, Stretch):
        with open_file(entry.path) as file:
            yield _Part(file, entry), entry.path  # type: ignore[misc]
    elif hasattr(entry, "read"):
        yield entry, path_of(entry)
    elif not isinstance(entry, (str, bytes, os.PathLike)):
        raise DataError(f"found {type(entry).__name__}, expected a path or an open file")
    elif is_stdin(entry):
        if sys.stdin is None:
            raise FileError("standard input is closed")
        if not hasattr(sys.stdin, "buffer"):
            raise FileError(f"standard input is a {type(sys.stdin).__name__} here, which cannot be read as bytes: give a path or an open file")
        yield sys.stdin.buffer, path_of(entry)
    else:
        with open_file(path_of(entry)) as file:
            yield file, path_of(entry)


def is_endless(file: Any) -> bool:
    """Whether an open file is a device that never ends, as /dev/zero. A terminal does."""
    try:
        return stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty()
    except (AttributeError, OSError, TypeError, ValueError):  # no file of the system
        return False


def contents(entry: Any) -> tuple[bytes, str]:
    """All bytes of a file, not decompressed, and its name for messages. Of one that is endless only the first, which are of no use."""
    with input_file(entry) as (file, path):
        pieces = _pieces(file, path, 1 << 20)
        return next(pieces, b"") if is_endless(file) else b"".join(pieces), path


def in_memory(data: bytes, path: str) -> io.BytesIO:
    """An open file of these bytes and this name, as `contents` gives them."""
    file = io.BytesIO(data)
    file.name = path
    return file


def beginning(path: str, n: int) -> bytes:
    """The first bytes of a file, at most n."""
    with open_file(path) as file:
        return next(_pieces(file, path, n), b"")


def check_readable(path: str) -> None:
    """FileError if there is no such file. A pipe is not opened, as it can be read only once."""
    if not is_pipe(path):
        open_file(path).close()


class _Part:
    """A byte range of an open file, for reading."""

    def __init__(self, file: BinaryIO, of: Stretch):
        self.file = file
        start = _sentence_start(file, of.path, of.start) if of.start else 0
        self.left = None if of.end is None else max(_sentence_start(file, of.path, of.end) - start, 0)
        if of.start or of.end is not None:
            file.seek(start)

    def read(self, n: int) -> bytes:
        """At most n bytes."""
        piece = self.file.read(n if self.left is None else min(n, self.left))
        if self.left is not None and piece:
            self.left -= len(piece)
        return piece


def _sentence_start(file: BinaryIO, path: str, at: int) -> int:
    """The offset of the first sentence that follows a blank line after byte `at`; the end of the file if there is none. The line that
    contains this byte is ignored."""
    file.seek(at)
    waiting, begins, whole = bytearray(), at, False
    for piece in _pieces(file, path, 1 << 16):
        waiting += piece
        newline = waiting.rfind(b"\n", len(waiting) - len(piece)) + 1
        if not newline:
            if len(waiting) > LONGEST_LINE:
                raise DataError(too_long(), path)
            continue
        skipped = 0 if whole else waiting.index(b"\n") + 1
        whole = True
        cut = first_cut(waiting, skipped)
        if cut:
            return begins + cut
        begins += newline
        del waiting[:newline]
    return begins + len(waiting)


def too_long() -> str:
    """The message for a line that is too long."""
    return f"more than {LONGEST_LINE:,} bytes without a line end: expected one token a line"


def open_file(path: str) -> BinaryIO:
    """A file to read bytes from; FileError if there is none."""
    if not path:
        raise FileError("the path to read from is empty; give the name of a file")
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise unreadable(f"{named(path)}: cannot be read: {why_not_opened(path, error)}", error) from error
    except ValueError as error:  # a zero byte
        raise FileError(f"{shown(path)}: not a file name") from error


def why_not_opened(path: str, error: OSError) -> str:
    """Why a file was not opened."""
    return f"{error.strerror} (- is standard input only where data are read)" if path == "-" else str(error.strerror)


# The first bytes of files in other formats, a pattern for each byte. The first that fits says the format.
_STARTS: dict[Compression | str, tuple[bytes, ...]] = {
    **{form: form.starts for form in COMPRESSIONS},
    "the data are compressed by zstd": (rb"\x28 \xb5 \x2f \xfd",),
    "the data are a zip archive, as .xlsx files are": (rb"P K \x03 \x04",),
    "the data are a model or a checkpoint of crfkit": (rb"\x89 c r f k i t \n",),
    "the text is in UTF-32": (rb"\xff \xfe \x00 \x00", rb"\x00 \x00 \xfe \xff"),
    "the text is in UTF-16": (rb"\xff \xfe", rb"\xfe \xff"),
    "the text is in UTF-16LE": (rb"[^\x00] \x00 [^\x00] \x00",),  # without a mark, which iconv needs to tell the order of bytes
    "the text is in UTF-16BE": (rb"\x00 [^\x00] \x00 [^\x00]",),
}
_OTHER_FORMS = {tuple(pattern.split(b" ")): form for form, patterns in _STARTS.items() for pattern in patterns}
_LONGEST_START = max(map(len, _OTHER_FORMS))


def other_form(head: bytes) -> Compression | str | None:
    """The format of data that begin with `head`, unless it is text."""
    return next((form for start, form in _OTHER_FORMS.items() if re.match(b"".join(start), head)), None)


def is_compressed(path: str) -> bool:
    """Whether a file can be read only from its beginning."""
    return isinstance(other_form(beginning(path, _LONGEST_START)), Compression)


def texts(file: BinaryIO, path: str, size: int, starts: bool = True) -> Iterator[bytes]:
    """The text of a file in pieces, decompressed. If `starts` is false, the beginning of the file is missing, and it is plain text."""
    if not starts:
        yield from _pieces(file, path, size)
        return
    pieces = _with_head(_pieces(file, path, size))
    head = next(pieces, b"")
    form = other_form(head)
    if isinstance(form, Compression):
        pieces = _with_head(form.texts(chain([head], pieces), path, size))
        head = next(pieces, b"")
        form = other_form(head)
    if form is not None:
        what = "the data are compressed twice" if isinstance(form, Compression) else form
        more = ", plain or compressed by gzip, bzip2 or xz" if "data" in what else f"; `iconv -f {what.split()[-1].lower()} -t utf-8` converts it"
        raise DataError(f"{what}: expected UTF-8{more}", path, 1)
    yield head
    yield from pieces


def _pieces(file: BinaryIO, path: str, size: int) -> Iterator[bytes]:
    """The bytes of a file, one read at a time."""
    with _faults_of(path):
        read = getattr(file, "read1", file.read)
        raw: Any = getattr(file, "raw", file)
        wait = _wait_for(raw)
    buffered = raw is not file  # whether some of it may have been read already
    while True:
        with _faults_of(path):
            if wait is not None and not buffered:
                wait()
            piece = read(size)
            if not piece and _has_waited(file):
                piece = read(size)
        if isinstance(piece, str):
            raise DataError("the file is open as text: open it in binary mode", path)
        if piece is None:
            raise FileError(f"{path}: has no data yet: open it in blocking mode")
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise DataError(f"reading the file gave {type(piece).__name__}, expected bytes", path)
        if not piece:
            return
        buffered = raw is not file and len(piece) == size
        yield bytes(piece)


@contextmanager
def _faults_of(path: str) -> Iterator[None]:
    """Turn errors from reading a file into FileError."""
    try:
        yield
    except reading_errors() as error:
        raise FileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _wait_for(file: BinaryIO) -> Callable[[], None] | None:
    """A function that waits until there is something to read; None for regular files and what is no file of the system.

    It wakes up twice a second: otherwise a signal that arrives just before a read would be handled only when data come.
    """
    if not isinstance(file, io.FileIO) or stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return None
    poll = select.poll()
    poll.register(file, select.POLLIN)

    def wait() -> None:
        while not poll.poll(500):
            pass

    return wait


def _has_waited(file: BinaryIO) -> bool:
    """Wait for a file that does not block, as programs with an event loop hand theirs on: its buffer gives nothing before there is more, too."""
    raw: Any = getattr(file, "raw", file)
    wait = _wait_for(raw)
    if wait is None or os.get_blocking(raw.fileno()):
        return False
    wait()
    return True


def _with_head(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces, the first of them long enough to recognise a format, however little comes at a time. Text is known from its first
    bytes, so that no sentence waits for the next one."""
    head = b""
    for piece in pieces:
        head += piece
        if not any(len(head) < len(start) and re.match(b"".join(start[: len(head)]), head) for start in _OTHER_FORMS):
            break
    yield head
    yield from pieces
