"""A block of the input: whole sentences, where they stand, and what their columns are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from crfkit.errors import DataError
from crfkit.values import shown

NO_ATTRIBUTE = "no line has an attribute: expected a label, a tab, and attributes with tabs between"


class Columns(NamedTuple):
    """The columns of an input, and the place of its first row."""

    n_cols: int = 0  # of every row; 0 before the first row
    names: tuple[str, ...] | None = None  # if the input has them
    path: str | None = None
    line: int | None = None
    kind: str = ""  # what the first row looks like: see faults.kind_of


def places_of(wanted: Sequence[str], names: Sequence[str], path: str | None) -> list[int]:
    """The numbers of the columns with the wanted names, those of CoNLL-U in capitals, too; DataError for one that is not there."""
    known = [name if name in names else name.lower() for name in wanted]
    for name, found in zip(wanted, known, strict=True):
        if found not in names:
            raise DataError(f"there is no column {shown(name)}: the columns are {' '.join(names)}", path, 1)
    return [names.index(found) for found in known]


class Marks:
    """Whether lines that begin with '#' became tokens: at the start of sentences of several tokens, and inside. In CRFsuite's
    format, whether there were tokens without attributes, and with some."""

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
        return NO_ATTRIBUTE if self.bare and not self.described else None


@dataclass(repr=False)
class Block:
    """Whole sentences, and their place in the input."""

    data: bytes
    first_line: int = 1
    path: str | None = None
    skip: int = 0  # bytes of the header that names the columns, before the rows of a first block
    columns: Columns = field(default_factory=Columns)
    comments: bool = False  # whether lines before a sentence that begin with '#' are comments; in CoNLL-U they are
    loose: bool = False  # whether any bytes are allowed, not UTF-8 alone, and columns are split at both tabs and blanks
    marks: Marks = field(default_factory=Marks)  # what was seen in all blocks of a source; the parser of each block adds to it
    added: int = 0  # bytes of the line end that was appended to a last line without one
    mark: bool = False  # whether a byte order mark preceded it, at the start of all inputs
    begins: bool = False  # whether an input begins with it
