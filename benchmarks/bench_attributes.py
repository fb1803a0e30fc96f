"""Attributes given from Python, beside python-crfsuite on the same objects and models: appending to the training data,
tagging whole and short sequences, marginals of all labels.

    python benchmarks/bench_attributes.py [--rounds N] [--sentences N]

Each token has about 16 attributes of itself and its neighbours, as a mapping (`{"w": "the", "cap": True}`) and as a
list of names (`["w:the", "cap"]`). One thread, one run, every figure in turn. `pycrfsuite` is
crfkit.compat.pycrfsuite, called as python-crfsuite is; `crfkit` is crfkit.Tagger with the same model. A ratio says
how many times as fast they are.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NamedTuple

import common
import peers

import crfkit
from crfkit.compat import pycrfsuite as compat

Sentences = list[list[Any]]
SHORT = (1, 3, 10)


def mapping(rows: list[list[str]], t: int) -> dict[str, Any]:
    """What a token has: itself, its neighbours, and their tags."""
    word, tag = rows[t][:2]
    found: dict[str, Any] = {
        "bias": 1.0, "w": word, "lower": word.lower(), "end3": word[-3:], "end2": word[-2:], "upper": word.isupper(),
        "title": word.istitle(), "digit": word.isdigit(), "tag": tag, "tag2": tag[:2],
    }
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


def appending(library: Any, data: Sentences, labels: list[list[str]]) -> Any:
    """A trainer with all sequences."""
    trainer = library.Trainer(verbose=False)
    for items, gold in zip(data, labels, strict=True):
        trainer.append(items, gold)
    return trainer


def marginals_one_by_one(tagger: Any, sentences: Sentences) -> None:
    """All there are, each by a call, which is the only way that python-crfsuite has."""
    labels = tagger.labels()
    for items in sentences:
        tagger.set(items)
        for t in range(len(items)):
            for label in labels:
                tagger.marginal(label, t)


def marginals_at_once(tagger: compat.Tagger, sentences: Sentences) -> None:
    for items in sentences:
        tagger.set(items)
        tagger.marginals()


def cut(sentences: Sentences, size: int) -> Sentences:
    """The same tokens in sequences of that many."""
    return [items[t : t + size] for items in sentences for t in range(0, len(items), size)]


def each(ask: Callable[[Any], Any], sentences: Sentences) -> Callable[[], float]:
    return common.clock(lambda: [None for items in sentences if ask(items) is None])


def works_of(form: str, train: Sentences, test: Sentences, labels: list[list[str]], path: str) -> dict[tuple[str, str], Callable[[], float]]:
    """What is measured, by who does it and what it is."""
    libraries: dict[str, Any] = {"pycrfsuite": compat}
    if peers.crfsuite():
        import pycrfsuite

        libraries["peer"] = pycrfsuite
    trainer = appending(compat, train, labels)
    trainer.set("max_iterations", 5)
    trainer.train(path)
    works = {}
    own, few = crfkit.load(path), test[:200]
    for who, library in libraries.items():
        tagger = library.Tagger()
        tagger.open(path)
        works[who, f"append, {form}"] = common.clock(lambda library=library: appending(library, train, labels))
        works[who, f"tag, {form}"] = each(tagger.tag, test)
        for size in SHORT:
            short = cut(train, size), cut(labels, size)
            works[who, f"append {size} at a time, {form}"] = common.clock(lambda library=library, short=short: appending(library, *short))
            works[who, f"tag {size} at a time, {form}"] = each(tagger.tag, cut(test, size))
        ask = marginals_at_once if who == "pycrfsuite" else marginals_one_by_one
        works[who, f"marginals, {form}"] = common.clock(lambda ask=ask, tagger=tagger: ask(tagger, few))
    works["crfkit", f"tag, {form}"] = each(own.tag, test)
    works["crfkit", f"tag_many, {form}"] = common.clock(lambda: own.tag_many(test, threads=1))
    for size in SHORT:
        works["crfkit", f"tag {size} at a time, {form}"] = each(own.tag, cut(test, size))
    works["crfkit", f"marginals, {form}"] = each(own.marginals, few)
    return works


class Found(NamedTuple):
    """Of a work of ours: median seconds, and those of python-crfsuite at the same, if it is there."""

    who: str
    what: str
    tokens: int
    seconds: float
    peer: float | None


def measure(corpus: common.Corpus, rounds: int) -> tuple[list[Found], float]:
    """All works, and the attributes of a token."""
    train, test = common.rows_of(corpus.train), corpus.test_rows
    as_mappings = [[[mapping(rows, t) for t in range(len(rows))] for rows in part] for part in (train, test)]
    as_lists = [[[names(item) for item in items] for items in part] for part in as_mappings]
    labels = [[row[-1] for row in rows] for rows in train]
    works = {}
    for form, (of_train, of_test) in {"mappings": as_mappings, "lists": as_lists}.items():
        works.update(works_of(form, of_train, of_test, labels, str(corpus.folder / form)))
    gc.freeze()  # the data, which are no garbage
    medians = common.in_turn({" ".join(key): work for key, work in works.items()}, rounds)
    gc.unfreeze()
    tokens = {"append": sum(map(len, train)), "tag": sum(map(len, test)), "marginals": sum(map(len, test[:200]))}
    found = []
    for who, what in works:
        theirs = what.replace("_many", "")
        if who != "peer":
            found.append(Found(who, what, tokens[theirs.replace(",", " ").split()[0]], medians[f"{who} {what}"], medians.get(f"peer {theirs}")))
    return found, sum(len(item) for items in as_mappings[1] for item in items) / tokens["tag"]


def main() -> None:
    with common.arguments("Attributes from Python", rounds=5) as (corpus, rounds, _):
        works, size = measure(corpus, rounds)
        print(f"{size:.1f} attributes a token in mappings")
        rows = []
        for who, what, n, took, peer in works:
            rows.append((f"{who}: {what}", common.per_second(n, took), common.per_second(n, peer) if peer else "", f"{peer / took:.1f}" if peer and took else ""))
        common.table(("what", "crfkit tokens/s", "python-crfsuite tokens/s", "ratio"), rows)


if __name__ == "__main__":
    main()
