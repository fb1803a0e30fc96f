"""Which labels may follow each other, and begin and end a sentence.

A scheme says it through its strict table (crfkit.schemes): a step from one label to the next is sound if no chunk is
left unfinished by it and none begins in the middle.

A file says it line by line: `A B` allows B after A, and what is not listed is forbidden. `<start> B` allows B at the
beginning of a sentence and `A <end>` allows A at its end; without lines of one of these kinds, any label may begin
(or end) a sentence. A line is split at its tab, or at blanks; empty lines mean nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from crfkit.errors import DataError, FileError
from crfkit.evaluation.schemes import END, INSIDE, N_PREFIXES, PREFIXES, SCHEMES, START, detect

START_MARK, END_MARK = "<start>", "<end>"
SCHEME_NAMES = tuple(name for name, scheme in SCHEMES.items() if scheme.strict)

# Names that word segmentation gives to two roles of IOBES.
_SEGMENTATION = {"M": "I", "W": "S"}


@dataclass(frozen=True)
class Constraints:
    """Flags over the numbers of L labels: 1 for what is allowed."""

    transitions: bytes
    """[L][L]"""
    starts: bytes
    """[L]"""
    ends: bytes
    """[L]"""


def constraints(source: str | os.PathLike[str], labels: Sequence[str]) -> Constraints:
    """Of a scheme by name, of the labels' own scheme ("auto"), or of the pairs in a file."""
    if source == "auto":
        return from_scheme(_scheme_of(labels), labels)
    if source in SCHEME_NAMES:
        return from_scheme(str(source), labels)
    return from_file(source, labels)


def from_scheme(name: str, labels: Sequence[str]) -> Constraints:
    """The steps that a scheme knows; DataError for a label that it does not have."""
    scheme = SCHEMES[name]
    parts = [_split(label) for label in labels]
    for label, (prefix, _) in zip(labels, parts, strict=True):
        if prefix not in scheme.prefixes:
            raise DataError(f"the model's label '{label}' is not one of {name}: expected the prefix {', '.join(scheme.prefixes)}")

    def sound(before: tuple[str, str], after: tuple[str, str]) -> bool:
        row = PREFIXES.index(before[0]) * N_PREFIXES + PREFIXES.index(after[0])
        bits = scheme.strict[2 * row + (before[1] == after[1])]
        return bool((before[0] == "O" or bits & (INSIDE | END)) and (after[0] == "O" or bits & (INSIDE | START)))

    outside = ("O", "")
    return Constraints(
        bytes(sound(before, after) for before in parts for after in parts),
        bytes(sound(outside, part) for part in parts),
        bytes(sound(part, outside) for part in parts),
    )


def from_file(path: str | os.PathLike[str], labels: Sequence[str]) -> Constraints:
    """The pairs that a file lists."""
    name, n = os.fspath(path), len(labels)
    numbers = {START_MARK: -1, END_MARK: -2} | {label: number for number, label in enumerate(labels)}
    transitions, starts, ends = bytearray(n * n), bytearray(n), bytearray(n)
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read().split("\n")
    except OSError as error:
        raise FileError(f"{name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError("is not UTF-8: expected a file of pairs of labels", name) from None
    except ValueError:  # a zero byte
        raise FileError(f"{name!r}: not a file name") from None
    for number, line in enumerate(lines, 1):
        pair = line.split("\t") if "\t" in line else line.split()
        if not pair:
            continue
        if len(pair) != 2:
            raise DataError(f"found {len(pair)} labels, expected two: the second may follow the first", name, number)
        for label in pair:
            if label not in numbers:
                raise DataError(f"the model has no label '{label}'", name, number)
        before, after = numbers[pair[0]], numbers[pair[1]]
        if before == -2 or after == -1 or (before < 0 and after < 0):
            raise DataError(f"expected LABEL LABEL, {START_MARK} LABEL or LABEL {END_MARK}", name, number)
        if before == -1:
            starts[after] = 1
        elif after == -2:
            ends[before] = 1
        else:
            transitions[before * n + after] = 1
    return Constraints(bytes(transitions), bytes(starts if any(starts) else b"\1" * n), bytes(ends if any(ends) else b"\1" * n))


def _split(label: str) -> tuple[str, str]:
    """Prefix and type of a label; a label O has no type."""
    prefix, _, kind = label.partition("-")
    prefix = _SEGMENTATION.get(prefix, prefix)
    return prefix, "" if prefix == "O" else kind


def _scheme_of(labels: Sequence[str]) -> str:
    """The scheme that all the labels of a model are of."""
    parts = [_split(label) for label in labels]
    prefixes = {prefix for prefix, _ in parts}
    name = detect(prefixes, prefixes, strict=True)
    for label, (prefix, _) in zip(labels, parts, strict=True):
        if prefix not in SCHEMES[name].prefixes:
            raise DataError(f"the model's label '{label}' is of no chunk scheme: give the scheme or a file of pairs")
    if name == "bio" and any(prefix == "I" and ("B", kind) not in parts for prefix, kind in parts):
        return "iob1"  # where B stands only between neighbours of one type
    return name
