"""Models and trainers of python-crfsuite and of crfkit from the same made sentences."""

import random
from itertools import pairwise

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


def trained(library, path, algorithm="lbfgs", data=None, **params):
    trainer = library.Trainer(algorithm, params, verbose=False)
    for items, labels in sentences() if data is None else data:
        trainer.append(items, labels)
    trainer.train(str(path))
    return trainer


def appended(sequences):
    """What crfkit has kept of each sequence: its labels, and of each token the names and values."""
    return decoded(sequences.data, list(sequences.labels), list(sequences.names))


def decoded(data, labels, names):
    """The sequences of a data set, with these for the numbers of labels and attributes."""
    arrays = data.arrays()
    values = arrays.get("u_val", [1.0] * len(arrays["u_id"]))
    tokens = [[(names[arrays["u_id"][u]], values[u]) for u in range(begin, end)] for begin, end in pairwise(arrays["u_ptr"])]
    return [([labels[label] for label in arrays["label"][begin:end]], tokens[begin:end]) for begin, end in pairwise(arrays["seq_ptr"])]


def opened(library, path):
    tagger = library.Tagger()
    tagger.open(str(path))
    return tagger
