"""What labels of random tokens are worth (--partial), beside as many labels in whole sentences.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_partial.py [--only WORDS] [--trainers NAMES] [--rounds N] [--sentences N]

On the tasks of bench_defaults.py: each label of the training part without its end is kept with some probability, else it is ?.
Scores are on that end. `--trainers`: of lbfgs, owlqn, sgd and adf. `--rounds`: draws, of which the table has means. Without corpora, on data/.
"""

from __future__ import annotations

import random
from statistics import fmean

import bench_defaults
import common
from bench_defaults import Rows, Task

TASKS = ("chunks", "names", "biomedical names", "tags, web")
SHARES = (0.5, 0.1)


def left_open(data: Rows, share: float, draw: int) -> Rows:
    """The sentences, of whose labels this share is known."""
    rng = random.Random(f"{share} {draw}")
    return [[[*row[:-1], row[-1] if rng.random() < share else "?"] for row in rows] for rows in data]


def some(data: Rows, share: float, draw: int) -> Rows:
    """This share of the sentences."""
    return random.Random(f"{share} {draw}").sample(data, max(1, round(share * len(data))))


def row(task: Task, whole: Rows, name: str, rounds: int) -> list[str]:
    """A line of the table: scores of a trainer, from all labels and from shares of them."""
    (data, held_out), rules = common.held_out(whole), common.rules(task.template)

    def score(train: Rows, **options: bool) -> float:
        _, (found,) = common.tagged(train, rules, [held_out], name, **options)
        return common.score(task.scheme, found, held_out)

    scores, draws = [score(data)], range(rounds)
    for share in SHARES:
        scores.append(fmean(score(left_open(data, share, draw), partial=True) for draw in draws))
        scores.append(fmean(score(some(data, share, draw)) for draw in draws))
    return [task.name, name, *(f"{found:.2f}" for found in scores)]


def main() -> None:
    parser = common.parser_of_tasks("What labels of random tokens are worth, beside as many in whole sentences.", rounds=3, trainers=["sgd"])
    given = parser.parse_args()
    rows = []
    for task in bench_defaults.tasks_of(given.only, TASKS):
        for name in given.trainers.split(","):
            rows.append(row(task, bench_defaults.sentences(task)[: given.sentences], name, given.rounds))
            print(*rows[-1], sep="  ", flush=True)
    print(f"\n{parser.description}\n{common.machine()}")
    common.table(["task", "trainer", "all", *(f"{what} {share:.0%}" for share in SHARES for what in ("tokens", "sentences"))], rows)


if __name__ == "__main__":
    main()
