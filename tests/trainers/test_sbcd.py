"""Block coordinate descent: step by step against a slow twin. It ends where no weight can lower the objective."""

import array
import os
from pathlib import Path
from random import Random

import pytest
from commands import log_lines
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models import rows_of
from problems import apart
from trainers.samples import (
    end,
    ends_at_the_minimum,
    misfit,
    read,
    trainer_of,
    with_passes,
)
from trainers.twins import Built, Corpus, Sample, corpora, objective, value, weighted
from trainers.twins_sbcd import Sbcd as Twin
from trainers.twins_sbcd import blocks_of

from crfkit.learning.learn import learn
from crfkit.testing import occurrences_of, step_forms
from crfkit.trainers.batch.blocks import Occurrences
from crfkit.trainers.batch.chains import Chains
from crfkit.trainers.batch.edges import Edges

PENALTIES = st.sampled_from([(0.3, 0.0), (1.0, 0.1), (0.0, 1.0)])
RECURSIONS = st.sampled_from(["auto", "sparse", "dense"])


# --- parts ----------------------------------------------------------------------------------------------------------


@given(corpora())
def test_every_occurrence_is_found_once(corpus):
    built = Built(corpus)
    for kind, new, rows in (("U", built.u_new, "unigrams"), ("B", built.b_new, "bigrams")):
        kept = [a for a in range(len(new)) if new[a] >= 0]
        index = Occurrences(built.dataset, len(kept), kind == "B")
        for a in kept:
            expected, token = [], 0
            for sample in corpus.samples:
                for t, items in enumerate(getattr(sample, rows)):
                    values = [v for b, v in items if b == a]
                    if values and (t or kind == "U"):
                        expected.append((token, sum(values)))
                    token += 1
            assert occurrences_of(index, new[a]) == expected


def test_steps_with_the_same_attributes_share_a_matrix():
    """Two letters, alone and together: three kinds beside the plain one, and too many where labels are many."""

    def edges(n_labels):
        rich = [[], [(0, 1.0)], [(1, 1.0)], [(0, 1.0), (1, 1.0)], [(0, 1.0)], [(0, 1.0), (1, 1.0)]]
        built = Built(Corpus([Sample([0, 1, 0, 1, 0, 1], [[]] * 6, rich)] * 2, n_labels, 0, 2))
        return Edges(built.dataset, built.layout)

    assert (edges(3).n_kinds, edges(3).shared, edges(4).shared) == (4, True, False)


def grams(kinds):
    """Words of letters with n-grams as rich attributes, as in the task NETtalk: of `kinds` different sets of them."""
    random = Random(kinds)

    def sample():
        labels = [random.randrange(5) for _ in range(6)]
        numbers = [random.randrange(kinds) for _ in labels]
        return Sample(labels, [[]] * 6, [[], *([(n, 1.0), (kinds + n % 3, 1.0)] for n in numbers[1:])])

    return Built(Corpus([sample() for _ in range(20)], 5, 0, kinds + 3))


@pytest.mark.parametrize(("kinds", "shared"), [(4, True), (60, False)])
def test_the_form_that_was_asked_for(kinds, shared):
    """--recursions sparse makes lists and dense matrices, however many kinds of steps there are."""
    built = grams(kinds)
    random = Random(1)
    cells = array.array("f", [random.choice([0.0, 0.0, 1.0]) for _ in built.to_cells({})])
    forms = {}
    for recursions in ("sparse", "dense", "auto"):
        edges = Edges(built.dataset, built.layout, recursions)
        assert edges.shared == shared
        forms[recursions] = step_forms(edges, cells)
    assert {form for form, _ in forms["sparse"]} == {"list"}
    assert {form for form, _ in forms["dense"]} == {"matrix"}
    assert all(kept for form, kept in forms["auto"] if form == "list" or shared)


def few_pairs_of_many():
    """Labels, of which few pairs are active: the forms of the loops differ."""
    random = Random(5)

    def sample():
        labels = [random.randrange(60) for _ in range(6)]
        return Sample(labels, [[(j % 20, 1.0)] for j in labels], [[(j % 3, 1.0)] for j in labels])

    return Built(Corpus([sample() for _ in range(100)], 60, 20, 3, tau_all=True))


@pytest.mark.parametrize(("data", "l1"), [(lambda: grams(4), 0.3), (lambda: grams(60), 0.3), (few_pairs_of_many, 1.0)], ids=["4 kinds", "60 kinds", "many labels"])
def test_every_form_comes_to_the_same(data, l1):
    built = data()
    ways = {}
    for recursions in ("auto", "sparse", "dense"):
        trainer = trainer_of("sbcd", built, l1=l1, recursions=recursions)
        ways[recursions] = [trainer.run_pass()["objective"] for _ in range(5)], trainer.weights()
    for recursions in ("auto", "sparse"):
        assert ways[recursions][0] == pytest.approx(ways["dense"][0], rel=1e-7)
        assert not apart(ways[recursions][1], ways["dense"][1], rel=1e-3, abs=1e-3).any()


