"""Intervals, against derivatives by finite differences. Is a difference significant? Against all exchanges, and the dice once more."""

import random
from itertools import product
from statistics import NormalDist

import pytest
from evaluation.test_evaluate import outputs
from xoshiro import Random

from crfkit.errors import DataError, OptionError
from crfkit.evaluation import significance
from crfkit.evaluation.evaluate import evaluate
from crfkit.evaluation.significance import _random


@pytest.mark.parametrize(("first", "second"), [
    (["B-A I-A", "B-A O", "B-A O", "O O", "O O", "B-A B-B"], ["O O", "B-A B-B", "B-A O", "O B-A", "B-A B-A", "B-B B-B"]),
    (["O O"] * 6, ["O O", "B-A O", "O O", "O B-A", "O B-B", "O O"]),
    (["O O", "I-A B-A", "I-A O", "B-A B-A", "B-B O", "I-A O"], ["O B-B", "O B-B", "O O", "O B-A", "O B-B", "O B-B"]),  # equal but for rounding
])
def test_significance_is_that_of_all_exchanges(first, second):
    """Also where no chunks are left to one of them."""
    gold = ["B-A I-A", "B-A B-B", "B-A O", "O B-A", "B-A O", "B-B B-B"]

    def text(columns):
        return "\n".join(
            "".join(f"w {g} {p}\n" for g, p in zip(*map(str.split, pair), strict=True)) for pair in columns
        )

    def scores(predicted):
        result = evaluate([g.split() for g in gold], [p.split() for p in predicted])
        return [result.precision, result.recall, result.f1, result.accuracy]

    observed = [abs(x - y) for x, y in zip(scores(first), scores(second), strict=True)]
    extreme = [0] * 4
    for exchange in product([False, True], repeat=len(gold)):
        one = [b if x else a for a, b, x in zip(first, second, exchange, strict=True)]
        two = [a if x else b for a, b, x in zip(first, second, exchange, strict=True)]
        for k, (x, y) in enumerate(zip(scores(one), scores(two), strict=True)):
            extreme[k] += abs(x - y) >= observed[k] - 1e-9
    files = outputs(text(zip(gold, first, strict=True)), text(zip(gold, second, strict=True)), keep=True)
    comparison = files.compare(0, 1, shuffles=100_000, seed=7)
    assert list(comparison.p.values()) == pytest.approx([n / 64 for n in extreme], abs=0.01)
    assert comparison.differences["f1"] == pytest.approx(scores(second)[2] - scores(first)[2])
    assert files.compare(0, 1, shuffles=100, seed=3) == files.compare(0, 1, shuffles=100, seed=3)
    assert files.compare(0, 0, shuffles=1).p["f1"] == 1


@pytest.mark.parametrize("strict", [False, True])
def test_intervals_follow_from_the_weight_of_each_sentence(strict):
    """By the infinitesimal jackknife: the derivatives of a score by the weights of sentences, which are counted one by one."""
    source = random.Random(5)
    gold, found = ([[source.choice(["O", "B-A", "I-A", "B-B"]) for _ in range(1 + n % 7)] for n in range(40)] for _ in range(2))
    found = [[g if source.random() < 0.6 else f for g, f in zip(*pair, strict=True)] for pair in zip(gold, found, strict=True)]
    alone = [evaluate([g], [f], "bio", strict) for g, f in zip(gold, found, strict=True)]

    def scores(weights):
        n_gold, n_found, correct, tokens, right = (
            sum(w * count(one) for w, one in zip(weights, alone, strict=True))
            for count in (lambda s: s.chunks.gold, lambda s: s.chunks.found, lambda s: s.chunks.correct, lambda s: s.tokens, lambda s: s.correct_tokens)
        )
        precision, recall = correct / n_found, correct / n_gold
        return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall), "accuracy": right / tokens}

    variances = dict.fromkeys(scores([1] * 40), 0.0)
    for n in range(40):
        more, less = ([1 + (k == n) * step for k in range(40)] for step in (1e-4, -1e-4))
        for name, high in scores(more).items():
            variances[name] += ((high - scores(less)[name]) / 2e-4) ** 2 * 40 / 39
    text = "\n".join("".join(f"w {g} {f}\n" for g, f in zip(*pair, strict=True)) for pair in zip(gold, found, strict=True))
    [result] = outputs(text, scheme="bio", strict=strict, intervals=True).scores
    assert result.intervals == pytest.approx({name: NormalDist().inv_cdf(0.975) * variance**0.5 for name, variance in variances.items()}, rel=1e-6)
    assert min(result.intervals.values()) > 0.01
    assert evaluate(gold, found, "bio", strict, intervals=True).intervals == result.intervals and evaluate(gold, found).intervals is None


