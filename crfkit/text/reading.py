"""Input, block by block: texts to whole sentences with their line numbers.

A block ends after a blank line, so that every block can be parsed, tagged and written by itself. From a pipe
or a terminal it comes as soon as it holds a whole sentence. Incomplete sentences are kept until they end; lines and sentences
above a maximum length are an error, before they exhaust memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

from crfkit.errors import DataError
from crfkit.values import lists

from .faults import plural
from .opening import LONGEST_LINE, Stretch, input_file, texts, too_long
from .rows import first_row
from .scanning import last_cut

BLOCK_SIZE = 1 << 20
LONGEST_SENTENCE = (1 << 31) - 1  # bytes; lattices count tokens in 32 bits
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_HEADER = rb"# *columns *=([^\r\n]*)[\r\n]*"
_CONLLU_HEADER = rb"# *(?:global\.)?columns *=([^\r\n]*)[\r\n]*"
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


class Layout(NamedTuple):
    """The columns of an input, and the place of its first row."""

    n_cols: int = 0
    """The number of columns of every row; 0 before the first row."""
    names: tuple[str, ...] | None = None
    """The names of the columns, if the input has them."""
    path: str | None = None
    line: int | None = None


class Marks:
    """Whether lines that begin with '#' became tokens: at the start of sentences, and inside. In CRFsuite's format, whether
    there were tokens without attributes, and with some."""

    def __init__(self) -> None:
        self.first = self.inside = self.bare = self.described = False

    def add(self, first: bool, inside: bool, bare: bool = False, described: bool = False) -> None:
        """Such tokens were found."""
        self.first, self.inside = self.first or first, self.inside or inside
        self.bare, self.described = self.bare or bare, self.described or described

    @property
    def warning(self) -> str | None:
        """The warning, if any: '#' is a token in real text, but hardly ever at the start of sentences alone."""
        if not self.first or self.inside:
            return None
        return "lines that begin with '#' became tokens, and all of them stand before a sentence: if they are comments, use --comments"

    @property
    def unnamed(self) -> str | None:
        """The warning if no token has attributes, as when blanks separate the columns; an error when learning."""
        return "no line has an attribute: expected a label, a tab, and attributes with tabs between" if self.bare and not self.described else None


@dataclass(repr=False)
class Block:
    """Whole sentences, and their place in the input."""

    data: bytes
    first_line: int = 1
    path: str | None = None
    skip: int = 0
    """The length in bytes of the header that names the columns, before the rows of a first block."""
    layout: Layout = field(default_factory=Layout)
    comments: bool = False
    """Whether lines before a sentence that begin with '#' are comments."""
    loose: bool = False
    """Whether any bytes are allowed, not UTF-8 alone, and columns are split at both tabs and blanks."""
    marks: Marks = field(default_factory=Marks)
    """What was seen in all blocks of a source; updated by the parser of each block."""
    added: int = 0
    """The length in bytes of the line end that was appended to a last line without one."""
    mark: bool = False
    """Whether a byte order mark preceded it, at the start of all inputs."""


class Source:
    """The blocks of one or more inputs: paths, '-' for standard input, or open binary files.

    form is "columns", "conllu" or "crfsuite". A Stretch is a part of a file; lines are counted from where it
    begins, and `layout` is that of the whole. loose: as in CRF++, Wapiti and CRFsuite, text need not be UTF-8,
    and both tabs and blanks separate columns. All inputs must have the same columns; a header of names is
    kept from the first one alone. delimited: the caller splits and counts the columns. With allow_empty an input may have no tokens; with comments, lines before a
    sentence that begin with '#' are comments. Iterating again reads again, which works for paths, not for streams.
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
        layout: Layout | None = None,
        delimited: bool = False,
    ):
        several = lists(inputs) and not isinstance(inputs, Stretch) and not hasattr(inputs, "read")
        self.inputs = list(inputs) if several else [inputs]
        self.form = form
        self.allow_empty = allow_empty
        self.comments = comments
        self.loose = loose
        self.block_size = block_size
        self.marks = Marks()
        self.delimited = delimited
        self.layout = layout or Layout(names=CONLLU if form == "conllu" else None)

    def __iter__(self) -> Iterator[Block]:
        layout = self.layout
        for number, entry in enumerate(self.inputs):
            inside = isinstance(entry, Stretch) and entry.start > 0
            with input_file(entry) as (file, path):
                for block in self._blocks(file, path, layout, number == 0, inside):
                    layout = block.layout
                    yield block

    def _blocks(self, file: BinaryIO, path: str, layout: Layout, first: bool, inside: bool) -> Iterator[Block]:
        line, seen = 1, False

        def fault(reason: str, lines: int) -> DataError:
            return DataError(reason, path, line + lines)

        for data, added in _whole_sentences(texts(file, path, self.block_size, not inside), fault):
            starts = line == 1 and not inside
            skip, mark = 0, starts and data.startswith(BYTE_ORDER_MARK)
            if mark:
                data = data[len(BYTE_ORDER_MARK) :]
            if starts:
                layout, header = self._header(data, path, layout)
                if first:
                    skip = header
                else:
                    line += data.count(b"\n", 0, header)
                    data = data[header:]
            if not seen:
                row = first_row(data, self.form, skip, self.comments, self.loose)
                seen = row is not None
                if row is not None:
                    if row[2] and added and not self.loose and data.count(b"\n") == 1:
                        raise DataError("lines that end with carriage returns alone: expected \\n or \\r\\n", path)
                    layout = self._first_row(row[0] + line, row[1], path, layout)
            yield Block(data, line, path, skip, layout, self.comments, self.loose, self.marks, added, mark and first)
            line += data.count(b"\n")
        if not seen and not self.allow_empty:
            raise DataError("no tokens: expected one token per line and a blank line after each sentence", path)

    def _header(self, data: bytes, path: str, layout: Layout) -> tuple[Layout, int]:
        """The layout with the column names from the first line, and the length of that line."""
        if self.form == "crfsuite" or not data.startswith(b"#"):
            return layout, 0
        match = re.match(_CONLLU_HEADER if self.form == "conllu" else _HEADER, data)
        if match is None:
            return layout, 0
        try:
            names = tuple(match[1].decode().split())
        except UnicodeDecodeError as error:
            raise DataError("the names of the columns are not UTF-8", path, 1) from error
        if not names or len(set(names)) < len(names):
            raise DataError("expected different names after '# columns ='", path, 1)
        if self.form == "conllu":
            names = tuple(name.lower() for name in names)
        if not layout.n_cols:
            layout = Layout(names=names)
        elif layout.names not in (None, names):
            raise DataError(f"the columns have other names than in {layout.path}: {' '.join(layout.names)}", path, 1)
        return layout, match.end()

    def _first_row(self, line: int, n_cols: int, path: str, layout: Layout) -> Layout:
        """The layout after the first row of a file. The parser checks that later files agree."""
        if layout.n_cols:
            return layout
        names = layout.names
        if names is not None and not self.delimited and (n_cols < len(names) or (n_cols > len(names) and self.form == "conllu")):
            raise DataError(f"found {plural(n_cols, 'column')}, expected {len(names)}: {' '.join(names)}", path, line)
        return Layout(n_cols, names, path, line)


