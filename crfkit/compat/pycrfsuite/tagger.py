"""python-crfsuite's Tagger."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crfkit.errors import CrfkitError, DataError

from .items import ItemSequence

if TYPE_CHECKING:
    import numpy

    from crfkit.tagging import Tagger as OwnTagger


class ParsedDump:
    """A model's inside.

    header            what the file says of itself
    labels            name -> number
    attributes        name -> number
    transitions       (label, next label) -> weight
    state_features    (attribute, label) -> weight
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


class Tagger:
    """Labels sequences by a model: one of CRFsuite's, or any other that crfkit opens."""

    def __init__(self) -> None:
        self._tagger: OwnTagger | None = None
        self._source: str | bytes = ""
        self._numbers: dict[str, int] = {}
        self._forget()

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; the result closes it again at the end of a `with` block."""
        name = os.fspath(name)
        with open(name, "rb"):  # FileNotFoundError and its kin, as they come
            pass
        return self._open(name, f"Invalid model file {name!r}")

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model that is the content of a model file."""
        if not isinstance(value, bytes):
            raise TypeError(f"Argument 'value' has incorrect type (expected bytes, got {type(value).__name__})")
        return self._open(value, "Invalid model")

    def _open(self, source: str | bytes, fault: str) -> contextlib.closing[Tagger]:
        from crfkit.foreign import load
        from crfkit.tagging import Tagger as OwnTagger

        self.close()
        try:
            self._tagger = OwnTagger(load(source))
        except CrfkitError as error:
            raise ValueError(f"{fault}: {error}") from error
        self._source = source
        self._numbers = {label: number for number, label in enumerate(self._tagger.labels)}
        return contextlib.closing(self)

    def close(self) -> None:
        """Close the model."""
        self._tagger = None
        self._forget()

    def _forget(self) -> None:
        self._items: list[Any] = []
        self._marginals: numpy.ndarray | None = None

    def labels(self) -> list[str]:
        """The labels of the model."""
        return list(self._opened.labels)

    @property
    def _opened(self) -> OwnTagger:
        if self._tagger is None:
            raise ValueError("The tagger is not opened")
        return self._tagger

    def set(self, xseq: Iterable[Any] | ItemSequence) -> None:
        """Take a sequence for later calls of `tag`, `probability` and `marginal`."""
        self._opened  # noqa: B018 - refuses where there is no model
        self._items, self._marginals = _items(xseq), None

    def tag(self, xseq: Iterable[Any] | ItemSequence | None = None) -> list[str]:
        """The best labels of a sequence, or of the one taken before."""
        if xseq is not None:
            self.set(xseq)
        tagger = self._opened
        return tagger.tag(self._items) if len(self._items) else []

    def probability(self, yseq: Sequence[str]) -> float:
        """How probable these labels are for the sequence taken before."""
        tagger, labels = self._opened, [_label(y) for y in yseq]
        if len(labels) != len(self._items):
            raise ValueError(f"The numbers of items and labels differ: |x| = {len(self._items)}, |y| = {len(labels)}")
        for label in labels:
            self._number(label)
        return tagger.probability(self._items, labels) if labels else 1.0

    def score(self, yseq: Sequence[str]) -> tuple[float, float]:
        """The score of these labels, and the logarithm of what the scores of all labels add up to as exponents: more than
        python-crfsuite offers."""
        log_z = self._opened.log_z(self._items)
        return self._opened.log_probability(self._items, list(yseq)) + log_z, log_z

    def marginal(self, y: str, pos: int) -> float:
        """How probable a label is at a position of the sequence taken before. All marginals are computed at the first call."""
        table, number = self._table(), self._number(_label(y))
        if not 0 <= pos < len(self._items):
            raise ValueError(f"The position, {pos} is out of range of {len(self._items)}")
        return float(table[pos, number])

    def marginals(self) -> list[dict[str, float]]:
        """How probable each label is at each position of the sequence taken before: more than python-crfsuite offers."""
        return [dict(zip(self._numbers, row, strict=True)) for row in self._table().tolist()]

    def _table(self) -> numpy.ndarray:
        tagger = self._opened
        if self._marginals is None:
            self._marginals = tagger.marginals(self._items)
        return self._marginals

    def _number(self, label: str) -> int:
        if label not in self._numbers:
            raise RuntimeError(f"Failed to convert into label identifier: {label}")
        return self._numbers[label]

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, in CRFsuite's layout, to a file or to standard output."""
        lines = self._lines()
        if filename is None:
            sys.stdout.writelines(lines)
            return
        with open(filename, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.writelines(lines)

    def info(self) -> ParsedDump:
        """What the model consists of; weights with the six decimals of `dump`."""
        from crfkit import foreign

        lines = self._lines()
        parts, info = foreign.read(self._source), ParsedDump()
        for line in "".join(lines).partition("\n}\n")[0].splitlines()[1:]:
            name, _, value = line.strip().partition(": ")
            info.header[name] = value
        attributes = [name.decode(errors="surrogateescape") for name in parts.unigrams.names]
        info.labels = {label: str(number) for number, label in enumerate(parts.labels)}
        info.attributes = {name: str(number) for number, name in enumerate(attributes)}
        rows = parts.unigrams
        for number, name in enumerate(attributes):
            for at in range(rows.ptr[number], rows.ptr[number + 1]):
                info.state_features[name, parts.labels[rows.label[at]]] = round(rows.weight[at], 6)
        for place, weight in enumerate(parts.pairs or ()):
            if weight:
                before, label = divmod(place, len(parts.labels))
                info.transitions[parts.labels[before], parts.labels[label]] = round(weight, 6)
        return info

    def _lines(self) -> Iterator[str]:
        from crfkit import foreign

        if self._tagger is None:
            raise RuntimeError("Tagger is closed")
        return foreign.dump(self._source) or foreign.dump(foreign.model_bytes(foreign.read(self._source), "crfsuite"))  # type: ignore[return-value]


def _items(xseq: Iterable[Any] | ItemSequence) -> list[Any]:
    """The items as crfkit takes them, which is nearly always as they are; what can be read only once is read."""
    if isinstance(xseq, ItemSequence):
        return xseq.attributes()
    if not isinstance(xseq, Iterable):
        raise DataError(f"found {xseq!r}, expected a sequence of items")
    return [item if isinstance(item, _AS_IT_IS) else list(item) if isinstance(item, Iterable) else item for item in xseq]


_AS_IT_IS = (dict, list, tuple, set, frozenset)


def _label(y: str | bytes) -> str:
    return y.decode() if isinstance(y, bytes) else y
