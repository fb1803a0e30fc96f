"""The L2 penalty, and the passes of `cw`, where none are given: from how often attributes occur. docs/defaults.md has the trials.

An attribute that occurs once cannot have a weight beyond 1 / l2: the gradient of its one sequence is at most 1. Where most
attributes are rare, an --l2 of 1 suppresses nearly all they tell. Where they are frequent, as letters are, it prevents
overfitting. So the penalty rises with the frequency of attributes. Where a token has many attributes, as a
document has words, small weights are enough, and the penalty is higher.

SAPO stops learning from a sequence once the true path is 1 / ratio times as likely as all other candidates. With few attributes a
token that takes large weights; with many, small ones, and a small penalty would let it stop early. So fewer attributes count as many.

CW has no penalty: its weights do not follow noise because variances fall with every step, and because it ends early. Rare
attributes get few steps in a pass, so they need more passes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crfkit.options.trainers import Cw, Sapo

if TYPE_CHECKING:
    from .corpus import Corpus

USUAL = 1.0
LEAST = 0.1
OFTEN = 10.0  # mean occurrences of an attribute from which on the penalty is the usual one
MANY = 250.0  # mean attributes of a token from which on it is
MANY_OF_PATHS = 25.0  # the same for SAPO
RARE = 4.0  # mean occurrences of an attribute below which CW makes more passes
PASSES, PASSES_OF_RARE = 10, 20


def fitting_l2(tokens: int, attributes: int, occurrences: int, many: float = MANY) -> float:
    """The penalty for data with these counts; `occurrences` are of all attributes together. It has two digits, so that the printed value
    is exact."""
    of_each, of_a_token = occurrences / max(attributes, 1), occurrences / max(tokens, 1)
    found = max(LEAST, of_a_token / many, (of_each / OFTEN) ** 3)
    return float(f"{min(USUAL, found):.2g}")


def fitting_passes(attributes: int, occurrences: int) -> int:
    """The passes of CW for data with this many different attributes, and occurrences of all of them."""
    return PASSES_OF_RARE if occurrences < RARE * attributes else PASSES


def fitted(options: Any, corpus: Corpus) -> tuple[Any, dict[str, Any]]:
    """A trainer's options, where those not given are chosen for these data; and the chosen ones alone."""
    data, attributes = corpus.dataset, sum(corpus.layout.n_attributes)
    chosen: dict[str, Any] = {}
    if getattr(options, "l2", USUAL) is None:
        many = MANY_OF_PATHS if isinstance(options, Sapo) else MANY
        chosen["l2"] = fitting_l2(data.n_tokens, attributes, sum(data.n_incidences), many)
    if isinstance(options, Cw) and options.passes is None:
        chosen["passes"] = fitting_passes(attributes, sum(data.n_incidences))
    return replace(options, **chosen), chosen
