"""The comparisons of the paper on SAPO (Sun, Ma, Zhang, Ren): search-based online learning, SGD, perceptrons, MIRA.

    python benchmarks/papers/sapo.py [--tasks TASK ...] [--quick]
"""

from __future__ import annotations

from dataclasses import replace

import tasks
from adf import AVERAGED, L2_RATE, LBFGS, NAIVE, SGD
from claims import Claim, better, costs, grows_in_line, levels_off, smaller, worsens
from outcome import Row
from study import Paper, Table, main

COLUMNS = ("default", "development", "score", "passes", "cpu_a_pass", "cpu", "weight")
FIVE = {"nbest": 5}
CONSTANT = Row("sapo at a constant rate", "sapo", {**FIVE, "decay": 1}, like="sapo", curve=True)


def probabilistic() -> list[Row]:
    """SGD over all paths, and over the five best ones: with the options of SGD, as in the papers, and with its own."""
    taken = Row("sapo, options of sgd", "sapo", FIVE, like="sgd")
    return [replace(SGD, curve=True), taken, Row("sapo", "sapo", FIVE, L2_RATE, curve=True)]


def mira(name: str, curve: bool = False, **fixed: object) -> Row:
    return Row(name, "mira", fixed, {"aggressiveness": (0.01, 0.1, 1)}, curve=curve)


SEARCH = [
    AVERAGED, replace(NAIVE, curve=True), mira("averaged mira"), mira("averaged 5-best mira", nbest=5),
    mira("naive mira", True, average=False), mira("naive 5-best mira", True, average=False, nbest=5),
]
FIRST = ", the papers' protocol"
NAIVE_ONES = ("naive perceptron", "naive mira", "naive 5-best mira")
SEVERAL = costs("sapo", "sgd", 0.5, 1, "a pass of sapo is several times faster than one of sgd", "several times")
CLAIMS: tuple[Claim, ...] = (
    better("sapo, options of sgd", "sgd", f"sapo is better than sgd, both with the options of sgd{FIRST}", "figure 1"),
    better("sapo", "sgd", "sapo is better than sgd, each with its own options"),
    *(better("sapo, options of sgd", row.name, paper="figure 2") for row in SEARCH),
    better("averaged perceptron", "naive perceptron", paper="figure 2"),
    better("averaged mira", "naive mira", paper="figure 2"),
    costs("sapo", "sgd", 0.9, 1.1, "a pass of sapo costs less than one of sgd", "figure 4"),
    SEVERAL,
    costs("sapo", "averaged perceptron", 1.25, 2, "a pass of sapo costs about as much as one of a perceptron", "roughly comparable"),
    costs("sapo", "averaged mira", 1.25, 2, "a pass of sapo costs about as much as one of mira", "roughly comparable"),
    *(levels_off(steady, growing) for growing in NAIVE_ONES for steady in ("sapo", "sapo at a constant rate")),
    *(grows_in_line(growing) for growing in NAIVE_ONES),
    *(smaller("sapo", growing, "figure 3") for growing in NAIVE_ONES),
    *(worsens(growing, "sapo") for growing in NAIVE_ONES),
)


def table(task: tasks.Task) -> Table:
    return Table(task, [*probabilistic(), CONSTANT, *SEARCH, LBFGS], COLUMNS, CLAIMS, ("score", "seconds", "weight"))


PAPER = Paper(
    "sapo",
    "Search-based probabilistic online learning",
    """\
X. Sun, S. Ma, Y. Zhang, X. Ren: Towards Easier and Faster Sequence Labeling for Natural Language Processing: A
Search-based Probabilistic Online Learning Framework (SAPO). Information Sciences. The gradient of a CRF sums over all
label sequences. SAPO sums over the n best only. Is that enough? The paper finds SAPO more accurate than CRFs and almost as fast to
train as perceptrons. It also finds that SAPO converges, while the weights of perceptrons and MIRA keep growing. It gives its numbers in figures only. Its SAPO has the options that it chose for SGD.

**Weights.** A perceptron predicts the same labels when all its weights are multiplied by one number, so their size alone says little. They stop growing when nothing is left to learn:
after 50 passes the naive perceptron still makes 71 to 104 errors on the training data of noun phrases, chunks and parts of speech, and 8,738 on the training data of biomedical names.
On noun phrases with rich edges `sapo` at a constant rate scores five points below `sapo`, so its weights, which do not grow there, say little.
The claims on the weights and the later scores of the naive 5-best MIRA were added after those on the other two had been seen, and before its own curves were.
""",
    [table(task) for task in (tasks.NP_PLAIN, tasks.WSJ, tasks.NP_RICH, tasks.JNLPBA, tasks.CHUNKS)],
)

if __name__ == "__main__":
    main(PAPER)
