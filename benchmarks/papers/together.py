"""Which verdicts stay if all tests of the index are taken together, after Y. Benjamini, Y. Hochberg: Controlling the False
Discovery Rate, 1995; and which rest on scores that vary so much over seeds that five more seeds might tell another."""

from __future__ import annotations

import re
from collections.abc import Sequence

from protocol import SEEDS, SIGNIFICANT, TIE
from report import markdown

SHOWN = re.compile(r"\bp ([=<]) ([01]\.[0-9]+)(, seeds disagree)?")
"""The p of a row, in its numbers. Where seeds disagree, the verdict rests on p = 1."""
SPREAD = re.compile(r"([0-9.]+)(?: ± ([0-9.]+))? and ([0-9.]+)(?: ± ([0-9.]+))?, p ")
"""The means over seeds of a row, and their standard deviations; none where there is one run."""
T = 2.776
"""So many standard errors of five numbers are half of a 95 % interval (Student's t, four degrees of freedom)."""


def limit(p: Sequence[float], share: float = SIGNIFICANT) -> float:
    """The largest p that stays significant if no more than this share of all that do are expected to be wrong; 0 if none does."""
    return max((one for k, one in enumerate(sorted(p), 1) if one <= share * k / len(p)), default=0.0)


def chance(row: list[str]) -> float | None:
    """What the verdict of a row of the index rests on; None if on no test. Of "p < 0.001" it is 0.001."""
    found = SHOWN.search(row[3])
    return None if found is None else 1.0 if found[3] else float(found[2])


def interval(row: list[str]) -> tuple[float, float] | None:
    """The difference of the means of a row, and half of its 95 % interval over seeds; None if no seeds are in it."""
    found = SPREAD.search(row[3])
    if found is None or not (found[2] or found[4]):
        return None
    one, s, other, t = (float(number or 0) for number in found.groups())
    return one - other, T * ((s**2 + t**2) / len(SEEDS)) ** 0.5


def lines(sections: list[tuple[str, str, list[list[str]]]]) -> list[str]:
    """A section of the index: the verdicts with p < 0.05 that a correction for the number of tests would make ties, and those whose
    interval over seeds covers zero. A test that stands under two papers is one."""
    tested: dict[tuple[str, str], tuple[float, list[str]]] = {}
    for row in (row for _, _, rows in sections for row in rows):
        if (p := chance(row)) is not None:
            tested.setdefault((row[1], row[3]), (p, row))
    if not tested:
        return []
    most = limit([p for p, _ in tested.values()])
    alone = [one for one in tested.values() if one[0] < SIGNIFICANT]
    lost = sorted((one for one in alone if one[0] > most), key=lambda one: one[0])
    text = TEXT.format(tests=len(tested), alone=len(alone), chance=len(tested) * SIGNIFICANT, kept=len(alone) - len(lost), limit=most)
    found = ["## All tests together", "", f"{text} {'The others would be ties:' if lost else 'None becomes a tie.'}", ""]
    found += [*_table([row for _, row in lost]), ""] * bool(lost)
    unsure = [row for _, row in alone if row[4] != TIE and (about := interval(row)) is not None and abs(about[0]) <= about[1]]
    return [*found, *([UNSURE.format(number=len(unsure)), "", *_table(unsure), ""] if unsure else [])]


def _table(rows: list[list[str]]) -> list[str]:
    return markdown(["claim", "task", "numbers", "verdict alone"], [[row[0], row[1], row[3], row[4]] for row in rows])


TEXT = """\
Verdicts on scores are given one by one, each with a risk of 5 %. {tests} tests stand on this page (one that stands under two papers is counted once), {alone} of them with p < 0.05. If no trainer were better than another,
{chance:.0f} would be expected to. Benjamini and Hochberg's procedure over all {tests} keeps those expected to be wrong to 5 % of what it accepts: {kept} of the {alone} stay, with p up to {limit:.3f} ("p < 0.001" counts as 0.001)."""
UNSURE = """\
p is about the sentences of the test part, given the models: other sentences would show the same. Other seeds might not. Of the verdicts with p < 0.05 that are no ties, the 95 % interval of the difference over seeds (means ± 2.776 standard
errors) covers zero in {number}. In these, one side was trained to very different scores by different seeds:"""
