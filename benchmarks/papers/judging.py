"""What sbcd.py, simulated.py and neural.py share: scores of sentences, whether two models differ by more than chance,
verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from protocol import CONTRADICTED, MISSING, REPRODUCED, of_one_sign

# --- Scores -----------------------------------------------------------------------------------------------------------


def chunks(labels: list[str]) -> set[tuple[int, int, str]]:
    """Chunks of B-, I- and O, as conlleval sees them: an I- of another type begins one, so IOB1 and IOB2 will both
    do.
    """
    found, start = set(), 0
    for k, (before, label) in enumerate(zip(["O", *labels], [*labels, "O"], strict=True)):
        begins = label != "O" and (before == "O" or label[0] == "B" or label[2:] != before[2:])
        if before != "O" and (label == "O" or begins):
            found.add((start, k, before[2:]))
        if begins:
            start = k
    return found


def counted(of_chunks: bool, gold: list[list[str]], found: list[list[str]]) -> np.ndarray:
    """[sentence, (gold, found, correct)], of chunks or of tokens."""
    if not of_chunks:
        return np.array([(len(g), len(g), sum(map(str.__eq__, g, f))) for g, f in zip(gold, found, strict=True)])
    return np.array([(len(a), len(b), len(a & b)) for a, b in ((chunks(g), chunks(f)) for g, f in zip(gold, found, strict=True))])


def score(counts: Any) -> float:
    """F1, or accuracy, in per cent, of counts over sentences; zero where there is nothing."""
    gold, found, correct = np.asarray(counts).reshape(-1, 3).sum(axis=0)
    return float(200 * correct / max(gold + found, 1))


def packed(counts: np.ndarray) -> list[str]:
    """Counts as three strings, a character each, which is short; found is left out where it is gold."""
    gold, found, correct = ("".join(chr(48 + n) for n in column) for column in counts.T.tolist())
    return [gold, "" if found == gold else found, correct]


def unpacked(counts: list[str]) -> np.ndarray:
    gold, found, correct = counts
    return np.array([[ord(c) - 48 for c in column] for column in (gold, found or gold, correct)]).T


# --- Chance -----------------------------------------------------------------------------------------------------------


def chance(first: list[list[str]], second: list[list[str]], rounds: int = 10_000) -> float:
    """Approximate randomisation, two-sided, of the packed counts of runs: the median p of pairs of runs, seed
    against seed. The only run of a trainer without chance is paired with every run of the other. A pair whose
    difference has another sign than that of the means counts as p = 1, by the protocol.
    """
    n = max(len(first), len(second)) if 1 in (len(first), len(second)) else min(len(first), len(second))
    sides = [[unpacked(run).astype(float) for run in runs[:n]] for runs in (first, second)]
    p = [_chance(sides[0][k % len(sides[0])], sides[1][k % len(sides[1])], rounds) for k in range(n)]
    return median(of_one_sign(*([score(counts) for counts in side] for side in sides), p))


def _chance(a: np.ndarray, b: np.ndarray, rounds: int) -> float:
    swapped = np.random.default_rng(0)
    observed, total, hits = abs(score(a) - score(b)), (a + b).sum(axis=0), 0
    for _ in range(rounds // 100):
        parts = (swapped.random((100, len(a))) < 0.5).astype(float) @ (a - b) + b.sum(axis=0)
        gaps = [200 * side[:, 2] / np.maximum(side[:, 0] + side[:, 1], 1) for side in (parts, total - parts)]
        hits += int((abs(gaps[0] - gaps[1]) >= observed - 1e-9).sum())
    return (1 + hits) / (rounds + 1)


# --- Verdicts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """A claim of a paper, what the paper found, what was found here, and whether the claim holds."""

    claim: str
    here: str
    word: str
    paper: str = ""

    def row(self, task: str) -> list[str]:
        """A row of the index of all claims."""
        return [self.claim, task, self.paper, self.here, self.word]


def holds(condition: bool, claim: str, here: str, paper: str = "") -> Verdict:
    """A claim that no chance is part of."""
    return Verdict(claim, here, REPRODUCED if condition else CONTRADICTED, paper)


def unmeasured(claim: str, paper: str = "") -> Verdict:
    """A claim whose runs are missing."""
    return Verdict(claim, "", MISSING, paper)

