"""Mutations of bytes and of model files: the same input for the same seed, on every machine."""

from __future__ import annotations

import copy
import random
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from crfkit import modelfile

WHOLE = [0, 1, -1, 2, 7, 8, 64, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, -(2**31), 2**32 - 1, 2**62, 2**63 - 1, -(2**63)]
REALS = [0.0, -0.0, 1.0, -1.0, 1e-45, 1e38, -1e38, 3.4e38, float("inf"), float("-inf"), float("nan"), 1e6, 1e-300, 1e300]
PLAIN: list[Any] = [None, True, False, "", "x", "\0", "é" * 40, [], {}, [[]], "B", "U:%x[0,0]", 0.5, *WHOLE]
LONGEST = 1 << 16


def text(random: random.Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """One of the seeds with a few changes: bytes, words, stretches copied, moved, repeated or cut out."""
    data = bytearray(random.choice(seeds))
    for _ in range(random.choice((1, 1, 2, 3, 5, 9))):
        at = random.randint(0, len(data))
        to = min(len(data), at + random.choice((1, 1, 2, 4, 16, 100)))
        kind = random.randrange(9)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at:at] = bytes([random.randrange(256)])
        elif kind == 2:
            del data[at:to]
        elif kind == 3:
            data[at:at] = random.choice(words)
        elif kind == 4:
            data[at:to] = random.choice(words)
        elif kind == 5:
            where = random.randint(0, len(data))
            data[where:where] = data[at:to]
        elif kind == 6:
            data[at:to] = data[at:to] * random.choice((2, 3, 50, 1000))
        elif kind == 7:
            other = random.choice(seeds)
            begin = random.randint(0, len(other))
            data[at:at] = other[begin : begin + random.choice((1, 8, 64, 1000))]
        elif data and random.random() < 0.1:
            del data[random.randrange(len(data)) :]
    return bytes(data[:LONGEST])


def document(random: random.Random, value: Any) -> Any:
    """A JSON document with one place changed."""
    places: list[tuple[Any, Any]] = []

    def collect(node: Any) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                collect(node[key])

    value = copy.deepcopy(value)
    collect(value)
    node, key = random.choice(places)
    kind, old = random.randrange(6), node[key]
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(old, str):
        node[key] = text(random, [old.encode()], [b"%x[0,0]", b"\n", b"\t", b"\xc3"]).decode(errors="ignore")
    elif kind == 2 and isinstance(old, int):
        node[key] = old + random.choice((-1, 1, 8, -8))
    elif kind == 3 and isinstance(old, list) and old:
        old.insert(random.randint(0, len(old)), random.choice(old))
    elif kind == 4:
        other, place = random.choice(places)
        if place in other if isinstance(other, dict) else place < len(other):
            node[key] = copy.deepcopy(other[place])
    else:
        node[key] = copy.deepcopy(random.choice(PLAIN))
    return value


def numbers(random: random.Random, view: memoryview) -> array:
    """A section with some of its numbers changed, or another length."""
    values = array(view.format, view.tolist())
    real = values.typecode in "fd"
    low, high = (0, 0) if real else _range(values)
    for _ in range(random.choice((1, 1, 2, 5))):
        kind = random.randrange(8)
        at = random.randrange(len(values)) if values else 0
        if kind == 0 or not values:
            extra = values[at : at + random.choice((1, 8, 100))] or array(values.typecode, [0])
            values[at:at] = extra
        elif kind == 1:
            del values[at : at + random.choice((1, 8, 100, 10**6))]
        elif kind == 2:
            values[at] = random.choice(values)
        elif kind == 3:
            other = random.randrange(len(values))
            values[at], values[other] = values[other], values[at]
        elif real:
            values[at] = random.choice(REALS)
        else:
            by = random.choice((-1, 1, 2, -8, 8, 64))
            wanted = random.choice((values[at] + by, len(values), len(values) - 1, max(values), min(values) - 1, random.choice(WHOLE)))
            values[at] = min(max(wanted, low), high)
    return values


def _range(values: array) -> tuple[int, int]:
    bits = 8 * values.itemsize
    return (0, 2**bits - 1) if values.typecode.isupper() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@cache
def _parsed(seed: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    file = modelfile.read(seed)
    return file.header, file.contents()


def model(random: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A model or checkpoint whose contents are changed and whose checksums are right all the same."""
    header, contents = _parsed(random.choice(seeds))
    sections = dict(contents)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        kind = random.randrange(11)
        names = list(sections)
        if kind < 3:
            header = document(random, header)
        elif not names:
            break
        elif kind == 3:
            name = random.choice(names)
            removed = sections.pop(name)
            if random.random() < 0.5:
                sections[random.choice((name + "x", "weights", "plan", random.choice(names)))] = removed
        elif kind == 4:
            view = memoryview(sections[random.choice(names)]).cast("B")
            form = random.choice("bBhHiIqQfd")
            size = array(form).itemsize
            sections[random.choice(names)] = array(form, view[: len(view) // size * size].cast(form).tolist())
        elif kind == 5:
            one, other = random.choice(names), random.choice(names)
            sections[one], sections[other] = sections[other], sections[one]
        else:
            name = random.choice(names)
            sections[name] = numbers(random, memoryview(sections[name]))
    try:
        return modelfile.dumps(header, sections)
    except (ValueError, TypeError, OverflowError):  # the format has no room for it
        return text(random, seeds, [b"\0", b"{", b"}"])


Mutation = Callable[[random.Random], bytes]
