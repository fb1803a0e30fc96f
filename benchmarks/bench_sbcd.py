"""Block coordinate descent: seconds a pass against weights that are not zero, with sparse and with dense recursions.

    python benchmarks/bench_sbcd.py [--rounds N] [--sentences N]

Letters to sounds with rich edges: U00:%x[0,0] and B01:%x[0,0] with all label pairs. With CRFKIT_CORPORA naming a folder
that holds nettalk/, on those words with 51 labels and with the 161 of sounds and stress together; else on the shipped
letters. For falling values of l1, each from the solution of the one before, it makes PASSES passes, and then
measures passes from there with either form of the recursions in turn, and with what the trainer chooses for each matrix
(`auto`). A figure is the median of --rounds, in processor seconds: a pass runs on one thread.
"""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import common

from crfkit import options
from crfkit.trainers.base import summarise
from crfkit.trainers.batch.sbcd import Sbcd

VALUES = (30.0, 10.0, 3.0, 1.0, 0.3)
PASSES = 8
RULES = "U00:%x[0,0]\nB01:%x[0,0]\n"


def corpora(folder: Path, sentences: int | None) -> dict[str, Path]:
    """Name -> training file."""
    real = common.corpora("nettalk")
    files = {"data/letters": common.ROOT / "data" / "letters.train.txt"}
    if real is not None:
        files = {"nettalk": real / "train.txt", "nettalk.joint": real / "train.joint.txt"}
    cut = {}
    for name, file in files.items():
        cut[name] = folder / f"{name.replace('/', '-')}.txt"
        common.write_sentences(cut[name], common.sentences_of(file.read_text(encoding="utf-8"))[:sentences])
    return cut


def measure(numbers: Any, rounds: int) -> list[tuple[Any, ...]]:
    """A row for each value of l1."""
    rows = []
    rich = len(numbers.layout.arrays()["b_label"])
    weights = None
    for l1 in VALUES:
        trainers = {}
        for recursions in ("auto", "sparse", "dense"):
            chosen = options.make("sbcd", {"l1": l1, "recursions": recursions, "epsilon": 0.0, "delta": 0.0})
            trainers[recursions] = Sbcd(numbers.dataset, numbers.layout, chosen, initial=weights)
            if recursions == "auto":
                for _ in range(PASSES):
                    trainers["auto"].run_pass()
                weights = trainers["auto"].weights()
            trainers[recursions].run_pass()
        works = {name: lambda trainer=trainer: common.seconds(trainer.run_pass, process_time) for name, trainer in trainers.items()}
        auto, sparse, dense = common.in_turn(works, rounds).values()
        active = summarise(weights)[0]
        pairs = summarise(weights[numbers.layout.n_cells - rich :])[0]
        rows.append((f"{l1:g}", active, f"{pairs:,} of {rich:,}", auto, sparse, dense, f"{dense / sparse:.2f}" if sparse else ""))
    return rows


def main() -> None:
    with common.arguments("Block coordinate descent", rounds=3) as (corpus, rounds, given):
        for name, path in corpora(corpus.folder, given.sentences).items():
            numbers = common.numbers_of([path], common.rules(RULES), features="all")
            print(f"\n{name}: {numbers.dataset.n_sequences:,} words, {numbers.layout.labels} labels; processor seconds a pass")
            common.table(("l1", "weights", "pairs", "auto", "sparse", "dense", "dense / sparse"), measure(numbers, rounds))


if __name__ == "__main__":
    main()
