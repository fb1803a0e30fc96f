"""The comparisons of "Efficient Learning of Sparse CRFs" (Sokolovska, Lavergne, Cappe, Yvon 2010): SBCD, OWL-QN, L-BFGS.

    python benchmarks/papers/sbcd.py [--tasks TASK ...] [--quick]
"""

from __future__ import annotations

import tasks
from protocol import CONTRADICTED, REPRODUCED
from runs import Runs
from study import Claim, Outcomes, Paper, Row, Table, main

RAW = "sbcd.jsonl"
SPARSE = 0.10  # of the pair weights
NEAR = 0.3  # points of error

COLUMNS = ("development", "score", "paper", "node", "pair", "passes", "cpu_a_pass", "cpu")
ELASTIC = {"l2": 0.001}  # beside every l1, as in the paper
EARLY = {**ELASTIC, "delta": 0.001}  # where a pass of sbcd is long
L2 = (0.1, 0.5, 2)


def sweep(name: str, algorithm: str, values: tuple[float, ...], **fixed: float) -> list[Row]:
    """One row for each weight of the L1 penalty."""
    return [Row(f"{name}, l1 {value:g}", algorithm, {"l1": value, **fixed}) for value in values]


def chosen(name: str, algorithm: str, values: tuple[float, ...], slack: float, paper: object = None, **fixed: float) -> Row:
    """The sparsest of a sweep whose development score is as good as the best, give or take `slack` points."""
    return Row(name, algorithm, fixed, {"l1": values}, slack=slack, paper=paper)


def near_and_sparse(other: str) -> Claim:
    """The claim on NETtalk: about the error of L2 with a small part of the pair weights."""

    def judge(found: Outcomes, _: Runs) -> tuple[str, str]:
        sparse, dense = found["sbcd, chosen"], found[other]
        share = sparse.pair / dense.pair
        numbers = f"error {sparse.score:.2f} against {dense.score:.2f}, {sparse.pair:,} of {dense.pair:,} pair weights: {share:.1%}"
        return REPRODUCED if sparse.score <= dense.score + NEAR and share < SPARSE else CONTRADICTED, numbers

    text = f"an error within {NEAR} points of that of {other} with L2, with under {SPARSE:.0%} of the pair weights"
    return Claim(text, ("sbcd, chosen", other), judge)


def same_optimum(found: Outcomes, _: Runs) -> tuple[str, str]:
    """SBCD and OWL-QN minimise the same function where both have the same penalties."""
    ends = [found[name].tests[0]["objective"] for name in ("sbcd, l1 1", "owlqn, l1 1")]
    return REPRODUCED if abs(ends[0] / ends[1] - 1) < 1e-4 else CONTRADICTED, f"objectives {ends[0]:,.2f} and {ends[1]:,.2f}"


LETTER_L1 = (1.0, 5.0, 20.0)
GRAM_L1 = (0.3, 1.0, 3.0)
NER_L1 = (1.0, 3.0, 10.0)
HMM_L1 = (0.1, 0.5, 1.0, 2.5)

NETTALK = Table(
    tasks.NETTALK,
    [
        *sweep("sbcd", "sbcd", LETTER_L1, **ELASTIC),
        chosen("sbcd, chosen", "sbcd", LETTER_L1, 0.2, "14.0-16.9", **ELASTIC),
        Row("sgd", "sgd", grid={"l2": L2}, paper=19.1),
        Row("lbfgs", "lbfgs", grid={"l2": L2}, paper=14.1),
        *sweep("owlqn", "owlqn", (1.0,), **ELASTIC),
    ],
    columns=COLUMNS,
    claims=(
        near_and_sparse("lbfgs"),
        near_and_sparse("sgd"),
        Claim("SBCD and OWL-QN end at the same objective", ("sbcd, l1 1", "owlqn, l1 1"), same_optimum),
    ),
    plots=("score", "sparsity", "cost"),
    note="The paper's rows for SBCD differ in the weight of the L1 penalty, whose values are not legible in our copy. Chosen is the "
    "sparsest model whose development score is within 0.2 points of the best.",
)  # fmt: skip


def grams(task: tasks.Task, error: float) -> Table:
    rows = [
        chosen("sbcd", "sbcd", GRAM_L1, 0.1, error, **ELASTIC),
        Row("sgd", "sgd", grid={"l2": L2}),
        Row("lbfgs", "lbfgs", grid={"l2": L2}),
    ]
    return Table(task, rows, columns=COLUMNS, note="The paper's error is that of its n-gram features after 30 iterations.")


CONLL2003 = Table(
    tasks.CONLL2003,
    [
        Row("sgd", "sgd", grid={"l2": L2}),
        Row("lbfgs", "lbfgs", grid={"l2": L2}),
        *sweep("owlqn", "owlqn", NER_L1, **EARLY),
        *(Row(f"frequency cut-off, {n}", "lbfgs", {"l2": 1.0, "min_freq": n}) for n in (2, 5)),
        *(Row(f"mutual information, {n}", "lbfgs", {"l2": 1.0, "select": f"mi:{n}"}) for n in (2000,)),
        *(Row(f"threshold, {value:g}", "lbfgs", {"l2": 1.0, "prune": value}) for value in (0.1, 0.5)),
        *sweep("sbcd", "sbcd", NER_L1[-1:], **EARLY),
    ],
    columns=COLUMNS,
    plots=("sparsity",),
    note="The paper's figure 6 compares ways to select features: L1 penalties, frequency cut-off, mutual information with the label, "
    "and a threshold on the weights of a dense model. It finds SBCD slower than OWL-QN here, where labels are few. "
    "Both ended here when ten passes had improved the objective by less than a thousandth.",
)  # fmt: skip

HMM = Table(
    tasks.HMM,
    [*sweep("sbcd", "sbcd", HMM_L1, **ELASTIC), *sweep("owlqn", "owlqn", HMM_L1, **ELASTIC), Row("lbfgs", "lbfgs", grid={"l2": L2}, paper=18.5)],
    columns=COLUMNS,
    plots=(),
    note="The paper's errors: 18.5% for L2 on both kinds of features (M1) and 17.9% for the best L1 (M7, with 6.2 active node and 4.9 "
    "active pair weights on average). Ours are lower throughout, so the distribution that was drawn from must be another one: compare "
    "within the table.",
)  # fmt: skip

PAPER = Paper(
    "sbcd",
    "Sparse CRFs",
    """\
N. Sokolovska, T. Lavergne, O. Cappé, F. Yvon: Efficient Learning of Sparse Conditional Random Fields for Supervised
Sequence Labelling. IEEE Journal of Selected Topics in Signal Processing 4(6), 2010. The paper minimises the likelihood
with L1 and L2 penalties block by block (all weights of one observation at a time), with recursions that skip pairs of
labels whose weight is zero, and finds models with a few per cent of the weights as good as dense ones.
""",
    [NETTALK, grams(tasks.NETTALK3, 8.04), grams(tasks.NETTALK5, 6.50), CONLL2003, HMM],
)

if __name__ == "__main__":
    main(PAPER, file=RAW)
