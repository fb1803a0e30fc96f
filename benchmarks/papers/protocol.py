"""How the results of the papers are measured

This protocol was written down, and committed, before any test score of it was computed. A rule that was changed or added later
says so. The protocol is the same for all tables of the pages on `adf`, `sapo`, `dbl-crf` and `lookahead`.

**Features.** Within a table all trainers have the same features, unless a row says otherwise.

**Choosing options.** On development data only, never on a test part:

* Base noun phrases and reviews: 4-fold cross-validation, as in the papers. Each fold is a block of consecutive sequences. Base noun phrases use the first
  3,000 training sentences.
* CoNLL-2003: the official development part. Training on the first 5,000 sentences.
* Elsewhere: the whole last tenth of the training data is held out. Trials train on the first sentences of the rest: 4,000 for all chunks,
  5,000 for biomedical names and the Web Treebank, 3,000 for segmentation, and all of them for the WSJ sample.

**Trials.** Each trainer of a table gets ten trials. A trial is one set of options, trained with seed 0 on all folds.

* `sgd`, `sapo`, `adf`: `--l2` and `--rate`. `sgd` with L1: `--l1` and `--rate`. `lbfgs`: `--l2`. `mira`: `--aggressiveness`. `arow`: `--regularization`.
  `cw`: `--confidence`. `lookahead`: `--margin`, each depth its own. Perceptrons choose `--batch-size` only.
* Values come from fixed ladders, which contain the papers' values: sigma 1, 2, 5 (l2 1, 0.25, 0.04) and lambda 0.1 to 5 (l2 0.2 to 10: lambda is l2 / 2),
  c 0.005 to 0.1. The first trials are 3 values of one option: l2 0.04, 0.25, 1 with the rate 0.05;
  l1 0.1, 0.3, 1; aggressiveness 0.01, 0.1, 1; regularization 1, 10, 100; confidence 0.51, 0.55, 0.7; margin 5, 30, 100; batch size 1, 2, 4.
* Then the search widens. As long as the best trial has no other trial beyond it in one direction of an option, the value two rungs further is tried. Once it is
  enclosed on all sides, its neighbours are tried. The search ends after ten trials. If the best trial is still not enclosed, it is marked *edge*.
* A trial is scored by F1 of chunks, or by token accuracy where the table has accuracy or F1 of words. Its score is the mean over the folds.
* Passes: at most 100. A fold ends after five passes without a better score. The score of the best pass counts. The final model
  is trained for the median of the folds' best passes. Batch trainers (`lbfgs`) stop by their own criterion, and their last score counts.
  The paper on ADF counts passes in another way: until five scores in a row differ by less than 0.01; for naive perceptrons, which do not come so far, 200.
* Models of one pass (`--passes 1`) choose among the same trials by the score after the first pass.

**Final models.** Trained on all training data with the chosen options and passes, one thread. Stochastic trainers are trained five times, with seeds 1 to 5. The table gives the mean
and the standard deviation. `lbfgs` does not depend on a seed and is trained once.

**Verdicts on scores.** Significance is tested by approximate randomisation on the outputs for the test part, as in `crfkit eval --compare` (10,000 shuffles, two-sided).
Runs are paired by seed. p is the median of the five pairs. *Reproduced*: p < 0.05, and the mean is higher as the paper claims. *Contradicted*: p < 0.05, and the
mean is lower. *Tie*: anything else. For a claim that two things are the same, *reproduced*: the means differ by at most 0.1 points, and p >= 0.05; *contradicted*: p < 0.05, and they differ
by more; *tie*: anything else. For a claim that something is better, a pair of seeds counts as p = 1 if its difference has the opposite sign of the difference of the means.
(This was added after one verdict, "seeds disagree", was seen to rest on pairs of both signs.) Many claims are tested, each by
itself: of twenty true ties, one is expected to look significant. [The index](index.md#all-tests-together) tells which verdicts would become ties if all tests were taken together.

**Verdicts on costs.** Processor seconds of a pass are the fastest of nine. The two trainers take turns, three passes each time. (At first the median over all passes of the final models counted, as in the column of the tables. This
was replaced after four such ratios had been seen, because the models had been trained at different times, under different loads. The limits below did not change.) Seconds in all are processor seconds of training, with reading and
warm-up: the median over seeds. For a ratio, *reproduced*: at most the first number in the claim; *contradicted*: at least the second; *tie*: between them.

* "costs less": 0.9 and 1.1. "the same speed a pass": 1.25 and 1.5. "an order of magnitude faster": 0.2 and 1. "at most twice" (beside the papers' claims): 2 and 4.
* "fewer passes": 0.9 and 1.1, of the passes of the final models, those of a warm-up too. "Several times faster": 0.5 and 1. "Smaller weights": 0.5 and 1, of the mean
  absolute weight of the final models. (The claims of this line were added after the numbers had been seen; the pages had left them out.)

**Growth of weights.** Trained for 50 passes with the chosen options, seed 1. A line is fitted to the mean absolute weight after passes 10 to 50. Growth is the rise of
the line, relative to its value at pass 10. *Reproduced*: the trainer that the paper says grows rises by more than 10 %, and the steady one by less than half of that. *Contradicted*: the steady one rises as
much or more. *Tie*: anything else. A learning rate that falls to zero makes any trainer steady. So `sapo` at a constant rate (`--decay 1`) is the control, and is judged too.

**Growth in proportion to passes.** (Added after these curves had been seen.) The paper calls the growth of perceptrons and MIRA linear, or more. A weight that is proportional to the number of passes
rises by 400 % from pass 10 to pass 50. *Reproduced*: at least 200 %. *Contradicted*: at most 100 %. *Tie*: between them.

**Convergence of weights and losses.** (Added after these curves had been seen.) These are the same 50 passes. Weights settle if the line rises by at most 10 %. A loss settles if it falls by
at most 1 % from pass 40 to pass 50. *Reproduced*: that of `sapo` settles. *Contradicted*: it does not, and that of `sgd` does. *Tie*: neither does.

**Scores that get worse with more passes.** (Added later, before any of these runs.) Trained on the first fold for 50 passes with the chosen options, seeds 1 to 5. The fall is the mean
development score of passes 6 to 10 minus the mean of passes 46 to 50. A trainer gets worse if its mean fall is above 0.1 points and above two standard errors over seeds. *Reproduced*: the trainer that
the paper says diverges gets worse, and the steady one does not. *Contradicted*: its mean fall is not above zero, or not above that of the steady one. *Tie*: anything else.

**Perceptrons in claims on costs and growth** have batches of one, as in the papers, whatever size was chosen for accuracy. (This was added after two such verdicts on each of two tasks had been seen with the chosen sizes, 3, 6 and
32. Larger batches make a pass more expensive.)

**Sensitivity to batches.** How much accuracy do updates of ten sequences cost, with the options chosen for updates of one? The loss is the mean score with 1 minus the mean score with 10. *Reproduced*: `sgd` loses more than `adf`,
by more than two standard errors over seeds; *contradicted*: the other way round; *tie*: anything else. (Two standard errors of five seeds are an interval of 88 %, no more. With one of
95 %, which has 2.776, "contradicted" on segmentation would be a tie. The rule stays as it was when the scores were seen.)

**One commit.** All runs of a page use one commit of the package. Every number comes from a line of `docs/results/raw/TASK.jsonl`.

**What had been seen before.** The test parts of all corpora here, except CoNLL-2003 as F1, had been scored in one to four earlier rounds of this project, with other options, grids and rates.
The defaults and the shipped templates date from that time. Where features or a rule were chosen after a test score was known, the page says so under *Seen before*, and reports both.

## Tables and pictures

* A number comes from the first line of its run: three tasks have a few runs twice.
* *dev.* is the development score by which options were chosen. A row that took over the options of another has none. *dev., defaults* is the score of the trainer's defaults, measured in the same way,
  at the commit of the run: `--l2 1`; r = 30, a confidence of 0.55, a margin of 30; 30 passes of `sgd` and 20 of `adf`. They were up to 4.2 points behind the best
  of the ten trials, on named entities. [Today's defaults](../defaults.md) often differ.
* Test scores are means over five seeds, with the standard deviation. *paper* gives the paper's own numbers, on its data and machine.
* Times are processor seconds on a shared machine, so they are not exact. *In all* includes reading the data and the warm-up of `lbfgs`. The passes of the warm-up are the number before the +. The smaller `--l2` is, the more
  iterations `lbfgs` needs, so its seconds depend on the chosen penalty as much as on the method. Where it has 1000 passes it stopped at that limit, and the objective might have
  fallen further.
* The pictures of scores show the chosen trial on development data, averaged over folds. In pictures over passes the curve of `lbfgs` begins after its warm-up. Pictures over seconds include the warm-up.
* *Options* below a table lack the passes that it has. *edge*: the search ended before the best trial was enclosed by others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import fsum
from statistics import fmean, median, stdev

SEEDS = (1, 2, 3, 4, 5)
TRIALS = 10
PASSES = 100
PATIENCE = 5
LONG = 50
"""Passes of the runs that show how weights grow."""
SIGNIFICANT = 0.05
REPRODUCED, TIE, CONTRADICTED, MISSING = "reproduced", "tie", "contradicted", "not measured yet"

LADDERS: dict[str, tuple[float, ...]] = {
    "l2": (0.0005, 0.001, 0.002, 0.004, 0.01, 0.02, 0.04, 0.1, 0.2, 0.25, 0.5, 1, 2, 4, 10, 20, 40, 100),
    "l1": (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 20),
    "rate": (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
    "batch_size": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32),
    "aggressiveness": (0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
    "regularization": (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000),
    "confidence": (0.5001, 0.501, 0.503, 0.51, 0.53, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999),
    "margin": (0.1, 0.3, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 1000),
}
"""The values of each option that a search can come to."""
NATURAL = {"batch_size": (1,), "confidence": (0.5001, 0.999)}
"""The ends of ladders that are those of the option."""

Point = tuple[float, ...]


class Search:
    """Trials of one trainer: which comes next, and whether the best one is enclosed by others."""

    def __init__(self, grid: dict[str, tuple[float, ...]]):
        self.names = tuple(grid)
        self.start = list(product(*grid.values()))
        self.tried: dict[Point, float] = {}

    def points(self) -> Iterator[Point]:
        """What to try, as long as there are trials left; the score of each is to be put into `tried`."""
        while len(self.tried) < TRIALS and (point := self._next()) is not None:
            yield point

    @property
    def best(self) -> Point:
        """The one with the highest score; of equals, the first that was tried."""
        return max(self.tried, key=self.tried.__getitem__)

    @property
    def enclosed(self) -> bool:
        """Whether there are trials beyond the best one on both sides of each option, or the option has no values there."""
        ends = any(value in (LADDERS[name][0], LADDERS[name][-1]) and value not in NATURAL.get(name, ()) for name, value in zip(self.names, self.best, strict=True))
        return not ends and next(self._open(self.best), None) is None

    def _next(self) -> Point | None:
        for point in self.start:
            if point not in self.tried:
                return point
        falling = sorted(self.tried, key=self.tried.__getitem__, reverse=True)
        around = (near for point in falling for near in (*self._open(point), *self._beside(point, 1)) if near not in self.tried)
        return next(around, None)

    def _open(self, point: Point) -> Iterator[Point]:
        """Two rungs further, where nothing beyond the point was tried."""
        sides = list(enumerate(zip(self._beside(point, -2, False), self._beside(point, 2, False), strict=True)))
        for axis, (low, high) in reversed(sides):   # the rate first, which matters more
            line = [other[axis] for other in self.tried if other[:axis] + other[axis + 1 :] == point[:axis] + point[axis + 1 :]]
            if high != point and max(line) <= point[axis]:
                yield high
            if low != point and min(line) >= point[axis]:
                yield low

    def _beside(self, point: Point, rungs: int, both: bool = True) -> Iterator[Point]:
        for axis, name in enumerate(self.names):
            ladder = LADDERS[name]
            here = ladder.index(point[axis])
            for step in (rungs, -rungs) if both else (rungs,):
                value = ladder[min(max(here + step, 0), len(ladder) - 1)]
                yield (*point[:axis], value, *point[axis + 1 :])


def on_scores(better: Sequence[float], other: Sequence[float], p: Sequence[float]) -> str:
    """The verdict on a claim that one row is better: scores of each, and p of each pair."""
    if median(p) >= SIGNIFICANT:
        return TIE
    return REPRODUCED if fmean(better) > fmean(other) else CONTRADICTED


def of_one_sign(better: Sequence[float], other: Sequence[float], p: Sequence[float]) -> list[float]:
    """p of each pair of seeds, but 1 where the difference has another sign than that of the means."""
    gap = fmean(better) - fmean(other)
    return [one if (better[k % len(better)] - other[k % len(other)]) * gap > 0 else 1.0 for k, one in enumerate(p)]


def on_sameness(one: Sequence[float], other: Sequence[float], p: Sequence[float]) -> str:
    """The verdict on a claim that two rows are as good as each other."""
    near, alike = abs(fmean(one) - fmean(other)) <= 0.1, median(p) >= SIGNIFICANT
    return REPRODUCED if near and alike else TIE if near or alike else CONTRADICTED


def on_ratio(ratio: float, low: float, high: float) -> str:
    """The verdict on a claim about costs."""
    return REPRODUCED if ratio <= low else CONTRADICTED if ratio >= high else TIE


def growth(weights: Sequence[float]) -> float:
    """By how much the line through passes 10 to 50 rises, as a part of its value at pass 10."""
    y = weights[9:LONG]
    n = len(y)
    middle, mean = (n - 1) / 2, fmean(y)
    slope = fsum((k - middle) * (value - mean) for k, value in enumerate(y)) / fsum((k - middle) ** 2 for k in range(n))
    return slope * (n - 1) / (mean - slope * middle)


def on_growth(growing: float, steady: float) -> str:
    """The verdict on a claim that the weights of one trainer keep growing, and those of another do not."""
    if steady >= growing:
        return CONTRADICTED
    return REPRODUCED if growing > 0.1 and steady < growing / 2 else TIE


def on_line(rise: float) -> str:
    """The verdict on a claim that weights grow in proportion to passes, or faster."""
    return REPRODUCED if rise >= 2 else CONTRADICTED if rise <= 1 else TIE


def on_settling(own: float, other: float, most: float) -> str:
    """The verdict on a claim that something settles as another does: how far both move, and what is still rest."""
    return REPRODUCED if own <= most else CONTRADICTED if other <= most else TIE


def late_fall(losses: Sequence[float]) -> float:
    """By how much a loss falls from pass 40 to pass 50, as a part of what it was."""
    return 1 - losses[LONG - 1] / losses[LONG - 11]


def fall(scores: Sequence[float]) -> float:
    """By how much a score is lower in passes 46 to 50 than in passes 6 to 10."""
    return fmean(scores[5:10]) - fmean(scores[LONG - 5 : LONG])


def on_falls(worse: Sequence[float], steady: Sequence[float]) -> str:
    """The verdict on a claim that one trainer gets worse with more passes, and another does not: falls by seed."""
    if fmean(worse) <= max(0, fmean(steady)):
        return CONTRADICTED
    falls = [fmean(one) > max(0.1, 2 * stdev(one) / len(one) ** 0.5) for one in (worse, steady)]
    return REPRODUCED if falls == [True, False] else TIE


def on_losses(steady: tuple[Sequence[float], Sequence[float]], other: tuple[Sequence[float], Sequence[float]]) -> str:
    """The verdict on a claim that one row loses less than another: scores before and after of each."""
    gap = fmean(other[0]) - fmean(other[1]) - fmean(steady[0]) + fmean(steady[1])
    error = fsum(stdev(scores) ** 2 / len(scores) for scores in (*steady, *other)) ** 0.5
    return TIE if abs(gap) <= 2 * error else REPRODUCED if gap > 0 else CONTRADICTED
