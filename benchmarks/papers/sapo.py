"""The comparisons of the paper on SAPO (Sun, Ma, Zhang, Ren): search-based online learning, SGD, perceptrons, MIRA.

    python benchmarks/papers/sapo.py [--tasks TASK ...] [--quick]
"""

from __future__ import annotations

import tasks
from study import Paper, Row, Table, at_least, levels_off, main

L2 = (0.5, 1.0, 2.0)
COLUMNS = ("default", "development", "score", "passes", "cpu_a_pass", "cpu", "weight")


def probabilistic(l2: tuple[float, ...] = L2) -> list[Row]:
    """SGD over all paths, and over the five best ones."""
    return [Row("sgd", "sgd", grid={"l2": l2}), Row("sapo", "sapo", {"nbest": 5}, grid={"l2": l2})]


SEARCH = [
    Row("naive perceptron", "perceptron", {"average": False}),
    Row("averaged perceptron", "perceptron"),
    Row("naive mira", "mira", {"average": False}),
    Row("averaged mira", "mira"),
    Row("naive 5-best mira", "mira", {"average": False, "nbest": 5}),
    Row("averaged 5-best mira", "mira", {"nbest": 5}),
]
CLAIMS = (
    at_least("sapo", "sgd"),
    at_least("sapo", "averaged perceptron", "averaged mira", "averaged 5-best mira"),
    at_least("averaged perceptron", "naive perceptron"),
    at_least("averaged mira", "naive mira"),
    levels_off("sapo", "naive perceptron"),
    levels_off("sapo", "naive mira"),
)
NOTE = "The paper gives its numbers in figures only."


def table(task: tasks.Task, passes: int, l2: tuple[float, ...] = L2) -> Table:
    rows = [*probabilistic(l2), *SEARCH, Row("lbfgs", "lbfgs", grid={"l2": l2})]
    return Table(task, rows, passes=passes, columns=COLUMNS, claims=CLAIMS, plots=("score", "weight"), note=NOTE)


PAPER = Paper(
    "sapo",
    "Search-based probabilistic online learning",
    """\
X. Sun, S. Ma, Y. Zhang, X. Ren: Towards Easier and Faster Sequence Labeling for Natural Language Processing: A
Search-based Probabilistic Online Learning Framework (SAPO). Information Sciences. The paper replaces the sum over all
label sequences in a CRF's gradient by one over the n best, and finds the result at least as accurate as CRFs, almost as
fast to train as perceptrons, and convergent where the weights of perceptrons and MIRA go on growing.
""",
    [
        table(tasks.NP_RICH, 30),
        table(tasks.NP_PLAIN, 30),
        table(tasks.CHUNKS, 20),
        table(tasks.WSJ, 20),
        table(tasks.JNLPBA, 15),
    ],
)

if __name__ == "__main__":
    main(PAPER)
