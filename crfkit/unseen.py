"""Whether text that is labelled looks like the training data. Text with other columns gets labels all the same, which mean nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crfkit.text.rows import Rows

from .errors import DataError
from .values import LARGEST, as_bytes, legible, shown

if TYPE_CHECKING:
    from crfkit.tagging import Tagger
    from crfkit.text.block import Block

FEWEST = 50  # tokens that tell whether cells are new because their column is another one, or labels because the text was labelled
FEWEST_OF_SPARSE = 500  # the same for a model that may lack frequent cells
FEWEST_KNOWN = 50  # cells of a column that such a model must know: of flags, it may have dropped what most tokens have
MOST = 1000  # that are looked at
PIECE = 1 << 14  # bytes of a block that are looked at, and the rest of a line: a sentence may be long


def unseen(tagger: Tagger, fill: bool) -> Unseen:
    """What looks for it in the first tokens of a text. `fill`: labels are written in place of others, not behind them."""
    return Fields(tagger) if tagger.header["format"] == "crfsuite" else Cells(tagger, fill)


def _is_sparse(header: Mapping[str, Any]) -> bool:
    """Whether a model may lack cells that are frequent in training: those that help little. With an L2 penalty alone nearly all weights differ from 0."""
    options = header["options"]
    return "l2" not in options or options.get("l1", 0.0) != 0.0 or bool(options.get("prune") or options.get("select"))


class Unseen(ABC):
    """Looks at the first tokens of a text."""

    def __init__(self, form: str):
        self._rows, self._tokens, self._asks = Rows(form), 0, True

    def watch(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The blocks. They are looked at after they were handed on: an error in them is not raised here."""
        for block in blocks:
            yield block
            if self._asks and self._tokens < MOST:
                end = block.data.find(b"\n", PIECE)
                piece = block if end < 0 else replace(block, data=block.data[: end + 1])
                try:
                    self._rows.parse(piece)
                    for sentence in self._rows.sentences():
                        self._look(sentence, block)
                        self._tokens += len(sentence)
                        if not self._asks:
                            return (yield from blocks)
                except DataError:
                    self._asks = False

    @abstractmethod
    def _look(self, sentence: list[list[bytes]], block: Block) -> None: ...

    @property
    @abstractmethod
    def warning(self) -> str | None:
        """The warning, if any."""


class Cells(Unseen):
    """Columns of whose cells none occurred in training, though these cells are features of the model; text with a sentence in each line, whose
    first words look like tokens with more columns than in training; and text that was labelled before."""

    def __init__(self, tagger: Tagger, fill: bool):
        super().__init__(tagger.header["format"])
        index, self._key, self._names = tagger.decoding.decoder.index, tagger.decoding.key, tagger.header["column_names"]
        self._used = index.plan.columns
        whole = {view.column for view in index.plan.views if view.kind == "x" and not view.lower}
        self._fewest, known = (FEWEST_OF_SPARSE, FEWEST_KNOWN) if _is_sparse(tagger.header) else (FEWEST, 1)
        tokens = tagger.header.get("tokens")  # models of other programs have no such number
        most = tokens / 2 if isinstance(tokens, int) else LARGEST  # cells; if more, new ones are usual: numbers, names of single tokens
        self._unseen = {place: table for place, table in enumerate(index.columns) if self._used[place] in whole and known <= len(table) <= most}
        self._first: list[bytes] = []  # cells of the first token
        self._expected, self._found = tagger.header["columns"], 0
        self._words: Any = next(iter(index.columns), None)
        # Whether all sentences may be lines of text, and whether the second cell of one is known, unlike the first.
        self._plain, self._worded = tagger.header["format"] == "columns" and tagger.header["has_tau"] and bool(index.columns), False
        # Whether labels stand both in the last column and before it, and new ones will stand behind them.
        self._labels, self._labelled = {as_bytes(label) for label in tagger.labels}, tagger.header["format"] == "columns" and not fill

    def _look(self, sentence: list[list[bytes]], block: Block) -> None:
        places = self._key(block.columns.n_cols, block.columns) or self._used
        self._found = block.columns.n_cols
        self._plain = self._plain and len(sentence) == 1 and self._found > self._expected
        if self._plain:
            first, second, *_ = sentence[0]
            self._worded = self._worded or (first != second and self._words.find(second) >= 0)
        self._labelled = self._labelled and self._found > self._expected and all(self._labels.issuperset(row[-2:]) for row in sentence)
        for row in sentence:
            cells = [row[place] for place in places]
            self._first = self._first or cells
            self._unseen = {place: table for place, table in self._unseen.items() if table.find(cells[place]) < 0}
        self._asks = bool(self._unseen) or self._plain or self._labelled

    @property
    def warning(self) -> str | None:
        """The warning, if any."""
        if self._plain and self._worded:
            columns = f"{self._found} columns, where the training data had {self._expected}"
            return f"each sentence is one line with {columns}: if this is plain text, write one word per line"
        if self._tokens >= FEWEST and self._labelled:
            return "the last two columns hold labels: if the text was labelled before, eval compares these labels with the new ones, not the gold labels"
        if self._tokens < self._fewest or not self._unseen:
            return None
        place = min(self._unseen)
        column = self._used[place]
        which = f"column {column}" if self._names is None else f"the column {shown(self._names[column])}"
        cells = f"the first {self._tokens:,} cells in {which}, such as {shown(legible(self._first[place]))}"
        return f"the model knows none of {cells}: are the columns those of the training data?"


class Fields(Unseen):
    """Lines of attributes that lack the label at their beginning, so that the first attribute counts as one."""

    def __init__(self, tagger: Tagger):
        super().__init__("crfsuite")
        self._labels = {as_bytes(label) for label in tagger.labels}
        self._attributes = tagger.decoding.decoder.index.literals[0]
        self._known: list[bytes] = []  # first fields that are attributes; ? stands for a label that is not known

    def _look(self, sentence: list[list[bytes]], block: Block) -> None:
        first = [field for field, in sentence]
        self._asks = self._labels.isdisjoint(first)
        self._known += [field for field in first if field != b"?" and self._attributes.find(field) >= 0]

    @property
    def warning(self) -> str | None:
        """The warning, if any."""
        if not self._asks or 2 * len(self._known) <= self._tokens:
            return None
        example = shown(legible(self._known[0]))
        return f"no line begins with a label of the model, but many with an attribute, such as {example}, which does not count: expected a label first"
