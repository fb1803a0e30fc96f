"""What threads without locks cost and gain: the objective after some passes of sgd, adf and sapo, and seconds a pass.

    python benchmarks/bench_threads.py [--rounds N] [--sentences N]

Every round trains anew, as every run differs. The objective is the loss of the CRF on the training data with its
penalty, divided by that of one thread: mean, smallest and largest of all rounds.
"""

from __future__ import annotations

import array
from statistics import mean, median
from typing import Any

import common

from crfkit.testing import value_at
from crfkit.trainers.batch.objective import Objective

PASSES = 10
THREADS = (1, 2, 4)
CHOSEN = {"l2": 1.0, "rate": 0.1}


def trained(corpus: Any, objective: Objective, name: str, threads: int) -> tuple[float, float]:
    """The objective in the end, and the median of seconds a pass."""
    trainer = common.trainer_of(name, corpus, CHOSEN, threads)
    seconds = [common.seconds(trainer.run_pass) for _ in range(PASSES)]
    return value_at(objective, array.array("d", trainer.weights()))[0], median(seconds)


def main() -> None:
    with common.arguments(f"Threads without locks: {PASSES} passes", rounds=5) as (data, rounds, _):
        corpus = common.numbers_of([data.train], common.rules(common.TEMPLATE.name))
        objective = Objective(corpus.dataset, corpus.layout, CHOSEN["l2"], 1)
        rows = []
        for name in ("sgd", "adf", "sapo"):
            alone = trained(corpus, objective, name, 1)[0]
            for threads in THREADS:
                found = [trained(corpus, objective, name, threads) for _ in range(rounds)]
                ratios = [value / alone for value, _ in found]
                spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
                rows.append((name, threads, f"{mean(ratios):.3f}", spread, median(seconds for _, seconds in found)))
        common.table(("trainer", "threads", "objective", "range", "s/pass"), rows)


if __name__ == "__main__":
    main()
