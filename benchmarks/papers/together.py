"""Which verdicts stay if all tests of the index are taken together, after Y. Benjamini, Y. Hochberg: Controlling the False
Discovery Rate, 1995."""

from __future__ import annotations

import re
from collections.abc import Sequence

from protocol import SIGNIFICANT
from report import markdown

SHOWN = re.compile(r"\bp ([=<]) ([01]\.[0-9]+)(, seeds disagree)?")
"""The p of a row, in its numbers. Where seeds disagree, the verdict rests on p = 1."""


def limit(p: Sequence[float], share: float = SIGNIFICANT) -> float:
    """The largest p that stays significant if no more than this share of all that do are expected to be wrong; 0 if none does."""
    return max((one for k, one in enumerate(sorted(p), 1) if one <= share * k / len(p)), default=0.0)


def chance(row: list[str]) -> float | None:
    """What the verdict of a row of the index rests on; None if on no test. Of "p < 0.001" it is 0.001."""
    found = SHOWN.search(row[3])
    return None if found is None else 1.0 if found[3] else float(found[2])


def lines(sections: list[tuple[str, str, list[list[str]]]]) -> list[str]:
    """A section of the index: the verdicts with p < 0.05 that a correction for the number of tests would make ties."""
    tested = [(p, title, row) for title, _, rows in sections for row in rows if (p := chance(row)) is not None]
    if not tested:
        return []
    most = limit([p for p, _, _ in tested])
    alone = [one for one in tested if one[0] < SIGNIFICANT]
    lost = sorted((one for one in alone if one[0] > most), key=lambda one: one[0])
    text = TEXT.format(tests=len(tested), alone=len(alone), chance=len(tested) * SIGNIFICANT, kept=len(alone) - len(lost), limit=most)
    if not lost:
        return ["## All tests together", "", f"{text} None becomes a tie.", ""]
    table = markdown(["claim", "task", "numbers", "verdict alone"], [[row[0], row[1], row[3], row[4]] for _, _, row in lost])
    return ["## All tests together", "", f"{text} The others would be ties:", "", *table, ""]


TEXT = """\
Verdicts on scores are given one by one, each with a risk of 5 %. {tests} tests stand on this page, {alone} of them with p < 0.05. If no trainer were better than another, {chance:.0f} would be
expected to. Benjamini and Hochberg's procedure over all {tests} keeps those expected to be wrong to 5 % of what it accepts: {kept} of the {alone} stay, with p up to {limit:.3f} ("p < 0.001" counts as 0.001)."""
