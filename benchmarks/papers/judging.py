"""Scores of sentences, and whether two models differ by more than chance."""

from __future__ import annotations

from typing import Any

import numpy as np


def chunks(labels: list[str]) -> set[tuple[int, int, str]]:
    """Chunks of B-, I- and O, as conlleval sees them: an I- of another type begins one, so IOB1 and IOB2 will both do."""
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


def chance(first: np.ndarray, second: np.ndarray, rounds: int = 10_000) -> float:
    """Approximate randomisation. [seed, sentence, 3] each: a sentence is exchanged with all seeds at once, since what seeds find
    in one sentence is much alike."""
    a, b = (counts.reshape(-1, *counts.shape[-2:]).sum(axis=0).astype(float) for counts in (first, second))
    swapped = np.random.default_rng(0)
    observed = abs(score(a) - score(b))
    total, hits = (a + b).sum(axis=0), 0
    for _ in range(rounds):
        part = np.where(swapped.random(len(a))[:, None] < 0.5, a, b).sum(axis=0)
        hits += abs(score(part) - score(total - part)) >= observed - 1e-9
    return (1 + hits) / (rounds + 1)
