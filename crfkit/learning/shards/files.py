"""Training data as files that workers open, and how they are cut into shards.

Files are cut into stretches of about equal size at blank lines; compressed ones are not cut. A shard is a
run of whole chunks of the objective (trainers/batch/objective.pyx): it omits the sequences at the start of its
first stretch that belong to a chunk of the previous one, and includes those at the start of the next stretch that
belong to its own last chunk. So the chunks are the same as on one machine, wherever the cuts are.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from crfkit.errors import DataError, FileError
from crfkit.text.block import Columns
from crfkit.text.opening import Stretch, is_compressed
from crfkit.text.reading import Source
from crfkit.text.sources import labelled_rows

LEAST, MOST = 4, 1024  # shards, unless --shards says otherwise
USUAL = 4 << 20  # bytes of a shard


class Piece(NamedTuple):
    """What is needed of a stretch to cut shards."""

    stretch: Stretch
    tokens: int
    sequences: int
    heads: Sequence[int]  # tokens of its first sequences, as far as a chunk of the previous stretch may reach
    last: int  # tokens of its last sequence


class Shard(NamedTuple):
    """A part of the data: of each stretch, how many sequences to leave out and how many to take (-1: the rest)."""

    before: int  # how many tokens precede it
    parts: list[tuple[Stretch, int, int]]


def matching(name: str) -> list[str]:
    """The files that match a name or a pattern."""
    return sorted(glob.glob(name)) if glob.has_magic(name) and not os.path.exists(name) else [name]


def files_of(train: Iterable[str]) -> list[list[Any]]:
    """The files that match names and patterns, with their sizes, and whether they cannot be cut."""
    names: list[str] = []
    for name in train:
        found = matching(name)
        if not found:
            raise FileError(f"{name}: no file matches this pattern")
        names += found
    files = []
    for name in names:
        if os.path.exists(name) and not os.path.isfile(name):
            raise FileError(f"{name}: cannot be opened by workers: expected a file, which can be read again")
        whole = is_compressed(name)
        files.append([name, os.path.getsize(name), whole])
    return files


def look(train: Iterable[str], form: str, comments: bool) -> dict[str, Any]:
    """The files of the data, and their columns."""
    files = files_of(train)
    columns: Columns | None = None
    for name, *_ in files:
        for block in Source([name], form, comments=comments, columns=columns):
            columns = block.columns
            if columns.n_cols:
                break
    return {"files": files, "columns": list(columns or Columns())}


def columns_of(sent: Sequence[Any]) -> Columns:
    """The columns that came as a list."""
    n_cols, names, path, line, kind = sent
    return Columns(int(n_cols), None if names is None else tuple(map(str, names)), path, line, kind)


def cut(files: Sequence[Sequence[Any]], shards: int | None) -> list[Stretch]:
    """About so many stretches of files (name, size, whether it cannot be cut); at least one a file."""
    total = sum(size for _, size, _ in files)
    wanted = shards or max(LEAST, min(MOST, -(-total // USUAL)))
    found = []
    for name, size, whole in files:
        n = 1 if whole else max(1, min(size, round(wanted * size / max(total, 1))))
        ends = [size * k // n for k in range(1, n)]
        found += [Stretch(name, start, end) for start, end in zip([0, *ends], [*ends, None], strict=True)]
    return found


def count(stretch: Stretch, form: str, label: str | None, comments: bool, columns: Columns, most: int) -> dict[str, Any]:
    """What is needed of a stretch for a Piece, whose heads begin within `most` tokens, and the marks of its columns."""
    rows = labelled_rows(form, label, columns)
    source = Source([stretch], form, allow_empty=True, comments=comments, columns=columns)
    tokens = sequences = last = reached = 0
    heads = []
    for block in source:
        with lines_counted(stretch):
            rows.parse(block)
        lengths = rows.lengths()
        for length in lengths:
            if reached > most:
                break
            heads.append(length)
            reached += length
        tokens, sequences, last = tokens + sum(lengths), sequences + len(lengths), lengths[-1] if len(lengths) else last
    return {"piece": [tokens, sequences, heads, last], "marks": [source.marks.first, source.marks.inside]}


@contextmanager
def lines_counted(stretch: Stretch) -> Iterator[None]:
    """Make errors inside refer to lines of the file, not of the stretch."""
    try:
        yield
    except DataError as error:
        if error.line is None or not stretch.start or error.path != stretch.path:
            raise
        before = sum(block.data.count(b"\n") for block in Source([Stretch(stretch.path, 0, stretch.start)], allow_empty=True, delimited=True))
        raise type(error)(error.reason, error.path, error.line + before) from None


def shards_of(pieces: Sequence[Piece], chunk: int) -> list[Shard]:
    """The shards of all data. A chunk begins with the first sequence that begins in a new range of `chunk` tokens."""
    shards: list[Shard] = []
    before, last = 0, -1  # tokens so far, and where the last sequence of these begins; at first in no range
    for piece in pieces:
        place, first = before, 0
        for length in piece.heads:
            if place // chunk != last // chunk:
                break
            last, place, first = place, place + length, first + 1
        if first:
            shards[-1].parts.append((piece.stretch, 0, first if first < piece.sequences else -1))
        if first < piece.sequences:
            shards.append(Shard(place, [(piece.stretch, first, -1)]))
        if piece.sequences:
            before += piece.tokens
            last = before - piece.last
    return shards
