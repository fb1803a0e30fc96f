"""Training where not all labels are given, against enumeration of the labellings that may be true."""

import array
from collections import defaultdict
from itertools import product
from math import exp, inf
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import Problem
from trainers.choices import left_open, opened, with_choices
from trainers.samples import (
    Numbers,
    assert_close,
    end,
    many_labels,
    misfit,
    options_of,
    sentences,
    template,
    trainer_of,
    with_passes,
)
from trainers.twins import Built, Corpus, Sample, corpora, expected_features, likelihood, log_sum, problem, seeded, weighted
from trainers.twins_online import shares

from crfkit.data.dataset import Dataset
from crfkit.data.tallies import ambiguity_in
from crfkit.learning.corpus import read_corpus
from crfkit.learning.reader import Reader
from crfkit.options import Run
from crfkit.testing import value_at
from crfkit.trainers.batch.objective import Objective
from crfkit.trainers.online.sgd import Sgd
from crfkit.weights import observed
from crfkit.weights.layout import Layout

MOST_SEEN = 16  # labels of a choice that gives features


def marginal(weights, sample, choice, n_labels):
    """The negative logarithm of the probability of all labellings that may be true, and its gradient: a mean of those of
    these labellings."""
    parts = [
        likelihood(weights, Sample(list(labels), sample.unigrams, sample.bigrams), n_labels)
        for labels in product(*(range(n_labels) if of_token is None else of_token for of_token in choice))
    ]
    total = log_sum([-nll for nll, _ in parts])
    gradient = defaultdict(float)
    for nll, own in parts:
        for feature, g in own.items():
            gradient[feature] += exp(-nll - total) * g
    return -total, gradient


def objective(weights, corpus, choices, l2):
    f = l2 / 2 * sum(w * w for w in weights.values())
    gradient = {feature: l2 * w for feature, w in weights.items()}
    for sample, choice in zip(corpus.samples, choices, strict=True):
        nll, own = marginal(weights, sample, choice, corpus.n_labels)
        f += sample.weight * nll
        for feature in gradient:
            gradient[feature] += sample.weight * own[feature]
    return f, gradient


SMALL = corpora(labels=st.integers(2, 4))


@given(SMALL, seeded(), st.sampled_from([0.0, 0.5]), st.sampled_from(["dense", "sparse"]), st.integers(1, 3), st.data())
def test_the_objective_sums_over_what_may_be_true(corpus, rng, l2, recursions, threads, data):
    built, choices = Built(corpus), left_open(rng, corpus)
    weights = weighted(data.draw, corpus.features())
    f, gradient = value_at(Objective(opened(built, choices).dataset, built.layout, l2, threads, recursions), built.to_cells(weights, "d"))
    expected_f, expected = objective(weights, corpus, choices, l2)
    assert f == pytest.approx(expected_f, rel=1e-10, abs=1e-10)
    assert built.to_weights(gradient) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("rich", [False, True])
@pytest.mark.parametrize("features", ["seen pairs", "all pairs"])
def test_many_labels(features, rich):
    """Steps that are lists of pairs, or large matrices, or changes of these: against forward and backward with scores of -inf."""
    corpus = many_labels(130, 2, 9, rich)
    corpus.tau_all = features == "all pairs"
    built, rng = Built(corpus), Random(1)
    choices = left_open(rng, corpus)
    weights = {feature: rng.randint(-8, 8) / 4 for feature in sorted(corpus.features(), key=str)}
    f, gradient = 0.0, dict.fromkeys(weights, 0.0)
    for sample, choice in zip(corpus.samples, choices, strict=True):
        p = problem(weights, sample, 130)
        some = [[x if labels is None or j in labels else -inf for j, x in enumerate(row)] for row, labels in zip(p.nodes, choice, strict=True)]
        (log_z, expected), (log_some, expected_some) = (expected_features(q, sample) for q in (p, Problem(some, p.tau, p.edges)))
        f += log_z - log_some
        for feature in gradient:
            gradient[feature] += expected[feature] - expected_some[feature]
    data = opened(built, choices)
    for recursions in ("auto", "sparse", "dense"):
        found, slopes = value_at(Objective(data.dataset, built.layout, 0.0, 1, recursions), built.to_cells(weights, "d"))
        assert found == pytest.approx(f, rel=1e-10)
        assert_close(built.to_weights(slopes), gradient, rel=1e-9, abs=1e-9)
    for name in ("sgd", "adf"):
        trainer = trainer_of(name, data, initial=built.to_cells(weights), rate=0.25, l2=0.0, batch_size=2)
        assert trainer.run_pass()["loss"] == pytest.approx(f, rel=1e-6)
        after = {feature: w - 0.25 * gradient[feature] for feature, w in weights.items()}
        assert_close(built.to_weights(trainer.weights()), after, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["sgd", "adf"])
