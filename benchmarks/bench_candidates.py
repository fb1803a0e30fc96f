"""Where the best label sequences hold little of the probability, `sapo`, which compares the true one with these alone, falls behind `lbfgs`.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_candidates.py [--sizes N,N] [--only WORDS] [--rounds DRAWS]

The 28 tasks of docs/defaults.md without reviews, whose sequences have one token each (without corpora, those on data/): sentences drawn from the training part without
its end, scored on that end. A line for each: tokens of a sequence; the share of the probability that the five best label sequences of a held-out one have
on average by the model of `lbfgs`; the share that `sapo` finds itself in the trial of its rate (1 with fewer than 5,000 tokens), and whether it warns; how many points `sapo`, `sapo -n 20` and `mira` are above
`lbfgs`, all with default options. In the end their means by the first share, and by whether `sapo` warns.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

import common
from bench_options import SOME, tasks

from crfkit import options
from crfkit.learning.fitting import fitted
from crfkit.learning.local import make_trainer
from crfkit.options import Run

NAMES = ("lbfgs", "sapo", "sapo -n 20", "mira")
BEST = 5  # candidates of sapo by default
MOST = 300  # sequences from which the share follows
STEPS = (0.25, 0.5, 0.75, 1.0)


def share(model: Any, held_out: list[Any]) -> float:
    """Of the probability, on average, that the best label sequences have."""
    rows = [[row[:-1] for row in rows] for rows in held_out[:MOST]]
    return fmean(sum(p for p, _ in paths) for paths in model.tagger().nbest_many(rows, BEST))


def ready(train: list[Any], template: Any) -> Any:
    """`sapo` with default options before its first pass."""
    numbers = common.numbers_of(train, template)
    return make_trainer("sapo", numbers, fitted(options.make("sapo", {}), numbers, False)[0], Run(threads=1))


def row(name: str, differences: list[list[float]]) -> list[Any]:
    """Of the table: how many there are; mean, least and greatest of each column."""
    columns = zip(*differences, strict=True)
    return [name, len(differences), *(f"{fmean(column):+.2f} ({min(column):+.2f} to {max(column):+.2f})" for column in columns)]


def main() -> None:
    parser = common.parser_of_tasks("How far sapo is above lbfgs, by the share of probability of the five best label sequences.", rounds=1, sizes="1000")
    given = parser.parse_args()
    found: list[tuple[float, bool, list[float]]] = []
    for one in tasks():
        if one.template is None or not common.is_wanted(one.name, given.only) or (common.corpora("conll2000") and one.name not in SOME):
            continue
        pool, held_out = common.held_out(one.make())
        for size in common.sizes_of(given.sizes, pool):
            shares, rows, trials, warned = [], [], [], []
            for draw in range(given.rounds):
                train = common.drawn(pool, size, draw)
                trainer = ready(train, one.template)
                trials.append(trainer.covered)
                warned.append(trainer.warning() is not None)
                made = [common.tagged(train, one.template, [held_out], name) for name in NAMES]
                shares.append(share(made[0][0], held_out))
                rows.append([common.score(one.scheme, labels, held_out) for _, (labels,) in made])
            first, *others = [fmean(column) for column in zip(*rows, strict=True)]
            found.append((fmean(shares), 2 * sum(warned) > len(warned), [other - first for other in others]))
            print(f"{one.name} | {size} | {fmean(map(len, held_out)):.0f} | {found[-1][0]:.2f} | {fmean(trials):.2f}{' warns' * found[-1][1]} | {first:.2f} | "
                  + " ".join(f"{x:+.2f}" for x in found[-1][2]), flush=True)
    print(f"\n{parser.description}\n{common.machine()}")
    groups = {f"{a:g} to {b:g}": [x for part, _, x in found if a <= part < b or part == b == 1] for a, b in zip((0.0, *STEPS), STEPS, strict=False)}
    groups |= {name: [x for _, warns, x in found if warns == kind] for name, kind in (("sapo warns", True), ("it does not", False))}
    lines = [row(name, inside) for name, inside in groups.items() if inside]
    common.table(["share of the five best", "tasks", *(f"{name} above {NAMES[0]}" for name in NAMES[1:])], lines)


if __name__ == "__main__":
    main()
