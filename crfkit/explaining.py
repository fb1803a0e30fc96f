"""Why each token got its label, with names in place of numbers (decode/rivals.pyx)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit.features.tables import Names

from .spelling import attribute_text, escaped, previous_text
from .values import as_bytes, legible

if TYPE_CHECKING:
    from crfkit.features.tables import Features


class Reason(NamedTuple):
    """What one attribute of one token says: its `score` with the labels that were chosen, minus its `rival_score` with those of the rival.

    `place`: which token, counted from the one that is explained: 0 is this token, 1 the next one, -1 the one before. `attribute`: its
    name; None for plain pairs of labels, and for the bias of labels. `label`: the label of the token at `place`. `previous`: that of the
    token before it; None if the attribute does not look at it, and for the bias. A score is a weight times the value of the attribute, 0 if there is no such feature.
    """

    place: int
    attribute: str | None
    previous: str | None
    label: str
    score: float
    rival_previous: str | None
    rival_label: str
    rival_score: float

    @property
    def says(self) -> float:
        """How much the reason speaks for the chosen labels; below 0, for the rival."""
        return self.score - self.rival_score


class Explanation(NamedTuple):
    """Why a token got its label: the labelling is compared with its rival, the best labelling of the sentence in which this token has another label.

    `rival`: the token's label in the rival; None if it can have no other. `lead`: by how much the labelling scores above its rival; inf if there is none.
    `first`, `last`: the first and the last token whose label differs, counted from this one (-1: the one before). `reasons`: the
    strongest ones, strongest first. `others`: how many reasons were left out; `rest`: the sum of what these say. What `reasons` say and `rest`
    add up to `lead`.
    """

    label: str
    rival: str | None
    lead: float
    first: int
    last: int
    reasons: list[Reason]
    others: int
    rest: float


class Explainer:
    """Gives names to the numbers in what a model says of a sentence."""

    def __init__(self, index: Features, labels: list[str]):
        self._labels: Any = [*labels, None]  # None for -1
        self._names = Names(index, False), Names(index, True)

    def explanation(self, found: tuple[Any, ...]) -> Explanation:
        """What Rivals.token says of a token."""
        label, rival, lead, first, last, reasons, others, rest = found
        said = [self._reason(*reason) for reason in reasons]
        return Explanation(self._labels[label], self._labels[rival], lead, first, last, said, others, rest)

    def _reason(self, place: int, attribute: int, previous: int, label: int, score: float, before: int, other: int, rival_score: float) -> Reason:
        name = None if attribute < 0 else legible(self._names[previous >= 0][attribute])
        names = self._labels
        return Reason(place, name, names[previous], names[label], score, names[before], names[other], rival_score)

    def lines(self, found: tuple[Any, ...]) -> Iterator[bytes]:
        """The same as lines of text; none where the token can have no other label."""
        why = self.explanation(found)
        if why.rival is None:
            return
        yield _line("rival", _signed(why.lead), escaped(why.rival), _place(why.first), _place(why.last))
        for reason in why.reasons:
            chosen = previous_text(reason.previous), escaped(reason.label), f"{reason.score:.6g}"
            other = previous_text(reason.rival_previous), escaped(reason.rival_label), f"{reason.rival_score:.6g}"
            yield _line(_place(reason.place), _signed(reason.says), attribute_text(reason.attribute), *chosen, *other)
        if why.others:
            yield _line("rest", _signed(why.rest), str(why.others))


def _line(*columns: str) -> bytes:
    return as_bytes("\t" + "\t".join(columns))


def _signed(number: float) -> str:
    return f"{number:+.6g}"


def _place(number: int) -> str:
    return f"{number:+d}" if number else "0"
