"""Many labels: seconds a pass, and tagging, where nearly all label pairs have no weight and where all have one.

    python benchmarks/bench_labels.py [--rounds N] [--sentences N]

With CRFKIT_CORPORA naming a folder that holds nettalk/ and ewt-dep/: on words of the first, with up to 161 labels, and on a
quarter of the second, whose 446 labels are parts of speech with relations (observed features alone). And on sequences made here
with 100, 200 and 400 labels, as many tokens each. What is made: each label is followed by one of FOLLOWERS others, and shows
itself by one of SYMBOLS symbols that no other label has, or, one time in ten, by any symbol. Features are symbols with
all labels and all pairs of labels. `sbcd` and `owlqn` have measured their passes after some others with an L1 penalty,
`lbfgs` with an L2 penalty, where all pairs have weights. Tagging is the whole command. Beside them CRFsuite's
averaged perceptron and L-BFGS, which have observed features.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import peers
from bench_elastic import labelled

from crfkit.learning.corpus import Corpus
from crfkit.model import build

SIZES = (100, 200, 400)
SEQUENCES, LENGTH = 480, 15
FOLLOWERS, SYMBOLS = 4, 3
WORDS = 2000  # of NETtalk
TREES = 3000  # of EWT
RULES = "U00:%x[0,0]\nU01:%x[-1,0]\nU02:%x[1,0]\nB\n"
COPIES = 10  # of the training part, for tagging
BEFORE = 5  # passes that are not measured
PASSES = 3  # of each trainer in a round
L1 = 1.0
RELATIONS = "EWT, relations"
PEERS = {"perceptron": "CRFsuite ap", "lbfgs": "CRFsuite lbfgs"}


class Measured(NamedTuple):
    """A trainer, and what it learns."""

    algorithm: str
    options: dict[str, Any]
    features: str = "all"
    after: str = ""  # the trainer whose weights it goes on from


TRAINERS = {
    "sbcd": Measured("sbcd", {"l1": L1}),
    "sbcd, dense": Measured("sbcd", {"l1": L1, "recursions": "dense"}, after="sbcd"),
    "owlqn": Measured("owlqn", {"l1": L1, "warm_up": 0}),
    "lbfgs": Measured("lbfgs", {"l2": 1.0}),
    "owlqn, observed": Measured("owlqn", {"l1": L1, "warm_up": 0}, "observed"),
    "lbfgs, observed": Measured("lbfgs", {"l2": 1.0}, "observed"),
    "adf": Measured("adf", {"l2": 1.0}),
    "sapo": Measured("sapo", {"l2": 1.0}),
    "perceptron": Measured("perceptron", {}),
    "sgd, observed": Measured("sgd", {"l2": 1.0, "rate": 0.1}, "observed"),
    "adf, observed": Measured("adf", {"l2": 1.0, "rate": 0.1}, "observed"),
    "sapo, observed": Measured("sapo", {"l2": 1.0, "rate": 0.1}, "observed"),
    "perceptron, observed": Measured("perceptron", {}, "observed"),
}


class Task(NamedTuple):
    """A corpus of many labels, one of half its sequences, and the trainers that it is for."""

    name: str
    path: Path
    half: Path
    trainers: Sequence[str]


class Found(NamedTuple):
    """Median seconds by what was measured: a pass of a trainer, tagging with its model, a pass over half."""

    labels: int
    tokens: int
    pairs: dict[str, int]  # that have a weight
    seconds: dict[str, float]


def made(labels: int, sequences: int) -> list[str]:
    """Sequences of that many labels."""
    rng = random.Random(labels)
    follows = [rng.sample(range(labels), min(FOLLOWERS, labels)) for _ in range(labels)]
    texts = []
    for number in range(sequences):
        label = number % labels
        lines = []
        for _ in range(LENGTH):
            shows = label if rng.random() < 0.9 else rng.randrange(labels)
            lines.append(f"s{shows}.{rng.randrange(SYMBOLS)} l{label}")
            label = rng.choice(follows[label])
        texts.append("\n".join(lines))
    return texts


def tasks(folder: Path, sentences: int | None) -> list[Task]:
    """All of them, as files."""
    texts = {f"made, {size} labels": made(size, SEQUENCES) for size in SIZES}
    real = common.corpora("nettalk")
    if real is not None:
        texts = {"nettalk.joint": common.sentences_of((real / "train.joint.txt").read_text(encoding="utf-8"))[:WORDS], **texts}
    trees = common.corpora("ewt-dep")
    if trees is not None:
        parsed = common.sentences_of((trees / "en_ewt-ud-train.conllu").read_text(encoding="utf-8"))[:TREES]
        texts = {RELATIONS: [labelled(tree, True) for tree in parsed], **texts}
    found = []
    for number, (name, parts) in enumerate(texts.items()):
        own = [name_of for name_of, one in TRAINERS.items() if name != RELATIONS or one.features == "observed"]  # all would take too long there
        task = Task(name, folder / f"labels-{number}.txt", folder / f"labels-{number}-half.txt", own)
        parts = parts[:sentences]
        common.write_sentences(task.path, parts)
        common.write_sentences(task.half, parts[: max(1, len(parts) // 2)])
        found.append(task)
    return found


def numbered(path: Path, features: str) -> Corpus:
    """A corpus with all features, or those observed."""
    return common.numbers_of([path], common.rules(RULES), features=features)


def trained(numbers: Corpus, one: Measured, others: dict[str, Any]) -> Any:
    """A trainer after its first passes, or after one from the weights of another."""
    initial = others[one.after].weights() if one.after else None
    trainer = common.trainer_of(one.algorithm, numbers, one.options, initial=initial)
    for _ in range(1 if one.after else BEFORE):
        trainer.run_pass()
    return trainer


def passes(trainer: Any) -> Callable[[], list[float]]:
    """Some more of them: a line search may look twice in one, and not in the next."""
    return lambda: [common.seconds(trainer.run_pass) for _ in range(PASSES)]


def pairs(numbers: Corpus, trainer: Any) -> int:
    """How many label pairs have a weight."""
    weights, cell, labels = trainer.weights(), numbers.layout.pair_cell, range(numbers.layout.labels)
    return sum(weights[cell(i, j)] != 0 for i in labels for j in labels if cell(i, j) >= 0)


def tagging(numbers: Corpus, trainer: Any, task: Task) -> Callable[[], float]:
    """Tags the training part, several times over, with the trainer's weights."""
    model = task.path.with_suffix(f".{type(trainer).__name__}-{numbers.layout.n_features}")
    header = {**numbers.header, "algorithm": "benchmark", "options": {}}
    build(numbers.layout, trainer.weights(), numbers.builder, header).save(model)
    text = task.path.with_suffix(".repeated")
    text.write_bytes(task.path.read_bytes() * COPIES)
    return lambda: common.command("-m", "crfkit", "tag", "--threads", 1, model, text).seconds