def conllu_names(data: bytes) -> tuple[str, ...]:
    """The column names of a CoNLL-U file that begins with this text."""
    match = re.match(_CONLLU_HEADER, data)
    return CONLLU if match is None else tuple(match[1].decode(errors="replace").lower().split())


def _whole_sentences(pieces: Iterable[bytes], fault: Callable[[str, int], DataError]) -> Iterator[tuple[bytes, int]]:
    """Texts cut after blank lines. The last one ends where the input does, and gets a line end if it has
    none, of the same kind as the other lines, since output follows it. With each, how many bytes were added.
    `fault` makes an error of a reason and of how many lines behind the last cut it is."""
    waiting = bytearray()
    last_line = 0  # where it begins; no blank line is before it
    line_end = b"\n"
    for text in pieces:
        start, newline = last_line, text.rfind(b"\n")
        last_line = len(waiting) + newline + 1 if newline >= 0 else start
        waiting += text
        cut = last_cut(waiting, start) if newline >= 0 else 0
        if cut:
            with memoryview(waiting) as view:
                block = bytes(view[:cut])
            line_end = b"\r\n" if block.endswith(b"\r\n") else b"\n"
            yield block, 0
            del waiting[:cut]
            last_line -= cut
        if len(waiting) - last_line > LONGEST_LINE:
            raise fault(too_long(), waiting.count(b"\n"))
        if len(waiting) > LONGEST_SENTENCE:
            raise fault(f"a sentence of more than {LONGEST_SENTENCE:,} bytes: expected a blank line after each sentence", 0)
    if waiting:
        if last_line > 1:
            line_end = b"\r\n" if waiting[last_line - 2 : last_line] == b"\r\n" else b"\n"
        before = len(waiting)
        if waiting.endswith(b"\r"):
            waiting += b"\n"
        elif not waiting.endswith(b"\n"):
            waiting += line_end
        yield bytes(waiting), len(waiting) - before
