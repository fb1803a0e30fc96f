"""sbcd or owlqn: seconds to come near the optimum that both have, against the number of labels.

    python benchmarks/bench_elastic.py [--rounds N] [--sentences N]

With CRFKIT_CORPORA: letters to sounds of NETtalk, without and with stress; parts of speech of the English Web Treebank, every tenth sentence,
alone and together with the relations of its trees. Without it, the letters of data/. Features: all labels and pairs (`all`), or those observed;
the seconds are processor seconds of one thread after reading, until the objective is within NEAR of the lowest that either finds, a median of
the rounds. A trainer has LIMIT seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import common
from bench_learn import Step, seconds_to

import crfkit

NEAR = 0.001
LIMIT = 30.0
L1 = 1.0
LETTER = "U00:%x[0,0]\nB00:%x[0,0]\n"
TRIGRAM = "U00:%x[0,0]\nB00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]/%x[1,0]\nB01:%x[-1,0]/%x[0,0]/%x[1,0]\nU02:bias\nB\n"
WORD = "U00:%x[0,0]\nB\n"
POS = (common.ROOT / "templates" / "pos.txt").read_text(encoding="utf-8")


class Task(NamedTuple):
    name: str
    sentences: list[str]
    template: str
    features: str


def tasks(most: int | None) -> Iterator[Task]:
    """What is measured: few sentences, so that all trainers come to an end."""
    nettalk, ewt = common.corpora("nettalk"), common.corpora("ewt-dep")
    if nettalk is None or ewt is None:
        letters = common.sentences_of((common.ROOT / "data" / "letters.train.txt").read_text(encoding="utf-8"))[:most]
        yield from (Task("data/letters, letters", letters, LETTER, "all"), Task("data/letters, 3-grams", letters, TRIGRAM, "observed"))
        return
    for name, file, words in (("sounds", "train.txt", 6000), ("sounds and stress", "train.joint.txt", 3000)):
        sentences = common.sentences_of((nettalk / file).read_text(encoding="utf-8"))[: most or words]
        yield Task(f"NETtalk, {name}: letters", sentences, LETTER, "all")
        yield Task(f"NETtalk, {name}: 3-grams", sentences, TRIGRAM, "observed")
    trees = common.sentences_of((ewt / "en_ewt-ud-train.conllu").read_text(encoding="utf-8"))[::10][:most]
    tags, both = ([labelled(tree, relation) for tree in trees] for relation in (False, True))
    yield Task("Web Treebank, tags", tags, POS, "observed")
    yield Task("Web Treebank, tags and relations: words", both, WORD, "observed")
    yield Task("Web Treebank, tags and relations: words", both, WORD, "all")


def labelled(tree: str, relation: bool) -> str:
    """Words with their tag, and with the relation to their head."""
    rows = (line.split("\t") for line in tree.splitlines() if line[0] != "#")
    return "\n".join(f"{row[1].replace(' ', '_')}\t{row[4]}{f':{row[7]}' * relation}" for row in rows if row[0].isdigit())


def followed(path: Path, task: Task, algorithm: str) -> tuple[list[Step], int]:
    """The way of a trainer, and the number of labels."""
    found: list[Step] = []

    def hear(record: dict[str, Any]) -> None:
        found.append(Step(record["cpu"] + (found[-1].seconds if found else 0.0), record["objective"]))

    def late() -> bool:
        return bool(found) and found[-1].seconds > LIMIT

    model = crfkit.learn(path, task.template, algorithm, features=task.features, l1=L1, threads=1, epsilon=0.0, delta=1e-4, progress=hear, stop=late)
    return found, len(model.labels)


def measure(path: Path, task: Task, rounds: int) -> tuple[Any, ...]:
    common.write_sentences(path, task.sentences)
    ways: dict[str, list[list[Step]]] = {"sbcd": [], "owlqn": []}
    for _ in range(rounds):
        for algorithm, found in ways.items():
            way, labels = followed(path, task, algorithm)
            found.append(way)
    least = min(step.objective for found in ways.values() for way in found for step in way)
    sbcd, owlqn = took = [median(seconds_to(way, least * (1 + NEAR)) for way in found) for found in ways.values()]
    cells = [f"{seconds:.2f}" if seconds < inf else f"over {way[-1].seconds:.0f}" for seconds, (way, *_) in zip(took, ways.values(), strict=True)]
    ratio = f"{owlqn / sbcd:.2f}" if max(took) < inf and sbcd else ""
    return task.name, task.features, labels, f"{sum(map(len, map(str.splitlines, task.sentences))):,}", *cells, ratio


def main() -> None:
    with common.arguments("Elastic net: sbcd and owlqn, processor seconds to the optimum", rounds=1) as (corpus, rounds, given):
        rows = []
        for task in tasks(given.sentences):
            rows.append(measure(corpus.folder / "elastic.txt", task, rounds))
            print(*rows[-1], sep=", ", file=sys.stderr)
        common.table(("task", "features", "labels", "tokens", "sbcd", "owlqn", "owlqn / sbcd"), rows)


if __name__ == "__main__":
    main()
