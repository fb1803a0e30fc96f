"""Up to which share of active label pairs the sparse loops are faster than the dense ones: the numbers behind `most_pairs`
in lattice/forms.pyx.

    python benchmarks/sparse_threshold.py

Times both kinds of forward-backward and of Viterbi in turn on random sequences. Each cell of the table is time of
the sparse loop / time of the dense loop, with a star where the rule in the code would take the sparse one: of
forward-backward for trainers that only sum, of Viterbi for all others.
"""

from __future__ import annotations

import argparse
import random

from common import seconds

from crfkit.loops.kernels import variant
from crfkit.testing import most_pairs
from crfkit.testing_lattices import OpenLattice

LENGTH = 2000  # long enough that the calls from Python do not count
SHARES = [0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.2]
REPEATS = 7


def compare(labels, share):
    """Time of the sparse loops relative to the dense ones: forward-backward, Viterbi; and what the rule says of each."""
    rng = random.Random(labels)
    tau = [[rng.gauss(0, 1) if rng.random() < share else 0.0 for _ in range(labels)] for _ in range(labels)]
    nodes = [[rng.gauss(0, 2) for _ in range(labels)] for _ in range(LENGTH)]
    dense, sparse = OpenLattice(labels), OpenLattice(labels)
    for lattice in (dense, sparse):
        lattice.load(nodes, tau)
    active = sparse.use_lists("shared")
    verbs = [dense.expect, sparse.expect, dense.viterbi, sparse.viterbi]
    best = [
        min(times) for times in zip(*([seconds(verb) for verb in verbs] for _ in range(REPEATS)), strict=True)
    ]
    return best[1] / best[0], best[3] / best[2], *(active <= most_pairs(labels, "auto", summed) for summed in (True, False))


def main():
    """Print the table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(f"variant {variant()}: forward-backward | Viterbi, sparse time / dense time")
    print("labels  " + "".join(f"{share:>15.1%}" for share in SHARES))
    for labels in (16, 32, 48, 64, 100, 150, 250, 400):
        line = f"{labels:>6}  "
        for share in SHARES:
            expect, viterbi, summed, searched = compare(labels, share)
            line += f"{expect:>6.2f}{' *'[summed]} |{viterbi:>5.2f}{' *'[searched]}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
