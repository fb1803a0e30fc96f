"""The papers' claims about the rows of a table, and how they are judged, by the rules of protocol.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, median, stdev

import protocol
import report
from outcome import Outcome, Outcomes, scored
from protocol import SEEDS
from runs import Incomplete, Runs


@dataclass(frozen=True)
class Claim:
    """A claim of a paper. `judge` returns a verdict and the numbers behind it."""

    text: str
    needs: tuple[str, ...]
    judge: Callable[[Outcomes, Runs], tuple[str, str]]
    paper: str = ""
    """The paper's numbers."""
    one_pass: bool = False
    """Whether it is about models after one pass."""
    own: bool = False
    """Not a claim of the paper: it is on the page, but not among the paper's claims."""

    def verdict(self, found: Outcomes, runs: Runs) -> tuple[str, str]:
        if not all(name in found for name in self.needs):
            return protocol.MISSING, ""
        try:
            return self.judge(found, runs)
        except Incomplete:
            return protocol.MISSING, ""


def better(one: str, other: str, text: str | None = None, paper: str = "", one_pass: bool = False, own: bool = False) -> Claim:
    """The claim that one row has the better score."""

    def judge(found: Outcomes, runs: Runs) -> tuple[str, str]:
        scores, p = _compared(found[one], found[other], runs, one_pass)
        verdict = protocol.on_scores(*scores, protocol.of_one_sign(*scores, p))
        return verdict, _numbers(scores, p) + ", seeds disagree" * (verdict != protocol.on_scores(*scores, p))

    after = " after one pass" if one_pass else ""
    return Claim(text or f"{one} is better than {other}{after}", (one, other), judge, paper, one_pass, own)


def same(one: str, other: str, text: str, paper: str = "no difference") -> Claim:
    """The claim that two rows have the same score."""

    def judge(found: Outcomes, runs: Runs) -> tuple[str, str]:
        scores, p = _compared(found[one], found[other], runs)
        return protocol.on_sameness(*scores, p), _numbers(scores, p)

    return Claim(text, (one, other), judge, paper)


def _compared(one: Outcome, other: Outcome, runs: Runs, one_pass: bool = False) -> tuple[list[list[float]], list[float]]:
    """The scores of two rows, and the p-value of each pair of seeds."""
    first, second = ((row.first if one_pass else row.tests) for row in (one, other))
    pairs = [(first[k % len(first)], second[k % len(second)]) for k in range(max(len(first), len(second)))]
    name = "accuracy" if one.task.metric == "accuracy" else "f1"
    return [[scored(one.task, record) for record in records] for records in (first, second)], [runs.compare(one.task, *pair)["p"][name] for pair in pairs]


def _numbers(scores: list[list[float]], p: list[float]) -> str:
    return f"{report.spread(scores[0])} and {report.spread(scores[1])}, p {report.chance(median(p))}"


def costs(one: str, other: str, low: float, high: float, text: str, paper: str = "", in_all: bool = False, own: bool = False) -> Claim:
    """The claim that one row takes fewer processor seconds than another, per pass or in total."""

    def judge(found: Outcomes, runs: Runs) -> tuple[str, str]:
        a, b = [found[name].cpu for name in (one, other)]
        if not in_all:
            a, b = runs.pace(found[one].task, found[one].tests[0], found[other].tests[0])["fastest"]
        return _ratio(a, b, low, high, f"{report.short(a)} s and {report.short(b)} s")

    return Claim(text, (one, other), judge, paper, own=own)


def fewer(one: str, other: str, paper: str = "") -> Claim:
    """The claim that one row needs fewer passes."""

    def judge(found: Outcomes, _: Runs) -> tuple[str, str]:
        a, b = (found[name].all_passes for name in (one, other))
        return _ratio(a, b, 0.9, 1.1, f"{a:,} and {b:,}")

    return Claim(f"{one} needs fewer passes than {other}", (one, other), judge, paper)


def smaller(one: str, other: str, paper: str = "") -> Claim:
    """The claim that one row ends with smaller weights."""

    def judge(found: Outcomes, _: Runs) -> tuple[str, str]:
        a, b = (found[name].weight for name in (one, other))
        return _ratio(a, b, 0.5, 1, f"{a:.3g} and {b:.3g}")

    return Claim(f"the weights of {one} are smaller than those of {other}", (one, other), judge, paper)


