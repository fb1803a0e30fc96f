"""The order in which a token's attributes are given changes nothing, to the last bit."""

import array
import functools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crfkit
from crfkit.data.dataset import Dataset

NAMES = [f"a{k}" for k in range(300)]  # from 257 on they are sorted in another way
VALUES = [0.1, 0.93, 2.9e-5]  # sums depend on the order of such numbers


def drawn(dice, n, values):
    return [(name, dice.choice(VALUES) if values else 1.0) for name in dice.sample(NAMES, n)]


@functools.cache
def tagger(values):
    """Of tokens with many attributes, each of which says a little."""
    dice = random.Random(3)
    data = [[(drawn(dice, 30, values), dice.choice("xyz")) for _ in range(3)] for _ in range(30)]
    return crfkit.learn(data, algorithm="sgd", rate=0.1, passes=2, format="crfsuite").tagger()


@pytest.mark.parametrize("values", [False, True])
@given(st.integers(1, len(NAMES)), st.randoms(use_true_random=False))
def test_attributes_in_any_order_score_the_same(values, n, dice):
    items = drawn(dice, n, values)
    items += items[: n // 3]  # some come twice
    found = {tagger(values).marginals([order]).tobytes() for order in (items, dice.sample(items, len(items)), sorted(items), sorted(items, reverse=True))}
    assert len(found) == 1


@pytest.mark.parametrize("n", [2, 17, 64, 65, 256])
def test_of_an_attribute_that_comes_several_times_the_first_value_stays_first(n):
    dice = random.Random(n)
    items = [(dice.randrange(n // 2), float(k)) for k in range(n)]
    data = Dataset([0, 1], [0, n], *zip(*items, strict=True), label=[0], n_u=n)
    data.renumber(array.array("i", range(n)), array.array("i"))
    found = data.arrays()
    assert [*zip(found["u_id"], found["u_val"], strict=True)] == sorted(items, key=lambda item: item[0])


def test_of_an_attribute_that_comes_several_times_among_many_the_values_ascend():
    dice = random.Random(1)
    for n in range(257, 900, 37):
        items = [(dice.randrange(n // 9), dice.random()) for _ in range(n)]
        data = Dataset([0, 1], [0, n], *zip(*items, strict=True), label=[0], n_u=n)
        data.renumber(array.array("i", range(n)), array.array("i"))
        found = data.arrays()
        assert [*zip(found["u_id"], found["u_val"], strict=True)] == sorted((a, array.array("f", [value])[0]) for a, value in items)
