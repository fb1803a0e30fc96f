"""Scores of dependency trees: how many words have the right head, and the right head and relation.

The gold trees come from a separate file, or follow the last sentence, where `crfkit tag` writes them: comments
that begin with `# gold`, one per sentence, with the head of each word and, after a colon, its relation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from crfkit.errors import DataError
from crfkit.text.block import places_of
from crfkit.text.opening import path_of
from crfkit.text.reading import CONLLU, Source
from crfkit.text.rows import Rows
from crfkit.values import plural

from .aligning import Sentence, aligned

GOLD = b"# gold"
TREE = re.compile(rb"# gold( [0-9].*)?")  # the comment of a sentence; without heads where it had no tree


class Word(NamedTuple):
    """The fields of a word that are scored."""

    head: int
    relation: bytes | None
    punctuation: bool


@dataclass
class Counts:
    """The number of words, and how many of them are right."""

    words: int = 0
    heads: int = 0
    both: int = 0

    def add(self, head: bool, both: bool) -> None:
        self.words += 1
        self.heads += head
        self.both += both

    @property
    def unlabelled(self) -> float:
        """The share of words with the right head."""
        return self.heads / max(self.words, 1)

    @property
    def labelled(self) -> float:
        """The share of words with the right head and relation."""
        return self.both / max(self.words, 1)


@dataclass
class Attachment:
    """The results of an evaluation."""

    path: str
    sentences: int
    whole: int  # sentences with all heads right
    all_words: Counts
    without_punctuation: Counts
    has_relations: bool
    same_relations: bool  # as in the gold file, but not every head: those of the input, if the parser gives none

    def as_dict(self) -> dict[str, Any]:
        """All results, for JSON; shares are between 0 and 1."""

        def shares(counts: Counts) -> dict[str, Any]:
            labelled = counts.labelled if self.has_relations else None
            return {"words": counts.words, "unlabelled": counts.unlabelled, "labelled": labelled}

        return {
            "file": self.path,
            "sentences": self.sentences,
            "whole_trees": self.whole / max(self.sentences, 1),
            **shares(self.all_words),
            "without_punctuation": shares(self.without_punctuation),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.sentences} sentences, {self.all_words.words} words, {self.without_punctuation.words} without punctuation",
            f"{'':24}{'all words':>10}{'without punctuation':>21}",
        ]
        both = self.all_words, self.without_punctuation
        for name, shown in (("unlabelled", True), ("labelled", self.has_relations)):
            shares = [f"{100 * getattr(counts, name):.2f}" if shown else "-" for counts in both]
            lines.append(f"{name + ' attachment':24}{shares[0]:>10}{shares[1]:>21}")
        lines.append(f"{'all heads right':24}{100 * self.whole / max(self.sentences, 1):10.2f}")
        return "\n".join(lines) + "\n"


def evaluate_heads(predicted: Any, gold: Any = None) -> Attachment:
    """Score the CoNLL-U trees in `predicted` (a path, '-', or an open file) against those in `gold`, or by default against the gold trees
    that `predicted` contains."""
    path = path_of(predicted)
    carried: list[bytes] = []
    found = _trees(predicted, carried)
    if gold is not None:
        return _scored(path, found, _trees(gold, []), path_of(gold), of_file=True)
    trees = list(found)
    if not carried:
        raise DataError(
            "the gold trees are not known: name their file with --gold, or take what crfkit tag writes of a file with trees",
            path,
        )
    if len(carried) < len(trees):
        raise DataError(f"found {plural(len(carried), 'gold tree')} for {plural(len(trees), 'sentence')}", path)
    # a file that was parsed before may have brought those of its own sentences, before those of all
    right = [_carried(line, tree) for line, tree in zip(carried[-len(trees) :], trees, strict=True)]
    return _scored(path, trees, right, path, of_file=False)


def _scored(path: str, trees: Iterable[Sentence], right: Iterable[Sentence], gold_path: str, of_file: bool) -> Attachment:
    found = Attachment(path, 0, 0, Counts(), Counts(), False, of_file)
    given = known = False
    for tree, gold in aligned(trees, right, path, gold_path):
        if not gold.words:
            continue
        found.sentences += 1
        whole = True
        for word, true in zip(tree.words, gold.words, strict=True):
            head = word.head == true.head
            whole &= head
            given |= word.relation != b"_"
            known |= true.relation not in (None, b"_")
            found.same_relations &= word.relation == true.relation
            both = head and word.relation == true.relation
            found.all_words.add(head, both)
            if not (true if of_file else word).punctuation:  # other programs predict parts of speech, too
                found.without_punctuation.add(head, both)
        found.whole += whole
    found.has_relations = given and known
    found.same_relations &= found.has_relations and found.all_words.heads < found.all_words.words
    return found


def _trees(data: Any, carried: list[bytes]) -> Iterator[Sentence]:
    """The trees of a file. The lines of gold trees that follow them are added to `carried`."""
    found = False
    for block in Source(data, "conllu"):
        rows = Rows("conllu")
        rows.parse(block)
        yield from _of_rows(rows, block.columns.names or CONLLU, str(block.path))
        if rows.n_tokens:
            found = True
            carried.clear()
        carried += _tail(block.data)
    if not found:
        raise DataError("no words: expected sentences in CoNLL-U", path_of(data))


class GoldTrees:
    """The trees that texts had before they were parsed, one line per sentence. If gold trees already follow the last sentence of a text,
    they are kept: the trees in its columns are then a parser's. A text may carry more of them than it has sentences, of files that it was
    once parsed with: those are not of the text before it, unless each has as many words as its sentence. Then a parsed file was cut."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._first = 0  # the line of the first sentence of this text
        self._begins = False  # whether another text has begun, and has had no sentence yet
        self._carried: list[bytes] = []

    def add(self, text: bytes, trees: bytes, begins: bool = False) -> None:
        """Add the next piece of a text, or the first one of another text, and the trees in its columns."""
        self._begins |= begins
        if trees:
            if self._begins:
                self._first, self._begins = len(self._lines), False
            self._carried = []
            self._lines += trees.split(b"\n")[:-1]
        self._carried += _tail(text)
        if self._first and self._fits_all():
            self._first = 0
        if n := min(len(self._carried), len(self._lines) - self._first):
            self._lines[-n:] = self._carried[-n:]

    def _fits_all(self) -> bool:
        """Whether the trees that a text carries may be those of all sentences, also of the texts before it."""
        carried = self._carried[-len(self._lines) :]
        return len(carried) == len(self._lines) and all(_size(one) == _size(other) for one, other in zip(carried, self._lines, strict=True))

    def comments(self) -> bytes:
        """The comments to append after all texts for `crfkit eval --heads`; none if they are there, or no sentence has a tree."""
        covered = self._first == 0 and len(self._carried) >= len(self._lines)
        missing = any(self._lines) and not covered
        return b"".join(GOLD + line + b"\n" for line in self._lines) if missing else b""


