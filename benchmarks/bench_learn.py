"""Seconds a pass of the trainers, beside CRFsuite on the same features.

    python benchmarks/bench_learn.py [--rounds N] [--sentences N] [--to-objective]

In every round each trainer makes some passes, one trainer after the other; the figure is the median of all its
passes. --to-objective trains CRFsuite to its end first, and shows passes and seconds to come as near to its objective:
that takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from statistics import median
from typing import Any

import common

from crfkit import learning, options
from crfkit.corpus import read_corpus
from crfkit.template import Template

L2 = 2.0  # CRFsuite: c2 = 1
PASSES = 5  # of each trainer in a round
NEAR = (1e-2, 1e-3, 1e-4, 1e-5, 0.0)
Passes = Callable[[], list[float]]


def own_passes(algorithm: str, corpus: Any, threads: int = 1, **chosen: Any) -> Passes:
    """A function that makes some more passes and returns the seconds of each."""
    trainer = learning.make_trainer(algorithm, corpus, options.make(algorithm, chosen), learning.Run(threads=threads))
    trainer.run_pass()  # the first one of L-BFGS evaluates the start too
    return lambda: [common.seconds(trainer.run_pass) for _ in range(PASSES)]


def peer_trainer(corpus: common.Corpus) -> Any:
    """CRFsuite with the training data, or None."""
    pycrfsuite = common.peer()
    if pycrfsuite is None:
        return None
    sentences = common.rows_of(corpus.train)
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, rows in zip(common.attributes(sentences), sentences, strict=True):
        trainer.append(tokens, [row[-1] for row in rows])
    return trainer


def peer_iterations(trainer: Any, folder: Any, algorithm: str, **parameters: Any) -> list[dict[str, Any]]:
    """CRFsuite's own log of a training run."""
    trainer.select(algorithm)
    trainer.set_params(parameters)
    trainer.train(str(folder / "peer"))
    return trainer.logparser.iterations


def peer_passes(trainer: Any, folder: Any, algorithm: str, **parameters: Any) -> Passes:
    def work() -> list[float]:
        log = peer_iterations(trainer, folder, algorithm, max_iterations=PASSES + 1, **parameters)
        return [iteration["time"] for iteration in log[1:]]

    return work


def compare_passes(corpus: common.Corpus, numbers: Any, peer: Any, rounds: int) -> None:
    """Seconds a pass of everything."""
    trainers = {
        "lbfgs, 1 thread": own_passes("lbfgs", numbers, 1, l2=L2),
        "lbfgs, 2 threads": own_passes("lbfgs", numbers, 2, l2=L2),
        "sgd": own_passes("sgd", numbers, l2=L2),
        "sapo": own_passes("sapo", numbers, l2=L2),
        "perceptron": own_passes("perceptron", numbers),
    }
    peers = {}
    if peer is not None:
        trainers["CRFsuite lbfgs"] = peer_passes(peer, corpus.folder, "lbfgs", c2=L2 / 2)
        trainers["CRFsuite ap"] = peer_passes(peer, corpus.folder, "ap", epsilon=0.0)
        peers = {"lbfgs, 1 thread": "lbfgs", "lbfgs, 2 threads": "lbfgs", "perceptron": "ap"}
    times: dict[str, list[float]] = {name: [] for name in trainers}
    for _ in range(rounds):
        for name, passes in trainers.items():
            times[name] += passes()
    medians = {name: median(found) for name, found in times.items()}
    rows = []
    for name, seconds in medians.items():
        other = peers.get(name)
        ratio = f"{medians[f'CRFsuite {other}'] / seconds:.2f}" if other and seconds else ""
        rows.append((name, seconds, common.per_second(numbers.summary["tokens"], seconds), ratio))
    common.table(("trainer", "s/pass", "tokens/s", "CRFsuite's s / ours"), rows)


def compare_ways(corpus: common.Corpus, numbers: Any, peer: Any) -> None:
    """Passes and seconds to come near to CRFsuite's final objective."""
    log = peer_iterations(peer, corpus.folder, "lbfgs", c2=L2 / 2, max_iterations=10000)
    ways = {"CRFsuite lbfgs": list(zip(accumulate(i["time"] for i in log), (i["loss"] for i in log), strict=True))}
    target = log[-1]["loss"]
    for threads in (1, 2):
        chosen = options.make("lbfgs", {"l2": L2, "epsilon": 0.0, "delta": 0.0})
        trainer = learning.make_trainer("lbfgs", numbers, chosen, learning.Run(threads=threads))
        way: list[tuple[float, float]] = []
        while not trainer.converged and len(way) < 1000 and (not way or way[-1][1] > target):
            took = common.seconds(lambda trainer=trainer, way=way: way.append((0.0, trainer.run_pass()["objective"])))
            way[-1] = (took + (way[-2][0] if len(way) > 1 else 0.0), way[-1][1])
        ways[f"lbfgs, {threads} thread{'s' * (threads > 1)}"] = way
    rows = []
    for near in NEAR:
        for name, way in ways.items():
            first = next((k for k, (_, found) in enumerate(way) if found <= target * (1 + near)), None)
            found = ("not reached", "") if first is None else (first + 1, f"{way[first][0]:.1f}")
            rows.append((f"{name}, within {near:g}" if near else f"{name}, at or below", *found))
    print(f"\nCRFsuite ends at {target:,.2f}")
    common.table(("way", "passes", "s"), rows)


def main() -> None:
    switch = "also measure the way to CRFsuite's final objective: minutes"
    with common.arguments("Training", rounds=2, to_objective=switch) as (corpus, rounds, given):
        numbers = read_corpus([corpus.train], Template.load(str(common.TEMPLATE)), learning.Run())
        peer = peer_trainer(corpus)
        compare_passes(corpus, numbers, peer, rounds)
        if given.to_objective and peer is not None:
            compare_ways(corpus, numbers, peer)


if __name__ == "__main__":
    main()
