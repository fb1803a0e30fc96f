"""Scores on test parts, beside CRFsuite with the same attributes.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_accuracy.py [--only WORDS] [--rounds SEEDS] [--sentences N]

Each learns from the training part and labels the test part: trainers by their defaults, and with --dropout 0.1, a value that was chosen on parts of
training data (docs/defaults.md). CRFsuite has its own defaults, and no pairs of labels with attributes. A mean over seeds 1 to SEEDS, and its standard
deviation, where a seed matters. Without corpora: data/.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import common
import peers


class Task(NamedTuple):
    name: str
    corpus: str  # in CRFKIT_CORPORA
    template: str
    scheme: str  # of chunks; none: the share of right labels
    columns: tuple[int, ...]  # of the file, the label last
    small: str = ""  # in data/


TASKS = (
    Task("chunks", "conll2000", "chunking.txt", "bio", (0, 1, 2), "chunking"),
    Task("names", "conll2003", "ner-words.txt", "iob1", (0, 3)),
    Task("biomedical names", "jnlpba", "ner-words.txt", "bio", (0, 1)),
    Task("parts of speech", "ewt-pos", "pos.txt", "none", (0, 2)),
    Task("segmentation", "cws-sxu", "segmentation.txt", "none", (0, 1)),
)
TRAINERS = ("sgd", "sapo", "perceptron", "mira -n 5", "arow", "lookahead")
DROPOUT = 0.1
PEERS = ("lbfgs", "averaged-perceptron", "passive-aggressive", "arow")


def parts(task: Task, sentences: int | None) -> list[list[list[list[str]]]]:
    """The training part and the test part, or their beginnings."""
    folder = common.corpora(task.corpus)
    found = []
    for part in ("train", "test"):
        path = common.ROOT / "data" / f"{task.small}.{part}.txt" if folder is None else folder / f"{part}.txt"
        rows = common.rows_of(path)
        found.append([[[row[k] for k in task.columns] for row in rows] for rows in rows if rows[0][0] != "-DOCSTART-"][:sentences])
    return found


def ours(task: Task, data: list[Any], trainer: str, seeds: Iterable[int], **options: Any) -> str:
    (train, test), scores = data, []
    for seed in seeds:
        _, (found,) = common.tagged(train, common.rules(task.template), [test], trainer, seed=seed, **options)
        scores.append(common.score(task.scheme, found, test))
    return common.mean(scores)


def theirs(task: Task, data: list[Any], trainer: str) -> float:
    """CRFsuite's score."""
    train, test = data
    return common.score(task.scheme, common.tagged_by_peer(train, common.rules(task.template), test, trainer), test)


def main() -> None:
    given = common.parser_of_tasks("Scores on test parts.", rounds=3).parse_args()
    seeds = range(1, 1 + given.rounds)
    print(common.machine())
    for task in TASKS:
        if not (common.corpora(task.corpus) or task.small) or not common.is_wanted(task.name, given.only):
            continue
        data = parts(task, given.sentences)
        rows = [["lbfgs", ours(task, data, "lbfgs", [1]), ""]]
        rows += [[name, ours(task, data, name, seeds), ours(task, data, name, seeds, dropout=DROPOUT)] for name in TRAINERS]
        if peers.crfsuite():
            rows += [[f"CRFsuite {name}", f"{theirs(task, data, name):.2f}", ""] for name in PEERS]
        print(f"\n{task.name}: {len(data[0])} and {len(data[1])} sequences, {task.template}, {'accuracy' if task.scheme == 'none' else 'F1'}")
        common.table(["trainer", "default", f"--dropout {DROPOUT:g}"], rows)


if __name__ == "__main__":
    main()
