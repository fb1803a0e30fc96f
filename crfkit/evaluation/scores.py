"""The results of an evaluation, and as text: conlleval's layout, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .mistakes import Mistakes
from .schemes import beginnings

JUDGED = ("precision", "recall", "f1", "accuracy")  # those with intervals and significance, in the order of significance.py


@dataclass(frozen=True)
class Count:
    """How many are in the gold labels, how many are predicted, and how many of these are right."""

    gold: int = 0
    found: int = 0
    correct: int = 0

    @property
    def precision(self) -> float:
        """The share of predicted ones that are right; 0 if none are predicted."""
        return self.correct / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of gold ones that are found; 0 if there are none."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.correct / (self.gold + self.found) if self.correct else 0.0

    def as_dict(self) -> dict[str, float]:
        """Everything, for JSON."""
        return {**vars(self), "precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True)
class Scores:
    """The results of an evaluation. Shares are between 0 and 1."""

    tokens: int
    sentences: int
    correct_sentences: int
    scheme: str
    """The scheme by which chunks were counted."""
    strict: bool
    chunks: Count
    types: dict[str, Count]
    """Chunk counts by type."""
    labels: dict[str, Count]
    """Token counts by label."""
    confusion: dict[tuple[str, str], int]
    """Token counts by gold and predicted label, where these differ."""
    outside: frozenset[str] = frozenset({"O"})
    """The labels of tokens outside chunks."""
    merged: Count | None = None
    """conlleval's counts, if it does not know the scheme and merges neighbouring chunks."""
    words: Count | None = None
    """Word counts, if the labels were read as a segmentation."""
    unknown_words: Count | None = None
    """Gold words that are not in the lexicon (`gold`), and those of them that were segmented correctly (`correct`)."""
    intervals: dict[str, float] | None = None
    """Half the widths of the 95 % intervals of precision, recall, f1 and accuracy, if they were asked for."""
    mistakes: Mistakes | None = None
    """What is wrong with the chunks that are wrong, if it was asked for."""
    path: str | None = field(default=None, compare=False)

    @property
    def malformed_chunks(self) -> int:
        """With `strict`, in IOBES and BILOU: how many gold chunks begin as the scheme requires, but are not well-formed and so do not count."""
        begin = beginnings(self.scheme) if self.strict else ()
        begun = sum(count.gold for label, count in self.labels.items() if label.partition("-")[0] in begin)
        return max(0, begun - self.chunks.gold)

    @property
    def correct_tokens(self) -> int:
        """The number of tokens with the right label."""
        return sum(count.correct for count in self.labels.values())

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right label."""
        return self.correct_tokens / self.tokens if self.tokens else 0.0

    @property
    def inside_accuracy(self) -> float:
        """The accuracy on tokens whose gold label is not in `outside`."""
        inside = [count for label, count in self.labels.items() if label not in self.outside]
        return Count(sum(c.gold for c in inside), 0, sum(c.correct for c in inside)).recall

    @property
    def sentence_accuracy(self) -> float:
        """The share of sentences without a wrong label."""
        return self.correct_sentences / self.sentences if self.sentences else 0.0

    @property
    def precision(self) -> float:
        """The share of predicted chunks that are right."""
        return self.chunks.precision

    @property
    def recall(self) -> float:
        """The share of gold chunks that are found."""
        return self.chunks.recall

    @property
    def f1(self) -> float:
        """The harmonic mean of chunk precision and recall."""
        return self.chunks.f1

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        names = ("scheme", "strict", "tokens", "correct_tokens", "accuracy", "inside_accuracy", "sentences", "correct_sentences", "sentence_accuracy")
        result: dict[str, Any] = {
            "file": self.path,
            **{name: getattr(self, name) for name in names},
            **self.chunks.as_dict(),
            "types": {name: count.as_dict() for name, count in self.types.items()},
            "labels": {name: count.as_dict() for name, count in self.labels.items()},
            "confusion": [[gold, found, n] for (gold, found), n in self.confusion.items()],
        }
        if self.merged is not None:
            result["conlleval"] = self.merged.as_dict()
        if self.words is not None:
            result["words"] = self.words.as_dict()
        if self.unknown_words is not None:
            result["unknown_words"] = {name: getattr(self.unknown_words, name) for name in ("gold", "correct", "recall")}
        if self.intervals is not None:
            result["intervals"] = dict(self.intervals)
        if self.mistakes is not None:
            result["mistakes"] = self.mistakes.as_dict()
        return result

    def __str__(self) -> str:
        return chunk_report(self).rstrip("\n")


@dataclass(frozen=True)
class Comparison:
    """By how much a second output is better than a first one, and the p-values of the differences."""

    first: str | None
    second: str | None
    sentences: int
    shuffles: int
    seed: int
    differences: dict[str, float]
    p: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return dict(vars(self))


def percent(count: Count) -> tuple[float, float, float]:
    """Precision, recall and F1 by conlleval's arithmetic, so that they round as there."""
    precision = 100 * count.correct / count.found if count.found else 0.0
    recall = 100 * count.correct / count.gold if count.gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return precision, recall, f1


def share(part: int, whole: int) -> float:
    """A ratio in per cent; 0 if the denominator is 0."""
    return 100 * part / whole if whole else 0.0


def padded(name: str) -> str:
    """Pad to 17 bytes, as conlleval does."""
    return " " * (17 - len(name.encode())) + name


def row(name: str, count: Count) -> str:
    precision, recall, f1 = percent(count)
    return f"{padded(name)}: precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}  {count.found:d}\n"


def processed(scores: Scores) -> str:
    """The line of conlleval that counts tokens and chunks."""
    chunks = scores.chunks
    return f"processed {scores.tokens} tokens with {chunks.gold} phrases; found: {chunks.found} phrases; correct: {chunks.correct}.\n"


def summary(accuracy: float, count: Count) -> str:
    """The line of all chunks together."""
    precision, recall, f1 = percent(count)
    return f"accuracy: {accuracy:6.2f}%; precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}\n"


def listed(types: dict[str, Count]) -> list[tuple[str, Count]]:
    """The types in conlleval's order. It lists chunks without a type twice if both columns have them."""
    return [(name, count) for name, count in types.items() for _ in range(1 if name else (count.gold > 0) + (count.found > 0))]


def chunk_report(scores: Scores) -> str:
    """What conlleval prints."""
    text = processed(scores)
    if scores.tokens:
        text += summary(share(scores.correct_tokens, scores.tokens), scores.chunks)
    return text + "".join(row(name, count) for name, count in listed(scores.types))
