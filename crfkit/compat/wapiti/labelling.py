"""`wapiti label`: labels sentences, and counts how many labels are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from crfkit.cli.common import is_live
from crfkit.constants import WITH_HISTORY
from crfkit.errors import UnsupportedError
from crfkit.foreign import load, wapiti
from crfkit.foreign.parts import model_of
from crfkit.modelbytes import Held, held
from crfkit.tagfiles import block_size
from crfkit.tagging import Tagger
from crfkit.text.reading import Source
from crfkit.values import as_bytes

from ..numbers import passed
from . import singles
from .layout import LinePrinter
from .singles import Labels

Say = Callable[[str], None]


def tagger_of(model: str | Held, exact: bool) -> Tagger:
    """The tagger of a model whose data are columns; `exact`: scores in double precision, for printing them."""
    source = held(model)
    if source.start.startswith(wapiti.START):
        tagger = Tagger(model_of(wapiti.read_file(bytes(source.data), source.name), source.name, exact))
    else:
        tagger = Tagger(load(source, exact=exact))
    if tagger.header["format"] != "columns" and not by_lines(tagger):
        raise UnsupportedError(f"{source.name}: the data name their observations here; label such data with `crfkit tag`")
    return tagger


def by_lines(tagger: Tagger) -> bool:
    """Whether the model is one for single lines."""
    return wapiti.LINE_BY_LINE in tagger.header["options"]


def label(tagger: Tagger, source: str, given: dict[str, Any], say: Say) -> Iterator[bytes]:
    """Yields the labelled sentences as they are read; `say` is called with the lines of the log."""
    report = Report(tagger.labels, say)
    for text, n, found in singles.label(tagger, source, given) if by_lines(tagger) else _columns(tagger, source, given):
        yield text
        report.add(n, found)
    if given["check"]:
        report.end()


def _columns(tagger: Tagger, source: str, given: dict[str, Any]) -> Iterator[tuple[bytes, int, Labels | None]]:
    printer = LinePrinter(only=given["label"], check=given["check"], scores=given["score"], posterior=given["post"], force=given["force"], nbest=given["nbest"])
    if given["post"]:
        tagger.need_probabilities("--post")
    if tagger.header["algorithm"] in WITH_HISTORY:
        raise UnsupportedError("the model chooses labels one after the other; label with `crfkit tag`")
    blocks = Source(source, "columns", allow_empty=True, loose=tagger.loose, block_size=block_size(given["nbest"]))
    return tagger.text(blocks, printer, partial=given["check"] or given["force"], threads=1 if is_live(source) else 0)


class Report:
    """Counts of what was labelled."""

    def __init__(self, labels: list[str], say: Say):
        self.labels, self.say = labels, say
        self.sequences = self.tokens = self.wrong = self.sequences_wrong = 0
        self.counts: list[list[int]] = [[0] * len(labels)] * 3  # of each label in the data, predicted, and both

    def add(self, sequences: int, both: Labels | None) -> None:
        """Count a block: its sequences, and what the printer found in it."""
        before, self.sequences = self.sequences, self.sequences + sequences
        if both is not None and sequences:
            import numpy  # which takes as long as all else of a short run

            found, wanted = map(numpy.asarray, both[:2])
            known = wanted >= 0  # Wapiti, too, does not count labels that the model lacks
            wrong = known & (found != wanted)
            self.tokens, self.wrong = self.tokens + len(found), self.wrong + int(wrong.sum())
            self.sequences_wrong += int(numpy.logical_or.reduceat(wrong, both[2]).sum())
            seen = wanted[known], found[known], wanted[known & ~wrong]
            self.counts = numpy.add(self.counts, [numpy.bincount(labels, minlength=len(self.labels)) for labels in seen]).tolist()
        for count in passed(1000, before, self.sequences):
            rates = "" if both is None else f"\t{_per_cent(self.wrong, self.tokens)}/{_per_cent(self.sequences_wrong, self.sequences)}"
            self.say(f"{count:10d} sequences labeled{rates}")

    def end(self) -> None:
        """The total error rates, and the scores of each label."""
        self.say(f"    Nb sequences  : {self.sequences}")
        self.say(f"    Token error   : {_per_cent(self.wrong, self.tokens)}")
        self.say(f"    Sequence error: {_per_cent(self.sequences_wrong, self.sequences)}")
        self.say("* Per label statistics")
        for name, (wanted, found, both) in zip(self.labels, zip(*self.counts, strict=True), strict=True):
            precision, recall = _ratio(both, found), _ratio(both, wanted)
            f1 = _ratio(2 * precision * recall, precision + recall)
            name += " " * (6 - len(as_bytes(name)))  # Wapiti counts bytes
            self.say(f"    {name}  Pr={_shown(precision)}  Rc={_shown(recall)}  F1={_shown(f1)}")


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _shown(rate: float) -> str:
    return "-nan" if rate != rate else f"{rate:.2f}"


def _per_cent(part: int, whole: int) -> str:
    return f"{_shown(100 * _ratio(part, whole)):>5}%"
