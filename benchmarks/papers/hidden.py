"""The hidden Markov model of the simulated study, and draws from it (simulated.py says what the paper tells of it)."""

from __future__ import annotations

import itertools
import random

import numpy as np

LABELS, SYMBOLS, LENGTH = 6, 5, 5

Draw = list[tuple[list[int], list[int]]]  # symbols and labels of each sequence


class HMM:
    """The fifth and the sixth label share their symbol; only the labels before tell them apart, and only two of these do."""

    def __init__(self, dominant: float = 0.98, pulled: float = 0.9) -> None:
        self.step = np.full((LABELS, LABELS), 1 / LABELS)
        for before, label in ((0, 4), (1, 5)):
            self.step[before] = (1 - pulled) / (LABELS - 1)
            self.step[before, label] = pulled
        self.emit = np.full((LABELS, SYMBOLS), (1 - dominant) / (SYMBOLS - 1))
        self.emit[range(LABELS), [0, 1, 2, 3, 4, 4]] = dominant
        self.inputs = np.array(list(itertools.product(range(SYMBOLS), repeat=LENGTH)))
        self.joint = self._joint()

    def _joint(self) -> np.ndarray:
        """[input, position, label] Probabilities of each sequence of symbols together with a label at a position."""
        seen = self.emit.T[self.inputs]
        forward, backward = [seen[:, 0] / LABELS], [np.ones((len(seen), LABELS))]
        for k in range(1, LENGTH):
            forward.append(forward[-1] @ self.step * seen[:, k])
            backward.append((backward[-1] * seen[:, -k]) @ self.step.T)
        return np.stack([a * b for a, b in zip(forward, backward[::-1], strict=True)], axis=1)

    @property
    def bayes(self) -> float:
        """The least error, in per cent."""
        return float(100 * (1 - self.joint.max(axis=2).sum() / LENGTH))

    def error(self, labels: np.ndarray) -> float:
        """The error, in per cent, of a model that labels the inputs so: exact, there is no sample."""
        return float(100 * (1 - np.take_along_axis(self.joint, labels[:, :, None], axis=2).sum() / LENGTH))

    def draw(self, n: int, seed: int) -> Draw:
        chance = random.Random(seed)
        found = []
        for _ in range(n):
            labels = [chance.randrange(LABELS)]
            while len(labels) < LENGTH:
                labels += chance.choices(range(LABELS), self.step[labels[-1]])
            found.append(([chance.choices(range(SYMBOLS), self.emit[label])[0] for label in labels], labels))
        return found
