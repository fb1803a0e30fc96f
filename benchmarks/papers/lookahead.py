"""The comparisons of "Learning with Lookahead" (Tsuruoka, Miyao, Kazama 2011): history-based taggers that search ahead.

    python benchmarks/papers/lookahead.py [--tasks TASK ...] [--quick]
"""

from __future__ import annotations

import tasks
from study import Claim, Outcomes, Paper, Row, Table, at_least, main

L1 = (0.1, 0.3, 1.0)
L2 = (0.5, 1.0, 2.0)
MARGINS = (5.0, 30.0, 100.0)


def rows(paper: dict[str, float], l2: tuple[float, ...] = L2, **fixed: object) -> list[Row]:
    """CRFs, and lookahead by depth."""
    return [
        Row("sgd, L1", "sgd", {"l2": 0.0}, {"l1": L1}, paper=paper.get("crf")),
        Row("sgd", "sgd", grid={"l2": l2}),
        Row("averaged perceptron", "perceptron"),
        *(Row(f"depth {d}", "lookahead", {"depth": d, **fixed}, {"margin": MARGINS}, paper=paper.get(str(d))) for d in (0, 1)),
        *(Row(f"depth {d}", "lookahead", {"depth": d, **fixed}, like="depth 1", paper=paper.get(str(d))) for d in (2, 3)),
        Row("lbfgs", "lbfgs", grid={"l2": l2}),
    ]


def with_trigrams(template: str, paper: dict[str, float]) -> list[Row]:
    """The same with features of three labels in a row, which a first-order CRF cannot have."""
    path = tasks.OWN / template
    names = {d: f"depth {d}, label trigrams" for d in range(3)}
    return [Row(names[d], "lookahead", {"depth": d}, like=f"depth {d}", paper=paper.get(str(d)), template=path) for d in names]


def above_by(points: float, better: str, other: str) -> Claim:
    """The claim of a distance between two rows."""

    def judge(found: Outcomes) -> tuple[bool, str]:
        scores = found[better].score, found[other].score
        return scores[0] - scores[1] >= points, f"{scores[0]:.2f} and {scores[1]:.2f}"

    return Claim(f"{better} is above {other} by {points:g} point or more", (better, other), judge)


def flat(found: Outcomes) -> tuple[bool, str]:
    """Seconds by depth: the papers' naive search multiplies them by the number of labels for each step."""
    deep, shallow = found["depth 3"].cpu_a_pass, found["depth 1"].cpu_a_pass
    return deep <= 2 * shallow, f"{deep:.2f} s and {shallow:.2f} s"


ABOVE = at_least("depth 1", "depth 0")
RIVAL = at_least("depth 1", "sgd, L1", text="lookahead is as good as a CRF")
COST = Claim("a pass with depth 3 costs at most twice one with depth 1, by dynamic programming", ("depth 3", "depth 1"), flat)
CHUNK = {"crf": 93.66, "0": 93.53, "1": 93.77, "2": 93.81}
POS = {"crf": 97.11, "0": 97.00, "1": 97.19, "2": 97.19}
TRIGRAMS = {"0": 97.11, "1": 97.22, "2": 97.28}
BIO = {"crf": 71.63, "0": 70.17, "1": 72.28, "2": 72.00, "3": 72.21}

PAPER = Paper(
    "lookahead",
    "Learning with lookahead",
    """\
Y. Tsuruoka, Y. Miyao, J. Kazama: Learning with Lookahead: Can History-Based Models Rival Globally Optimized Models?
CoNLL 2011. A tagger decides label by label and may look at all its earlier decisions; before each it searches some steps
ahead. The paper finds depth 1 clearly better than none, and as good as CRFs. Its search is naive; the one here is exact by
dynamic programming, so that its cost does not explode with the depth.
""",
    [
        Table(tasks.CHUNKS_PLAIN, rows(CHUNK), passes=20, claims=(ABOVE, RIVAL, COST)),
        Table(tasks.CHUNKS, rows(CHUNK), passes=20, claims=(ABOVE, RIVAL, COST), note="The paper's features are fewer."),
        Table(tasks.WSJ, [*rows(POS), *with_trigrams("pos-trigrams.txt", TRIGRAMS)], passes=20, claims=(ABOVE, RIVAL, COST)),
        Table(
            tasks.EWT, [*rows(POS), *with_trigrams("pos-trigrams.txt", TRIGRAMS)], passes=12, claims=(ABOVE, RIVAL, COST),
            note="The paper's numbers are those for the WSJ.",
        ),
        Table(
            tasks.JNLPBA, rows(BIO, direction="backward"), passes=15, claims=(above_by(1, "depth 1", "depth 0"), RIVAL, COST),
            note="As in the paper, lookahead tags from right to left here.",
        ),
        Table(
            tasks.JNLPBA_POS, rows(BIO, direction="backward"), passes=15, claims=(above_by(1, "depth 1", "depth 0"), RIVAL, COST),
            note="As in the paper, lookahead tags from right to left here.",
        ),
    ],
)  # fmt: skip

if __name__ == "__main__":
    main(PAPER)
