"""Sequences with weights (@weight) in crfkit-crfsuite learn: python-crfsuite cannot give them, so each is counted by other means."""

import math
import random
import re
from collections import Counter
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import commands
import pycrfsuite
import pytest

from crfkit.compat.crfsuite import cli
from crfkit.trainers.online.crfsuite import shuffled

LABELS = "ABC"
run = partial(commands.invoked, cli)


def sequences(weights, n=15):
    """(weight, [(attribute, value, label), ...]); the first has all labels, so that they are numbered as in LABELS."""
    rng = random.Random(7)
    first = [(word, 1, label) for word, label in zip("pqr", LABELS, strict=True)]
    rest = [[(rng.choice("pqrst"), rng.choice([1, 0.5, 2]), rng.choice(LABELS)) for _ in range(rng.randint(1, 4))] for _ in range(n - 1)]
    return [(rng.choice(weights), rows) for rows in [first, *rest]]


def figures(data, *options):
    """The numbers in the log, by what stands before them."""
    text = "".join(f"@weight:{weight}\n" + "".join(f"{label}\t{word}:{value}\n" for word, value, label in rows) + "\n" for weight, rows in data)
    Path("weighted").write_text(text)
    found: dict = {}
    for name, number in re.findall(r"^(\w[\w ]*): ([\d.]+)$", run("learn", *options, "weighted").stdout, re.M):
        found.setdefault(name, []).append(float(number))
    return found


@pytest.mark.parametrize("least", [1, 2, 3, 4.5])
def test_features_are_as_frequent_as_those_of_a_sequence_that_is_repeated(least):
    data, said = sequences([1, 2, 3]), []

    class Trainer(pycrfsuite.BaseTrainer):
        def message(self, message):
            said.append(message)

    trainer = Trainer("ap", {"feature.minfreq": least, "max_iterations": 1})
    for weight, rows in data:
        for _ in range(weight):
            trainer.append([{word: value} for word, value, _ in rows], [label for *_, label in rows])
    trainer.train("")
    ours = figures(data, "-a", "ap", "-p", f"feature.minfreq={least}", "-p", "max_iterations=1")
    assert f"Number of features: {ours['Number of features'][0]:.0f}\n" in said


def features(rows, labels):
    """How much each feature of a labelled sequence counts."""
    counts = Counter(pairwise(labels))
    for (word, value, _), label in zip(rows, labels, strict=True):
        counts["word", word, label] += value
    return counts


def test_arow_takes_the_differences_as_often_as_the_weight_says():
    """Beside a slow twin, in the order that CRFsuite draws first."""
    data, gamma, variance, loss = sequences([0.25, 1, 3]), 0.7, 1.5, 0.0
    known = set().union(*(features(rows, [label for *_, label in rows]) for _, rows in data))
    mean, spread = dict.fromkeys(known, 0.0), dict.fromkeys(known, variance)
    for place in shuffled(len(data)):
        weight, rows = data[place]
        true = tuple(label for *_, label in rows)

        def score(labels, rows=rows):
            return sum(mean.get(name, 0) * count for name, count in features(rows, labels).items())

        best = max(product(LABELS, repeat=len(rows)), key=score)  # of equally good ones the first
        wrong = sum(a != b for a, b in zip(true, best, strict=True))
        if not wrong:
            continue
        difference = features(rows, true)
        difference.subtract(features(rows, best))
        delta = {name: weight * count for name, count in difference.items() if name in known}
        cost = score(best) - score(true) + wrong
        step = cost / (gamma + sum(spread[name] * x * x for name, x in delta.items()))
        for name, x in delta.items():
            mean[name] += step * spread[name] * x
            spread[name] = 1 / (1 / spread[name] + x * x / gamma)
        loss += weight * cost
    found = figures(data, "-a", "arow", "-p", f"gamma={gamma}", "-p", f"variance={variance}", "-p", "max_iterations=1")
    assert found["Loss"] == pytest.approx([loss], rel=1e-5)
    assert found["Feature norm"] == pytest.approx([math.hypot(*mean.values())], rel=1e-5)


def test_the_initial_loss_of_l2sgd_counts_each_sequence_once():
    data = sequences([0.5, 4])
    found = figures(data, "-a", "l2sgd", "-p", "max_iterations=1")
    assert found["Initial loss"] == pytest.approx([sum(len(rows) for _, rows in data) * math.log(len(LABELS))], abs=1e-5)
