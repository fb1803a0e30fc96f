"""Learns, saves, loads, tags and closes again and again; memory must stay where it was. python -m leaks --cycles N

The first fifth of the cycles may grow: modules are loaded, and the allocator finds its size.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from commands import limit

import crfkit
from crfkit import options
from crfkit.errors import CrfkitError
from crfkit.learning.memory import in_use
from crfkit.template.parsing import Template

ROWS = [[["the", "DT", "B"], ["dog", "NN", "I"]], [["dogs", "NNS", "B"]], [["the", "DT", "B"], ["old", "JJ", "I"], ["dog", "NN", "I"]]]
TEMPLATE = Template.parse('U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nU2:%m[0,0,"o+"]%S[0,0]\nB\nB1:%x[0,1]\n')
ALLOWED = 2 << 20  # bytes of growth, whatever the number of cycles


def cycle(number: int, folder: str) -> None:
    """The life of one model, and a few errors, which must not leak either."""
    algorithm = list(options.TRAINERS)[number % len(options.TRAINERS)]
    state = os.path.join(folder, "state") if number % 10 == 0 else None
    model = crfkit.learn(ROWS, TEMPLATE, algorithm, threads=1 + number % 2, checkpoint=state, **limit(algorithm, 1, 2))
    path = os.path.join(folder, "model")
    model.save(path)
    tagger = crfkit.load(path if number % 2 else model.to_bytes(), verify=number % 3 > 0)
    rows = [row[:2] for row in ROWS[2]]
    tagger.tag(rows)
    if algorithm != "lookahead":
        tagger.explain(rows)
    if tagger.has_probabilities:
        tagger.nbest(rows, 2)
        tagger.marginals(rows)
    list(model.features())
    for fault in (lambda: tagger.tag([["x"]]), lambda: crfkit.load(b"x" * 100), lambda: crfkit.learn(ROWS[:1], TEMPLATE, l2=-1.0)):
        try:
            fault()
        except CrfkitError:
            continue
        raise AssertionError("an error did not come")
    if state is not None:
        os.unlink(state)


def growth(cycles: int, work: Callable[[int, str], Any] = cycle) -> int:
    """Bytes by which memory in use grew after the first fifth of the cycles."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(cycles):
            if number == cycles // 5:
                gc.collect()
                before = in_use()[0]
            work(number, folder)
    gc.collect()
    return in_use()[0] - before


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="leaks", description=__doc__)
    parser.add_argument("--cycles", type=int, default=10000)
    given = parser.parse_args()
    grown = growth(given.cycles)
    print(f"{given.cycles:,} cycles; memory grew by {grown / 1024:,.0f} KB after the first fifth, {ALLOWED / 1024:,.0f} KB are allowed")
    sys.exit(grown > ALLOWED)
