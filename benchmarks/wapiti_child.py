"""Wapiti in a process of its own, so that its memory can be told from ours: see peers.wapiti_run.

    python benchmarks/wapiti_child.py TRAIN TEST TEMPLATE ITERATIONS

Wapiti itself prints a line for each iteration, with the processor seconds it took; here to standard output. After each one it tags its
development data, or all training data if there are none; they are made a single sentence here, so that this does not
count.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import perf_counter

from wapiti import Model

OPTIONS = {"algo": "l-bfgs", "nthread": 1, "rho1": 0.0, "rho2": 2.0}
NEVER = 1_000_000  # iterations that the rule to stop looks back


def sentences(path: str) -> list[str]:
    """Sentences of a file of columns, as text."""
    return Path(path).read_text(encoding="utf-8").strip().split("\n\n")


def main(train: str, test: str, template: str, iterations: str) -> None:
    """Train, then tag."""
    os.dup2(1, 2)
    rules = Path(template).read_text(encoding="utf-8")
    model = Model(patterns=rules, maxiter=int(iterations), stopwin=NEVER, **OPTIONS)
    other = Model(patterns=rules, **OPTIONS)
    texts = sentences(train)
    other.add_training_sequence(texts[0])
    for text in texts:
        model.add_training_sequence(text)
    model._model.contents.devel = other._model.contents.train
    model.train()
    model._model.contents.devel = None  # each model frees its own
    texts = sentences(test)
    tokens = sum(text.count("\n") + 1 for text in texts)
    start = perf_counter()
    for text in texts:
        model.label_sequence(text, True)
    print(f"rate {tokens / (perf_counter() - start)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
