"""Which labels may follow each other, and begin and end a sentence.

A scheme defines it by its strict table (crfkit.evaluation.schemes): a step from one label to the next is allowed if no chunk is
left unfinished by it and none begins in the middle.

A text defines it line by line: `A B` allows B after A, and what is not listed is forbidden. `<start> B` allows B at the
beginning of a sentence and `A <end>` allows A at its end; without lines of one of these kinds, any label may begin
(or end) a sentence. A line is split at its tab, or at blanks; empty lines are ignored. The text is a file's, or
a str with a line end in it. Pairs from Python, [("A", "B"), ("<start>", "B")], mean the same.

What is read is kept as a table: the file may change or disappear afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crfkit.errors import CrfkitWarning, DataError, FileError, warn_caller
from crfkit.evaluation.schemes import END, INSIDE, N_PREFIXES, PREFIXES, SCHEMES, SEGMENTATION, START, SYNONYMS, detect
from crfkit.text.opening import is_endless, why_not_opened
from crfkit.values import lists, named, plain, plural, shown

START_MARK, END_MARK = "<start>", "<end>"
STRICT_SCHEMES = tuple(name for name, scheme in SCHEMES.items() if scheme.strict)

Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Constraints:
    """Flags by label numbers: 1 for what is allowed."""

    name: str
    """Where they come from: a scheme, a file, or "pairs"."""
    labels: tuple[str, ...]
    transitions: bytes
    """[L][L]"""
    starts: bytes
    """[L]"""
    ends: bytes
    """[L]"""

    def lost(self) -> list[str]:
        """The labels that are part of no allowed sequence."""
        n = len(self.labels)
        possible = _reached(self.starts, lambda j: self.transitions[j * n : (j + 1) * n]) & _reached(self.ends, lambda k: self.transitions[k::n])
        return [label for number, label in enumerate(self.labels) if number not in possible]


def _reached(first: bytes, neighbours: Callable[[int], bytes]) -> set[int]:
    """The labels that some steps lead to."""
    found = {number for number, flag in enumerate(first) if flag}
    waiting = list(found)
    while waiting:
        new = {number for number, flag in enumerate(neighbours(waiting.pop())) if flag} - found
        found |= new
        waiting += new
    return found


def _warn_of_lost(found: Constraints) -> None:
    """Warn of labels that a scheme allows nowhere, for example labels of another scheme."""
    lost = found.lost()
    if not lost:
        return
    own = _scheme_of(found.labels)
    others = f" and {plural(len(lost) - 1, 'other label')}" if lost[1:] else ""
    hint = f"; these labels are {own}" if own != found.name else ""
    text = f"constraints {found.name}: {shown(lost[0])}{others} can stand in no sentence, since the model lacks the labels that {found.name} wants beside{hint}"
    warn_caller(CrfkitWarning(text))


ConstraintSource = str | os.PathLike[str] | Pairs | Constraints


def constraints_of(source: ConstraintSource, labels: Sequence[str], of_part: bool = False) -> Constraints:
    """The constraints of a scheme by name, of the labels' own scheme ("auto"), of the pairs in a file or a text, or of pairs.

    `of_part`: a part of the data, as in cross-validation, may lack labels: pairs with such a label are left out, and there is a warning."""
    labels = tuple(labels)
    if isinstance(source, Constraints):
        if source.labels != labels:
            raise DataError("the constraints are on other labels than those of the model")
        return source
    if isinstance(source, str) and not is_file(source):
        text: str = plain(source)
        if "\n" in text:
            return _from_pairs("pairs", _pairs_of_text(text, "constraints"), labels, of_part)
        found = from_scheme(_scheme_of(labels) if text == "auto" else SYNONYMS.get(text, text), labels)
        _warn_of_lost(found)
        return found
    if isinstance(source, (str, os.PathLike)):
        return from_file(source, labels, of_part)
    check_source(source)
    return _from_pairs("pairs", _pairs_of_list(source), labels, of_part)


def check_source(source: Any) -> None:
    """FileError for a file that is not there, and DataError for what is no constraints, before there is a model whose labels they could be
    about."""
    if isinstance(source, (str, os.PathLike)):
        if is_file(source) and not os.path.exists(source):
            from_file(source, ())  # which says so
    elif not isinstance(source, Constraints) and not lists(source):
        raise DataError(f"constraints: found {shown(source)}, expected {_EXPECTED}")


def is_file(source: Any) -> bool:
    """Whether it names a file, and not a scheme, and is no text of pairs."""
    if isinstance(source, str):
        return source not in ("auto", *STRICT_SCHEMES, *SYNONYMS) and "\n" not in source
    return isinstance(source, os.PathLike)


_EXPECTED = f"a scheme ({', '.join(STRICT_SCHEMES)}), auto, a file of pairs of labels, or the pairs themselves"


def from_scheme(name: str, labels: Sequence[str]) -> Constraints:
    """The steps that a scheme allows; DataError for a label that it does not have."""
    scheme = SCHEMES[name]
    parts = [_split(label) for label in labels]
    for label, (prefix, _) in zip(labels, parts, strict=True):
        if prefix not in scheme.prefixes:
            raise DataError(f"the model's label {shown(label)} is not one of {name}: expected the prefix {', '.join(scheme.prefixes)}")

    def sound(before: tuple[str, str], after: tuple[str, str]) -> bool:
        row = PREFIXES.index(before[0]) * N_PREFIXES + PREFIXES.index(after[0])
        bits = scheme.strict[2 * row + (before[1] == after[1])]
        return bool((before[0] == "O" or bits & (INSIDE | END)) and (after[0] == "O" or bits & (INSIDE | START)))

    outside = ("O", "")
    return Constraints(
        name,
        tuple(labels),
        bytes(sound(before, after) for before in parts for after in parts),
        bytes(sound(outside, part) for part in parts),
        bytes(sound(part, outside) for part in parts),
    )


def from_file(path: str | os.PathLike[str], labels: Sequence[str], of_part: bool = False) -> Constraints:
    """The pairs that a file lists."""
    name = os.fsdecode(path)
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(1 << 20 if is_endless(file) else -1)
    except OSError as error:
        raise FileError(f"{named(name)}: cannot be read: {why_not_opened(name, error)}; expected {_EXPECTED}") from None
    except UnicodeDecodeError:
        raise DataError("is not UTF-8: expected a file of pairs of labels", name) from None
    except ValueError:  # a zero byte
        raise FileError(f"{shown(name)}: not a file name") from None
    if not text.strip():
        raise DataError("lists no labels: expected a pair in each line, such as B-NP I-NP", name)
    return _from_pairs(name, _pairs_of_text(text, name), labels, of_part)


# Two labels, and where they are listed: path and line, for messages.
_Placed = Iterator[tuple[Sequence[str], str, str | None, int | None]]


def _pairs_of_text(text: str, path: str) -> _Placed:
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        pair = line.split("\t") if "\t" in line else [label for label in line.split(" ") if label]  # as data are split
        if len(pair) not in (0, 2):
            raise DataError(f"found {plural(len(pair), 'label')}, expected two: the second may follow the first", path, number)
        if pair:
            yield pair, "", path, number


def _pairs_of_list(pairs: Iterable[Any]) -> _Placed:
    for number, given in enumerate(pairs, 1):
        pair = list(given) if lists(given) else []
        if len(pair) != 2 or not all(isinstance(label, str) for label in pair):
            raise DataError(
                f"constraints: pair {number}: found {shown(given)}, expected two labels: the second may follow the first"
            )
        yield pair, f"constraints: pair {number}: ", None, None


def _from_pairs(name: str, pairs: _Placed, labels: Sequence[str], of_part: bool) -> Constraints:
    n = len(labels)
    transitions, starts, ends = bytearray(n * n), bytearray(n + 1), bytearray(n + 1)  # place n is that of labels that the model lacks
    for before, after in _numbered(pairs, labels, of_part):
        if before == _START:
            starts[after] = 1
        elif after == _END:
            ends[before] = 1
        elif before < n and after < n:
            transitions[before * n + after] = 1
    anywhere = b"\1" * n
    return Constraints(
        name,
        tuple(labels),
        bytes(transitions),
        bytes(starts[:n]) if any(starts) else anywhere,
        bytes(ends[:n]) if any(ends) else anywhere,
    )


_START, _END = -1, -2  # in the place of the numbers of labels


def _numbered(pairs: _Placed, labels: Sequence[str], of_part: bool) -> Iterator[tuple[int, int]]:
    """The numbers of the labels in the pairs, or of a mark. For one that the model lacks, DataError, or if `of_part` a number behind all others
    and a warning in the end."""
    n, unknown = len(labels), list[DataError]()
    numbers = {START_MARK: _START, END_MARK: _END} | {label: number for number, label in enumerate(labels)}
    for pair, where, path, line in pairs:
        unknown += [DataError(f"{where}the model has no label {shown(label)}", path, line) for label in pair if label not in numbers]
        if unknown and not of_part:
            raise unknown[0]
        before, after = (numbers.get(label, n) for label in pair)
        if before == _END or after == _START or (before < 0 and after < 0):
            raise DataError(f"{where}expected LABEL LABEL, {START_MARK} LABEL or LABEL {END_MARK}", path, line)
        yield before, after
    if unknown:
        warn_caller(CrfkitWarning(str(unknown[0])))


def _split(label: str) -> tuple[str, str]:
    """Prefix and type of a label; a label O has no type. The prefix is ? if no scheme has it."""
    prefix, _, kind = label.partition("-")
    prefix = SEGMENTATION.get(prefix, prefix)
    return prefix if prefix in PREFIXES else "?", "" if prefix == "O" else kind


def _scheme_of(labels: Sequence[str]) -> str:
    """The scheme that all the labels of a model are of."""
    parts = [_split(label) for label in labels]
    prefixes = {prefix for prefix, _ in parts}
    name = detect(prefixes, prefixes, strict=True)
    for label, (prefix, _) in zip(labels, parts, strict=True):
        if prefix not in SCHEMES[name].prefixes:
            raise DataError(f"the model's label {shown(label)} is of no chunk scheme: give the scheme or a file of pairs")
    if name == "bio" and any(prefix == "I" and ("B", kind) not in parts for prefix, kind in parts):
        return "iob1"  # where B stands only between neighbours of one type
    return name
