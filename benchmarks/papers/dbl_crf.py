"""The comparisons of "Conditional Random Fields with Decode-based Learning" (Sun, Ma): DBL-CRF, which is SAPO.

    python benchmarks/papers/dbl_crf.py [--tasks TASK ...] [--quick]

Its runs are among those of sapo.py.
"""

from __future__ import annotations

import tasks
from sapo import COLUMNS, L2, NOTE, probabilistic
from study import Paper, Table, at_least, cheaper, main


def table(task: tasks.Task, passes: int, l2: tuple[float, ...] = L2) -> Table:
    claims = (at_least("sapo", "sgd"), cheaper("sapo", "sgd"))
    return Table(task, probabilistic(l2), passes=passes, columns=COLUMNS, claims=claims, plots=("score", "weight", "loss"), note=NOTE)


PAPER = Paper(
    "dbl-crf",
    "Decode-based learning of CRFs",
    """\
X. Sun, S. Ma: Conditional Random Fields with Decode-based Learning: Simpler and Faster. The algorithm is that of SAPO
(`dbl-crf` is an alias of `sapo`). The paper compares it with SGD on the full likelihood of a CRF: at least as accurate,
as convergent, with weights as small, and cheaper a pass. The losses drawn below are each trainer's own:
over all paths for SGD, over the five best for SAPO.
""",
    [
        table(tasks.NP_RICH, 30),
        table(tasks.NP_PLAIN, 30),
        table(tasks.WSJ, 20),
        table(tasks.JNLPBA, 15),
    ],
)

if __name__ == "__main__":
    main(PAPER)