@given(SMALL, seeded(), st.data())
def test_an_update_from_all_sequences_is_a_step_along_the_gradient(name, corpus, rng, data):
    built, choices = Built(corpus), left_open(rng, corpus)
    weights, n = weighted(data.draw, corpus.features()), len(corpus.samples)
    trainer = trainer_of(name, opened(built, choices), initial=built.to_cells(weights), rate=0.25, l2=0.0, batch_size=n, crf_loss=True)
    f, gradient = objective(weights, corpus, choices, 0.0)
    assert trainer.measures()["crf_loss"] == pytest.approx(f, rel=1e-6, abs=1e-6)
    assert trainer.run_pass()["loss"] == pytest.approx(f, rel=1e-6, abs=1e-6)
    after = {feature: w - 0.25 * gradient[feature] for feature, w in weights.items()}
    assert built.to_weights(trainer.weights()) == pytest.approx(after, rel=1e-5, abs=1e-5)


@given(SMALL, seeded(), st.data())
def test_large_values_have_their_share_of_a_rate_that_was_found(corpus, rng, data):
    built, choices = Built(corpus), left_open(rng, corpus)
    weights, n, of = weighted(data.draw, corpus.features()), len(corpus.samples), shares(corpus)
    own, training = options_of("sgd", rate=0.25, l2=0.0, batch_size=n), opened(built, choices)
    trainer = with_passes(1, Sgd(training.dataset, training.layout, own, initial=built.to_cells(weights), found=True))
    _, gradient = objective(weights, corpus, choices, 0.0)
    after = {feature: w - 0.25 * of.get(feature[:2], 1.0) * gradient[feature] for feature, w in weights.items()}
    assert built.to_weights(trainer.weights()) == pytest.approx(after, rel=1e-5, abs=1e-5)


@given(SMALL, seeded())
def test_choices_give_features_with_each_of_their_labels(corpus, rng):
    choices = left_open(rng, corpus)
    data = with_choices(Built(corpus).dataset, choices, corpus.n_labels)
    n_u, n_b = data.n_u, data.n_b
    with patch.object(observed, "TOKENS_AT_ONCE", 3):
        layout, u_new, b_new = Layout.build(data, corpus.n_labels, 1, bytes([1]) * n_u, bytes([1]) * n_b)
    arrays, cells, t = data.arrays(), set(), 0
    for choice in choices:
        own = [of_token or () for of_token in choice]
        for k, labels in enumerate(own):
            attributes = arrays["u_id"][arrays["u_ptr"][t] : arrays["u_ptr"][t + 1]]
            cells.update(layout.cell(u_new[a], j) for a in attributes for j in labels)
            for i, j in product(own[k - 1], labels) if k else ():
                cells.add(layout.pair_cell(i, j))
                pairs = arrays["b_id"][arrays["b_ptr"][t] : arrays["b_ptr"][t + 1]] if n_b else ()
                cells.update(layout.rich_cell(b_new[b], -1, i, j) for b in pairs)
            t += 1
    assert -1 not in cells
    assert len(cells) == layout.n_features


def test_a_choice_between_too_many_labels_gives_no_feature():
    data = Built(Corpus([Sample([0, 1], [[(0, 1.0)], [(1, 1.0)]], [[], []])], 20, 2)).dataset
    for size, features in ((MOST_SEEN, MOST_SEEN + 1), (MOST_SEEN + 1, 1)):
        opened_data = with_choices(data, [[(3,), tuple(range(size))]], 20)
        assert Layout.build(opened_data, 20, 0, b"\1\1", b"")[0].n_features == features


@pytest.mark.parametrize(("name", "l1"), [("lbfgs", 0.0), ("owlqn", 0.5)])
def test_training_ends_where_no_weight_can_lower_the_objective(name, l1):
    corpus = Corpus([Sample([s % 3, s % 2], [[(s % 3, 1.0)], [(s % 4, 1.0)]], [[], []]) for s in range(12)], 3, 4)
    choices = [[None if s % 4 == 0 else (s % 3,), (0, 1) if s % 3 == 0 else (s % 2,)] for s in range(12)]
    built = Built(corpus)
    own = {"l1": l1} if l1 else {}
    trainer = trainer_of(name, opened(built, choices), l2=0.5, epsilon=1e-12, delta=1e-12, **own)
    assert bool(list(trainer.prepare())) == (name == "lbfgs")  # the ascent of owlqn needs a dual
    values, weights = end(trainer), built.to_weights(trainer.weights())
    f, gradient = objective(weights, corpus, choices, 0.5)
    assert f + l1 * sum(map(abs, weights.values())) == pytest.approx(values[-1], rel=1e-6)
    assert misfit(weights, gradient, l1) < 1e-4
    assert values[-1] < values[0]
    assert "gap" not in trainer.run_pass()  # as there is no dual problem


@given(SMALL, seeded())
def test_one_label_to_choose_from_is_that_label(corpus, rng):
    built = Built(corpus)
    same = opened(built, [[(j,) for j in sample.labels] for sample in corpus.samples])
    assert same.dataset.checksum() == Dataset(**built.dataset.arrays(), n_u=corpus.n_u, n_b=corpus.n_b, labels=same.dataset.labels).checksum()


