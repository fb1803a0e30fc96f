"""Attributes given from Python, beside python-crfsuite on the same objects: appending to the training data, and tagging.

    python benchmarks/bench_attributes.py [--rounds N] [--sentences N]

Each token has about 16 attributes of itself and its neighbours, as a mapping (`{"w": "the", "cap": True}`) and as a list
of names (`["w:the", "cap"]`). One thread, one run, every figure in turn; both sides tag by a model of the same features.
A ratio above 1 says how many times as fast crfkit is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import common
import peers

import crfkit
from crfkit.features.builder import IndexBuilder
from crfkit.text.sources import parsed_blocks

Sentences = list[list[Any]]


def mapping(rows: list[list[str]], t: int) -> dict[str, Any]:
    """What a token has: itself, its neighbours, and their tags."""
    word, tag = rows[t][:2]
    found: dict[str, Any] = {
        "bias": 1.0, "w": word, "lower": word.lower(), "end3": word[-3:], "end2": word[-2:], "upper": word.isupper(),
        "title": word.istitle(), "digit": word.isdigit(), "tag": tag, "tag2": tag[:2],
    }  # fmt: skip
    for place, name in ((t - 1, "before"), (t + 1, "after")):
        if 0 <= place < len(rows):
            word, tag = rows[place][:2]
            found.update({f"{name}:lower": word.lower(), f"{name}:title": word.istitle(), f"{name}:tag": tag})
        else:
            found[f"{name}:none"] = True
    return found


def names(item: dict[str, Any]) -> list[str]:
    """The same as names alone; what is not so has none."""
    return [name if value in (True, 1.0) else f"{name}:{value}" for name, value in item.items() if value is not False]


def peer_works(forms: dict[str, tuple[Sentences, Sentences]], labels: list[list[str]], corpus: common.Corpus) -> dict[str, Callable[[], float]]:
    import pycrfsuite

    works = {}
    for form, (train, test) in forms.items():
        trainer, path = pycrfsuite.Trainer(verbose=False), str(corpus.folder / f"peer-{form}")
        trainer.set_params({"max_iterations": 5})

        def append(trainer: Any = trainer, train: Sentences = train) -> None:
            trainer.clear()
            for items, gold in zip(train, labels, strict=True):
                trainer.append(items, gold)

        append()
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        works[f"append, {form}"] = common.clock(append)
        works[f"tag, {form}"] = common.clock(lambda tagger=tagger, test=test: [tagger.tag(items) for items in test])
    return works


def own_works(forms: dict[str, tuple[Sentences, Sentences]], labels: list[list[str]]) -> dict[str, Callable[[], float]]:
    works = {}
    for form, (train, test) in forms.items():
        data = [list(zip(items, gold, strict=True)) for items, gold in zip(train, labels, strict=True)]

        def append(data: Any = data) -> None:
            builder = IndexBuilder(None, crfsuite=True)
            for rows, _ in parsed_blocks(data, "crfsuite", None):
                builder.add(rows)

        tagger = crfkit.Tagger(crfkit.learn(data, format="crfsuite", max_iter=5, warm_up=0))
        works[f"append, {form}"] = common.clock(append)
        works[f"tag, {form}"] = common.clock(lambda tagger=tagger, test=test: tagger.tag_many(test, threads=1))
        works[f"tag one by one, {form}"] = common.clock(lambda tagger=tagger, test=test: [tagger.tag(items) for items in test])
    return works


def measure(corpus: common.Corpus, rounds: int) -> tuple[dict[str, float], dict[str, int], float]:
    """Medians of everything, tokens of each kind of work, attributes of a token."""
    train, test = common.rows_of(corpus.train), corpus.test_rows
    as_mappings = [[[mapping(rows, t) for t in range(len(rows))] for rows in part] for part in (train, test)]
    as_lists = [[[names(item) for item in items] for items in part] for part in as_mappings]
    forms = {"mappings": (as_mappings[0], as_mappings[1]), "lists": (as_lists[0], as_lists[1])}
    labels = [[row[-1] for row in rows] for rows in train]
    works = {("crfkit", name): work for name, work in own_works(forms, labels).items()}
    if peers.crfsuite():
        works |= {("peer", name): work for name, work in peer_works(forms, labels, corpus).items()}
    medians = common.in_turn({" ".join(key): work for key, work in works.items()}, rounds)
    counts = {"append": sum(map(len, train)), "tag": sum(map(len, test))}
    return medians, counts, sum(len(item) for items in as_mappings[1] for item in items) / counts["tag"]


def main() -> None:
    with common.arguments("Attributes from Python", rounds=5) as (corpus, rounds, _):
        medians, counts, size = measure(corpus, rounds)
        print(f"{size:.1f} attributes a token in mappings")
        rows = []
        for name, took in medians.items():
            who, what = name.split(" ", 1)
            if who != "crfkit":
                continue
            peer = medians.get("peer " + what.replace(" one by one", ""))
            n = counts[what.split(",")[0].split()[0]]
            rows.append((what, common.per_second(n, took), common.per_second(n, peer) if peer else "", f"{peer / took:.1f}" if peer else ""))
        common.table(("what", "crfkit tokens/s", "python-crfsuite tokens/s", "ratio"), rows)


if __name__ == "__main__":
    main()