def _ratio(a: float, b: float, low: float, high: float, numbers: str) -> tuple[str, str]:
    ratio = a / b if b else 1.0
    return protocol.on_ratio(ratio, low, high), f"{numbers}: {ratio:.2g} times; reproduced: at most {low:g}, contradicted: at least {high:g}"


def levels_off(steady: str, growing: str) -> Claim:
    """The claim that the weights of one row keep growing and those of another do not."""

    def judge(found: Outcomes, _: Runs) -> tuple[str, str]:
        rises = [protocol.growth(found[name].curve["weights"]) for name in (growing, steady)]
        return protocol.on_growth(*rises), f"from pass 10 to 50 the line rises by {_share(rises[0])} and {_share(rises[1])}"

    return Claim(f"the weights of {growing} keep growing, those of {steady} do not", (growing, steady), judge)


def grows_in_line(growing: str) -> Claim:
    """The claim that weights grow in proportion to passes, or faster."""

    def judge(found: Outcomes, _: Runs) -> tuple[str, str]:
        rise = protocol.growth(found[growing].curve["weights"])
        return protocol.on_line(rise), f"from pass 10 to 50 the line rises by {_share(rise)}; in proportion to passes it would be 400%"

    return Claim(f"the weights of {growing} grow in proportion to passes, or faster", (growing,), judge, "figure 3")


def settles(what: str, one: str, other: str, paper: str) -> Claim:
    """The claim that weights, or the loss, of one row settle as those of another do."""

    def judge(found: Outcomes, _: Runs) -> tuple[str, str]:
        curves = [found[name].curve for name in (one, other)]
        if what == "weights":
            a, b = (protocol.growth(curve["weights"]) for curve in curves)
            return protocol.on_settling(a, b, 0.1), f"from pass 10 to 50 the line rises by {_share(a)} and {_share(b)}"
        a, b = (protocol.late_fall(curve["losses"]) for curve in curves)
        return protocol.on_settling(a, b, 0.01), f"from pass 40 to 50 they fall by {a:.2%} and {b:.2%}"

    of = "the weights" if what == "weights" else "the loss"
    return Claim(f"{of} of {one} settle{'s' * (what == 'loss')}, as {'those' if what == 'weights' else 'that'} of {other}", (one, other), judge, paper)


def worsens(growing: str, steady: str) -> Claim:
    """The claim that the scores of one row fall with more passes, and those of another do not."""

    def judge(found: Outcomes, runs: Runs) -> tuple[str, str]:
        falls = [
            [protocol.fall(runs.drift(row.task, row.row.algorithm, row.options, seed)["scores"]) for seed in (SEEDS[:2] if runs.quick else SEEDS)]
            for row in (found[growing], found[steady])
        ]
        changes = (f"{-fmean(one):+.2f} ± {stdev(one):.2f}" for one in falls)
        return protocol.on_falls(*falls), f"from passes 6-10 to 46-50 they change by {' and '.join(changes)} points"

    return Claim(f"scores of {growing} get worse with more passes, those of {steady} do not", (growing, steady), judge, "figures 1, 2")


def steadier(steady: tuple[str, str], other: tuple[str, str], text: str) -> Claim:
    """The claim that a change costs one trainer less than another; a pair has the rows before and after the change."""

    def judge(found: Outcomes, _: Runs) -> tuple[str, str]:
        (a, b), (c, d) = ([found[name].scores for name in pair] for pair in (steady, other))
        return protocol.on_losses((a, b), (c, d)), f"{steady[0]} loses {_plain(fmean(a) - fmean(b))}, {other[0]} {_plain(fmean(c) - fmean(d))}"

    return Claim(text, (*steady, *other), judge)


def _share(part: float) -> str:
    """In per cent, without the sign of a negative zero."""
    return f"{round(part, 3) + 0.0:.1%}"


def _plain(points: float) -> str:
    """The number without the sign of a negative zero."""
    return f"{round(points, 2) + 0.0:.2f}"