@given(SMALL, seeded(), seeded())
def test_the_checksum_knows_what_was_left_open(corpus, rng, other):
    built = Built(corpus)
    choices = [left_open(r, corpus) for r in (rng, other)]
    data = [opened(built, choice).dataset for choice in choices]
    assert (data[0].checksum() == data[1].checksum()) == (choices[0] == choices[1])


@pytest.mark.parametrize(
    ("one", "other"),
    [([None, (0, 1)], [(0, 1), None]), ([(0, 1), (0,)], [(0, 2), (0,)]), ([(0, 1), (0,)], [(0,), (0, 1)]), ([(0, 1), (2,)], [(0, 1, 2), (2,)])],
)
def test_checksums_of_choices_that_hardly_differ(one, other):
    data = Built(Corpus([Sample([0, 0], [[(0, 1.0)], [(0, 1.0)]], [[], []])], 3, 1)).dataset
    assert with_choices(data, [one], 3).checksum() != with_choices(data, [other], 3).checksum()


@pytest.mark.parametrize("rule", [1, 2])
def test_attributes_of_tokens_that_may_have_any_label(rule):
    """They are known, and have weights where attributes have weights for all labels."""
    data = Built(Corpus([Sample([0, 1], [[(0, 1.0)], [(1, 1.0)]], [[], []])], 2, 2)).dataset
    layout = Layout.build(with_choices(data, [[(0,), None]], 2), 2, 0, bytes([rule, rule]), b"")[0]
    assert layout.n_features == (1 if rule == 1 else 4)


@given(st.integers(1, 60), seeded())
def test_sums_are_exact_in_any_order(sequences, rng):
    """Gradient terms are rounded so that their sums are: one attribute of all tokens, whose terms all have one sign. Those of label pairs are the
    sums of chunks, which here are single sequences."""
    samples = [Sample([0] * 3, [[(0, 1.0)]] * 3, [[]] * 3, weight=rng.choice([1.0, 3.0, 1 / 3])) for _ in range(sequences)]
    built = Built(Corpus(samples, 3, 1, u_all={0}))
    weights = {feature: rng.gauss(0, 3) for feature in sorted(built.corpus.features(), key=str)}
    found = []
    for order in (samples, samples[::-1]):
        own = Built(Corpus(order, 3, 1, u_all={0}))
        data = opened(own, [[None, (0, 2), (0,)] for _ in order])
        found.append(list(value_at(Objective(data.dataset, own.layout, 0.0, 1, chunks=array.array("q", range(sequences + 1))), built.to_cells(weights, "d"))[1]))
    assert found[0] == found[1]


def test_counts_are_those_of_labels_that_are_given():
    corpus = Corpus([Sample([0, 1, 1], [[(0, 1.0)], [(0, 1.0)], [(1, 1.0)]], [[], [], []], weight=2.0)], 2, 2)
    data = with_choices(Built(corpus).dataset, [[(0,), (1,), (0, 1)]], 2)
    assert list(data.label_counts()) == [2.0, 2.0]
    assert ambiguity_in(data) == (1, 1)


def test_data_with_choices_stay_as_they_are():
    built = Built(Corpus([Sample([0, 1], [[(0, 1.0)], [(0, 1.0)]], [[], []])], 2, 1))
    data = with_choices(built.dataset, [[(0,), None]], 2)
    with pytest.raises(ValueError, match="cannot be renumbered"):
        data.relabel(array.array("i", [0, 1]), ["b", "a"])
    for one, other in ((data, built.dataset), (built.dataset, data)):
        with pytest.raises(ValueError, match="cannot be extended"):
            one.extend(other)
    with pytest.raises(ValueError, match="labels given before"):
        Layout.build(data, 2, 1, bytes([1]) * data.n_u, b"", b"")
    fresh = Built(Corpus([Sample([0, 1], [[(0, 1.0)], [(0, 1.0)]], [[], []])], 2, 1)).dataset
    for choices, fault in (([(0,)], "label 1 of 1"), ([(0,), (1, 2)], "a choice between labels that do not exist")):
        with pytest.raises(ValueError, match=fault):
            fresh.divide(choices, ["a", "b"])


@pytest.mark.parametrize("rules", ["chunking", "chunking-rich"])
def test_a_warm_up_saves_iterations(rules):
    """Half of the labels are not given."""
    rng = Random(1)
    rows = [[[*row[:-1], row[-1] if rng.random() < 0.5 else "?"] for row in sentence] for sentence in sentences("chunking", limit=150)]
    corpus = Numbers(read_corpus(Reader(rows, template(rules), Run(partial=True))))
    cold, warm = (trainer_of("lbfgs", corpus, l2=0.5, warm_up=passes) for passes in (0, 100))
    assert list(warm.prepare()) and not list(cold.prepare())
    few, many = end(warm), end(cold)
    assert len(few) < len(many) / 2
    assert few[-1] < 1.001 * many[-1]
