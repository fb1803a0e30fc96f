"""python-crfsuite's Tagger."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from crfkit.errors import CrfkitError, one_line
from crfkit.modelbytes import Held, held
from crfkit.replacing import write_texts
from crfkit.text.packed import Packed
from crfkit.values import added_to, as_text

from .items import ItemSequence

if TYPE_CHECKING:
    from crfkit.decode.sentence import OneSentence
    from crfkit.tagging import Tagger as OwnTagger
    from crfkit.text.rows import Rows


class ParsedDump:
    """The contents of a model.

    header            the fields of the file's header
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
    """Labels sequences with a model: CRFsuite's, or any other that crfkit can open."""

    def __init__(self) -> None:
        self._tagger: OwnTagger | None = None
        self._scratch: OneSentence | None = None
        self._source: Held | None = None
        self._numbers: dict[str, int] = {}
        self._probable = False  # whether the model has probabilities

    def __init_subclass__(cls, **more: Any) -> None:
        """If a subclass overrides `set`, `tag` calls it."""
        super().__init_subclass__(**more)
        if "set" in vars(cls) and "tag" not in vars(cls):
            cls.tag = _tag_through_set  # type: ignore[method-assign]

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; the result closes it again at the end of a `with` block."""
        name = os.fsdecode(name)
        with open(name, "rb") as file:  # FileNotFoundError and other OSErrors pass through
            source = held(file)  # a copy: CRFsuite and python-crfsuite write a new model into the file of the old one
        return self._open(source, f"Invalid model file {name!r}")

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the bytes of a model file."""
        if not isinstance(value, bytes):
            raise TypeError(f"Argument 'value' has incorrect type (expected bytes, got {type(value).__name__})")
        return self._open(held(value), "Invalid model")

    def _open(self, source: Held, fault: str) -> contextlib.closing[Tagger]:
        from crfkit.foreign import load
        from crfkit.tagging import Tagger as OwnTagger

        try:
            tagger = OwnTagger(load(source))
        except CrfkitError as error:
            reason = str(error).removeprefix(f"{one_line(source.name)}: ")
            raise ValueError(f"{fault}: {reason}") from error
        self._source, self._numbers = source, {label: number for number, label in enumerate(tagger.labels)}
        self._probable = tagger.has_probabilities
        self._tagger, self._scratch = tagger, tagger.decoding.new_scratch(spelled=True)
        return contextlib.closing(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle contains the model, so that other processes can tag. python-crfsuite does not offer this."""
        return _of_model, (None if self._source is None else bytes(self._source.data), type(self)), added_to(self, vars(Tagger()))

    def close(self) -> None:
        """Close the model."""
        self._tagger, self._scratch, self._source = None, None, None

    @property
    def by_template(self) -> bool:
        """Whether this is a crfkit model with a template, which makes attributes from columns."""
        return self._tagger is not None and self._tagger.header["format"] != "crfsuite"

    def _opened(self) -> tuple[OwnTagger, OneSentence]:
        """crfkit's tagger, and the scratch that holds the sequence; ValueError if no model is open."""
        tagger, scratch = self._tagger, self._scratch
        if tagger is None or scratch is None:
            raise ValueError("The tagger is not opened")
        if scratch.deserted:
            self._scratch = scratch = tagger.decoding.new_scratch(spelled=True)
        return tagger, scratch

    def labels(self) -> list[str]:
        """The labels of the model."""
        return self._opened()[0].labels

    def score_sentence(self, rows: Rows, place: int) -> None:
        """As `set`, for a sequence of parsed rows."""
        with self._opened()[1] as scratch:
            scratch.score_sentence(rows, place)

    def set(self, xseq: Iterable[Any] | ItemSequence) -> None:
        """Make this the current sequence, which `tag`, `probability` and `marginal` use."""
        scratch, given = self._scratch, xseq.packed if type(xseq) is ItemSequence else xseq
        if type(given) in _COMMON and scratch is not None and scratch.take(given):  # in the fewest steps
            return
        with self._opened()[1] as scratch:
            self._read(scratch, xseq)

    def _read(self, scratch: OneSentence, xseq: Iterable[Any] | ItemSequence) -> None:
        scratch.read(xseq.packed if isinstance(xseq, ItemSequence) else xseq)

    def tag(self, xseq: Iterable[Any] | ItemSequence | None = None) -> list[str]:
        """The best labels of a sequence, or of the current one."""
        scratch, given = self._scratch, xseq.packed if type(xseq) is ItemSequence else xseq
        if type(given) in _COMMON and scratch is not None:
            labels = scratch.label(given)
            if labels is not None:
                return labels
        with self._opened()[1] as scratch:
            if xseq is not None:
                self._read(scratch, xseq)
            return scratch.best_labels()

    def probability(self, yseq: Iterable[str | bytes]) -> float:
        """The probability of these labels for the current sequence; 0 if it is empty or not set."""
        known = self._numbers
        if self._probable and type(yseq) is list and self._scratch is not None:  # the common case, in the fewest steps
            found = self._scratch.log_probability_of([known.get(label, -1) if type(label) is str else -1 for label in yseq])
            if found is not None:
                return math.exp(found)
        scratch = self._having_probabilities("probability")
        if not scratch.length:
            return 0.0
        score, log_z = self._score(scratch, yseq)
        return math.exp(score - log_z)

    def score(self, yseq: Iterable[str | bytes]) -> tuple[float, float]:
        """The score of these labels, and the log partition function. python-crfsuite does not offer this."""
        return self._score(self._having_probabilities("probability"), yseq)

    def _score(self, scratch: OneSentence, yseq: Iterable[str | bytes]) -> tuple[float, float]:
        labels = list(yseq)
        with scratch:
            if len(labels) != scratch.length:
                raise ValueError(f"The numbers of items and labels differ: |x| = {scratch.length}, |y| = {len(labels)}")
            return scratch.score_of([self._number(label) for label in labels]), scratch.log_z()

    def marginal(self, y: str | bytes, pos: int) -> float:
        """The marginal probability of a label at a position of the current sequence; 0 if there is none. The first call computes all."""
        if self._probable and type(y) is str and self._scratch is not None:  # the common case, in the fewest steps
            found = self._scratch.probability_of(pos, self._numbers.get(y, -1))
            if found is not None:
                return found
        scratch = self._having_probabilities("marginal")
        try:
            number = self._number(y)
        except RuntimeError:
            if 0 <= pos < scratch.length:  # otherwise the error is about the position, as in python-crfsuite
                raise
            number = 0
        if not scratch.length:
            return 0.0
        with scratch:
            try:
                return scratch.marginal(pos, number)
            except IndexError:
                raise ValueError(f"The position, {pos} is out of range of {scratch.length}") from None

    def marginals(self) -> list[dict[str, float]]:
        """The marginals of all labels at each position of the current sequence. python-crfsuite does not offer this."""
        with self._having_probabilities("marginals") as scratch:
            return scratch.marginals()

    def _having_probabilities(self, wanted: str) -> OneSentence:
        tagger, scratch = self._opened()
        if not self._probable:
            tagger.need_probabilities(wanted)
        return scratch

    def _number(self, label: str | bytes) -> int:
        if not isinstance(label, (str, bytes)):
            raise TypeError(f"expected a label as str or bytes, {type(label).__name__} found")
        try:
            return self._numbers[label if isinstance(label, str) else as_text(label)]
        except KeyError:
            shown = label.decode(errors="replace") if isinstance(label, bytes) else label
            raise RuntimeError(f"Failed to convert into label identifier: {shown}") from None

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, in CRFsuite's layout, to a file or to standard output."""
        from crfkit.cli.common import standard_output

        pieces = _dumped(self._file())
        with standard_output() if filename is None else open(os.fspath(filename), "wb") as stream:  # not the file of a descriptor
            write_texts(stream, pieces)

    def info(self) -> ParsedDump:
        """The contents of the model; weights have six decimals, as in `dump`."""
        from crfkit import foreign

        source = self._file()
        parts, info = foreign.read(source), ParsedDump()
        head, _, _ = next(_dumped(source)).partition(b"}")
        info.header = dict(line.strip().split(": ") for line in head.decode().splitlines()[1:])
        attributes = [as_text(name) for name in parts.unigrams.names]
        info.labels = {label: str(number) for number, label in enumerate(parts.labels)}
        info.attributes = {name: str(number) for number, name in enumerate(attributes)}
        for number, name in enumerate(attributes):
            for _, label, weight in parts.unigrams.features(number):
                info.state_features[name, parts.labels[label]] = round(weight, 6)
        for before, label, weight in parts.pair_weights():
            info.transitions[parts.labels[before], parts.labels[label]] = round(weight, 6)
        return info

    def _file(self) -> Held:
        source = self._source
        if source is None:
            raise RuntimeError("Tagger is closed")
        return source


def _dumped(source: Held) -> Iterator[bytes]:
    from crfkit import foreign

    return foreign.dump(source) or foreign.dump(foreign.in_format(source, "crfsuite"))  # type: ignore[return-value]


_COMMON = list, Packed  # sequences that need no `with` around what is done with them


def _tag_through_set(self: Tagger, xseq: Iterable[Any] | ItemSequence | None = None) -> list[str]:
    """The best labels of a sequence, or of the current one."""
    if xseq is not None:
        self.set(xseq)
    return Tagger.tag(self)


def _of_model(content: bytes | None, cls: type[Tagger] = Tagger) -> Tagger:
    """A tagger of a model, or a closed one. Its class need not have an __init__ without arguments."""
    tagger = cls.__new__(cls)
    Tagger.__init__(tagger)
    if content is not None:
        Tagger.open_inmemory(tagger, content)
    return tagger
