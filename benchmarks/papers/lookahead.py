"""The comparisons of "Learning with Lookahead" (Tsuruoka, Miyao, Kazama 2011): history-based taggers that search ahead.

    python benchmarks/papers/lookahead.py [--tasks TASK ...] [--quick]
"""

from __future__ import annotations

import tasks
from adf import AVERAGED, LBFGS, SGD
from claims import Claim, better, costs
from outcome import Row
from study import Paper, Table, main

Numbers = dict[str, tuple[float, float, float]]
"""The paper's score, seconds of training, and seconds of tagging."""
COLUMNS = ("default", "development", "score", "paper", "passes", "cpu_a_pass", "cpu", "paper_seconds")
TAGGING = ("tag", "paper_tag")
"""On the three tables that are nearest to those of the paper."""
MARGINS = {"margin": (5, 30, 100)}
CRF = "sgd, L1"


def rows(paper: Numbers, **fixed: object) -> list[Row]:
    """CRFs, and lookahead by depth."""

    def row(name: str, algorithm: str, fixed: dict[str, object], grid: dict[str, tuple[float, ...]]) -> Row:
        score, seconds, tag = paper.get(name, (None, None, None))
        return Row(name, algorithm, fixed, grid, paper=score, paper_seconds=seconds, paper_tag=tag)

    return [
        row(CRF, "sgd", {"l2": 0.0}, {"l1": (0.1, 0.3, 1), "rate": (0.05,)}),
        *(row(f"depth {d}", "lookahead", {"depth": d, **fixed}, MARGINS) for d in range(4)),
        LBFGS,
        SGD,
        AVERAGED,
    ]


def with_trigrams(paper: Numbers) -> list[Row]:
    """The same with features of three labels in a row, which a first-order CRF cannot have."""
    path = tasks.OWN / "pos-trigrams.txt"
    names = {d: f"depth {d}, label trigrams" for d in range(3)}
    return [
        Row(name, "lookahead", {"depth": d}, MARGINS, paper=paper[name][0], paper_seconds=paper[name][1], paper_tag=paper[name][2], template=path) for d, name in names.items()
    ]


def claims(paper: Numbers) -> tuple[Claim, ...]:
    def score(one: str, other: str) -> str:
        return f"{paper[one][0]:.2f} and {paper[other][0]:.2f}"

    return (
        better("depth 1", "depth 0", paper=score("depth 1", "depth 0")),
        better("depth 2", "depth 1", paper=score("depth 2", "depth 1"), own=paper["depth 2"][0] <= paper["depth 1"][0]),
        better(CRF, "depth 0", "without looking ahead it is worse than a CRF", score(CRF, "depth 0")),
        better("depth 1", CRF, "with depth 1 it is better than a CRF", score("depth 1", CRF)),
        costs("depth 2", "depth 1", 2, 4, "a pass of depth 2 costs at most twice one of depth 1, by dynamic programming", own=True),
    )


def numbers(crf: tuple[float, float, float], *depths: tuple[float, float, float]) -> Numbers:
    return {CRF: crf, **{f"depth {d}": found for d, found in enumerate(depths)}}


CHUNK = numbers((93.66, 74, 1), (93.53, 22, 1), (93.77, 73, 1), (93.81, 1113, 9))
TRIGRAMS = ((97.11, 88, 5), (97.22, 313, 10), (97.28, 10034, 209))
POS = numbers((97.11, 847, 3), (97.00, 85, 5), (97.19, 294, 9), (97.19, 8688, 173)) | {f"depth {d}, label trigrams": found for d, found in enumerate(TRIGRAMS)}
BIO = numbers((71.63, 235, 4), (70.17, 66, 4), (72.28, 91, 4), (72.00, 302, 7), (72.21, 2419, 33))
BACKWARD = "As in the paper, lookahead tags from right to left here."
THREE = tuple(
    better(f"depth {d}, label trigrams", f"depth {d}", f"label trigrams add to depth {d}", f"{POS[f'depth {d}, label trigrams'][0]:.2f} and {POS[f'depth {d}'][0]:.2f}")
    for d in range(3)
)


FORWARD = Row("depth 1, left to right", "lookahead", {"direction": "forward"}, like="depth 1")
DIRECTION = better("depth 1", FORWARD.name, "backward tagging is more accurate than forward tagging", "considerably")


def names(task: tasks.Task, more: tuple[Row, ...] = (), more_claims: tuple[Claim, ...] = (), columns: tuple[str, ...] = COLUMNS) -> Table:
    return Table(task, [*rows(BIO, direction="backward"), *more], columns, (*claims(BIO), *more_claims), plots=("score", "seconds"), note=BACKWARD)


PAPER = Paper(
    "lookahead",
    "Learning with lookahead",
    """\
Y. Tsuruoka, Y. Miyao, J. Kazama: Learning with Lookahead: Can History-Based Models Rival Globally Optimized Models?
CoNLL 2011. The tagger chooses one label at a time, with all earlier labels as features. Before each choice it searches some steps
ahead. Does the search help? The paper finds depth 1 clearly better than depth 0, and as good as CRFs. Its search tries all label sequences; the one here
finds the same by dynamic programming, so its cost does not explode with the depth. *CPU s of tagging* is the test part with one thread, reading it included: the fastest of nine, by the model of seed 1.
""",
    [
        Table(tasks.CHUNKS_PLAIN, rows(CHUNK), COLUMNS + TAGGING, claims(CHUNK), plots=("score", "seconds")),
        Table(tasks.WSJ, [*rows(POS), *with_trigrams(POS)], COLUMNS + TAGGING, (*claims(POS), *THREE), plots=("score", "seconds")),
        names(tasks.JNLPBA_WORDS, (FORWARD,), (DIRECTION,), COLUMNS + TAGGING),
        names(tasks.JNLPBA),
        Table(tasks.EWT, [*rows(POS), *with_trigrams(POS)], COLUMNS, (*claims(POS), *THREE), plots=("score", "seconds")),
        Table(tasks.CHUNKS, rows(CHUNK), COLUMNS, claims(CHUNK), note="The paper's features are fewer."),
        names(tasks.JNLPBA_POS),
    ],
)

if __name__ == "__main__":
    main(PAPER)
