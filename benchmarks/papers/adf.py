"""The comparisons of "Feature-Frequency-Adaptive On-line Training" (Sun, Li, Wang, Lu 2014).

    python benchmarks/papers/adf.py [--tasks TASK ...] [--quick]
"""

from __future__ import annotations

import tasks
from study import Claim, Paper, Row, Table, better, costs, main, steadier

L2 = (0.04, 0.25, 1)
L2_RATE = {"l2": L2, "rate": (0.05,)}
BATCHES = {"batch_size": (1, 2, 4)}
SGD, LBFGS = Row("sgd", "sgd", grid=L2_RATE), Row("lbfgs", "lbfgs", grid={"l2": L2})
NAIVE = Row("naive perceptron", "perceptron", {"average": False}, BATCHES)
AVERAGED = Row("averaged perceptron", "perceptron", grid=BATCHES)
COLUMNS = ("default", "development", "score", "one", "paper", "passes", "paper_passes", "cpu_a_pass", "cpu", "paper_seconds")

Numbers = tuple[float, int, float]
"""The paper's score, passes and seconds."""


def rows(paper: dict[str, Numbers]) -> list[Row]:
    """The trainers of the paper's table 4, and those of its figure 3."""

    def row(row: Row) -> Row:
        score, passes, seconds = paper.get(row.name, (None, None, None))
        return Row(row.name, row.algorithm, row.fixed, row.grid, paper=score, paper_passes=passes, paper_seconds=seconds)

    others = [Row("arow", "arow", grid={"regularization": (1, 10, 100)}), Row("cw", "cw", grid={"confidence": (0.51, 0.55, 0.7)})]
    return [*map(row, (SGD, Row("adf", "adf", grid=L2_RATE), LBFGS, AVERAGED, NAIVE)), *others]


def claims(paper: dict[str, Numbers]) -> tuple[Claim, ...]:
    """Those of every task."""

    def numbers(one: str, other: str, k: int = 0) -> str:
        return f"{paper[one][k]:g} and {paper[other][k]:g}" if paper else ""

    return (
        *(better("adf", other, paper=numbers("adf", other)) for other in ("lbfgs", "sgd", "averaged perceptron", "naive perceptron")),
        better("averaged perceptron", "naive perceptron", paper=numbers("averaged perceptron", "naive perceptron")),
        better("adf", "cw", paper="figure 3"),
        better("adf", "arow", paper="figure 3"),
        *(better("adf", other, paper="figure 5 or 7", one_pass=True) for other in ("sgd", "averaged perceptron")),
        costs("adf", "sgd", 1.25, 1.5, "a pass of adf takes as long as one of sgd", "roughly the same"),
        costs("adf", "lbfgs", 0.2, 1, "adf is about an order of magnitude faster than lbfgs", f"{numbers('adf', 'lbfgs', 2)} s" if paper else "", in_all=True),
    )


def table(task: tasks.Task, paper: dict[str, Numbers], more: tuple[Row, ...] = (), more_claims: tuple[Claim, ...] = (), note: str = "") -> Table:
    return Table(task, [*rows(paper), *more], COLUMNS, (*claims(paper), *more_claims), ("score", "seconds"), note)


def numbers(lbfgs: Numbers, sgd: Numbers, naive: Numbers, averaged: Numbers, adf: Numbers) -> dict[str, Numbers]:
    return {"lbfgs": lbfgs, "sgd": sgd, "naive perceptron": naive, "averaged perceptron": averaged, "adf": adf}


CHUNK = numbers((94.33, 105, 797), (94.26, 56, 904), (93.48, 200, 544), (94.19, 12, 33), (94.52, 17, 282))
WORDS = numbers((97.16, 102, 13551), (97.34, 27, 6811), (96.50, 200, 8383), (97.30, 16, 717), (97.49, 15, 4260))
NAMES = numbers((68.92, 400, 152811), (71.79, 91, 76549), (66.15, 200, 20437), (70.61, 37, 3928), (72.25, 35, 27490))
SENTIMENT = numbers((87.00, 86, 72.2), (87.13, 44, 55.88), (84.55, 25, 5.82), (85.04, 46, 12.22), (87.89, 30, 57.12))
TEN = {"batch_size": 10}
IN_TENS = (Row("sgd, batches of 10", "sgd", TEN, like="sgd"), Row("adf, batches of 10", "adf", TEN, like="adf"))
BATCH_CLAIM = steadier(("adf", "adf, batches of 10"), ("sgd", "sgd, batches of 10"), "adf is less sensitive than sgd to batches of 10")
NOTE = "The paper compares with CW and AROW in figures only, and there without rich edges; here they have the features of the table."

PAPER = Paper(
    "adf",
    "Feature-frequency-adaptive on-line training",
    """\
X. Sun, W. Li, H. Wang, Q. Lu: Feature-Frequency-Adaptive On-line Training for Fast and Accurate Natural Language
Processing. Computational Linguistics 40(3), 2014. The paper gives each feature a learning rate of its own, which falls
faster the more often the feature occurs, and finds the result more accurate than L-BFGS, SGD and perceptrons after
fewer passes, on chunking, biomedical names, word segmentation and sentiment.
""",
    [
        table(tasks.NP_PAPER, CHUNK, IN_TENS, (BATCH_CLAIM,), note=NOTE),
        table(tasks.NP_PLAIN, {}, note="The paper's figure 3 has such features."),
        table(tasks.NP_RICH, CHUNK),
        table(tasks.CWS, WORDS),
        table(tasks.JNLPBA_RICH, NAMES),
        table(tasks.SENTIMENT, SENTIMENT),
        table(tasks.CHUNKS, {}, note="The paper chunks base noun phrases only."),
        table(tasks.JNLPBA, NAMES, note="The paper's features are those of the table with rich edges."),
        Table(tasks.CONLL2003, rows({}), (*COLUMNS[:3], "error", "passes", "cpu_a_pass", "cpu"), note="None of the papers on these trainers has this task."),
    ],
)

if __name__ == "__main__":
    main(PAPER)
