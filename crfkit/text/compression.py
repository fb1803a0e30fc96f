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
    reader: Callable[[], Any]  # of a stream

    def texts(self, pieces: Iterable[bytes], path: str, size: int) -> Iterator[bytes]:
        """The contents in pieces of at most `size` bytes."""
        stream = self._opened(path)
        for data in pieces:
            text = b""
            while data or len(text) == size:  # then there may be more of it inside
                if stream.eof:
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                    stream = self._opened(path)
                try:
                    text = stream.decompress(data, size)
                except reading_errors() as error:
                    raise DataError(f"damaged {self.name} file ({error})", path) from error
                if text:
                    yield text
                data = stream.unused_data if stream.eof else getattr(stream, "unconsumed_tail", b"")  # the others keep it themselves
        if not stream.eof:
            raise DataError(f"the {self.name} file ends too early", path)

    def _opened(self, path: str) -> Any:
        """A reader of the next stream."""
        try:
            return self.reader()
        except ImportError as error:
            raise DataError(f"this Python was built without {self.name}: decompress the file first", path) from error


def _bzip2() -> Any:
    from bz2 import BZ2Decompressor

    return BZ2Decompressor()


def _xz() -> Any:
    from lzma import FORMAT_XZ, LZMADecompressor

    return LZMADecompressor(FORMAT_XZ)


COMPRESSIONS = (
    Compression("gzip", ".gz", "gunzip", (rb"\x1f \x8b",), lambda: zlib.decompressobj(wbits=31)),
    Compression("bzip2", ".bz2", "bunzip2", (rb"B Z h [1-9] 1 A Y & S Y", rb"B Z h [1-9] \x17 r E 8 P \x90"), _bzip2),  # the second one is empty
    Compression("xz", ".xz", "unxz", (rb"\xfd 7 z X Z \x00",), _xz),
)


def without_suffix(name: str) -> str:
    """A file name without the ending that says that the file is compressed."""
    return next((name.removesuffix(form.suffix) for form in COMPRESSIONS if name.endswith(form.suffix)), name)


def reading_errors() -> tuple[type[Exception], ...]:
    """What may be raised where a file is read and decompressed: it is damaged, or closed (ValueError)."""
    lzma = sys.modules.get("lzma")  # whoever decompresses by it has imported it
    return OSError, EOFError, ValueError, zlib.error, *([lzma.LZMAError] if lzma else [])
