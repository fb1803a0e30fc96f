"""Which verdicts stay if all tests of the index are taken together, after Y. Benjamini, Y. Hochberg: Controlling the False
Discovery Rate, 1995; and which rest on scores that vary so much over seeds that five more seeds might tell another."""

from __future__ import annotations

import re
from collections.abc import Sequence

from protocol import SEEDS, SIGNIFICANT, TIE

Sections = list[tuple[str, str, list[list[str]]]]
"""Title, name of the page, and rows of the index: claim, task, the paper's numbers, those here, verdict."""
Test = tuple[str, str]
"""Task and numbers of a row."""
SHOWN = re.compile(r"\bp ([=<]) ([01]\.[0-9]+)(, seeds disagree)?")
"""The p of a test, in its numbers. Where seeds disagree, the verdict rests on p = 1."""
SPREAD = re.compile(r"([0-9.]+)(?: ± ([0-9.]+))? and ([0-9.]+)(?: ± ([0-9.]+))?, p ")
"""The means over seeds, and their standard deviations; none where there is one run."""
T = 2.776
"""So many standard errors of five numbers are half of a 95 % interval (Student's t, four degrees of freedom)."""


def limit(p: Sequence[float], share: float = SIGNIFICANT) -> float:
    """The largest p that stays significant if no more than this share of all that do are expected to be wrong; 0 if none does."""
    return max((one for k, one in enumerate(sorted(p), 1) if one <= share * k / len(p)), default=0.0)


def chance(numbers: str) -> float | None:
    """What a verdict rests on; None if on no test. Of "p < 0.001" it is 0.001."""
    shown = SHOWN.search(numbers)
    return None if shown is None else 1.0 if shown[3] else float(shown[2])


def interval(numbers: str) -> tuple[float, float] | None:
    """The difference of the means, and half of its 95 % interval over seeds; None if no seeds are in it."""
    shown = SPREAD.search(numbers)
    if shown is None or not (shown[2] or shown[4]):
        return None
    one, s, other, t = (float(number or 0) for number in shown.groups())
    return one - other, T * ((s**2 + t**2) / len(SEEDS)) ** 0.5


def lines(sections: Sections) -> list[str]:
    """A section of the index: how many verdicts with p < 0.05 a correction for the number of tests would make ties, and of how many the interval over seeds
    covers zero. A test that stands under two papers is one."""
    tested = tests(sections)
    if not tested:
        return []
    alone, lost, unsure = found(tested)
    most = limit([p for p, _ in tested.values()])
    text = TEXT.format(tests=len(tested), alone=len(alone), chance=len(tested) * SIGNIFICANT, kept=len(alone) - len(lost), limit=most)
    ties = f"The other {len(lost)} would be ties: {LOST}." if lost else "None becomes a tie."
    return ["## All tests together", "", f"{text} {ties}", "", *[UNSURE.format(number=len(unsure), mark=FEW), ""] * bool(unsure)]


def marks(sections: Sections) -> dict[Test, str]:
    """What stands behind the verdicts of which this section tells, by task and numbers."""
    _, lost, unsure = found(tests(sections))
    return {test: f" {LOST * (test in lost)}{FEW * (test in unsure)}" for test in {*lost, *unsure}}


def tests(sections: Sections) -> dict[Test, tuple[float, str]]:
    """What each verdict on scores rests on, and the verdict."""
    tested: dict[Test, tuple[float, str]] = {}
    for row in (row for _, _, rows in sections for row in rows):
        if (p := chance(row[3])) is not None:
            tested.setdefault((row[1], row[3]), (p, row[4]))
    return tested


def found(tested: dict[Test, tuple[float, str]]) -> tuple[list[Test], list[Test], list[Test]]:
    """The tests with p < 0.05; those of them that would be ties if all are taken together; those that are no ties and whose interval over seeds covers zero."""
    most = limit([p for p, _ in tested.values()])
    alone = [test for test, (p, _) in tested.items() if p < SIGNIFICANT]
    lost = [test for test in alone if tested[test][0] > most]
    unsure = [test for test in alone if tested[test][1] != TIE and (about := interval(test[1])) is not None and abs(about[0]) <= about[1]]
    return alone, lost, unsure


LOST, FEW = "†", "‡"
TEXT = """\
Verdicts on scores are given one by one, each with a risk of 5 %. {tests} tests stand on this page (one that stands under two papers is counted once), {alone} of them with p < 0.05. If no trainer were better than another,
{chance:.0f} would be expected to. Benjamini and Hochberg's procedure over all {tests} keeps those expected to be wrong to 5 % of what it accepts: {kept} of the {alone} stay, with p up to {limit:.3f} ("p < 0.001" counts as 0.001)."""
UNSURE = """\
p is about the sentences of the test part, given the models: other sentences would show the same. Other seeds might not. Of the verdicts with p < 0.05 that are no ties, the 95 % interval of the difference over seeds (means ± 2.776 standard
errors) covers zero in {number}: {mark}. In these, one side was trained to very different scores by different seeds."""
