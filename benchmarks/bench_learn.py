"""Seconds a pass of the trainers, beside CRFsuite on the same features.

    python benchmarks/bench_learn.py [--rounds N] [--sentences N] [--to-objective]

In every round each trainer begins anew and makes some passes, one trainer after the other; the figure is the median of
all its passes but the first ones. --to-objective trains CRFsuite to its end first, and shows passes and seconds to
come as near to its objective: that takes minutes. These seconds begin when the data have been read, and count
everything from there: the warm-up, the tables that a trainer makes of the data, and each evaluation of the line
search. CRFsuite's are those of its own log, from its first iteration on.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import common
import peers

L2 = 2.0  # CRFsuite: c2 = 1
PASSES = 5  # of each trainer in a round
NEAR = (1e-2, 1e-3, 1e-4, 1e-5, 0.0)
MOST = 1000  # iterations
Passes = Callable[[], list[float]]
OWN: dict[str, tuple[str, int, dict[str, Any]]] = {
    "lbfgs, 1 thread": ("lbfgs", 1, {"l2": L2}),
    "lbfgs, 2 threads": ("lbfgs", 2, {"l2": L2}),
    "sgd": ("sgd", 1, {"l2": L2}),
    "sapo": ("sapo", 1, {"l2": L2}),
    "perceptron": ("perceptron", 1, {}),
}
PEERS = {"lbfgs, 1 thread": "CRFsuite lbfgs", "lbfgs, 2 threads": "CRFsuite lbfgs", "perceptron": "CRFsuite ap"}


def read(corpus: common.Corpus, features: str = "observed") -> Any:
    """The training data as numbers."""
    return common.numbers_of([corpus.train], common.rules(common.TEMPLATE.name), features=features)


def own_passes(algorithm: str, numbers: Any, threads: int = 1, **chosen: Any) -> Passes:
    """A function that trains anew and returns the seconds of each pass but the first: L-BFGS then evaluates the start
    too, and online trainers make most of their mistakes."""

    def work() -> list[float]:
        trainer = common.trainer_of(algorithm, numbers, chosen, threads)
        trainer.run_pass()
        return [common.seconds(trainer.run_pass) for _ in range(PASSES)]

    return work


def peer_passes(trainer: Any, folder: Any, algorithm: str, **parameters: Any) -> Passes:
    """The same for CRFsuite."""

    def work() -> list[float]:
        log = peers.crfsuite_log(trainer, folder, algorithm, max_iterations=PASSES + 1, **parameters)
        return [iteration["time"] for iteration in log[1:]]

    return work


def passes(corpus: common.Corpus, numbers: Any, peer: Any, rounds: int) -> dict[str, float]:
    """Seconds a pass of everything; of CRFsuite too if `peer` is its trainer."""
    works = {name: own_passes(algorithm, numbers, threads, **chosen) for name, (algorithm, threads, chosen) in OWN.items()}
    if peer is not None:
        works["CRFsuite lbfgs"] = peer_passes(peer, corpus.folder, "lbfgs", c2=L2 / 2)
        works["CRFsuite ap"] = peer_passes(peer, corpus.folder, "ap", epsilon=0.0)
    return common.in_turn(works, rounds)


class Step(NamedTuple):
    """Where a way to the optimum is after a pass."""

    seconds: float  # since its start
    objective: float  # loss and penalty, at the weights themselves


def peer_way(trainer: Any, corpus: common.Corpus) -> list[Step]:
    """CRFsuite's, to its own end."""
    log = peers.crfsuite_log(trainer, corpus.folder, "lbfgs", c2=L2 / 2, max_iterations=10000)
    return [Step(*pair) for pair in zip(accumulate(i["time"] for i in log), (i["loss"] for i in log), strict=True)]


def own_way(numbers: Any, threads: int, goal: float) -> list[Step]:
    """Ours, until it is at the goal. Passes of the warm-up know no objective but that of its dual's weights on the way:
    they are infinitely far from the goal, only their time counts."""
    start = perf_counter()
    trainer = common.trainer_of("lbfgs", numbers, {"l2": L2, "epsilon": 0.0, "delta": 0.0}, threads)
    way = [Step(perf_counter() - start, float("inf")) for _ in trainer.prepare()]
    while not trainer.converged and len(way) < MOST and (not way or way[-1].objective > goal):
        objective = trainer.run_pass()["objective"]
        way.append(Step(perf_counter() - start, objective))
    return way


def arrival(way: list[Step], goal: float) -> int | None:
    """After how many passes the way is at the goal."""
    return next((number for number, step in enumerate(way, 1) if step.objective <= goal), None)


def seconds_to(way: list[Step], goal: float) -> float:
    """After how many seconds the way is at the goal: infinitely many if it never is."""
    number = arrival(way, goal)
    return float("inf") if number is None else way[number - 1].seconds


def show_passes(medians: dict[str, float], tokens: int) -> None:
    """The table."""
    rows = []
    for name, seconds in medians.items():
        other = medians.get(PEERS.get(name, ""))
        ratio = f"{other / seconds:.2f}" if other and seconds else ""
        rows.append((name, seconds, common.per_second(tokens, seconds), ratio))
    common.table(("trainer", "s/pass", "tokens/s", "CRFsuite's s / ours"), rows)


def show_ways(corpus: common.Corpus, numbers: Any, peer: Any, rounds: int) -> None:
    """Passes and seconds to come near to CRFsuite's final objective."""
    ways: dict[str, list[list[Step]]] = {"CRFsuite lbfgs": [], "lbfgs, 1 thread": [], "lbfgs, 2 threads": []}
    for _ in range(rounds):
        ways["CRFsuite lbfgs"].append(peer_way(peer, corpus))
        goal = ways["CRFsuite lbfgs"][0][-1].objective
        for threads, name in enumerate(list(ways)[1:], 1):
            ways[name].append(own_way(numbers, threads, goal))
    rows = []
    for near in NEAR:
        for name, found in ways.items():
            wanted = goal * (1 + near)
            number = arrival(found[0], wanted)
            cells = ("not reached", "") if number is None else (number, median(seconds_to(way, wanted) for way in found))
            rows.append((f"{name}, within {near:g}" if near else f"{name}, at or below", *cells))
    print(f"\nCRFsuite ends at {goal:,.2f}")
    common.table(("way", "passes", "s"), rows)


def main() -> None:
    switch = "also measure the way to CRFsuite's final objective: minutes"
    with common.arguments("Training", rounds=2, to_objective=switch) as (corpus, rounds, given):
        numbers = read(corpus)
        peer = peers.crfsuite_trainer(corpus.ready) if peers.crfsuite() else None
        show_passes(passes(corpus, numbers, peer, rounds), numbers.summary["tokens"])
        if given.to_objective and peer is not None:
            show_ways(corpus, numbers, peer, rounds)


if __name__ == "__main__":
    main()
