"""How evenly values tell tokens apart and how often labels follow themselves, against a few lines of Python."""

import random
import signal
from array import array
from itertools import accumulate, pairwise
from math import exp, log
from statistics import fmean, pstdev, pvariance

import pytest
from trainers.choices import with_choices

from crfkit.data.dataset import Dataset
from crfkit.data.tallies import NOTHING, Tallies, add_tally, repeats_in, values_in


def dataset_of(tokens, names=None):
    """One sequence; a token is a list of (attribute, value). The numbers of attributes are those of their names, or in the order in which they come."""
    numbers = {name: number for number, name in enumerate(names or dict.fromkeys(name for items in tokens for name, _ in items))}
    flat = [item for items in tokens for item in items]
    ends = [0, *accumulate(map(len, tokens))]
    ids, values = [numbers[name] for name, _ in flat], array("f", [value for _, value in flat])
    return Dataset(u_ptr=ends, u_id=ids, u_val=values, label=[0] * len(tokens), seq_ptr=[0, len(tokens)], n_u=len(numbers))


def evenness(data):
    return Tallies(data).evenness()


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


def drawn(seed):
    """Attributes that some tokens lack, or have several times; values of 0; words; a bias; attributes in other units, or far from 0."""
    rng = random.Random(seed)
    names = [(f"a{k}", rng.choice([0.01, 1, 50]), rng.choice([0, 0, 3, 100])) for k in range(rng.randrange(1, 6))]
    tokens = []
    for _ in range(rng.randrange(2, 30)):
        items = [(name, unit * (rng.gauss(0, 1) + far)) for name, unit, far in names for _ in range(rng.choice([0, 1, 1, 1, 2]))]
        tokens.append([*items, ("bias", 7.0), (rng.choice("xyz"), 1.0), ("zero", 0.0)])
    return tokens


@pytest.mark.parametrize("seed", range(40))
def test_by_whole_columns(seed):
    tokens = drawn(seed)
    assert evenness(dataset_of(tokens)) == pytest.approx(expected(tokens), rel=1e-4)


@pytest.mark.parametrize("seed", range(40))
def test_parts_of_data_add_up(seed):
    """Also attributes that are the same at all tokens of each part, but not of all parts."""
    parts = [[*part, [("step", float(number))]] for number, part in enumerate([drawn(seed), drawn(seed + 1), [], drawn(seed + 2)])]
    tokens = [token for part in parts for token in part]
    names = dict.fromkeys(name for items in tokens for name, _ in items)
    total = NOTHING * len(names)
    for part in parts:
        add_tally(total, values_in(dataset_of(part, names)))
    assert Tallies(dataset_of(tokens, names), lambda _: total).evenness() == pytest.approx(expected(tokens), rel=1e-4)


def test_numbers_of_other_labels_are_refused():
    with pytest.raises(ValueError, match="label 1 of 1"):
        repeats_in(Dataset(u_ptr=[0, 0, 0], label=[0, 1], labels="A", seq_ptr=[0, 2]))


@pytest.mark.parametrize("wrong", [NOTHING, NOTHING * 3, NOTHING[1:] * 2, array("d"), array("f", [1.0]) * 10, None])
def test_only_tallies_of_as_many_are_added(wrong):
    total = NOTHING * 2
    with pytest.raises((TypeError, ValueError)):
        add_tally(total, wrong)
    assert total == NOTHING * 2


class Heard(Exception):
    """Of a signal."""


@pytest.mark.steady
def test_signals_are_heard_while_values_are_counted():
    """A timer's, after a millisecond of some twenty. If counting did not check for signals, the handler would be called behind it."""
    def handler(*_):
        raise Heard

    n = 500_000
    data = Dataset(u_ptr=range(0, 4 * n + 1, 4), u_id=[0, 1, 2, 3] * n, u_val=[1.0, 2.0, 3.0, 4.0] * n, label=[0] * n, seq_ptr=[0, n], n_u=4)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(Heard):
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            values_in(data)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("seed", range(10))
def test_how_often_labels_follow_themselves(seed):
    """On average of all labels that others follow: in sequences, and not from one to the next."""
    rng = random.Random(seed)
    texts = [rng.choices("ABCD", [9, 3, 1, seed], k=rng.randrange(60)) for _ in range(40)]
    data = Dataset(u_ptr=[0] * (sum(map(len, texts)) + 1), label=["ABCD".index(label) for text in texts for label in text], labels="ABCD",
                   seq_ptr=[0, *accumulate(map(len, texts))])
    pairs = [pair for text in texts for pair in pairwise(text)]
    shares = [fmean(x == y for x, y in pairs if x == label) for label in {x for x, _ in pairs}]
    assert len(pairs) >= 500 and Tallies(data).repetition() == pytest.approx(fmean(shares))


def test_few_tokens_tell_nothing_of_labels():
    one, less = (Dataset(u_ptr=[0] * (n + 1), label=[0] * n, labels="A", seq_ptr=[0, n]) for n in (501, 500))
    assert Tallies(one).repetition() == 1 and Tallies(less).repetition() == 0


def test_labels_that_are_not_all_given_do_not_follow_themselves():
    data = with_choices(Dataset(u_ptr=[0] * 601, label=[0] * 600, labels="A", seq_ptr=[0, 600]), [[(0,), None] * 300], 2)
    assert Tallies(data).repetition() == 0


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
