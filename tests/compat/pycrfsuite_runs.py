"""Models and trainers of python-crfsuite and of crfkit from the same made sentences."""

import random

import pycrfsuite
import pytest

from crfkit.compat import pycrfsuite as compat

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
BOTH = pytest.mark.parametrize("library", [pycrfsuite, compat], ids=["python-crfsuite", "crfkit"])


def sentences(n=40, seed=1):
    """Words that tell their labels most of the time."""
    rng = random.Random(seed)
    for _ in range(n):
        words = [rng.randrange(6) for _ in range(rng.randrange(1, 7))]
        items = [{"w": str(word), "bias": 1, "deep": {"odd": word % 2 == 1, "size": [f"s{word // 2}"]}} for word in words]
        yield items, [("O" if rng.random() < 0.1 else "OABO"[word % 4]) for word in words]


TWO = [([["a"], ["b"]], ["A", "B"])]  # data that tell two labels


def given(trainer, data=None):
    """The trainer, with these sequences or the made ones."""
    for items, labels in sentences() if data is None else data:
        trainer.append(items, labels)
    return trainer


def trained(library, path, algorithm="lbfgs", data=None, **params):
    trainer = given(library.Trainer(algorithm, params, verbose=False), data)
    trainer.train(str(path))
    return trainer


def opened(library, path):
    tagger = library.Tagger()
    tagger.open(str(path))
    return tagger
