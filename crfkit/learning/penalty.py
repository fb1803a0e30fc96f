"""The L2 penalty where none is given, from what is known of the data before training.

An attribute that occurs once cannot have a weight beyond 1 / l2: the gradient of its one sequence is at most 1. Where most
attributes are rare, an --l2 of 1 leaves next to nothing of what they tell. Where they are frequent, as letters are, it is what keeps
weights from overfitting. So the penalty rises with how often attributes occur. Where a token has many attributes, as a
document has words, small weights are enough, and the penalty is higher. docs/defaults.md has the trials.

SAPO stops learning from a sequence once the true path is so many times as likely as all other candidates. With few attributes a token
that takes large weights; with many, small ones, and a small penalty would let it stop early. So fewer attributes count as many.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crfkit.options.trainers import Sapo

if TYPE_CHECKING:
    from .corpus import Corpus

USUAL = 1.0
LEAST = 0.1
OFTEN = 10.0  # occurrences of an attribute, in the mean, from which on the penalty is the usual one
MANY = 250.0  # attributes of a token, for which it is that as well
MANY_OF_PATHS = 25.0  # the same for SAPO


def fitting_l2(tokens: int, attributes: int, occurrences: int, many: float = MANY) -> float:
    """The penalty for so many tokens with so many different attributes, which occur so many times together. Two digits, so that what
    is printed can be given."""
    of_each, of_a_token = occurrences / max(attributes, 1), occurrences / max(tokens, 1)
    found = max(LEAST, of_a_token / many, (of_each / OFTEN) ** 3)
    return float(f"{min(USUAL, found):.2g}")


def with_penalty(options: Any, corpus: Corpus) -> tuple[Any, dict[str, float]]:
    """A trainer's options with the penalty that was given, or else with one that fits these data; and what was chosen."""
    if getattr(options, "l2", USUAL) is not None:
        return options, {}
    data = corpus.dataset
    many = MANY_OF_PATHS if isinstance(options, Sapo) else MANY
    l2 = fitting_l2(data.n_tokens, sum(corpus.layout.n_attributes), sum(data.n_incidences), many)
    return replace(options, l2=l2), {"l2": l2}
