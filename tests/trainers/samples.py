"""The shipped corpora as data sets, and models judged by the twins' own Viterbi."""

from __future__ import annotations

import array
import random
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import models
import pytest
from problems import apart
from trainers.twins import Corpus, Sample, Weights, objective, viterbi

import crfkit.learning.corpus
import crfkit.learning.learn
import crfkit.learning.reader
from crfkit import options
from crfkit.model import Model
from crfkit.tagging import Tagger
from crfkit.template.parsing import Template
from crfkit.testing import value_at
from crfkit.trainers import trainer_class
from crfkit.trainers.batch.objective import Objective

ROOT = Path(__file__).parents[2]
Rows = list[list[str]]


@cache
def sentences(name: str, part: str = "train", limit: int | None = None) -> list[Rows]:
    """The first sentences of data/NAME.PART.txt as rows of columns."""
    return models.sentences(name, part)[:limit]


def template(name: str) -> Template:
    """templates/NAME.txt"""
    return Template.load(str(ROOT / "templates" / f"{name}.txt"))


@dataclass
class Numbers:
    """A corpus read by crfkit."""

    corpus: Any
    optima: dict[float, float] = field(default_factory=dict)

    @property
    def dataset(self) -> Any:
        return self.corpus.dataset

    @property
    def layout(self) -> Any:
        return self.corpus.layout

    def zeros(self) -> array.array:
        """The initial point of training."""
        return array.array("d", bytes(8 * self.layout.n_cells))

    def doubles(self, weights: array.array) -> array.array:
        """Stored weights as a point in double precision."""
        return array.array("d", weights)

    def value_at(self, l2: float, cells: array.array) -> tuple[float, array.array]:
        """The objective at a point, and its gradient."""
        return value_at(Objective(self.dataset, self.layout, l2, 1), cells)

    def optimum(self, l2: float) -> float:
        """The minimum of the objective, computed once."""
        if l2 not in self.optima:
            self.optima[l2] = end(trainer_of("lbfgs", self, l2=l2, delta=1e-9))[-1]
        return self.optima[l2]

    def left(self, weights: array.array, l2: float = 1.0) -> float:
        """The share of the objective's fall from zero weights to the optimum that these weights still lack."""
        start, reached = (self.value_at(l2, point)[0] for point in (self.zeros(), self.doubles(weights)))
        least = self.optimum(l2)
        return (reached - least) / (start - least)


def options_of(algorithm: str, **chosen: Any) -> Any:
    """The options as a trainer receives them: penalties and margin, if it has them, are numbers."""
    own = options.TRAINERS[algorithm](**chosen)
    return replace(own, **{name: value for name, value in (("l1", 0.3), ("l2", 1.0), ("margin", 30.0)) if getattr(own, name, value) is None})


def trainer_of(algorithm: str, corpus: Any, initial: array.array | None = None, seed: int = 0, threads: int = 1, **chosen: Any) -> Any:
    """A trainer by its name, for a corpus that was read or one of the twins."""
    return trainer_class(algorithm)(
        corpus.dataset, corpus.layout, options_of(algorithm, **chosen), initial=initial, seed=seed, threads=threads
    )


def with_passes(passes: int, trainer: Any) -> Any:
    """The trainer, so many passes later."""
    for _ in range(passes):
        trainer.run_pass()
    return trainer


def end(trainer: Any, most: int = 3000) -> list[float]:
    """The objective after each pass until training has converged; it never rises."""
    values: list[float] = []
    while not trainer.converged:
        values.append(trainer.run_pass()["objective"])
        assert len(values) < most
    slack = 1e-9 if type(trainer).__name__ == "Sbcd" else 0.0  # its objective is a sum of changes
    assert all(after <= before + slack * abs(before) for before, after in pairwise(values))
    return values


def assert_close(found: Weights, expected: Weights, rel: float, abs: float) -> None:
    """What pytest.approx says of these weights, in a tenth of its time: for many of them."""
    assert found.keys() == expected.keys()
    wrong = apart([found[feature] for feature in expected], [*expected.values()], rel, abs)
    assert not wrong.any(), [(feature, found[feature], expected[feature]) for feature, one in zip(expected, wrong, strict=True) if one][:9]


def misfit(weights: Weights, gradient: Weights, l1: float) -> float:
    """How far weights are from satisfying the conditions of the minimum: |g| <= l1 at zero, g = -l1 sign(w) elsewhere."""
    return max((max(abs(gradient[k]) - l1, 0.0) if w == 0 else abs(gradient[k] + l1 * (1 if w > 0 else -1)) for k, w in weights.items()), default=0.0)


def ends_at_the_minimum(trainer: Any, built: Any, l1: float, l2: float, precision: float) -> None:
    """Assert that training ends at the minimum of the twins' objective: no single weight can lower it."""
    values = end(trainer)
    weights = built.to_weights(trainer.weights())
    f, gradient = objective(weights, built.corpus, l2)
    assert f + l1 * sum(map(abs, weights.values())) == pytest.approx(values[-1], rel=1e-6, abs=1e-6)
    assert misfit(weights, gradient, l1) < precision  # what single precision allows


@cache
def read(name: str, sentences: int | None = None, rules: str | None = None) -> Numbers:
    """A shipped corpus, or its beginning, under the template of that name or another one."""
    rows = globals()["sentences"](name, limit=sentences)
    return Numbers(crfkit.learning.corpus.read_corpus(crfkit.learning.reader.Reader(rows, template(rules or name), options.Run())))


def tag(model: Model, rows: Rows) -> list[str]:
    """The best labels for a sentence, from the model's list of features: strings, dictionaries, the twins' Viterbi."""
    return models.names(model, viterbi(models.problem(model, rows)))


@lru_cache(1)
def named_weights(model: Model) -> dict[tuple[str | None, str | None, str], float]:
    """(attribute, previous label, label) -> weight"""
    return {(attribute, previous, label): weight for attribute, previous, label, weight in model.features()}


def accuracy_of(model: Model, sentences: list[Rows]) -> float:
    """Per token, by the model's own tagger."""
    found = Tagger(model).tag_many([[row[:-1] for row in rows] for rows in sentences])
    right = [row[-1] == label for rows, labels in zip(sentences, found, strict=True) for row, label in zip(rows, labels, strict=True)]
    return sum(right) / len(right)


def many_labels(labels=60, sequences=40, after_each=2, rich=False):
    """A corpus with so many labels, and so few pairs of them, that steps are lists, or matrices of which a few places are written. `rich`: most
    are changes of these, with two attributes that have the same pairs."""
    rng = random.Random(labels)
    follows = [rng.sample(range(labels), after_each) for _ in range(labels)]
    samples = []
    for s in range(sequences):
        own = [s % labels]
        for _ in range(7):
            own.append(rng.choice(follows[own[-1]]))
        shown = [own[t] if rng.random() < 0.7 else rng.randrange(labels) for t in range(8)]
        pairs = [[(a, 1.0), (labels + a // 2, 1.0)] if rich and a % 4 else [] for a in shown]
        samples.append(Sample(own, [[(a, 1.0)] for a in shown], pairs))
    return Corpus(samples, labels, labels, 2 * labels if rich else 0)