def ready_made(task: Task) -> Path:
    """The corpus as CRFsuite reads it: the same attributes."""
    path = task.path.with_suffix(".ready")
    with path.open("w", encoding="utf-8") as out:
        for text in common.sentences_of(task.path.read_text(encoding="utf-8")):
            words, labels = zip(*(line.split() for line in text.splitlines()), strict=True)
            around = ["_B-1", *words, "_B+1"]
            for t, label in enumerate(labels):
                print(label, f"0={words[t]}", f"-1={around[t]}", f"+1={around[t + 2]}", sep="\t", file=out)
            print(file=out)
    return path


def peer_passes(task: Task) -> dict[str, Callable[[], list[float]]]:
    """Those of CRFsuite's trainers, which begin anew each time. The first iteration of its L-BFGS evaluates the objective twice, and in its first
    passes the perceptron makes most of its mistakes, so these are left out."""
    if not peers.crfsuite():
        return {}
    trainer = peers.crfsuite_trainer(ready_made(task))

    def iterations(name: str, **chosen: Any) -> list[float]:
        return [one["time"] for one in peers.crfsuite_log(trainer, task.path.parent, name, **chosen)]

    return {
        PEERS["perceptron"]: lambda: iterations("ap", epsilon=0.0, max_iterations=BEFORE + PASSES)[BEFORE:],
        PEERS["lbfgs"]: lambda: iterations("lbfgs", c2=0.5, max_iterations=PASSES + 1)[1:],
    }


def measure(task: Task, rounds: int) -> Found:
    """Everything on one task in turn."""
    read = {features: numbered(task.path, features) for features in {TRAINERS[name].features for name in task.trainers}}
    corpora = {name: read[TRAINERS[name].features] for name in task.trainers}
    trainers: dict[str, Any] = {}
    for name, numbers in corpora.items():
        trainers[name] = trained(numbers, TRAINERS[name], trainers)
    works: dict[str, Callable[[], Any]] = {name: passes(trainer) for name, trainer in trainers.items()}
    for name in ("owlqn", "lbfgs", "lbfgs, observed"):
        if name in trainers:
            works[f"tagging, {name}"] = tagging(corpora[name], trainers[name], task)
    if halved := [name for name in ("adf", "sapo", "perceptron") if name in trainers]:
        half = numbered(task.half, "all")
        works.update({f"{name}, half": passes(trained(half, TRAINERS[name], trainers)) for name in halved})
    works.update(peer_passes(task))
    seconds = common.in_turn(works, rounds)
    weighted = {name: pairs(corpora[name], trainer) for name, trainer in trainers.items()}
    one = corpora[task.trainers[0]]  # all have the same tokens
    return Found(one.layout.labels, one.summary["tokens"], weighted, seconds)


def main() -> None:
    with common.arguments("Many labels", rounds=3) as (corpus, rounds, given):
        for task in tasks(corpus.folder, given.sentences):
            found = measure(task, rounds)
            print(f"\n{task.name}: {found.labels} labels, {found.tokens:,} tokens")
            rows = []
            for name, took in found.seconds.items():
                tokens = found.tokens * COPIES if name.startswith("tagging") else found.tokens // (1 + name.endswith("half"))
                rows.append((name, found.pairs.get(name.removeprefix("tagging, "), ""), took, common.per_second(tokens, took)))
            common.table(("what", "pairs", "s", "tokens/s"), rows)


if __name__ == "__main__":
    main()
