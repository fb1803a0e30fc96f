"""How evenly values tell tokens apart, against a few lines of Python."""

import random
from array import array
from itertools import accumulate
from math import exp, log
from statistics import fmean, pstdev, pvariance

import pytest

from crfkit.data.dataset import Dataset
from crfkit.data.evenness import evenness


def dataset_of(tokens):
    """One sequence; a token is a list of (attribute, value)."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for items in tokens for name, _ in items))}
    flat = [item for items in tokens for item in items]
    ends = [0, *accumulate(map(len, tokens))]
    ids, values = [numbers[name] for name, _ in flat], array("f", [value for _, value in flat])
    return Dataset(u_ptr=ends, u_id=ids, u_val=values, label=[0] * len(tokens), seq_ptr=[0, len(tokens)], n_u=len(numbers))


def expected(tokens, least=1e-4):
    """By whole columns."""
    names = sorted({name for items in tokens for name, _ in items})
    columns = [[sum(value for own, value in items if own == name) for items in tokens] for name in names]
    columns = [column for column in columns if len({*column}) > 1]
    counts = [sum(value != 0 for value in column) for column in columns]
    if not columns:
        return 1
    mean = sum(value**2 for column in columns for value in column) / sum(counts)
    logs = [n * log(max(pvariance(column) * len(tokens) / n / mean, least)) for n, column in zip(counts, columns, strict=True)]
    return exp(sum(logs) / sum(counts))


@pytest.mark.parametrize("seed", range(40))
def test_by_whole_columns(seed):
    """Attributes that some tokens lack, or have several times; values of 0; words; a bias; attributes in other units, or far from 0."""
    rng = random.Random(seed)
    names = [(f"a{k}", rng.choice([0.01, 1, 50]), rng.choice([0, 0, 3, 100])) for k in range(rng.randrange(1, 6))]
    tokens = []
    for _ in range(rng.randrange(2, 30)):
        items = [(name, unit * (rng.gauss(0, 1) + far)) for name, unit, far in names for _ in range(rng.choice([0, 1, 1, 1, 2]))]
        tokens.append([*items, ("bias", 7.0), (rng.choice("xyz"), 1.0), ("zero", 0.0)])
    assert evenness(dataset_of(tokens)) == pytest.approx(expected(tokens), rel=1e-4)


def test_what_is_even():
    rng = random.Random(1)
    columns = [[rng.gauss(5, 3) for _ in range(50)] for _ in range(4)]
    standardized = [[(value - fmean(column)) / pstdev(column) for value in column] for column in columns]

    def found(columns, scale=1.0, more=()):
        return evenness(dataset_of([[*((f"a{k}", scale * value) for k, value in enumerate(row)), *more] for row in zip(*columns, strict=True)]))

    assert found(standardized) == found(standardized, more=[("bias", 1.0)]) == pytest.approx(1, rel=1e-5)
    assert found(columns, 1000.0) == pytest.approx(found(columns), rel=1e-5)
    assert found([[value + 10 for value in column] for column in standardized]) == pytest.approx(1 / 101, rel=1e-4)
    assert found([standardized[0], [50 * value for value in standardized[1]]]) == pytest.approx((1 * 2500 / 1250.5**2) ** 0.5, rel=1e-4)
    assert found([standardized[0], [1000 * value for value in standardized[1]]]) == pytest.approx((1e-4 * 2) ** 0.5, rel=1e-4)  # not the millionth of the one


def test_what_has_no_values():
    words = Dataset(u_ptr=[0, 2, 3], u_id=[0, 1, 2], label=[0, 0], seq_ptr=[0, 2], n_u=3)
    assert evenness(words) == evenness(Dataset()) == evenness(dataset_of([[("bias", 3.0)]] * 4)) == evenness(dataset_of([[("zero", 0.0)]])) == 1