def test_impossible_arguments_are_refused():
    built = Built(Corpus([Sample([0, 1], [[(0, 1.0)], []], [[], []])], 2, 1))
    with pytest.raises(TypeError):
        Chains(None)
    with pytest.raises(ValueError, match="l1"):
        trainer_of("sbcd", built).set_l1(-1.0)


# --- the rule -------------------------------------------------------------------------------------------------------


@settings(derandomize=True)  # a step may hang on the last digits of a difference
@given(corpora(labels=st.integers(1, 4)), PENALTIES, st.sampled_from([0.3, 2.0, 20.0]), RECURSIONS, st.data())
def test_passes_are_those_of_the_twin(corpus, penalties, kappa, recursions, data):
    built, start = Built(corpus), weighted(data.draw, corpus.features())
    l1, l2 = penalties
    trainer = trainer_of("sbcd", built, built.to_cells(start), l1=l1, l2=l2, kappa=kappa, recursions=recursions)
    twin = Twin(corpus, dict(start), l1, l2, blocks_of(built), kappa)
    for _ in range(2):
        objective_of_pass, of_twin = trainer.run_pass()["objective"], twin.run_pass()
        assume(twin.certain)
        assert objective_of_pass == pytest.approx(of_twin, rel=1e-5, abs=1e-5)
        assert built.to_weights(trainer.weights()) == pytest.approx(twin.weights, rel=1e-5, abs=1e-4)
        twin.weights = built.to_weights(trainer.weights())


def agrees_with_the_twin(built, start, l1, l2, passes=2):
    """Assert that passes are those of the twin, which continues with the trainer's weights."""
    trainer = trainer_of("sbcd", built, built.to_cells(start), l1=l1, l2=l2)
    twin = Twin(built.corpus, dict(start), l1, l2, blocks_of(built), 2.0)
    for _ in range(passes):
        assert trainer.run_pass()["objective"] == pytest.approx(twin.run_pass(), rel=1e-7)
        assert built.to_weights(trainer.weights()) == pytest.approx(twin.weights, rel=1e-4, abs=1e-5)
        twin.weights = built.to_weights(trainer.weights())


def one_sequence(length, attributes=40, values=False):
    """Rare attributes and frequent ones, of tokens and of pairs, all over one sequence."""
    random = Random(length)
    labels = [random.randrange(3) for _ in range(length)]
    names = [int(attributes * random.random() ** 2) if random.random() < 0.3 else labels[t] for t in range(length)]
    value = (lambda: random.choice([0.5, 1.0, -2.0])) if values else lambda: 1.0
    rows = [[(name, value())] if name < attributes - 3 else [] for name in names]
    return Corpus([Sample(labels, rows, [[], *([(t % 7, value())] if t % 5 == 0 else [] for t in range(1, length))])], 3, attributes, 7)


@pytest.mark.parametrize(("tau", "values"), [(0.0, False), (1.0, True), (8.0, False)])  # chains that forget at once, slowly, never
def test_passes_over_a_long_sequence_are_those_of_the_twin(tau, values):
    corpus = one_sequence(36, values=values)
    built, start = Built(corpus), {feature: tau * (feature[1] == feature[2]) if feature[0] == "T" else 0.0 for feature in corpus.features()}
    agrees_with_the_twin(built, start, 0.3, 0.1)


@pytest.mark.parametrize("high", [0.0, 400.0])
def test_rich_attributes_that_a_token_has_twice(high):
    """Also where the scores of a sequence lie too far apart for potentials."""
    random = Random(3)
    labels = [[random.randrange(2) for _ in range(5)] for _ in range(4)]
    samples = [Sample(own, [[(0, 1.0)], *[[]] * 4], [[], [(0, 1.0), (0, 1.0)], [(0, 1.0)], [(1, 1.0)] * 3, []]) for own in labels]
    corpus = Corpus(samples, 2, 1, 2, u_all={0}, tau_all=True, b_all={0, 1})
    built, start = Built(corpus), {feature: high * (-1) ** feature[2] if feature[0] == "U" else feature[-1] / 4 for feature in corpus.features()}
    agrees_with_the_twin(built, start, 0.1, 0.001)


