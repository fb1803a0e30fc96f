"""`crfkit eval` of a million tokens.

    python benchmarks/bench_eval.py [--rounds N] [--sentences N]
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import common

import crfkit

TOKENS = 1_000_000
WRONG = 0.05  # share of the predicted labels that are drawn anew


def main() -> None:
    with common.arguments("Evaluation", rounds=3) as (corpus, rounds, given):
        wanted = TOKENS if given.sentences is None else 1
        rng = random.Random(1)
        labels = sorted({row[-1] for rows in corpus.test_rows for row in rows})
        gold, predicted, lines, tokens = [], [], [], 0
        while tokens < wanted:
            for rows in corpus.test_rows:
                right = [row[-1] for row in rows]
                found = [rng.choice(labels) if rng.random() < WRONG else label for label in right]
                gold.append(right)
                predicted.append(found)
                lines += [f"{' '.join(row)} {label}\n" for row, label in zip(rows, found, strict=True)]
                lines.append("\n")
                tokens += len(rows)
        path = corpus.folder / "tagged.txt"
        path.write_text("".join(lines), encoding="utf-8")

        def evaluate(*arguments: Any) -> Callable[[], float]:
            return lambda: common.command("-m", "crfkit", "eval", *arguments).seconds

        works = {
            "crfkit eval --help: start-up": evaluate("--help"),
            "crfkit eval": evaluate(path),
            "crfkit eval --tokens": evaluate("--tokens", path),
            "crfkit.evaluate(lists)": common.clock(lambda: crfkit.evaluate(gold, predicted)),
        }
        print(f"{tokens:,} tokens, {path.stat().st_size / 1e6:.1f} MB")
        common.table(("what", "s"), list(common.in_turn(works, rounds).items()))


if __name__ == "__main__":
    main()
