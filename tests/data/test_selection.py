"""Mutual information against a plain computation from probabilities, and the choice of the best attributes."""

import array
from collections import defaultdict
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainers.twins import Built, Corpus, Sample, corpora

import crfkit
from crfkit.data.selection import keep_best, mutual_information


def plain(corpus, bigram):
    """{attribute: mutual information}, over a table of (present, label)."""
    found = {}
    tokens = [(set(dict(items)), label, s.weight) for s in corpus.samples for items, label in zip(s.bigrams if bigram else s.unigrams, s.labels, strict=True)]
    total = sum(weight for *_, weight in tokens)
    for a in range(corpus.n_b if bigram else corpus.n_u):
        joint, rows, columns = defaultdict(float), defaultdict(float), defaultdict(float)
        for attributes, label, weight in tokens:
            joint[a in attributes, label] += weight / total
            rows[a in attributes] += weight / total
            columns[label] += weight / total
        found[a] = sum(p * log(p / (rows[x] * columns[y])) for (x, y), p in joint.items())
    return found


@given(corpora(labels=st.integers(2, 5)))
def test_mutual_information_is_that_of_the_definition(corpus):
    built = Built(corpus)
    for bigram, new in ((False, built.u_new), (True, built.b_new)):
        scores = mutual_information(built.dataset, bigram)
        for a, expected in plain(corpus, bigram).items():
            if new[a] >= 0:
                assert scores[new[a]] == pytest.approx(expected, abs=1e-12)


def test_attributes_that_tell_all_or_nothing():
    samples = [Sample([s % 2], [[(s % 2, 1.0), (2, 1.0), (2, 3.0)] + [(3, 1.0)] * (s < 4)], [[]]) for s in range(8)]
    built = Built(Corpus(samples, 2, 4))
    scores = mutual_information(built.dataset)
    assert [scores[k] for k in built.u_new] == pytest.approx([log(2), log(2), 0, 0], abs=1e-12)


@pytest.mark.long
def test_many_labels_and_attributes_are_counted_in_groups():
    """More pairs of attribute and label than fit into the table at once."""
    n_labels, n_u = 3000, 6000
    samples = [Sample([a % n_labels], [[(a, 1.0)]], [[]]) for a in range(n_u)]
    scores = mutual_information(Built(Corpus(samples, n_labels, n_u)).dataset)
    one, other = 1 / n_u, 1 - 1 / n_u
    share = 2 / n_u  # of a label
    expected = one * log(one / (one * share)) + one * log(one / (other * share)) + (1 - share) * log(1 / other)
    assert list(scores) == pytest.approx([expected] * n_u, rel=1e-9)


scores = st.lists(st.tuples(st.integers(0, 5).map(float), st.integers(0, 2)), max_size=12)


@given(scores, scores, st.integers(0, 30))
def test_the_best_are_kept_and_of_equal_ones_the_first(u, b, n):
    rules = tuple(bytearray(rule for _, rule in kind) for kind in (u, b))
    keep_best(tuple(array.array("d", [score for score, _ in kind]) for kind in (u, b)), rules, n)
    ranked = sorted((-score, number, k) for number, kind in enumerate((u, b)) for k, (score, rule) in enumerate(kind) if rule)[:n]
    for number, kind in enumerate((u, b)):
        assert list(rules[number]) == [rule if (-score, number, k) in ranked else 0 for k, (score, rule) in enumerate(kind)]


def test_dropped_attributes_are_not_scored():
    built = Built(Corpus([Sample([s % 2], [[(s % 2, 1.0)]], [[]]) for s in range(8)], 2, 2))
    for rules, expected in ((b"\1\2", [log(2), log(2)]), (b"\0\1", [0, log(2)]), (b"\1\0", [log(2), 0])):
        assert list(mutual_information(built.dataset, rules=rules)) == pytest.approx(expected)
    with pytest.raises(ValueError, match="rules for 1 attributes, expected 2"):
        mutual_information(built.dataset, rules=b"\1")


def test_attributes_of_the_labels_before_stay():
    """Every token has them, so that they tell nothing by themselves."""
    data = [[["a", "X"], ["b", "Y"], ["c", "X"]], [["b", "Y"], ["a", "X"], ["a", "X"]]]
    model = crfkit.learn(data, template="U:%x[0,0]\nU1:%y[-1]\nT\nB\n", algorithm="lookahead", select="mi:1", min_freq=2, average=False)
    assert {attribute for attribute, *_ in model.features()} == {"U:b", "U1:%y[-1]", "T", None}
