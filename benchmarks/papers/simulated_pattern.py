"""The sparsity pattern of the simulated study: which weights are active, and whether these are the ones that the simulation model is made of."""

from __future__ import annotations

import itertools
from statistics import fmean

from hidden import HMM, LABELS
from judging import Verdict, holds, unmeasured

import crfkit

Weight = tuple[int, int | str | None, int]
"""Symbol, label before (None: a weight of one label; START: of the start of the sequence), label."""
START, START_LINE = "start", "U09"  # the line of the templates for the start of the sequence
MOST = 0.5  # what is most has a share above this
CLAIM = "most often the active weights of M7 are closely related to the structure of the simulation model"


def active_weights(model: crfkit.Model) -> list[Weight]:
    """The weights that are not zero."""
    found: list[Weight] = []
    for attribute, before, label, weight in model.features():
        line, _, symbol = str(attribute).partition(":")
        if weight and line == START_LINE:
            found.append((int(symbol.removeprefix("s")), START, int(label)))
        elif weight:
            found.append((int(symbol), None if before is None else int(before), int(label)))
    return found


def is_node(weight: Weight) -> bool:
    return weight[1] is None


def structure(hmm: HMM) -> set[Weight]:
    """What makes the simulation model other than uniform, as weights. Nodes: each label with the symbol that dominates it. Pairs: the two pairs of labels
    that are favoured, with the symbol that dominates the second label.
    """
    symbols = [int(symbol) for symbol in hmm.emit.argmax(axis=1)]
    favoured = [(before, label) for before, label in itertools.product(range(LABELS), repeat=2) if hmm.step[before, label] > MOST]
    return {(symbol, None, label) for label, symbol in enumerate(symbols)} | {(symbols[label], before, label) for before, label in favoured}


def related(active: set[Weight], wanted: set[Weight]) -> bool:
    """Whether a pattern is "closely related to the structure of the simulation model": most of the structure is active, of nodes and of pairs (four of six,
    both of two), and most of what is active, nodes and pairs together, is structure. Of pairs alone that could not be so in the paper: on average it has
    4.9 active ones, and two are structure. This rule was fixed before any pattern was seen.
    """
    kinds = ({weight for weight in wanted if is_node(weight) == node} for node in (True, False))
    return all(len(active & kind) > MOST * len(kind) for kind in kinds) and len(active & wanted) > MOST * len(active)


def verdict(hmm: HMM, patterns: list[list[Weight]]) -> Verdict:
    """The verdict on the paper's sentence about the pattern; "most often" is in most draws."""
    if not patterns:
        return unmeasured(CLAIM)
    wanted, draws = structure(hmm), [{(symbol, before, label) for symbol, before, label in pattern} for pattern in patterns]
    number = sum(related(active, wanted) for active in draws)

    def mean(weights: list[set[Weight]], node: bool) -> str:
        return f"{fmean(sum(is_node(weight) == node for weight in own) for own in weights):.1f}"

    kept = [active & wanted for active in draws]
    told = " and ".join(f"{mean(kept, node)} of its {sum(is_node(weight) == node for weight in wanted)} {name}" for node, name in ((True, "nodes"), (False, "pairs")))
    return holds(number > MOST * len(draws), CLAIM, f"in {number} of {len(draws)} draws; {told} are active on average, of {mean(draws, True)} and {mean(draws, False)} in all")
