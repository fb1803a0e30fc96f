"""Seconds a pass of the online trainers, and their ratios to the averaged perceptron.

    python benchmarks/bench_online.py [--rounds N] [--sentences N] [--train FILE --template FILE | --labels N] [--rich] [--only NAME]

With CRFKIT_CORPORA naming a folder that holds wsj-sample-pos/, that corpus of 45 labels is used, else
data/chunking; --train and --template take any other, --labels makes sequences of so many labels (bench_labels.py). --rich gives the templates' features of the current word to
pairs of labels too.

All trainers make a pass in turn, after a first one that is not counted: what else the machine does meets all of
them. The figures are medians of processor seconds; a ratio to the first trainer is the median of the ratios within a round. The passes go on from the weights
of the one before, so later rounds measure trainers that make few mistakes.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import bench_labels
import common

TRAINERS: dict[str, tuple[str, dict[str, Any]]] = {
    "perceptron": ("perceptron", {}),
    "sapo, n=5, astar": ("sapo", {"nbest": 5, "l2": 1.0, "rate": 0.1}),
    "sapo, n=5, beam": ("sapo", {"nbest": 5, "l2": 1.0, "rate": 0.1, "search": "beam", "beam": 50}),
    "sgd": ("sgd", {"l2": 1.0, "rate": 0.1}),
    "adf": ("adf", {"l2": 1.0}),
}
RICH = "B90:%x[0,0]\nB91:%x[-1,0]/%x[0,0]\n"


def default_corpus() -> tuple[Path, Path]:
    """Training data and a template for them."""
    real = common.corpora("wsj-sample-pos")
    if real is not None:
        return real / "train.txt", common.ROOT / "templates" / "pos.txt"
    return common.ROOT / "data" / "chunking.train.txt", common.TEMPLATE


def main() -> None:
    parser = common.parser_for("Passes of the online trainers.", rounds=5)
    parser.add_argument("--train", type=Path, metavar="FILE", help="training data")
    parser.add_argument("--template", type=Path, metavar="FILE", help="template for them")
    parser.add_argument("--labels", type=int, metavar="N", help="sequences made with so many labels")
    parser.add_argument("--rich", action="store_true", help="add two rich edge features to the template")
    parser.add_argument("--only", metavar="NAME", help="no other trainer than those whose name begins so")
    given = parser.parse_args()
    wanted = {name: one for name, one in TRAINERS.items() if name.startswith(given.only or "")}
    if not wanted:
        parser.error(f"no trainer begins with {given.only}")
    if given.labels:
        name, text = f"made, {given.labels} labels", bench_labels.RULES
        rows = [[line.split() for line in lines.splitlines()] for lines in bench_labels.made(given.labels, bench_labels.SEQUENCES)]
    else:
        train, template = default_corpus()
        train, template = given.train or train, given.template or template
        name, text, rows = f"{train}, {template.name}", template.read_text(encoding="utf-8"), common.rows_of(train)
    corpus = common.numbers_of(rows[: given.sentences], common.rules(text + RICH * given.rich))
    print(f"\nPasses of the online trainers\n{common.machine()}\ncorpus: {name}{' and rich edges' * given.rich}")
    print(", ".join(f"{corpus.summary[name]:,} {name}" for name in ("sequences", "tokens", "labels", "weights")))

    trainers = {name: common.trainer_of(algorithm, corpus, chosen) for name, (algorithm, chosen) in wanted.items()}
    times: dict[str, list[float]] = {name: [] for name in trainers}
    for trainer in trainers.values():
        trainer.run_pass()
    for _ in range(given.rounds):
        for name, trainer in trainers.items():
            times[name].append(common.seconds(trainer.run_pass, process_time))
    base = next(iter(times.values()))
    rows = []
    for name, found in times.items():
        ratio = median(own / other for own, other in zip(found, base, strict=True))
        rows.append((name, median(found), common.per_second(corpus.summary["tokens"], median(found)), f"{ratio:.2f}"))
    common.table(("trainer", "s/pass", "tokens/s", f"times {next(iter(times))}"), rows)


if __name__ == "__main__":
    main()
