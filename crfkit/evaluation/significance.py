"""How much chance is in scores: in that of one output, and in the difference between two.

The interval of a score takes sentences as drawn at random, with all their tokens and chunks. A score is a ratio of sums over
sentences, whose deviation follows from how much the sentences depart from the ratio.

Is the difference between two outputs significant? Approximate randomisation over sentences: under the null hypothesis
it does not matter which of the two systems labelled a sentence. So the outputs for each sentence are exchanged with
probability 1/2, and the resulting difference in score is compared with the one observed; p is the share of shuffles, the
observed one included, with a difference at least as large.
"""

from __future__ import annotations

from math import fsum, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.errors import DataError, OptionError
from crfkit.values import plural

if TYPE_CHECKING:
    from .counting import Tally

_AT_ONCE = 1 << 20  # exchanges
_DEVIATIONS = 1.959963984540054  # of a normal distribution, on either side of its mean: 95 %
_CLOSE = 1e-12  # equal differences may differ by rounding


def half_widths(tally: Tally, table: bytes) -> list[float]:
    """Half the widths of the 95 % intervals of precision, recall, F1 and accuracy. `table`: that of the scheme."""
    if tally.sentences < 2:
        raise DataError("an interval needs two sentences or more", tally.path)
    gold, found, correct = np.diff(np.array(tally.counters[table].kept()).reshape(-1, 3), axis=0, prepend=0).T
    _, tokens, right, _ = np.array(tally.kept()).reshape(-1, 4).T
    widths = []
    for part, whole in ((correct, found), (correct, gold), (2 * correct, gold + found), (right, tokens)):
        total = int(whole.sum())
        departures = part - whole * (int(part.sum()) / max(1, total))
        squares = fsum((departures * departures).tolist())  # the same on every machine
        widths.append(_DEVIATIONS * sqrt(squares * len(part) / (len(part) - 1)) / max(1, total))
    return widths


def shuffle(a: Tally, b: Tally, table: bytes, shuffles: int, seed: int) -> list[int]:
    """The number of shuffles, which exchange the outputs for each sentence at random, in which the two outputs differ at least as
    much as observed: in precision, recall, F1 and accuracy. `table`: that of the scheme."""
    right_a, right_b = _right(a, b)
    x, y = (np.array(tally.counters[table].kept()).reshape(-1, 3) for tally in (a, b))
    totals = np.array([[*x[-1], right_a.sum()], [*y[-1], right_b.sum()]]) if len(x) else np.zeros((2, 4), dtype=np.int64)
    # what an exchange adds to the found and correct chunks and to the right labels of a, and takes from those of b
    changes = np.column_stack([np.diff(y - x, axis=0, prepend=0)[:, 1:], right_b - right_a])
    changes = changes[changes.any(axis=1)].astype(np.float64)
    observed = _differences(totals, np.zeros((1, 3)), a.tokens)
    extreme = np.zeros(4, dtype=np.int64)
    words = -(-len(changes) // 64)
    at_once = max(1, _AT_ONCE // max(1, 64 * words))
    for first in range(0, shuffles, at_once):
        n = min(at_once, shuffles - first)
        bits = _random(seed, first * words, n * words).astype("<u8").view(np.uint8).reshape(n, -1)
        exchanged = np.unpackbits(bits, axis=1, count=len(changes), bitorder="little")
        extreme += (_differences(totals, exchanged @ changes, a.tokens) >= observed - _CLOSE).sum(axis=0)
    return [int(count) for count in extreme]


def _right(a: Tally, b: Tally) -> tuple[Any, Any]:
    """The number of right labels of each sentence in both. Refuses inputs whose sentences were not kept, or whose gold columns differ."""
    if not (a.keep and b.keep):
        raise OptionError("a comparison needs the scores of each sentence: count with keep=True")
    x, y = (np.array(tally.kept()).reshape(-1, 4) for tally in (a, b))
    both = min(len(x), len(y))
    for s in np.flatnonzero((x[:both, 1] != y[:both, 1]) | (x[:both, 3] != y[:both, 3]))[:1]:
        place = f"sentence {s + 1} of {a.path}, in line {x[s, 0]}"
        said = f"the gold labels of this sentence differ from those of {place}"
        if x[s, 1] != y[s, 1]:
            said = f"this sentence has {plural(int(y[s, 1]), 'token')}, but {place}, has {x[s, 1]}"
        raise DataError(said, b.path, int(y[s, 0]))
    if len(x) != len(y):
        raise DataError(f"{plural(len(y), 'sentence')}, but {a.path} has {len(x)}; only outputs for the same gold data can be compared", b.path)
    return x[:, 2], y[:, 2]


def _differences(totals: Any, moved: Any, tokens: int) -> Any:
    """Absolute differences in precision, recall, F1 and accuracy, of each row of what changed sides."""
    scores = []
    for (gold, found, correct, right), sign in zip(totals, (1, -1), strict=True):
        found, correct, right = (number + sign * column for number, column in zip((found, correct, right), moved.T, strict=True))
        parts = ((correct, found), (correct, gold + 0 * found), (2 * correct, gold + found), (right, tokens + 0 * found))
        scores.append([np.divide(part, whole, out=np.zeros(len(moved)), where=whole != 0) for part, whole in parts])
    return abs(np.array(scores[0]) - np.array(scores[1])).T


def _random(seed: int, first: int, n: int) -> Any:
    """The numbers of splitmix64, starting at one of them."""
    z = np.arange(first + 1, first + n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