def test_intervals_hold_the_scores_of_all_sentences():
    """95 times in 100, as promised, in draws of sentences whose difficulty differs."""
    source = random.Random(3)
    rights = [source.betavariate(4, 1) for _ in range(20_000)]
    gold = [[source.choice(["O", "B-A"]) for _ in range(source.randint(3, 20))] for _ in rights]
    found = [[g if source.random() < right else source.choice(["O", "B-A"]) for g in of_one] for of_one, right in zip(gold, rights, strict=True)]
    true = evaluate(gold, found, "bio")
    held = dict.fromkeys(("precision", "recall", "f1", "accuracy"), 0)
    for _ in range(500):
        drawn = source.choices(range(len(gold)), k=100)
        some = evaluate([gold[k] for k in drawn], [found[k] for k in drawn], "bio", intervals=True)
        for name in held:
            held[name] += abs(getattr(some, name) - getattr(true, name)) <= some.intervals[name]
    assert all(0.92 * 500 <= times <= 0.98 * 500 for times in held.values())


def test_intervals_of_sentences_of_one_token_are_those_of_draws():
    """80 of 100 are right: the deviation of a mean of draws."""
    [result] = outputs("w A A\n\n" * 80 + "w A B\n\n" * 20, intervals=True).scores
    assert result.intervals["accuracy"] == pytest.approx(1.96 * (0.8 * 0.2 / 99) ** 0.5, rel=1e-4)


def test_intervals_where_there_is_no_chance():
    [result] = outputs("w O O\n\n" * 9, intervals=True).scores
    assert result.intervals == dict.fromkeys(("precision", "recall", "f1", "accuracy"), 0.0) == result.as_dict()["intervals"]
    assert "intervals" not in outputs("w O O\n\n" * 9).scores[0].as_dict()
    for text in ("", "w O B-A\n"):
        with pytest.raises(DataError, match="an interval needs two sentences or more"):
            outputs(text, intervals=True)
    with pytest.raises(DataError, match=r"^an interval needs two sentences or more$"):
        evaluate([["O"]], [["O"]], intervals=True)
    with pytest.raises(OptionError, match=r"intervals: expected true or false, found 0\.95"):
        evaluate([["O"]], [["O"]], intervals=0.95)


def test_what_no_shuffle_reaches_is_one_in_all_of_them():
    """The observed difference is one of them, too. In these forty sentences, only two of 2^40 exchanges differ as much."""
    files = outputs("w O O\n\n" * 40, "w O B-A\n\n" * 40, keep=True)
    assert files.compare(0, 1, shuffles=99).p["accuracy"] == 0.01


def test_exchanges_do_not_depend_on_how_many_are_tried_at_once(monkeypatch):
    source = random.Random(1)
    files = outputs(*("".join(f"w {'OX'[n % 2]} {source.choice('OX')}\n\n" for n in range(70)) for _ in range(2)), keep=True)
    at_once = files.compare(0, 1, shuffles=500)
    monkeypatch.setattr(significance, "_AT_ONCE", 128 * 7)
    assert files.compare(0, 1, shuffles=500) == at_once and 0.1 < at_once.p["accuracy"] < 1


@pytest.mark.parametrize("seed", [0, 1234567, 2**64 - 1])
def test_sentences_are_exchanged_by_the_bits_of_splitmix64(seed):
    """In any pieces. The same numbers seed the generator of the trainers."""
    twin = []
    for first in range(3):
        twin += Random((seed + 4 * first * 0x9E3779B97F4A7C15) % 2**64).seeds
    assert twin == [*_random(seed, 0, 5).tolist(), *_random(seed, 5, 7).tolist()]


@pytest.mark.parametrize(("text", "message"), [
    ("a O O\n\n\nb B-A O\n", "<stream>:4: the gold labels of this sentence differ from those of sentence 2 of <stream>, in line 3"),
    ("a O O\n\nb O O\nc O O\n", "<stream>:3: this sentence has 2 tokens, but sentence 2 of <stream>, in line 3, has 1"),
    ("a O O\n", "<stream>: 1 sentence, but <stream> has 2"),
])
def test_only_outputs_for_the_same_gold_labels_are_compared(text, message):
    files = outputs("a O B-A\n\nb O O\n", text, keep=True)
    with pytest.raises(DataError, match=message):
        files.compare(0, 1)


def test_a_sentence_that_differs_is_told_with_its_lines():
    files = outputs("a O O\nb O O\n\nc O O\nd O O\n", "a O O\nb O O\n\n\nc O O\nd B-A O\n", keep=True)
    with pytest.raises(DataError, match="<stream>:5: the gold labels of this sentence differ from those of sentence 2 of <stream>, in line 4"):
        files.compare(0, 1)
