"""Messages between processes: plain values and arrays of numbers, without pickle, so that no message can run code.

    magic, length of the text, length of the arrays, checksum of both      32 bytes
    JSON: the values; an array is replaced by {"@": [type code, offset, bytes]}
    the arrays, each aligned to 16 bytes
"""

from __future__ import annotations

import array
import json
import mmap
import struct
from collections.abc import Callable
from typing import Any

from xxhash import xxh3_64

from crfkit.errors import CrfkitError

MAGIC = b"crfkit\x00\x01"
HEAD = struct.Struct("<8sQQQ")
BOUNDARY = 16
MOST = 1 << 46
FORMS = {form: array.array(form).itemsize for form in "BHIQbhiqfd"}


class MessageError(CrfkitError, ValueError):
    """The received bytes are not a valid message."""


def encode(values: Any) -> list[Any]:
    """A message as pieces to send one after the other. Arrays are not copied: send them before they change."""
    arrays: list[Any] = []
    size = 0

    def placed(value: Any) -> Any:
        nonlocal size
        if not isinstance(value, (array.array, memoryview, bytes, bytearray)):
            raise TypeError(f"{type(value).__name__} cannot be sent")
        view, gap = memoryview(value), -size % BOUNDARY
        start = size + gap
        arrays.extend((bytes(gap), view.cast("B") if view.nbytes else b""))
        size = start + view.nbytes
        return {"@": [view.format, start, view.nbytes]}

    text = json.dumps(values, default=placed).encode()
    text += b" " * (-(HEAD.size + len(text)) % BOUNDARY)
    checksum = xxh3_64(text)
    for piece in arrays:
        checksum.update(piece)
    return [HEAD.pack(MAGIC, len(text), size, checksum.intdigest()), text, *arrays]


def _sizes(head: bytes | bytearray) -> tuple[int, int, int]:
    """What a header says: the bytes of the text and of the arrays, and their checksum."""
    magic, text, arrays, checksum = HEAD.unpack(head) if len(head) == HEAD.size else (b"", 0, 0, 0)
    if magic != MAGIC or text > MOST or arrays > MOST:
        raise MessageError("this is not a message")
    return text, arrays, checksum


def decode(head: bytes | bytearray, body: bytes | bytearray | memoryview | mmap.mmap) -> Any:
    """The values of a message; its arrays are views of `body`."""
    length, arrays, checksum = _sizes(head)
    if length + arrays != len(body) or xxh3_64(body).intdigest() != checksum:
        raise MessageError("a message was damaged in transit")
    data = memoryview(body)[length:]

    def whole(value: dict[str, Any]) -> Any:
        if set(value) != {"@"}:
            return value
        form, start, size = value["@"]
        if form not in FORMS or not 0 <= start <= start + size <= arrays or start % BOUNDARY or size % FORMS[form]:
            raise MessageError("a message refers to an array that it does not contain")
        return data[start : start + size].cast(form)

    try:
        return json.loads(bytes(body[:length]), object_hook=whole)
    except MessageError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise MessageError(f"a message that cannot be read: {error}") from None


def send(write: Callable[[memoryview], int], values: Any) -> None:
    """Write a whole message to a stream; write(piece) may write only a part, and returns the number of bytes written."""
    for piece in encode(values):
        rest = memoryview(piece)
        while rest:
            rest = rest[write(rest) :]


def receive(read: Callable[[memoryview], int]) -> Any:
    """The next message of a stream, or None at its end. read(buffer) fills a part of the buffer; it returns how many bytes, 0 at the end."""
    head = bytearray(HEAD.size)
    if not _fill(read, head):
        return None
    size = sum(_sizes(head)[:2])
    try:  # the system's pages are taken as they are filled, whatever size a damaged message says it has
        body: Any = mmap.mmap(-1, size, access=mmap.ACCESS_COPY) if size else b""
    except (OSError, ValueError, OverflowError):
        raise MessageError("a message is larger than memory") from None
    if size and not _fill(read, body):
        raise MessageError("a message ends too early")
    return decode(head, body)


def _fill(read: Callable[[memoryview], int], buffer: bytearray | mmap.mmap) -> bool:
    at, view = 0, memoryview(buffer)
    while at < len(buffer):
        n = read(view[at:])
        if not n:
            if at:
                raise MessageError("a message ends too early")
            return False
        at += n
    return True
