"""The penalties, the passes of `sgd`, `adf`, `cw`, `perceptron` and `mira`, and the margin of `lookahead`, where none are given: from how many
sequences there are, how often attributes occur, with how many labels, and how many a token has. docs/defaults.md has the reasons and the trials.

An attribute that was always seen with the same label needs a large weight; where attributes have several labels, large weights follow
noise, and where a token has many attributes, small weights are enough. A weight for values v is 1 / v times as large as one for values of 1,
so penalties and margins fall with values below 1. They do not rise with larger ones, of which a few, such as years, would decide for all.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

from crfkit.options.trainers import DECAY, PASSES_OF_DECAY, Adf, Cw, Lookahead, Mira, Perceptron, Sapo, Sgd

if TYPE_CHECKING:
    from .corpus import Corpus

USUAL = 1.0
LEAST = 0.03
LEAST_SQUARE = 1e-12  # of values
AMBIGUOUS = 0.5  # share of attributes with more than one label from which on the penalty is the usual one
LEAST_L1, USUAL_L1 = 0.1, 0.4
MANY = 250.0  # mean attributes of a token from which on it is
MANY_OF_PATHS = 25.0  # the same for SAPO
OF_ATTRIBUTE = 0.1  # the most with label pairs, for each attribute of a token,
OF_A_LABEL = 100.0  # where there are so many different attributes for each label; with more, in proportion
SOME, OFTEN = 20.0, 12.0  # mean attributes of a token, and mean occurrences of an attribute, which together make it the usual one
RARE = 4.0  # mean occurrences of an attribute below which CW makes more passes
PASSES, PASSES_OF_RARE = 10, 20
USUAL_PASSES = 20  # of perceptron and mira
PASSES_OF_ONE = {Perceptron: 60, Mira: 40}  # where a token has one attribute
STEPS = 100_000  # of SGD and ADF, if the largest number of passes allows
PASSES_OF_STEPS = {Sgd: (PASSES_OF_DECAY[0], 100), Adf: (20, 80)}  # the usual number, and the largest
# where sequences are as long as there are sequences, else in proportion; and the most
PASSES_OF_LONG = {Sgd: (40.0, PASSES_OF_DECAY[1]), Perceptron: (10.0, 160), Mira: (10.0, 160)}
MARGIN, LARGEST_MARGIN = 3.0, 100.0  # of lookahead: for each attribute of a token, and at most

# What values follow from, as it is printed.
REASONS = {"decay": "by the number of passes"}  # of what trainers choose; all else was the best on a sample
_OF_PENALTIES = "by how often attributes occur, and with how many labels"
_OF_A_TOKEN = "by how many attributes a token has"
_OF_LENGTHS = "how long and how many the sequences are"
_OF_PASSES = {
    Adf: "by the number of sequences", Cw: "by the number of attributes", Sgd: f"by {_OF_LENGTHS}",
    **dict.fromkeys(PASSES_OF_ONE, f"{_OF_A_TOKEN}, and {_OF_LENGTHS}"),
}


def fitting_l2(
    ambiguous: float, of_a_token: float, often: float, many: float = MANY, square: float = 1.0, of_a_label: float | None = None
) -> tuple[float, str]:
    """The penalty for data with this share of attributes that have more than one label, and these means: attributes of a token, occurrences of an
    attribute, squares of a value; and what it follows from. Only unigram attributes count: those that form features with label pairs mostly repeat
    them. `of_a_label`: how many different attributes there are for each label, where label pairs put a bound to it."""
    uncertain = _uncertain(ambiguous, of_a_token, often)
    most = USUAL if of_a_label is None else OF_ATTRIBUTE * max(1, of_a_token) * max(1, of_a_label / OF_A_LABEL)
    found, reason = max(LEAST, min(most, uncertain)), _OF_PENALTIES
    if of_a_token / many > found:
        found, reason = of_a_token / many, _OF_A_TOKEN
    elif most < min(USUAL, uncertain):
        reason = "by how many attributes there are for a token and for a label, as there are label pairs"
    return _short(min(USUAL, found) * max(LEAST_SQUARE, min(1, square))), _with_values(reason, square)


def _with_values(reason: str, square: float) -> str:
    """The reason for a penalty, which falls with small values."""
    return reason if square >= 1 else f"{reason}; lower for values below 1"


def fitting_l1(ambiguous: float, of_a_token: float, often: float, square: float = 1.0) -> float:
    """The L1 penalty for such data."""
    found = max(LEAST_L1, _uncertain(ambiguous, of_a_token, often))
    return _short(min(USUAL_L1, found) * sqrt(max(LEAST_SQUARE, min(1, square))))


def _uncertain(ambiguous: float, of_a_token: float, often: float) -> float:
    """What penalties follow from: how little single attributes say of a label, and how little more large weights would; up to 1, and above."""
    frequent = min(1, of_a_token / SOME) ** 2 * min(1, often / OFTEN) ** 4
    return max((ambiguous / AMBIGUOUS) ** 2, frequent)


def fitting_margin(of_a_token: float, square: float = 1.0, pairs: bool = True) -> float:
    """The margin of lookahead for data with these means: unigram attributes of a token, and squares of a value. `pairs`: labels depend on others."""
    of_values = max(1, of_a_token) * max(LEAST_SQUARE, min(1, square))
    return _short(min(LARGEST_MARGIN, MARGIN * (max(1, of_values) if pairs else of_values)))


def _short(number: float) -> float:
    """With two digits, so that the printed value is exact."""
    return float(f"{number:.2g}")


def share_of_ambiguous(corpus: Corpus) -> float:
    """The share of unigram attributes with more than one label; 1 if none has one. Where rare ones are dropped, nearly all that have one label
    are gone: the best penalty is between those for the shares with and without them. With a minimum of 2 this is their geometric mean, as only
    attributes with one label are dropped; above it is larger, since those with several labels that are dropped count as before."""
    different, ambiguous = corpus.ambiguity
    kept = corpus.layout.n_attributes[0]
    return ambiguous / sqrt(different * kept) if different and kept else 1.0


def fitting_passes(trainer: type, sequences: int, tokens: int, attributes: int, occurrences: int, of_a_token: float) -> int:
    """The passes over so many sequences and tokens with so many different attributes, occurrences of all of them, and unigram attributes of a token."""
    sequences = max(1, sequences)
    if trainer is Cw:
        return PASSES_OF_RARE if occurrences < RARE * attributes else PASSES
    in_proportion, most_of_long = PASSES_OF_LONG.get(trainer, (0.0, 0))
    of_long = round(min(most_of_long, in_proportion * tokens / sequences**2))
    if trainer in PASSES_OF_ONE:
        return max(USUAL_PASSES, round(PASSES_OF_ONE[trainer] / max(1, of_a_token)), of_long)
    usual, most = PASSES_OF_STEPS[trainer]
    return max(min(most, max(usual, ceil(STEPS / sequences))), of_long)


def chooses_penalty(options: Any) -> bool:
    """Whether a penalty is to be chosen, which takes the counts of `Corpus.ambiguity`."""
    return None in (getattr(options, name, USUAL) for name in ("l1", "l2"))


def fitted(options: Any, corpus: Corpus, patient: bool = False) -> tuple[Any, dict[str, Any], dict[str, str]]:
    """A trainer's options, where those not given are chosen for these data; the chosen ones alone; and what they follow from. `patient`:
    training ends when it gains nothing any more, which it does for several passes while the rate of SGD is still high, if that falls slowly."""
    if patient and isinstance(options, Sgd) and options.decay is None:
        options = replace(options, decay=DECAY)
    if getattr(options, "path", None):
        options = replace(options, l1=options.path[0])
    data, layout, of_paths = corpus.dataset, corpus.layout, isinstance(options, Sapo)
    attributes, occurrences = layout.n_attributes, data.n_incidences
    of_a_token, often = (occurrences[0] / max(n, 1) for n in (data.n_tokens, attributes[0]))
    share, square = share_of_ambiguous(corpus), data.squares / occurrences[0] if data.has_values and occurrences[0] else 1.0
    pairs = data.n_tokens > data.n_sequences and bool(layout.has_tau or attributes[1])  # whether there are features of label pairs
    chosen: dict[str, Any] = {}
    why: dict[str, str] = {}
    if getattr(options, "l1", USUAL) is None:
        chosen["l1"], why["l1"] = fitting_l1(share, of_a_token, often, square), _with_values(_OF_PENALTIES, square)
    if getattr(options, "l2", USUAL) is None:
        of_a_label = attributes[0] / len(data.labels) if pairs and not of_paths else None
        chosen["l2"], why["l2"] = fitting_l2(share, of_a_token, often, MANY_OF_PATHS if of_paths else MANY, square, of_a_label)
    if getattr(options, "passes", 0) is None:
        counts = corpus.summary["sequences"], corpus.summary["tokens"], sum(attributes), sum(occurrences)
        chosen["passes"], why["passes"] = fitting_passes(type(options), *counts, of_a_token), _OF_PASSES[type(options)]
    if isinstance(options, Lookahead) and options.margin is None:
        chosen["margin"], why["margin"] = fitting_margin(of_a_token, square, pairs), _with_values(_OF_A_TOKEN, square)
    return replace(options, **chosen), chosen, why
