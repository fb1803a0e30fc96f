"""The baselines of data/README.md: what the synthetic corpora give without crfkit's own trainers.

    python benchmarks/data_baselines.py [--only NAME]

needs python-crfsuite. Three labellers, on the features of the shipped templates: the most frequent label of
each word of the training data; CRFsuite without transitions (each token a sequence of its own: maximum
entropy); CRFsuite. CRFsuite has no rich edges, so B lines with macros are left out.
"""

import argparse
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import common
import peers

import crfkit


class Task(NamedTuple):
    corpus: str
    template: str
    measure: str  # what `figure` counts
    l2: float = 1.0  # CRFsuite's c2


TASKS = [
    Task("chunking", "chunking", "chunks"),
    Task("pos", "pos", "tokens"),
    Task("ner", "ner", "chunks"),
    Task("ner", "ner-words", "chunks"),
    Task("segmentation", "segmentation", "words"),
    Task("letters", "letter-to-sound", "tokens", l2=0.1),
    Task("reals", "", "tokens", l2=0.1),
]


def read_attributes(path: Path) -> tuple[list, list]:
    """The items of CRFsuite's format: here each is a sequence of its own."""
    items, labels = [], []
    for block in read_lines(path):
        label, *fields = block.split("\t")
        named = [field.replace("\\:", "\0").partition(":") for field in fields]
        items.append([{name.replace("\0", ":"): float(value or 1) for name, _, value in named}])
        labels.append([label])
    return items, labels


def read_lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


def load(task: Task, part: str) -> tuple[list, list, list]:
    """Items, labels and words (what the most frequent label is counted by) of one part of a corpus."""
    path = common.ROOT / "data" / f"{task.corpus}.{part}.txt"
    if not task.template:
        items, labels = read_attributes(path)
        colour = [[next(n for n in item if n.startswith("colour=")) for item in items_] for items_ in items]
        return items, labels, colour
    template = common.rules(f"{task.template}.txt")
    sentences = common.rows_of(path)
    labels = [[row[-1] for row in sentence] for sentence in sentences]
    words = [[row[0] for row in sentence] for sentence in sentences]
    return [common.attributes(sentence, template) for sentence in sentences], labels, words


def most_frequent(train_words: list, train_labels: list, words: list) -> list[list[str]]:
    """Each word's most frequent label; that of all words where the word is new."""
    counts: dict[str | None, Counter] = {None: Counter()}
    for sentence, labels in zip(train_words, train_labels, strict=True):
        for word, label in zip(sentence, labels, strict=True):
            counts[None][label] += 1
            counts.setdefault(word, Counter())[label] += 1
    return [[counts.get(word, counts[None]).most_common(1)[0][0] for word in sentence] for sentence in words]


def crfsuite(items: list, labels: list, l2: float, test: list) -> list[list[str]]:
    with TemporaryDirectory() as folder:
        return peers.crfsuite_labels(zip(items, labels, strict=True), test, f"{folder}/model", c1=0.0, c2=l2, max_iterations=500)


def one_by_one(sequences: list) -> list:
    return [[token] for sequence in sequences for token in sequence]


def regroup(answers: list[list[str]], like: list) -> list[list[str]]:
    flat = iter(answers)
    return [[next(flat)[0] for _ in sequence] for sequence in like]


def segments(labels: list[str]) -> set[tuple]:
    """Words of BMES labels as (first, behind)."""
    ends = [i + 1 for i, label in enumerate(labels) if label in "ES"]
    return set(zip([0, *ends], ends, strict=False))


def figure(measure: str, gold: list, answers: list) -> float:
    """Per cent: F-score of chunks or words, accuracy of tokens."""
    if measure != "words":
        scores = crfkit.evaluate(gold, answers, scheme="bio" if measure == "chunks" else "none")
        return 100 * (scores.f1 if measure == "chunks" else scores.accuracy)
    pairs = [(segments(g), segments(a)) for g, a in zip(gold, answers, strict=True)]
    return 200 * sum(len(g & a) for g, a in pairs) / sum(len(g) + len(a) for g, a in pairs)


def whole(gold: list, answers: list) -> float:
    return 100 * sum(g == a for g, a in zip(gold, answers, strict=True)) / len(gold)


def report(task: Task) -> None:
    items, labels, words = load(task, "train")
    test_items, gold, test_words = load(task, "test")
    known = {word for sentence in words for word in sentence}
    new = [word not in known for sentence in test_words for word in sentence]
    systems = {"most frequent label": most_frequent(words, labels, test_words)}
    apart = crfsuite(one_by_one(items), one_by_one(labels), task.l2, one_by_one(test_items))
    systems["without transitions"] = regroup(apart, gold)
    systems["CRFsuite"] = crfsuite(items, labels, task.l2, test_items)
    used = f"{task.template}.txt, " if task.template else ""
    print(
        f"{task.corpus} ({used}{task.measure}, c2={task.l2:g}): new words {100 * sum(new) / len(new):.1f} %"
    )
    for name, answers in systems.items():
        print(f"    {name:20} {figure(task.measure, gold, answers):6.2f} {whole(gold, answers):6.1f} % whole")


def main() -> None:
    parser = argparse.ArgumentParser(description="Baselines of the synthetic corpora.")
    parser.add_argument("--only", metavar="NAME", help="one corpus")
    only = parser.parse_args().only
    for task in TASKS:
        if only in (None, task.corpus):
            report(task)


if __name__ == "__main__":
    main()
