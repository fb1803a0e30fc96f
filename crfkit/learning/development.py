"""Development data: which weights to keep."""

from __future__ import annotations

import array
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from crfkit.errors import DataError
from crfkit.evaluation.schemes import marks_chunks, outside_among
from crfkit.header import label_name
from crfkit.text.items import fill_rows
from crfkit.text.opening import contents, in_memory
from crfkit.text.rows import Rows
from crfkit.text.sources import LAST, is_rows, listed, parsed_blocks
from crfkit.values import as_bytes, legible, plural, shown

from .reader import unknown_labels

if TYPE_CHECKING:
    from crfkit.tagging import Tagger

    from .corpus import Corpus


def _parsed(sentences: Any, header: dict[str, Any]) -> Rows:
    """Sentences from Python as Rows, with the columns of the training data: there may be iterators among them, and they may change."""
    if isinstance(sentences[0], Rows):
        return sentences[0]
    label = header["label_column"]
    rows = Rows(header["format"], LAST if label is None else label)
    fill_rows(rows, sentences, labelled=True)
    if label is not None and rows.n_columns not in (0, header["columns"]):
        raise DataError(f"found {plural(rows.n_columns, 'column')} in the development data, expected {header['columns']} as in the training data")
    return rows


def unknown_warning(what: str, missing: list[str]) -> str | None:
    """A warning about the tokens with labels or relations that training data lack; None if there are none."""
    if not missing:
        return None
    first = shown(missing[0])
    if len(missing) == 1:
        return f"one token of the development data has a {what} that no training data have, {first}: it counts as wrong"
    return f"{len(missing):,} tokens of the development data have {what}s that no training data have, such as {first}: they count as wrong"


class DevSet:
    """Development data, and the tagger that scores weights on it after each pass."""

    def __init__(self, data: Any, corpus: Corpus, header: dict[str, Any], threads: int, comments: bool = False, outside: str = "O"):
        data = listed(data)
        # Files are kept, as they may change during training.
        self.data: list[Any] = [_parsed(data, header)] if is_rows(data) else [contents(entry) for entry in data]
        self.corpus, self.header, self.threads, self.comments, self.outside = corpus, header, threads, comments, outside
        self.labels = ["O" if label == outside else label for label in header["labels"]]  # as they are counted
        self.scheme = "auto" if marks_chunks(self.labels) else "none"

    def check(self) -> list[str | None]:
        """Raise an error for unsuitable data before the first pass: they are labelled once, with weights of zero. Warnings about labels
        that training data lack, and about the one outside of chunks."""
        tagger = self._tagger(array.array("f", [0.0]) * self.corpus.layout.n_cells)
        gold, predicted = self._labelled(tagger)
        if self.header["options"].get("partial"):
            self._need_all(gold)
        self._compared(tagger, gold, predicted)
        known = set(self.header["labels"])
        missing = [label for labels in gold for label in labels if label not in known]
        return [unknown_warning("label", missing), self._outside_warning(known.union(missing))]

    def _outside_warning(self, labels: set[str]) -> str | None:
        """A warning if another label seems to be outside of chunks, or no label is the one that was given."""
        plain = None if self.scheme == "none" else outside_among(self.labels)
        if plain is not None:
            return f"no label is {shown(self.outside)}: if {shown(plain)} is the label outside of chunks, name it with --outside"
        if self.outside not in ("O", *labels):
            return f"no label is {shown(self.outside)}, which --outside names"
        return None

    def contents(self) -> Iterator[bytes]:
        """All of it as bytes."""
        for one in self.data:
            if isinstance(one, Rows):
                yield repr((one.sentences(), one.attributes() if self.header["format"] == "crfsuite" else None)).encode()
            else:
                yield one[0]

    def size(self) -> int:
        """How many sequences there are."""
        return sum(map(len, self._rows()))

    def _rows(self) -> Iterator[Rows]:
        """The rows of one block after the other."""
        loose = self.header.get("dialect") is not None
        for rows, _ in parsed_blocks(self._opened(), self.header["format"], label_name(self.header), comments=self.comments, loose=loose):
            yield rows

    def _opened(self) -> list[Any]:
        return [one if isinstance(one, Rows) else in_memory(*one) for one in self.data]

    def scores(self, weights: array.array) -> dict[str, float]:
        """Scores of the weights, and under "score" the one to compare: the F-measure if labels form chunks, else the accuracy."""
        return self.scores_of(self._tagger(weights))

    def scores_of(self, tagger: Tagger) -> dict[str, float]:
        """The scores of a tagger."""
        return self._compared(tagger, *self._labelled(tagger))

    def _tagger(self, weights: array.array) -> Tagger:
        from crfkit.tagging import Tagger

        return Tagger.of_parts(self.header, self.corpus.builder, self.corpus.layout, weights)

    def _labelled(self, tagger: Tagger) -> Any:
        """The labels of the data, and those that the tagger gives."""
        return tagger.tag_with_gold(self._opened(), threads=self.threads, comments=self.comments)

    def _compared(self, tagger: Tagger, gold: list[list[str]], predicted: list[list[str]]) -> dict[str, float]:
        from crfkit.evaluation.evaluate import evaluate

        if tagger.loose:
            gold, predicted = (
                [[legible(as_bytes(label)) for label in labels] for labels in part]
                for part in (gold, predicted)
            )
        scores = evaluate(gold, predicted, self.scheme, outside=self.outside)
        if not scores.tokens:
            raise DataError("no tokens in the development data")
        return {
            "dev_accuracy": scores.accuracy,
            "dev_sentence_accuracy": scores.sentence_accuracy,
            "dev_precision": scores.precision,
            "dev_recall": scores.recall,
            "dev_f1": scores.f1,
            "score": scores.accuracy if self.scheme == "none" else scores.f1,
        }

    def _need_all(self, gold: list[list[str]]) -> None:
        """DataError for a label that leaves something open, as it may in training data: it would count as wrong."""
        unknown = unknown_labels(self.header["format"])
        labels = list(chain(*gold))
        token = next((token for token, label in enumerate(labels) if label in unknown or "|" in label), None)
        if token is not None:
            places = (rows.where(t) for rows in self._rows() for t in range(rows.n_tokens))
            raise DataError(f"the label {shown(labels[token])} in the development data, which need all labels", *next(islice(places, token, None)))
