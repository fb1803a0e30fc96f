"""Model files made without the writer under test, and a small one made by it."""

import json
import struct
from array import array

import xxhash

from crfkit import modelfile

HEADER = {"labels": ["B-NP", "O", "Größe"], "options": {"l2": 0.5}}
SECTIONS = {
    "text": b"hello",
    "empty": array("q"),
    "matrix": memoryview(array("f", [0.5, 1.5, 2.5, -1, -2, -3])).cast("B").cast("f", (2, 3)),
    "ids": array("i", range(-20, 20)),
}
SMALL = modelfile.dumps(HEADER, SECTIONS)


def container(document, payload=b"", version=1):
    """A model file made without the writer under test. The checksum of its header is right."""
    text = document
    if not isinstance(document, bytes):
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    data = struct.pack("<8sIIQ", b"\x89crfkit\n", version, len(text), xxhash.xxh3_64_intdigest(text)) + text
    return data + bytes(-len(data) % 64) + payload


def row(name="a", payload=b"abcd", offset=0, **changes):
    """A row of the section table, for bytes at the start of the payload; `changes` replaces fields."""
    checksum = xxhash.xxh3_64_hexdigest(payload)
    length = len(payload)
    return {
        "name": name,
        "dtype": "uint8",
        "shape": [length],
        "offset": offset,
        "length": length,
        "checksum": checksum,
    } | changes


def with_table(*rows, payload=b"abcd"):
    return container({"metadata": {}, "sections": list(rows)}, payload)


def contents(model):
    return {name: (entry.dtype, entry.shape, model.contents()[name].tolist())
            for name, entry in model.sections.items()}
