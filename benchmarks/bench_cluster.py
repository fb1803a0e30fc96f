"""What workers cost: bytes over the wire and seconds a pass, for 1, 2 and 4 of them, as processes and by
dask.distributed.

    python benchmarks/bench_cluster.py [--rounds N] [--sentences N]

One thread each. `alone` is one process without workers, with one thread. More workers than processors only share
these. `overhead` is what a pass takes longer than its part of the time alone; bytes are those of all messages of a
pass, both ways.
"""

from __future__ import annotations

import importlib.util
from contextlib import ExitStack
from itertools import pairwise
from statistics import median
from typing import Any

import common

import crfkit
from crfkit.cluster import messages, scheduler
from crfkit.parallel import available_cpus

PASSES = 12
WORKERS = (1, 2, 4)
CASES: dict[str, dict[str, Any]] = {
    # without a warm-up, which needs all data in one process
    "lbfgs": {"l2": 1.0, "warm_up": 0, "max_iter": PASSES, "epsilon": 0.0, "delta": 0.0},
    "owlqn": {"l1": 1.0, "warm_up": 0, "max_iter": PASSES, "epsilon": 0.0, "delta": 0.0},
    "perceptron": {"passes": PASSES},
    "sgd": {"passes": PASSES, "rate": 0.1, "l2": 1.0},
}


class Wire:
    """Counts the bytes of all messages that this process sends and gets."""

    def __init__(self) -> None:
        self.sent = self.got = 0

    def encode(self, values: Any) -> list[Any]:
        pieces = ENCODE(values)
        self.sent += sum(map(len, pieces))
        return pieces

    def decode(self, head: bytes, body: Any) -> Any:
        self.got += len(head) + len(body)
        return DECODE(head, body)


ENCODE, DECODE = messages.encode, messages.decode


def run(data: Any, algorithm: str, wire: Wire, **how: Any) -> tuple[float, float, float]:
    """Seconds a pass, and megabytes sent and received in one: medians, without the first pass."""
    records: list[tuple[float, int, int]] = []

    def note(record: dict[str, Any]) -> None:
        records.append((record["seconds"], wire.sent, wire.got))

    crfkit.learn(str(data.train), str(common.TEMPLATE), algorithm, progress=note, **CASES[algorithm], **how)
    both = list(pairwise(records[1:]))
    sent, got = (median(after[k] - before[k] for before, after in both) / 1e6 for k in (1, 2))
    return median(record[0] for record in records[1:]), sent, got


def transports(stack: ExitStack, n: int) -> dict[str, dict[str, Any]]:
    """How to ask for n workers."""
    found: dict[str, dict[str, Any]] = {"processes": {"workers": n, "threads": 1}}
    if importlib.util.find_spec("distributed") is not None:
        from distributed import LocalCluster

        local = stack.enter_context(LocalCluster(n_workers=n, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50))
        found["dask"] = {"cluster": local.scheduler_address}
    return found


def main() -> None:
    wire = Wire()
    for module in (messages, scheduler):
        vars(module).update(encode=wire.encode, decode=wire.decode)
    with common.arguments("Workers: a pass", rounds=3) as (data, rounds, _):
        rows = []
        alone = {name: median(run(data, name, wire, threads=1)[0] for _ in range(rounds)) for name in CASES}
        for name, seconds in alone.items():
            rows.append(("alone", 1, name, f"{seconds:.3f}", "", "", ""))
        for n in WORKERS:
            with ExitStack() as stack:
                for kind, how in transports(stack, n).items():
                    for name in CASES:
                        own = {key: value for key, value in how.items() if key != "threads" or name in ("lbfgs", "owlqn")}
                        found = [run(data, name, wire, **own) for _ in range(rounds)]
                        seconds, sent, got = (median(values) for values in zip(*found, strict=True))
                        overhead = seconds - alone[name] / min(n, available_cpus())
                        rows.append((kind, n, name, f"{seconds:.3f}", f"{sent:.2f}", f"{got:.2f}", f"{overhead:.3f}"))
        common.table(("workers", "n", "trainer", "s/pass", "MB sent", "MB received", "overhead, s"), rows)


if __name__ == "__main__":
    main()
