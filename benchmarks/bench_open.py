"""Opening a model, with its checksums and tables verified and without.

    python benchmarks/bench_open.py [--rounds N] [--sentences N]

The first sentence is tagged too: without verification the checks move there.
"""

from __future__ import annotations

import common

import crfkit


def main() -> None:
    with common.arguments("Opening a model", rounds=20) as (corpus, rounds, _):
        content = corpus.model.read_bytes()
        sentence = [row[:-1] for row in corpus.test_rows[0]]
        works = {
            "file, verified": lambda: crfkit.load(corpus.model),
            "file, not verified": lambda: crfkit.load(corpus.model, verify=False),
            "bytes, verified": lambda: crfkit.load(content),
            "bytes, not verified": lambda: crfkit.load(content, verify=False),
            "file, verified, and a sentence tagged": lambda: crfkit.load(corpus.model).tag(sentence),
            "file, not verified, and a sentence tagged": lambda: crfkit.load(corpus.model, verify=False).tag(sentence),
        }
        print(f"{len(content) / 1e6:.1f} MB")
        medians = common.in_turn(works, rounds)
        common.table(("what", "ms"), [(name, f"{1000 * took:.2f}") for name, took in medians.items()])


if __name__ == "__main__":
    main()