def _size(line: bytes) -> int:
    """How many words a tree has."""
    return line.count(b"\t") + bool(line)


def _tail(data: bytes) -> list[bytes]:
    """Gold trees in the comments after the last sentence."""
    found: list[bytes] = []
    end = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        line = data[start:end].rstrip(b"\r\n")  # a relation may end with a blank
        if TREE.fullmatch(line):
            found.append(line[len(GOLD) :])
        elif line.strip() and not line.startswith(b"#"):
            break
        end = start
    return found[::-1]


def _of_rows(rows: Rows, names: tuple[str, ...], path: str) -> Iterator[Sentence]:
    form, upos, head, relation = places_of(("form", "upos", "head", "deprel"), names, path)
    token = 0
    for cells in rows.sentences():
        words = []
        for k, row in enumerate(cells):
            number = _head(row[head], len(cells))
            if number is None:
                found = "missing" if row[head] in (b"_", b"") else repr(row[head].decode(errors="replace"))
                raise DataError(f"HEAD is {found}, expected a number from 0 to {len(cells)}", *rows.where(token + k))
            words.append(Word(number, row[relation], _is_punctuation(row[form], row[upos])))
        yield Sentence([row[form] for row in cells], words, path, rows.line_of(token))
        token += len(cells)


def _head(cell: bytes, n: int) -> int | None:
    number = int(cell) if cell.isdigit() and len(cell) <= 10 else -1
    return number if 0 <= number <= n else None


def _is_punctuation(form: bytes, upos: bytes) -> bool:
    """Decided by the part of speech, or without one by the characters."""
    if upos not in (b"_", b""):
        return upos == b"PUNCT"
    text = form.decode(errors="replace")
    return bool(text) and all(unicodedata.category(c).startswith("P") for c in text)


def _carried(line: bytes, tree: Sentence) -> Sentence:
    words = []
    for entry in line[1:].split(b"\t") if line else ():
        head, colon, relation = entry.partition(b":")
        number = _head(head, len(tree.words))
        if number is None:
            raise DataError(
                f"the gold tree of this sentence has the head {head.decode(errors='replace')!r}, expected a number from 0 to {len(tree.words)}",
                tree.path,
                tree.line,
            )
        words.append(Word(number, relation if colon else None, False))
    return Sentence([None] * len(words), words, "the comment with its gold tree", 0)
