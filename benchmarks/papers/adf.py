"""The comparisons of "Feature-Frequency-Adaptive On-line Training" (Sun, Li, Wang, Lu 2014).

    python benchmarks/papers/adf.py [--tasks TASK ...] [--quick]
"""

from __future__ import annotations

from dataclasses import replace

import tasks
from claims import Claim, better, costs, fewer, same, steadier
from outcome import Row
from report import short
from study import Paper, Table, main

L2 = (0.04, 0.25, 1)
L2_RATE = {"l2": L2, "rate": (0.05,)}
BATCHES = {"batch_size": (1, 2, 4)}
ADF = Row("adf", "adf", grid=L2_RATE)
CONFIDENT = [Row("arow", "arow", grid={"regularization": (1, 10, 100)}), Row("cw", "cw", grid={"confidence": (0.51, 0.55, 0.7)})]
SGD, LBFGS = Row("sgd", "sgd", grid=L2_RATE), Row("lbfgs", "lbfgs", grid={"l2": L2})
NAIVE = Row("naive perceptron", "perceptron", {"average": False}, BATCHES)
AVERAGED = Row("averaged perceptron", "perceptron", grid=BATCHES)
COLUMNS = ("default", "development", "score", "one", "paper", "passes", "paper_passes", "cpu_a_pass", "cpu", "paper_seconds")

WITH_PARTS = (*COLUMNS[:3], "pr", *COLUMNS[3:5], "paper_pr", *COLUMNS[5:])
Numbers = tuple[float, int, float, str | None]
"""The paper's score, passes, seconds, precision and recall."""


def rows(paper: dict[str, Numbers]) -> list[Row]:
    """The trainers of the paper's table 4, and those of its figure 3."""

    def row(row: Row) -> Row:
        score, passes, seconds, parts = paper.get(row.name, (None, None, None, None))
        return replace(row, paper=score, paper_passes=passes, paper_seconds=seconds, paper_pr=parts)

    return [*map(row, (SGD, ADF, LBFGS, AVERAGED, NAIVE)), *CONFIDENT]


def claims(paper: dict[str, Numbers], one_pass: str = "", others: str = "", by_chance: tuple[str, ...] = ()) -> tuple[Claim, ...]:
    """Those of every task: where the paper has one pass and CW and AROW, and from which trainers `adf` differs by chance there, as it says itself."""

    def numbers(one: str, other: str, k: int = 0) -> str:
        return f"{paper[one][k]:,.{2 * (k == 0)}f} and {paper[other][k]:,.{2 * (k == 0)}f}" if paper else ""

    def scores(other: str) -> str:
        return numbers("adf", other) + ", not significant" * (other in by_chance)

    def seconds(other: str) -> str:
        return f"{numbers('adf', other, 2)} s" if paper else ""

    a_pass = " and ".join(f"{short(paper[name][2] / paper[name][1])} s" for name in ("adf", "sgd")) if paper else "roughly the same"
    return (
        *(better("adf", other, paper=scores(other)) for other in ("lbfgs", "sgd", "averaged perceptron", "naive perceptron")),
        better("averaged perceptron", "naive perceptron", paper=numbers("averaged perceptron", "naive perceptron")),
        *(better("adf", row.name, paper=others) for row in CONFIDENT),
        *(better("adf", other, paper=one_pass, one_pass=True) for other in ("sgd", "averaged perceptron")),
        *(fewer("adf", other, numbers("adf", other, 1)) for other in ("sgd", "lbfgs")),
        costs("adf", "sgd", 1.25, 1.5, "a pass of adf takes as long as one of sgd", a_pass),
        costs("adf", "sgd", 0.5, 1, "adf is several times faster than sgd, in all", seconds("sgd"), in_all=True),
        costs("adf", "lbfgs", 0.2, 1, "adf is about an order of magnitude faster than lbfgs, in all", seconds("lbfgs"), in_all=True),
    )


def table(task: tasks.Task, paper: dict[str, Numbers], judged: tuple[Claim, ...], more: tuple[Row, ...] = (), note: str = "") -> Table:
    columns = WITH_PARTS if any(found[3] for found in paper.values()) else COLUMNS
    return Table(task, [*rows(paper), *more], columns, judged, ("score", "seconds"), note)


def alone(names: set[str], table: Table) -> Table:
    """The table with only some of its trainers, and the claims on them."""
    return replace(table, rows=[row for row in table.rows if row.name in names], claims=tuple(claim for claim in table.claims if names.issuperset(claim.needs)))


def numbers(lbfgs: Numbers, sgd: Numbers, naive: Numbers, averaged: Numbers, adf: Numbers) -> dict[str, Numbers]:
    return {"lbfgs": lbfgs, "sgd": sgd, "naive perceptron": naive, "averaged perceptron": averaged, "adf": adf}


