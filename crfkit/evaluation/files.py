"""Labelled files: how their lines are split, in which columns their labels are, and their sentences."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from crfkit.errors import DataError, OptionError
from crfkit.text.block import Block, Columns, Marks
from crfkit.text.opening import path_of
from crfkit.text.reading import Source
from crfkit.values import shown

from .aligning import Sentence
from .counting import ESCAPE
from .lines import LAST, Lines


class Labelled:
    """How labelled files are read. The arguments are those of Outputs."""

    def __init__(self, form: str, label: str | None, delimiter: str | None, comments: bool):
        self.form, self.label, self.comments = form, label, comments
        self.separator, self._pattern = _separator("\t" if form == "crfsuite" else delimiter)
        self._word: str | None = None  # the name of the column with words, in the gold file

    def blocks(self, entry: Any) -> tuple[Columns, Iterator[tuple[bytes, int]]]:
        """The names of the columns, and blocks of text with the numbers of their first lines."""
        source, pattern = Source(entry, self.form, allow_empty=True, delimited=True), self._pattern  # who reads the lines knows which are tokens
        blocks = iter(source)
        first = [*islice(blocks, 1)]
        columns = first[0].columns if first else source.columns
        return columns._replace(path=path_of(entry)), (
            (block.data if pattern is None else _resplit(block, pattern), block.first_line) for block in chain(first, blocks)
        )

    def places(self, columns: Columns) -> dict[str, int]:
        """Where the labels are in a file that has both."""
        if self.form == "crfsuite":
            return {"gold_column": 0}
        column = self._column(columns)
        return {} if column is None or columns.names is None else {"gold_column": column, "before": len(columns.names)}

    def sentences(self, entry: Any, marks: Marks, answers: bool = False) -> Iterator[Sentence]:
        """The sentences of a file, with gold labels as their words; or with answers, which may be in a column behind those with names."""
        columns, blocks = self.blocks(entry)
        names, path, crfsuite = columns.names, path_of(entry), self.form == "crfsuite"
        column, word = self._labels(columns, answers), self._words(names, answers)
        least = 1 if names is None else len(names) + (column is None and self.label is not None)
        lines = Lines(self.form, self.separator, LAST if column is None else column, least, self.comments, False, path)
        for data, line in blocks:
            for start, forms, labels in lines.sentences(data, line, word, answers):
                if crfsuite and not answers:
                    labels = [ESCAPE.sub(rb"\1", label) for label in labels]
                try:
                    yield Sentence(forms, [label.decode() for label in labels], path, start)
                except UnicodeDecodeError as error:
                    raise DataError(f"the label {shown(error.object)} is not valid UTF-8", path, start) from None
        marks.add(*lines.marks)

    def _labels(self, columns: Columns, answers: bool) -> int | None:
        """The column of gold labels or of answers; None for the last."""
        if self.form == "crfsuite":
            return None if answers else 0
        return None if answers and self.label not in (columns.names or ()) else self._column(columns)

    def _words(self, names: Sequence[str] | None, answers: bool) -> int:
        """The column of words: of those with names, the first one in the gold file. -1 if there is none."""
        if names is None:
            return -1 if self.form == "crfsuite" else 0
        if not answers:
            self._word = next((name for name in names[self.form == "conllu" :] if name != self.label), None)
        return names.index(self._word) if self._word in names else -1

    def _column(self, columns: Columns) -> int | None:
        from crfkit.text.sources import label_column

        return label_column(self.label, columns, self.form)


def _separator(delimiter: str | None) -> tuple[str | bytes | None, re.Pattern[str] | None]:
    """How the compiled scan splits lines, and a pattern for delimiters that it cannot handle itself."""
    if delimiter is None:
        return None, None
    if delimiter in ("\\s+", " +", "[ \\t]+", "[ \t]+"):
        return "blanks", None
    literal = {"\\t": "\t", "\\|": "|", "\\.": "."}.get(delimiter, delimiter).encode(errors="surrogatepass")
    if len(literal) == 1:
        return literal, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # FutureWarning: syntax that may change its meaning in Python
            pattern = re.compile(delimiter, re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise OptionError(f"the delimiter {shown(delimiter)} is not a regular expression: {error}") from None
    if pattern.match(""):
        raise OptionError(f"the delimiter {shown(delimiter)} matches the empty string")
    return b"\xff", pattern


def _resplit(block: Block, pattern: re.Pattern[str]) -> bytes:
    """The block with each match of the pattern replaced by a byte that is in no UTF-8, except in a header of names."""
    text = block.data[block.skip :].replace(b"\xff", b"\xfe").decode(errors="surrogateescape")
    lines = "\n".join(pattern.sub("\udcff", line.removesuffix("\r")) for line in text.split("\n"))
    return block.data[: block.skip] + lines.encode(errors="surrogateescape")
