"""What defaults are worth on corpora by size: scores on held-out training data of `lbfgs`, and how far others are from it.

    python benchmarks/bench_defaults.py [--sentences N] [--only WORDS] [--trainers NAMES] [--sizes N,N] [--rounds N]

With CRFKIT_CORPORA naming a folder that holds corpora, on those of TASKS that are there; else on data/. Sentences are drawn at random
from the training part without its end, and scored on that end: F1 where labels mark chunks, else the share of right labels. `--rounds`: draws.
Beside lbfgs with its defaults: lbfgs with the usual penalty, CRFsuite with c2=1 on the same attributes (rich edges are left out), and
the other trainers with their defaults. Nothing here is about time.
"""

from __future__ import annotations

from collections.abc import Container
from statistics import fmean
from typing import Any, NamedTuple

import common
import peers

from crfkit.template.parsing import Template

TRAINERS = ("sgd", "sapo", "adf", "perceptron", "mira", "arow", "cw", "lookahead")
USUAL, PEER = "lbfgs, l2 1", "CRFsuite"
WORDS = "".join(f"U0{k}:%x[{k - 2},0]\n" for k in range(5)) + "U05:%x[-1,0]/%x[0,0]\nU06:%x[0,0]/%x[1,0]\nB\n"
WINDOW = "".join(f"U0{k}:%x[{k - 4},0]\n" for k in range(9)) + "B\n"
THREE = "U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[1,0]\nB\n"
PAIRS = THREE[:-2] + "U03:%x[-1,1]\nU04:%x[0,1]\nU05:%x[1,1]\nU06:%x[-1,1]/%x[0,1]\nU07:%x[0,1]/%x[1,1]\nB\n"

Rows = list[list[list[str]]]


class Task(NamedTuple):
    name: str
    path: str
    template: str
    columns: tuple[int, ...] = (0,)  # that templates see
    labels: tuple[int, ...] = (-1,)  # that are joined to the label
    scheme: str = "none"


TASKS = [
    Task("chunks", "conll2000", "chunking.txt", (0, 1), scheme="bio"),
    Task("chunks, words", "conll2000", WORDS, scheme="bio"),
    Task("chunks and tags", "conll2000", "pos.txt", labels=(1, 2)),
    Task("names", "conll2003", "ner.txt", (0, 1), scheme="iob1"),
    Task("names, chunks and tags", "conll2003", WORDS, labels=(1, 2, 3)),
    Task("biomedical names", "jnlpba", "ner-words.txt", scheme="bio"),
    Task("biomedical names, words", "jnlpba", WORDS, scheme="bio"),
    Task("tags, web", "ewt-pos", "pos.txt"),
    Task("tags, web, 3 words", "ewt-pos", THREE),
    Task("tags, news", "wsj-sample-pos", "pos.txt"),
    Task("chunks, 3 words and tags", "conll2000", PAIRS, (0, 1), scheme="bio"),
    Task("phonemes", "nettalk", "letter-to-sound.txt"),
    Task("phonemes, letters", "nettalk", WINDOW),
    Task("segmentation", "cws-sxu", "segmentation.txt"),
    Task("segmentation, characters", "cws-sxu", WINDOW),
]
MADE = [Task("data/chunking", "chunking", "chunking.txt", (0, 1), scheme="bio"), Task("data/letters", "letters", WINDOW)]


def tasks_of(only: str, names: Container[str] | None = None) -> list[Task]:
    """The tasks whose corpora are there, all or those of these names, or if there are none those on data/; of them those of `--only`."""
    found = [one for one in TASKS if (names is None or one.name in names) and common.corpora(one.path)] or MADE
    return [one for one in found if common.is_wanted(one.name, only)]


def sentences(task: Task) -> Rows:
    """Those of the training part, with the columns that the task has."""
    folder = common.corpora(task.path)
    path = common.ROOT / "data" / f"{task.path}.train.txt" if folder is None else folder / "train.txt"
    whole = [rows for rows in common.rows_of(path) if rows[0][0] != "-DOCSTART-"]
    return [[[*(row[k] for k in task.columns), "|".join(row[k] for k in task.labels)] for row in rows] for rows in whole]


def scored(task: Task, rules: Template, train: Rows, held_out: Rows, name: str) -> tuple[float, float]:
    """What a trainer has on what was held out, and its penalty."""
    if name == PEER:
        found, l2 = common.tagged_by_peer(train, rules, held_out, c1=0, c2=1), 2.0
    else:
        own: dict[str, Any] = {"l2": 1.0} if name == USUAL else {}
        model, (found,) = common.tagged(train, rules, [held_out], name.split(",")[0], **own)
        l2 = model.header.get("chosen", {}).get("l2", 1.0)
    return common.score(task.scheme, found, held_out), l2


def row(task: Task, pool: Rows, held_out: Rows, size: int, names: list[str], rounds: int) -> list[Any]:
    """A line of the table: the mean of some draws."""
    rules = common.rules(task.template)
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    labels = set()
    for draw in range(rounds):
        train = common.drawn(pool, size, draw)
        labels |= {row[-1] for rows in train for row in rows}
        for name in names:
            scores[name].append(scored(task, rules, train, held_out, name))
    means = {name: fmean(score for score, _ in found) for name, found in scores.items()}
    l2 = fmean(penalty for _, penalty in scores["lbfgs"])
    return [task.name, size, len(labels), f"{l2:.2f}", f"{means['lbfgs']:.2f}", *(f"{means[name] - means['lbfgs']:+.2f}" for name in names[1:])]


def main() -> None:
    parser = common.parser_of_tasks("Scores with defaults on held-out training data, by size.", rounds=1, sizes="50,200,1000", trainers=TRAINERS)
    given = parser.parse_args()
    names = ["lbfgs", USUAL, *[PEER] * peers.crfsuite(), *given.trainers.split(",")]
    rows = []
    for task in tasks_of(given.only):
        pool, held_out = common.held_out(sentences(task)[: given.sentences])
        for size in common.sizes_of(given.sizes, pool):
            rows.append(row(task, pool, held_out, size, names, given.rounds))
            print(*rows[-1], sep="  ", flush=True)
    print(f"\n{parser.description}\n{common.machine()}")
    common.table(["task", "sentences", "labels", "l2", *names], rows)


if __name__ == "__main__":
    main()
