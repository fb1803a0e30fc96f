"""Input, block by block: texts to whole sentences with their line numbers.

A block ends after a blank line, so that every block can be parsed, tagged and written by itself. From a pipe
or a terminal it comes as soon as it holds a whole sentence. Incomplete sentences are kept until they end; lines and sentences
above a maximum length are an error, before they exhaust memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from crfkit.errors import DataError
from crfkit.values import lists, plural

from .block import Block, Columns, Marks
from .faults import COMMENTS_HINT, NO_TOKENS, TAGGED_HINT, kind_of, line_of
from .opening import LONGEST_LINE, Stretch, input_file, texts, too_long
from .rows import first_row
from .scanning import last_cut

BLOCK_SIZE = 1 << 20
LONGEST_SENTENCE = (1 << 31) - 1  # bytes; lattices count tokens in 32 bits
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_HEADER = rb"# *columns *=([^\r\n]*)(?:\r*\n)*"
_CONLLU_HEADER = rb"# *(?:global\.)?columns *=([^\r\n]*)(?:\r*\n)*"
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


class Source:
    """The blocks of one or more inputs: paths, '-' for standard input, or open binary files.

    `form` is "columns", "conllu" or "crfsuite". All inputs must have the same columns; a header of names is kept from the first one
    alone. A Stretch is a part of a file: lines are counted from where it begins, and `columns` are those of the whole.
    Iterating again reads again, which works for paths, not for streams.

    `allow_empty`: an input may have no tokens. `comments`: lines before a sentence that begin with '#' are comments.
    `loose`: as in CRF++, Wapiti and CRFsuite, text need not be UTF-8, and both tabs and blanks separate columns.
    `delimited`: the caller splits and counts the columns.
    """

    def __init__(
        self,
        inputs: Any,
        form: str = "columns",
        *,
        allow_empty: bool = False,
        comments: bool = False,
        loose: bool = False,
        block_size: int = BLOCK_SIZE,
        columns: Columns | None = None,
        delimited: bool = False,
    ):
        several = lists(inputs) and not isinstance(inputs, Stretch) and not hasattr(inputs, "read")
        self.inputs = list(inputs) if several else [inputs]
        self.form, self.allow_empty, self.comments, self.loose = form, allow_empty, comments, loose
        self.block_size, self.delimited, self.marks = block_size, delimited, Marks()
        self.columns = columns or Columns(names=CONLLU if form == "conllu" else None)

    def __iter__(self) -> Iterator[Block]:
        columns = self.columns
        for number, entry in enumerate(self.inputs):
            inside = isinstance(entry, Stretch) and entry.start > 0
            with input_file(entry) as (file, path):
                for block in self._blocks(file, path, columns, number == 0, inside):
                    columns = block.columns
                    yield block

    def _blocks(self, file: BinaryIO, path: str, columns: Columns, first: bool, inside: bool) -> Iterator[Block]:
        seen = False
        for data, line, added in whole(texts(file, path, self.block_size, not inside), path):
            skip, mark, begins = 0, False, line == 1 and not inside
            if begins:
                mark = first and data.startswith(BYTE_ORDER_MARK)
                data = data.removeprefix(BYTE_ORDER_MARK)
                columns, header = self._header(data, path, columns)
                if first:
                    skip = header
                else:
                    line += data.count(b"\n", 0, header)
                    data = data[header:]
            if not seen and (row := first_row(data, self.form, skip, self.comments, self.loose)) is not None:
                seen = True
                before, n_cols, carriage = row
                if carriage and added and not (inside or self.loose) and data.count(b"\n") == 1:
                    raise DataError("lines that end with carriage returns alone: expected \\n or \\r\\n", path)
                columns = self._first_row(line + before, n_cols, path, columns, line_of(data, before))
            yield Block(data, line, path, skip, columns, self.comments or self.form == "conllu", self.loose, self.marks, added, mark, begins)
        if not seen and not self.allow_empty:
            raise DataError(NO_TOKENS, path)

    def _header(self, data: bytes, path: str, columns: Columns) -> tuple[Columns, int]:
        """The columns, with the names from the first line, and the length of that line."""
        match = None if self.form == "crfsuite" else re.match(_CONLLU_HEADER if self.form == "conllu" else _HEADER, data)
        if match is None:
            return columns, 0
        try:
            names = tuple(match[1].decode().split())
        except UnicodeDecodeError as error:
            raise DataError("the names of the columns are not UTF-8", path, 1) from error
        if self.form == "conllu":
            names = tuple(name.lower() for name in names)
        if not names or len(set(names)) < len(names):
            raise DataError("expected different names of columns in this line", path, 1)
        if self.form == "conllu" and names[0] != "id":
            raise DataError(f"the first column is {names[0]!r}, expected ID: it tells words from ranges and empty nodes", path, 1)
        if not columns.n_cols:
            columns = Columns(names=names)
        elif columns.names not in (None, names):
            raise DataError(f"the columns have other names than in {columns.path}: {' '.join(columns.names)}", path, 1)
        return columns, match.end()

    def _first_row(self, line: int, n_cols: int, path: str, columns: Columns, text: bytes) -> Columns:
        """The columns after the first row of a file. The parser checks that later files agree."""
        if columns.n_cols:
            return columns
        names = columns.names
        if names is not None and not self.delimited and (n_cols < len(names) or (n_cols > len(names) and self.form == "conllu")):
            hint = TAGGED_HINT if n_cols > len(names) else COMMENTS_HINT if text.startswith(b"#") else ""
            raise DataError(f"found {plural(n_cols, 'column')}, expected {len(names)}: {' '.join(names)}{hint}", path, line)
        return Columns(n_cols, names, path, line, kind_of(text))


def whole(pieces: Iterable[bytes], path: str, by_lines: bool = False) -> Iterator[tuple[bytes, int, int]]:
    """Texts cut after blank lines, or after any line. The last one ends where the input does, and gets a line end if it has
    none, of the same kind as the other lines, since output follows it. With each, the number of its first line, and how many bytes
    were added."""
    line, waiting = 1, bytearray()
    last_line = 0  # where it begins; no blank line is before it
    line_end = b"\n"
    for text in pieces:
        start, newline = last_line, text.rfind(b"\n")
        last_line = len(waiting) + newline + 1 if newline >= 0 else start
        waiting += text
        cut = 0 if newline < 0 else last_line if by_lines else last_cut(waiting, start)
        if cut:
            with memoryview(waiting) as view:
                block = bytes(view[:cut])
            line_end = b"\r\n" if block.endswith(b"\r\n") else b"\n"
            yield block, line, 0
            line += block.count(b"\n")
            del waiting[:cut]
            last_line -= cut
        if len(waiting) - last_line > LONGEST_LINE:
            raise DataError(too_long(), path, line + waiting.count(b"\n"))
        if len(waiting) > LONGEST_SENTENCE:
            raise DataError(f"a sentence of more than {LONGEST_SENTENCE:,} bytes: expected a blank line after each sentence", path, line)
    if waiting:
        if last_line > 1:
            line_end = b"\r\n" if waiting[last_line - 2 : last_line] == b"\r\n" else b"\n"
        added = b"" if waiting.endswith(b"\n") else b"\n" if waiting.endswith(b"\r") else line_end
        waiting += added
        yield bytes(waiting), line, len(added)
