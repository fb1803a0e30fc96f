"""Random choices that are the same with every version of Python."""

import random


class Dice:
    """A seeded source of choices built on `random.Random.random` alone.

    That method's sequence is the only one Python promises to keep for a given seed; `choice`, `shuffle` and the
    distributions have changed between versions. Only multiplications and comparisons are applied to its
    numbers, so that no mathematical library can tip a choice either.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def below(self, n: int) -> int:
        return int(self.random() * n)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def pick(self, items):
        return items[self.below(len(items))]

    def skewed(self, items):
        """The first items often and the last ones hardly ever, as with the words of a language."""
        u = self.random()
        return items[int(u * u * u * len(items))]

    def weighted(self, weights: dict):
        """A key of `weights`, in proportion to its value."""
        left = self.random() * plain_sum(weights.values())
        for key, weight in weights.items():
            left -= weight
            if left < 0:
                return key
        return key

    def bell(self) -> float:
        """About normal, mean 0 and variance 1: twelve uniform numbers added, less six."""
        return plain_sum(self.random() for _ in range(12)) - 6.0


def plain_sum(numbers) -> float:
    """The sum, one by one: from Python 3.12 on, `sum` corrects its rounding and so gives other last bits."""
    total = 0.0
    for number in numbers:
        total += number
    return total
