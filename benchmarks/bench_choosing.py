"""Which sentences to label next: those whose labels a model finds least probable, or any.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_choosing.py [--only WORDS] [--trainer NAME] [--rounds N] [--sentences N]

On the tasks of bench_partial.py. A model learns from 200 sentences at random, then three times from some more of the training part without its
end: from about 3,000 tokens, in sentences that are drawn at random, or those with the least probable labels, or the same for a token (the
logarithm of the probability, divided by the tokens). Scores of the last model are on that end. `--rounds`: draws, of which the table has
means. Without corpora, on data/.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import fmean

import bench_defaults
import common
from bench_defaults import Rows, Task
from bench_partial import TASKS

import crfkit

FIRST, TOKENS, TIMES = 200, 3000, 3
WAYS: dict[str, Callable[[float, int, random.Random], float]] = {  # of the logarithm of the probability, and the tokens
    "at random": lambda log_p, tokens, rng: rng.random(),
    "least probable": lambda log_p, tokens, rng: log_p,
    "for a token": lambda log_p, tokens, rng: log_p / tokens,
}


def chosen(model: crfkit.Model, pool: Rows, way: str, rng: random.Random) -> tuple[Rows, Rows]:
    """The sentences to label next, and all others."""
    best = crfkit.Tagger(model).nbest_many([[row[:-1] for row in rows] for rows in pool], 1, threads=1, log=True)
    keys = [WAYS[way](log_p, len(rows), rng) for rows, [(log_p, _)] in zip(pool, best, strict=True)]
    order = sorted(range(len(pool)), key=keys.__getitem__)
    place = tokens = 0
    while place < len(order) and tokens < TOKENS:
        tokens += len(pool[order[place]])
        place += 1
    return [pool[number] for number in order[:place]], [pool[number] for number in order[place:]]


def row(task: Task, whole: Rows, name: str, rounds: int) -> list[str]:
    """A line of the table: scores of a trainer by each way to choose."""
    learned, held_out = common.held_out(whole)
    rules = common.rules(task.template)

    def score(way: str, draw: int) -> float:
        rng = random.Random(draw)
        pool = rng.sample(learned, len(learned))
        known, rest = pool[:FIRST], pool[FIRST:]
        for _ in range(TIMES if rest else 0):
            model, _ = common.tagged(known, rules, [], name)
            more, rest = chosen(model, rest, way, rng)
            known = known + more
        _, (found,) = common.tagged(known, rules, [held_out], name)
        return common.score(task.scheme, found, held_out)

    return [task.name, name, *(f"{fmean(score(way, draw) for draw in range(rounds)):.2f}" for way in WAYS)]


def main() -> None:
    parser = common.parser_of_tasks("Which sentences to label next: those whose labels a model finds least probable, or any.", rounds=3)
    parser.add_argument("--trainer", default="sgd", metavar="NAME", help="one that has probabilities (default %(default)s)")
    given = parser.parse_args()
    rows = []
    for task in bench_defaults.tasks_of(given.only, TASKS):
        rows.append(row(task, bench_defaults.sentences(task)[: given.sentences], given.trainer, given.rounds))
        print(*rows[-1], sep="  ", flush=True)
    print(f"\n{parser.description}\n{common.machine()}")
    common.table(["task", "trainer", *WAYS], rows)


if __name__ == "__main__":
    main()
