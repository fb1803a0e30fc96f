"""Data given as paths, open files or lists of sentences, as blocks of rows."""

from __future__ import annotations

import array
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from crfkit.errors import DataError, OptionError
from crfkit.values import lists, plain, plural, shown

from .block import Columns, places_of
from .items import fill_rows
from .reading import CONLLU, Source
from .rows import Rows

SENTENCES_AT_ONCE = 256  # whose attributes are copied from Python
MOST = 3.4e38  # that single precision holds, nearly
LAST = -1  # the column of the labels, where they have no name


def listed(data: Any) -> list[Any]:
    """Data as a list of paths and open files, or of sentences; it may be one of the former, or any iterable."""
    if isinstance(data, list):
        return data
    if isinstance(data, (str, bytes, os.PathLike)) or hasattr(data, "read"):
        return [data]
    if not lists(data) or isinstance(data, Mapping):
        raise DataError(f"found {type(data).__name__}, expected a path, paths, or sentences as lists of rows")
    return list(data)


def is_rows(data: Any) -> bool:
    """Whether the data are sentences as lists of rows, rather than files."""
    first = data[0] if isinstance(data, (list, tuple)) and data else ""
    return not isinstance(first, (str, bytes, os.PathLike)) and not hasattr(first, "read")


class Weighted(list):
    """Sentences in memory, each with the number of times that it counts."""

    def __init__(self, data: Any, given: Any):
        if not is_rows(data):
            raise OptionError("sample_weight: only for sentences in memory; files have lines such as @weight:2, with --format crfsuite")
        super().__init__(data)
        if not lists(given):
            raise OptionError(f"sample_weight: found {shown(given)}, expected a list of numbers, one for each sentence")
        weights = list(map(plain, given))
        if len(weights) != len(self):
            raise OptionError(f"sample_weight: found {plural(len(weights), 'weight')}, expected {len(self)}: one for each sentence")
        for number, weight in enumerate(weights, 1):
            if not isinstance(weight, (int, float)) or not 0 <= weight <= MOST:
                raise OptionError(f"sample_weight: sentence {number}: found {shown(weight)}, expected a finite number, 0 or more")
        self.weights = array.array("f", weights)


def parsed_blocks(
    data: Any, form: str, label: str | None, last: str | None = None, comments: bool = False, loose: bool = False,
    warn: Callable[[str | None], Any] | None = None,
) -> Iterable[tuple[Any, Any]]:
    """Rows of every block of the data (or of a Source), with its columns. The Rows are the same
    object each time, unless Rows were given. `last` is what stands in the last column where `label` does not say
    which is that of the labels; data with names may have it elsewhere. comments: lines of a file before a sentence
    that begin with '#' are no rows. loose: see Source. warn: told in the end whether such lines should have been.
    """
    if is_rows(data):
        yield from _of_sentences(data, form, label)
        return
    rows = None
    source = data if isinstance(data, Source) else Source(data, form, comments=comments, loose=loose)
    for block in source:
        if rows is None:
            rows = labelled_rows(form, last if label is None and block.columns.names is not None else label, block.columns)
        rows.parse(block)
        yield rows, block.columns
    if warn is not None and not loose:  # the other programs know no comments
        warn(source.marks.warning)


def _of_sentences(data: Sequence[Any], form: str, label: str | None) -> Iterable[tuple[Rows, Columns]]:
    """The same for sentences in memory, or Rows of them."""
    if isinstance(data[0], Rows):
        yield from ((rows, Columns(rows.n_columns)) for rows in data)
        return
    names = CONLLU if form == "conllu" else None  # else the columns have no names, and the label is the last one
    rows = labelled_rows(form, None if names is None else label, Columns(names=names))
    some = SENTENCES_AT_ONCE if form == "crfsuite" else len(data)
    for first in range(0, len(data), some):
        fill_rows(rows, data[first : first + some], labelled=True, before=first)
        if isinstance(data, Weighted):
            rows.weigh(data.weights[first : first + some])
        yield rows, Columns(rows.n_columns, None if names is None else names[: rows.n_columns])


def labelled_rows(form: str, label: str | None, columns: Columns) -> Rows:
    """Rows whose labels are in the column of that name, or in the last one."""
    column = label_column(label, columns, form)
    return Rows(form, LAST if column is None else column)


def label_column(label: str | None, columns: Any, form: str) -> int | None:
    """The column of the label; None for the last."""
    if label is None:
        if form == "conllu":
            raise OptionError(
                "--format conllu needs --label: the name of the column to predict, such as upos or xpos; for trees, eval has --heads, "
                "and learn takes a template with P lines"
            )
        return None
    if columns.names is None:
        unnamed = "the columns have no names; a first line such as '# columns = word label' gives them"
        raise DataError(f"there is no column {shown(label)}: {unnamed}", columns.path, 1)
    return places_of([label], columns.names, columns.path)[0]