CHUNK = numbers(
    (94.33, 105, 797.04, "94.57 / 94.09"), (94.26, 56, 903.88, "94.48 / 94.04"), (93.48, 200, 543.51, "93.66 / 93.31"),
    (94.19, 12, 33.45, "94.34 / 94.04"), (94.52, 17, 282.17, "94.66 / 94.38"),
)
WORDS = numbers(
    (97.16, 102, 13550.68, "97.46 / 96.86"), (97.34, 27, 6811.15, "97.58 / 97.11"), (96.50, 200, 8382.606, "96.99 / 96.03"),
    (97.30, 16, 716.87, "97.56 / 97.05"), (97.49, 15, 4260.08, "97.67 / 97.31"),
)
NAMES = numbers(
    (68.92, 400, 152811.34, "67.69 / 70.20"), (71.79, 91, 76549.21, "70.91 / 72.69"), (66.15, 200, 20436.69, "65.37 / 66.95"),
    (70.61, 37, 3928.01, "68.76 / 72.56"), (72.25, 35, 27490.24, "71.71 / 72.80"),
)
SENTIMENT = numbers((87.00, 86, 72.2, None), (87.13, 44, 55.88, None), (84.55, 25, 5.82, None), (85.04, 46, 12.22, None), (87.89, 30, 57.12, None))
SETTINGS: tuple[dict[str, float], ...] = ({"alpha": 0.98}, {"beta": 0.3}, {"beta": 0.9}, {"window": 447}, {"window": 1787})
"""Beside the paper's 0.995, 0.6 and a tenth of the 8,936 sequences of base noun phrases: half and twice as long a window."""
SET = tuple(Row(f"adf, {name} {value:g}", "adf", {name: value}, like="adf") for setting in SETTINGS for name, value in setting.items())
INSENSITIVE = tuple(same(row.name, "adf", f"{row.name} is as good as adf with the settings of the paper", "not sensitive") for row in SET)
TEN = {"batch_size": 10}
IN_TENS = tuple(Row(f"{name}, batches of 10", name, TEN, like=name, tried=True) for name in ("sgd", "adf"))
BATCH_CLAIM = steadier(("adf", "adf, batches of 10"), ("sgd", "sgd, batches of 10"), "adf is less sensitive than sgd to batches of 10")
NOTE = """\
In the paper CW and AROW have no rich edges (figure 3), and `adf` is shown with and without them. Here all three use the features of the table; none of them has rich edges in the tables of
noun phrases and segmentation without them and of biomedical names without parts of speech. The paper's own t-tests find that `adf` is not significantly better than `lbfgs` and `sgd` on this task. A tie agrees with that.

Memory: the paper says that `lbfgs` needs about m times as much as `adf`, where m is the number of stored gradients (6 or 10). In crfkit `adf` needs 14 bytes per weight and 32 per attribute.
`lbfgs` needs 16 + 8 m bytes per weight. That is at most 4.6 times as much for m = 6, and at most 6.9 times for m = 10. In these tables m is 4, the default.
"""
WITHOUT_WARM_UP = "In the trials `lbfgs` started with a warm-up. On all training data it had none, and it stopped at its limit of 1,000 passes."
FIGURE_3, FIGURE_5 = "figure 3, without rich edges", "figure 5"
CHUNK_CLAIMS = claims(CHUNK, FIGURE_5, FIGURE_3, by_chance=("lbfgs", "sgd"))

PAPER = Paper(
    "adf",
    "Feature-frequency-adaptive on-line training",
    """\
X. Sun, W. Li, H. Wang, Q. Lu: Feature-Frequency-Adaptive On-line Training for Fast and Accurate Natural Language
Processing. Computational Linguistics 40(3), 2014. In ADF each feature has its own learning rate, which falls
faster the more often the feature occurs. Is it more accurate than L-BFGS, SGD and perceptrons, after fewer passes? The paper says
so for chunking, biomedical names, word segmentation and sentiment.
""",
    [
        table(tasks.NP_PAPER, CHUNK, (*CHUNK_CLAIMS, BATCH_CLAIM), IN_TENS, NOTE),
        table(tasks.NP_PLAIN, {}, (*claims({}, others="figure 3"), *INSENSITIVE), SET, "The paper's figure 3 has such features."),
        table(tasks.NP_RICH, CHUNK, CHUNK_CLAIMS),
        table(tasks.CWS, WORDS, (*claims(WORDS, FIGURE_5, FIGURE_3), BATCH_CLAIM), IN_TENS),
        alone({"sgd", "adf", "arow", "cw"}, table(tasks.CWS_PLAIN, {}, claims({}, others="figure 3"), note="Of such features the paper has `arow`, `cw` and `adf`, in its figure 3.")),
        table(tasks.JNLPBA_RICH, NAMES, (*claims(NAMES, FIGURE_5, FIGURE_3), BATCH_CLAIM), IN_TENS, WITHOUT_WARM_UP),
        table(tasks.SENTIMENT, SENTIMENT, claims(SENTIMENT, "figure 7"), note="The paper has neither CW nor AROW on this task."),
        table(tasks.CHUNKS, {}, claims({}), note="The paper chunks base noun phrases only."),
        table(tasks.JNLPBA, NAMES, claims(NAMES, FIGURE_5, "figure 3"), note="The paper's features are those of the table with rich edges."),
        Table(tasks.CONLL2003, rows({}), (*COLUMNS[:3], "error", "passes", "cpu_a_pass", "cpu"), note="None of the papers on these trainers has this task."),
    ],
)

if __name__ == "__main__":
    main(PAPER)
