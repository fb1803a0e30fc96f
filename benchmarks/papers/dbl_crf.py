"""The comparisons of "Conditional Random Fields with Decode-based Learning" (Sun, Ma): DBL-CRF, which is SAPO.

    python benchmarks/papers/dbl_crf.py [--tasks TASK ...] [--quick]

Most of its runs are among those of sapo.py.
"""

from __future__ import annotations

import tasks
from claims import better, costs, same, settles
from outcome import Row
from sapo import COLUMNS, FIVE, SEVERAL, probabilistic
from study import Paper, Table, main

VARIANTS = [
    Row("sapo, exactly five", "sapo", {**FIVE, "ratio": 0}, like="sapo"),
    Row("sapo, beam of 50", "sapo", {**FIVE, "ratio": 0, "search": "beam"}, like="sapo"),
    Row("sapo, ten best", "sapo", {"nbest": 10}, like="sapo"),
]
CLAIMS = (
    better("sapo, options of sgd", "sgd", "dbl-crf is better than sgd, both with the options of sgd, the papers' protocol", "figure 1"),
    better("sapo, exactly five", "sgd", "with exactly five candidates dbl-crf is better than sgd", "figure 1"),
    same("sapo, beam of 50", "sapo, exactly five", "beam search makes almost no difference"),
    same("sapo, ten best", "sapo", "five candidates are as good as ten"),
    costs("sapo, exactly five", "sgd", 0.9, 1.1, "a pass with exactly five candidates costs less than one of sgd", "figure 4"),
    SEVERAL,
    settles("weights", "sapo", "sgd", "figure 2"),
    settles("loss", "sapo", "sgd", "figure 3"),
)


def table(task: tasks.Task) -> Table:
    return Table(task, [*probabilistic(), *VARIANTS], COLUMNS, CLAIMS, ("score", "weight", "loss"))


PAPER = Paper(
    "dbl-crf",
    "Decode-based learning of CRFs",
    """\
X. Sun, S. Ma: Conditional Random Fields with Decode-based Learning: Simpler and Faster. The algorithm is SAPO:
`dbl-crf` is an alias of `sapo`. Is it better than SGD on the full likelihood of a CRF? The paper finds it more accurate and cheaper
per pass. Its weights stay as small, and it converges as well. The pictures of losses show each trainer's own loss:
SGD sums over all label sequences, SAPO over the candidates only.

The paper gives its numbers in figures only. By default `sapo` drops candidates that are less than 0.05 times as probable as the best one (`--ratio`), as the authors'
program does. So it often keeps fewer than five. *Exactly five* keeps all five, as the paper describes. *Beam of 50* is the paper's approximate search; today a pass
with it takes [about twice as long](../performance.md#what-is-slow) as with the exact one, not four to ten times as at the commit of these runs.
""",
    [table(task) for task in (tasks.NP_PLAIN, tasks.WSJ, tasks.NP_RICH, tasks.JNLPBA)],
)

if __name__ == "__main__":
    main(PAPER)
