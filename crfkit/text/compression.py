"""Compressed data: how they are recognised, and decompressed as they arrive."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from crfkit.errors import DataError


class Compression(NamedTuple):
    """A format of compressed files. A file may hold several streams of it, one after another, with zero bytes behind them."""

    name: str
    suffix: str  # of file names
    undone_by: str  # the command that decompresses a file
    starts: tuple[bytes, ...]  # the first bytes of a stream: a pattern for each byte, with blanks between
    reader: Callable[[], tuple[Any, type[Exception]]]  # of a stream; and what it raises if that is damaged

    def texts(self, pieces: Iterable[bytes], path: str, size: int) -> Iterator[bytes]:
        """The contents in pieces of at most `size` bytes."""
        stream, damage = self._opened(path)
        for data in pieces:
            text = b""
            while data or len(text) == size:  # then there may be more of it inside
                if stream.eof:
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                    stream, damage = self._opened(path)
                try:
                    text = stream.decompress(data, size)
                except damage as error:
                    raise DataError(f"damaged {self.name} file ({error})", path) from error
                if text:
                    yield text
                data = stream.unused_data if stream.eof else getattr(stream, "unconsumed_tail", b"")  # the others keep it themselves
        if not stream.eof:
            raise DataError(f"the {self.name} file ends too early", path)

    def _opened(self, path: str) -> tuple[Any, type[Exception]]:
        """A reader of the next stream."""
        try:
            return self.reader()
        except ImportError as error:
            raise DataError(f"this Python was built without {self.name}: decompress the file first", path) from error


def _gzip() -> tuple[Any, type[Exception]]:
    return zlib.decompressobj(wbits=31), zlib.error


def _bzip2() -> tuple[Any, type[Exception]]:
    import bz2

    return bz2.BZ2Decompressor(), OSError


def _xz() -> tuple[Any, type[Exception]]:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ), lzma.LZMAError


COMPRESSIONS = (
    Compression("gzip", ".gz", "gunzip", (rb"\x1f \x8b",), _gzip),
    Compression("bzip2", ".bz2", "bunzip2", (rb"B Z h [1-9] 1 A Y & S Y", rb"B Z h [1-9] \x17 r E 8 P \x90"), _bzip2),  # the second one is empty
    Compression("xz", ".xz", "unxz", (rb"\xfd 7 z X Z \x00",), _xz),
)


def without_suffix(name: str) -> str:
    """A file name without the ending that says that the file is compressed."""
    return next((name.removesuffix(form.suffix) for form in COMPRESSIONS if name.endswith(form.suffix)), name)


def reading_errors() -> tuple[type[Exception], ...]:
    """What reading an open file may raise: it is closed (ValueError); or one of Python's modules decompresses it, and it is damaged."""
    lzma = sys.modules.get("lzma")  # whoever opened a file by it has imported it
    return OSError, EOFError, ValueError, zlib.error, *([lzma.LZMAError] if lzma else [])