@pytest.mark.parametrize("seed", range(4))
def test_visits_in_any_order_to_a_sequence_that_forgets_in_places(seed):
    """Only some labels depend on the ones beside them. Each token has an attribute of its own."""
    random, length = Random(seed), 14
    labels, order = [random.randrange(2) for _ in range(length)], random.sample(range(length), length)
    rich = [[(0, 1.0)] if t % 7 in (1, 2, 3) else [] for t in range(length)]
    corpus = Corpus([Sample(labels, [[(a, 1.0)] for a in order], rich)], 2, length, 1, has_tau=False, u_all=set(range(length)), b_all={0})
    built, start = Built(corpus), {feature: random.uniform(-1, 1) for feature in sorted(corpus.features())}
    agrees_with_the_twin(built, start, 0.01, 0.1, passes=3)


def test_steps_of_a_pass_are_in_proportion_to_the_length_of_a_sequence():
    def steps(length):
        trainer = with_passes(2, trainer_of("sbcd", Built(one_sequence(length, attributes=length // 20)), l1=0.5))
        return trainer.chains.steps / length

    assert steps(8000) < 1.3 * steps(1000)


@given(corpora(), st.sampled_from([(0.3, 0.1), (1.0, 1.0), (0.0, 1.0), (2.0, 0.1)]), RECURSIONS)
def test_it_ends_at_the_minimum(corpus, penalties, recursions):
    l1, l2 = penalties
    built = Built(corpus)
    trainer = trainer_of("sbcd", built, l1=l1, l2=l2, recursions=recursions, epsilon=1e-5, delta=0.0)
    ends_at_the_minimum(trainer, built, l1, l2, 1e-3)


def test_blocks_without_weights_are_not_visited():
    corpus = read("chunking", sentences=100)
    trainer = trainer_of("sbcd", corpus, l1=3.0)
    visited = [trainer.run_pass()["blocks"] for _ in range(10)]
    assert visited[0] < sum(corpus.layout.n_attributes) / 3
    assert visited[-1] < visited[0] / 2


def test_ctrl_c_ends_a_pass_early():
    """The trainer reports it, so that no checkpoint is made of half a pass."""
    corpus = read("chunking", sentences=300)
    trainer = trainer_of("sbcd", corpus)
    early = trainer.run_pass(lambda: True)["objective"]
    assert trainer.interrupted
    cells = corpus.doubles(trainer.weights())
    penalty = trainer.options.l1 * sum(map(abs, cells))
    assert corpus.value_at(0.0, cells)[0] + penalty == pytest.approx(early, rel=1e-9)
    trainer.run_pass(lambda: False)
    assert not trainer.interrupted
    small = trainer_of("sbcd", read("chunking", sentences=5))
    small.run_pass(lambda: True)
    assert not small.interrupted  # asked for when all of its blocks were done


# --- the ends of the range ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [20.0, 300.0, 2000.0])
def test_from_weights_that_lie_far_apart(size):
    """Scores above some hundreds make potentials overflow: the lattice works on logarithms."""
    random = Random(7)
    samples = [
        Sample([random.randrange(3) for _ in range(5)], [[(random.randrange(4), 1.0)] for _ in range(5)], [[(random.randrange(2), 1.0)] for _ in range(5)])
        for _ in range(12)
    ]
    for n_kinds in (2, 80):  # matrices of steps that are kept, and that are not
        built = Built(Corpus(samples + [Sample([0, 0], [[], []], [[], [(b, 1.0)]]) for b in range(2, n_kinds)], 3, 4, n_kinds, tau_all=True, u_all=set(range(4))))
        assert Edges(built.dataset, built.layout).shared == (n_kinds == 2)
        start = {feature: random.choice([-size, size]) for feature in sorted(built.corpus.features(), key=str)}
        for initial in (built.to_cells(start), None):
            trainer = trainer_of("sbcd", built, initial, l1=0.1, l2=0.5, epsilon=1e-5, delta=0.0)
            values = end(trainer, 20000)
            assert values[0] < objective(start, built.corpus, 0.5)[0]
            weights = built.to_weights(trainer.weights())
            assert misfit(weights, objective(weights, built.corpus, 0.5)[1], 0.1) < 1e-3


@pytest.mark.parametrize("level", [4.0, -4.0])
def test_products_that_leave_the_range_of_doubles(level):
    """Log Z is the logarithm of a product over all tokens. A level that all pairs share changes no probability, so that it stays."""
    corpus = one_sequence(1000)
    built = Built(corpus)
    trainer = trainer_of("sbcd", built, built.to_cells({feature: level for feature in corpus.features() if feature[0] == "T"}), l1=0.01, l2=0.0)
    first, second = (trainer.run_pass()["objective"] for _ in range(2))
    weights = built.to_weights(trainer.weights())
    assert sum(weight for feature, weight in weights.items() if feature[0] == "T") * level > 0
    assert first > second == pytest.approx(value(weights, corpus, 0.0, 0.01), rel=1e-9)


def test_large_weights_of_lists_for_which_there_is_no_room():
    """The last kinds of steps, which have them, are made on demand. Their potentials overflow, too."""
    random, kinds = Random(1), 40
    rich = [[] if k == kinds else [(k, 1.0)] for k in [*range(kinds), kinds, kinds]]
    samples = [Sample([random.randrange(8) for _ in range(8)], [[]] * 8, [*[[]] * 4, own, *[[]] * 3]) for own in rich]
    built = Built(Corpus(samples, 8, 0, kinds, tau_all=True, b_all=set(range(kinds))))
    features = sorted(built.corpus.features(), key=str)
    for size in (710.0, 900.0):
        start = {feature: random.choice([-size, size]) if feature[0] == "B" and feature[1] > kinds - 5 else 0.01 for feature in features}
        found = {}
        for recursions in ("dense", "sparse"):
            trainer = trainer_of("sbcd", built, built.to_cells(start), l1=0.1, l2=0.5, recursions=recursions)
            found[recursions] = trainer.run_pass()["objective"]
            assert found[recursions] == pytest.approx(value(built.to_weights(trainer.weights()), built.corpus, 0.5, 0.1), rel=1e-9)
        assert found["sparse"] == pytest.approx(found["dense"], rel=1e-9)


@pytest.mark.parametrize("recursions", ["dense", "sparse"])
def test_large_weights_of_steps_that_are_not_kept(recursions):
    """Three attributes of a token overflow together, not alone. All else is near zero."""
    random, n = Random(4), 30
    samples = [Sample([random.randrange(3) for _ in range(3)], [[]] * 3, [[], [(3 * k + b, 1.0) for b in range(3)], []]) for k in range(n)]
    built = Built(Corpus(samples, 3, 0, 3 * n, tau_all=True, b_all=set(range(3 * n))))
    assert not Edges(built.dataset, built.layout).shared
    start = {feature: (245.0 if feature[1] // 3 % 2 else -245.0) if feature[0] == "B" and feature[-1] else 0.01 for feature in sorted(built.corpus.features(), key=str)}
    trainer = trainer_of("sbcd", built, built.to_cells(start), l1=0.1, l2=0.5, recursions=recursions)
    assert trainer.run_pass()["objective"] == pytest.approx(value(built.to_weights(trainer.weights()), built.corpus, 0.5, 0.1), rel=1e-9)


def test_few_plain_pairs_and_attributes_with_all():
    """The plain pairs are a list, the steps with the attribute matrices, and there are too many kinds of these to keep them."""
    random, n = Random(2), 50
    samples = [Sample([(j + t) % n for t in range(4)], [[]] * 4, [[], *([(b, 1.0)] if b else [(0, 1.0), (1 + j % 9, 1.0)] for b in (0, 1 + j % 11, 0))]) for j in range(n)]
    built = Built(Corpus(samples, n, 0, 12, b_all={0}))
    start = {feature: random.uniform(-1, 1) for feature in sorted(built.corpus.features())}
    assert not Edges(built.dataset, built.layout).shared
    found = {}
    for recursions in ("auto", "dense"):
        trainer = trainer_of("sbcd", built, built.to_cells(start), l1=0.0, l2=0.1, recursions=recursions)
        found[recursions] = trainer.run_pass()["objective"], list(trainer.weights())
    assert found["auto"][0] == pytest.approx(found["dense"][0], rel=1e-9)
    assert not apart(found["auto"][1], found["dense"][1], rel=1e-4, abs=1e-4).any()


# --- end to end -----------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.corpora
def test_the_objective_of_owlqn_on_nettalk(tmp_path):
    """Letters and rich edges, 51 labels: the objective of OWL-QN."""
    rows = rows_of(Path(os.environ["CRFKIT_CORPORA"], "nettalk", "train.txt").read_text(encoding="utf-8"))[:800]
    (tmp_path / "template").write_text("U00:%x[0,0]\nB01:%x[0,0]\n")

    def end(algorithm, **chosen):
        learn(rows, tmp_path / "template", algorithm, l1=1.0, log=tmp_path / "log", **chosen)
        return log_lines()[-1]["objective"]

    assert end("sbcd", delta=1e-6) == pytest.approx(end("owlqn", epsilon=1e-6, delta=1e-7), rel=1e-4)


def test_initial_weights_of_another_layout_are_refused():
    built = Built(Corpus([Sample([0, 1], [[(0, 1.0)], []], [[], []])], 2, 1))
    with pytest.raises(ValueError, match="another layout"):
        trainer_of("sbcd", built, array.array("f", [0.0]))
