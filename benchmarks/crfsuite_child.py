"""CRFsuite in a process of its own, so that its memory can be told from ours: see peers.crfsuite_run.

    python benchmarks/crfsuite_child.py FEATURES MODEL

Prints the seconds that handing over the ready-made features took.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import pycrfsuite
from peers import read_ready

ITERATIONS = 5


def main(ready: str, model: str) -> None:
    """Read, train a little, write a model."""
    trainer = pycrfsuite.Trainer("lbfgs", {"c2": 1.0, "max_iterations": ITERATIONS}, verbose=False)
    append = 0.0
    for items, labels in read_ready(Path(ready)):
        start = perf_counter()
        trainer.append(items, labels)
        append += perf_counter() - start
    trainer.train(model)
    print(append)


if __name__ == "__main__":
    main(*sys.argv[1:])
