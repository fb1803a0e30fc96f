"""The comparisons of "Feature-Frequency-Adaptive On-line Training" (Sun, Li, Wang, Lu 2014).

    python benchmarks/papers/adf.py [--tasks TASK ...] [--quick]
"""

from __future__ import annotations

import tasks
from study import Paper, Row, Table, after_one_pass, at_least, main

L2 = (0.5, 1.0, 2.0)


def rows(paper: dict[str, float], l2: tuple[float, ...] = L2, rates: tuple[float, ...] = (0.05, 0.1, 0.2)) -> list[Row]:
    """The trainers of the paper's table 4."""
    return [
        Row("sgd", "sgd", grid={"l2": l2}, paper=paper.get("sgd")),
        Row("naive perceptron", "perceptron", {"average": False}, paper=paper.get("naive")),
        Row("averaged perceptron", "perceptron", paper=paper.get("averaged")),
        Row("adf", "adf", grid={"l2": l2, "rate": rates}, passes=20, paper=paper.get("adf")),
        Row("lbfgs", "lbfgs", grid={"l2": l2}, paper=paper.get("lbfgs")),
    ]


OTHERS = [Row("arow", "arow"), Row("cw", "cw")]
CLAIMS = (
    at_least("adf", "lbfgs"),
    at_least("adf", "sgd"),
    at_least("adf", "naive perceptron", "averaged perceptron"),
    at_least("averaged perceptron", "naive perceptron"),
    after_one_pass("adf", "sgd", "averaged perceptron"),
)

CHUNK = {"lbfgs": 94.33, "sgd": 94.26, "naive": 93.48, "averaged": 94.19, "adf": 94.52}
SENTIMENT = {"lbfgs": 87.00, "sgd": 87.13, "naive": 84.55, "averaged": 85.04, "adf": 87.89}
WORDS = {"lbfgs": 97.16, "sgd": 97.34, "naive": 96.50, "averaged": 97.30, "adf": 97.49}
NAMES = {"lbfgs": 68.92, "sgd": 71.79, "naive": 66.15, "averaged": 70.61, "adf": 72.25}

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
        Table(tasks.NP_RICH, rows(CHUNK), claims=CLAIMS),
        Table(tasks.NP_PAPER, rows(CHUNK), claims=CLAIMS),
        Table(tasks.NP_PLAIN, [*rows({}), *OTHERS], claims=CLAIMS, note="The paper compares with CW and AROW in figures only."),
        Table(tasks.CHUNKS, rows({}), passes=20, claims=CLAIMS, note="The paper chunks base noun phrases only."),
        Table(tasks.SENTIMENT, [*rows(SENTIMENT, (0.1, 0.5, 2.0), (0.005, 0.01, 0.05)), *OTHERS], claims=CLAIMS),
        Table(tasks.CWS, rows(WORDS), passes=20, claims=CLAIMS),
        Table(tasks.JNLPBA, rows(NAMES), passes=15, claims=CLAIMS),
        Table(tasks.JNLPBA_POS, rows(NAMES), passes=15, claims=CLAIMS),
    ],
)

if __name__ == "__main__":
    main(PAPER)
