"""The dual ascent with an L1 penalty: its bound against optima found otherwise, and owlqn with it against owlqn without."""

from itertools import pairwise
from math import log
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainers.samples import end, trainer_of, with_passes
from trainers.test_gap import lowest
from trainers.test_owlqn import random_corpus
from trainers.twins import Built, Corpus, Sample, corpora, value

from crfkit.compat.pycrfsuite import Trainer
from crfkit.compat.pycrfsuite.features import features_of
from crfkit.options import trainers as options
from crfkit.trainers.base import mistakes
from crfkit.trainers.batch.proximal import Proximal


def ascent_of(built, l1, l2, **more):
    return Proximal(built.dataset, built.layout, options.Owlqn(l1=l1, l2=l2), seed=1, **more)


# --- small data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("l1", "l2"), [pytest.param(0.3, 0.0, marks=pytest.mark.long), (1.0, 0.0), (0.3, 0.5), (0.0, 1.0)])
def test_objective_and_bound_meet_at_the_optimum(l1, l2):
    corpus = random_corpus(Random(11))
    built, optimum = Built(corpus), lowest(corpus, l1, l2)
    for recursions in ("dense", "sparse"):
        ascent = ascent_of(built, l1, l2, recursions=recursions)
        for _ in range(60):
            for _ in range(10):
                ascent.run_pass()
            bound = ascent.bound()
            assert bound <= optimum * (1 + 1e-6)
        assert bound >= optimum * (1 - 2e-3)
        assert value(built.to_weights(ascent.weights()), corpus, l2, l1) == pytest.approx(optimum, rel=1e-4)


@settings(max_examples=12)
@given(corpora(most_samples=2), st.sampled_from([0.1, 0.5, 2.0]), st.sampled_from([0.0, 0.3]), st.integers(1, 12))
def test_no_optimum_is_below_the_bound(corpus, l1, l2, passes):
    built = Built(corpus)
    ascent = ascent_of(built, l1, l2)
    optimum, best = lowest(corpus, l1, l2, 150), 0.0
    for _ in range(passes):
        ascent.run_pass()
        bound = ascent.bound()
        assert best - 1e-6 <= bound <= optimum * (1 + 1e-6) + 1e-6  # mixed points are no worse than the ones before
        best = bound


def test_another_penalty_has_another_bound():
    corpus = random_corpus(Random(5))
    ascent, optimum = with_passes(100, ascent_of(Built(corpus), 1.0, 0.0)), lowest(corpus, 0.3, 0.0, 150)
    ascent.set_l1(0.3)
    for _ in range(30):
        bound = with_passes(10, ascent).bound()
        assert bound <= optimum * (1 + 1e-5)
    assert bound >= 0.98 * optimum


def test_the_bound_of_a_smaller_penalty_holds_before_the_first_pass():
    """The distributions are mixed with the observed labels, so that all sums and the entropy become smaller in proportion."""
    corpus = Corpus([Sample([s % 2, s % 3 % 2], [[(s % 3, 1.0)], [(0, 1.0)]], [[], []]) for s in range(12)], 2, 3, u_all={0, 1, 2})
    ascent = with_passes(30, ascent_of(Built(corpus), 1.0, 0.0))
    before, weights = ascent.bound(), list(ascent.weights())
    ascent.set_l1(0.2)
    assert list(ascent.weights()) == pytest.approx(weights, abs=1e-2)
    assert ascent.bound() == pytest.approx(0.2 * before, rel=1e-5) and 0 < 0.2 * before < lowest(corpus, 0.2, 0.0, 150)


def test_a_restored_ascent_goes_on_to_the_same_numbers():
    """Where attributes are left out, and sequences, whose losses are those of their last visits; and from another penalty on."""
    built, visited = Built(random_corpus(Random(8))), set()
    one = ascent_of(built, 0.5, 0.1)
    for passes in range(1, 15):
        other = ascent_of(built, 0.5 if passes < 10 else 0.3, 0.1)
        other.restore(one.state())
        if passes == 9:
            one.set_l1(0.3)
            other.set_l1(0.3)
        assert one.run_pass() == other.run_pass()
        if passes % 3 == 0:
            assert one.bound() == other.bound()
        assert one.weights() == other.weights()
        visited.add(one.visited)
        if passes > 8:
            one = other
    assert min(visited) < max(visited) == 8 and one.screened


def test_features_that_are_too_rare_weigh_nothing():
    """A minimum frequency of features, as CRFsuite has it, leaves cells without a feature among those of labels that were seen."""
    random, trainer = Random(3), Trainer(verbose=False)
    for _ in range(120):
        labels = random.choices("ABC", k=random.randrange(1, 8))
        trainer.append([[f"{random.randrange(6)}{label if random.random() < 0.7 else ''}", f"x{random.randrange(9)}"] for label in labels], labels)
    found, every = (features_of(trainer.sequences, -1, {**trainer.get_params(), "feature.minfreq": least}) for least in (7.0, 0.0))
    layout, few = found.layout, SimpleNamespace(dataset=found.data, layout=found.layout)
    assert layout.hot > 0 and layout.n_features < every.layout.n_features
    ascent = with_passes(100, ascent_of(few, 1.0, 0.0))
    cells = [layout.cell(a, label) for a in range(layout.n_attributes[0]) for label in range(3)]
    cells += [layout.pair_cell(before, label) for before in range(3) for label in range(3)]
    assert {cell for cell, weight in enumerate(ascent.weights()) if weight} <= {cell for cell in cells if cell >= 0}
    optimum = end(trainer_of("owlqn", few, warm_up=0, l1=1.0, epsilon=0.0, delta=1e-8))[-1]
    assert optimum * (1 - 1e-3) <= ascent.bound() <= optimum * (1 + 1e-6)


# --- owlqn ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    """So many tokens that owlqn makes the ascent: labels follow from attributes, mostly."""
    random, samples = Random(2), []
    for _ in range(1800):
        labels = random.choices(range(3), k=random.randint(1, 33))
        unigrams = [[(a, 1.0) for a in {3 * random.randrange(8) + (y if random.random() < 0.8 else 0), 24 + random.randrange(16)}] for y in labels]
        samples.append(Sample(labels, unigrams, [[] for _ in labels]))
    return Built(Corpus(samples, 3, 40, u_all=set(range(20)), tau_all=True))


def test_owlqn_takes_over_after_the_passes_of_the_warm_up(many):
    near = trainer_of("owlqn", many, l1=1.0)
    while not near.converged:
        last = near.run_pass()
    assert "--epsilon" in near.converged and last["gap"] < 1e-3 * last["objective"]
    trainer = trainer_of("owlqn", many, l1=1.0, warm_up=7, epsilon=0.0)
    values = end(trainer)
    assert trainer.trials or "no step" in trainer.converged  # of its line search
    assert values[-1] == pytest.approx(last["objective"], rel=1e-3)


def test_owlqn_takes_over_where_the_ascent_is_stuck():
    """As with one long sequence, where a step changes the scores of all tokens at once."""
    random = Random(4)
    labels = [random.randrange(3) for _ in range(30_000)]
    unigrams = [[(a, 1.0) for a in {random.randrange(9), 9 + 3 * random.randrange(99) + (y if random.random() < 0.9 else 0)}] for y in labels]
    one = Built(Corpus([Sample(labels, unigrams, [[] for _ in labels])], 3, 306, u_all=set(range(306)), tau_all=True))
    trainer = trainer_of("owlqn", one, l1=1.0, period=2, train_accuracy=True, delta=1e-3)
    (start,), first = trainer.prepare(), trainer.run_pass()
    assert trainer.ascends and first == start  # zero weights are the best so far
    assert end(trainer)[-1] < 9000 and not trainer.ascends  # the optimum is near 8070; the ascent ends at 121,019


@pytest.mark.parametrize(("n", "sequences"), [(2, 5), (4, 1), (7, 5)])
def test_an_ascent_that_leads_nowhere_leaves_no_trace(n, sequences):
    """Where its steps are so much too long that zero weights stay the best, OWL-QN begins with them, as it does alone. It began at a thousand
    times their objective, and ended far above the optimum."""
    random, samples = Random(5), []
    for _ in range(sequences):
        labels = [t // 3 % n for t in range(30_000 // sequences)]
        samples.append(Sample(labels, [[(random.randrange(50), 1.0)] for _ in labels], [[] for _ in labels]))
    built = Built(Corpus(samples, n, 50, u_all=set(range(50)), tau_all=True))
    trainer, alone = trainer_of("owlqn", built, l1=0.4), trainer_of("owlqn", built, l1=0.4, warm_up=0)
    assert trainer.run_pass()["objective"] == pytest.approx(30_000 * log(n)) and trainer.ascends
    for _ in range(2):
        assert trainer.run_pass()["objective"] == alone.run_pass()["objective"]
    assert trainer.weights() == alone.weights()


def words_of_stems_and_endings(letters, seed, words=3300):
    """Which letters of a word are endings, from n-grams of up to five letters: each stands within longer ones."""
    random, numbers, samples = Random(seed), {}, []
    spans = [*((k, k) for k in range(-3, 4)), (-1, 0), (0, 1), (-2, 0), (-1, 1), (0, 2), (-2, 1), (-1, 2), (-2, 2)]
    endings = [random.choices(range(letters), k=random.randint(1, 5)) for _ in range(60)]
    for _ in range(words):
        stem = random.choices(range(letters), k=random.randint(3, 8))
        rest = [letter for _ in range(random.randint(0, 3)) for letter in random.choice(endings)]
        word = [-1] * 3 + stem + rest + [-1] * 3
        labels = [0] * len(stem) + [1] * len(rest)
        grams = [[(first, last, *word[t + first : t + last + 1]) for first, last in spans] for t in range(3, len(word) - 3)]
        samples.append(Sample(labels, [[(numbers.setdefault(gram, len(numbers)), 1.0) for gram in one] for one in grams], [[] for _ in labels]))
    return Built(Corpus(samples, 2, len(numbers), tau_all=True))


def test_passes_that_lead_away_come_back():
    """The same with few words, on which the ascent is made here although OWL-QN alone is fast. If no weight were made stiffer, it would give up after
    seventeen iterations, at twice the optimum."""
    built = words_of_stems_and_endings(6, 3, words=400)
    trainer, alone = trainer_of("owlqn", built, l1=0.02), trainer_of("owlqn", built, l1=0.02, warm_up=0)
    trainer.ascends, objectives = True, []
    for _ in range(40):
        last = trainer.run_pass()
        objectives.append(trainer.reached)
    assert any(after > 1.005 * before for before, after in pairwise(objectives))  # else nothing is tested
    assert trainer.ascends and last["objective"] < 1.1 * end(alone)[-1]


def test_the_gap_of_the_ascent_is_true_all_the_way():
    corpus = random_corpus(Random(5))
    trainer, optimum, gaps = trainer_of("owlqn", Built(corpus), l1=1.0, epsilon=1e-3, delta=0.0), lowest(corpus, 1.0, 0.0, 150), []
    trainer.ascends = True
    while not trainer.converged and trainer.ascends:
        record = trainer.run_pass()
        if "gap" in record:
            gaps.append(record["gap"])
            assert record["objective"] - record["gap"] <= optimum * (1 + 1e-5)
    assert len(gaps) > 1 and gaps[-1] < 0.01 * optimum


@pytest.mark.long
@pytest.mark.parametrize(("seed", "l1"), [(1, 0.1), (2, 0.05)])
def test_passes_that_lead_away_are_no_end(seed, l1):
    """With such features all weights have become so little stiff, after some passes, that the objective rises to up to many times the best one.
    Weights are then made stiffer, and while the objective falls again, the ascent is not over."""
    trainer = trainer_of("owlqn", words_of_stems_and_endings(6, seed), l1=l1)
    objectives = []
    while not trainer.converged:
        last = trainer.run_pass()
        objectives.append(trainer.reached)
    assert any(after > 1.005 * before for before, after in pairwise(objectives))  # else nothing is tested
    assert trainer.ascends and last["gap"] < 0.1 * last["objective"]


def test_threads_change_nothing(many):
    ends = [([trainer.run_pass() for _ in range(3)], trainer.weights()) for trainer in (trainer_of("owlqn", many, threads=n) for n in (1, 2))]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(("passes", "warm_up"), [(1, 20), (6, 20), (1, 13)])
def test_a_resumed_run_goes_on_to_the_same_bits(many, passes, warm_up):
    """Before the ascent ends, as it does, and after; with another penalty too, which has passes of its own. Which passes count towards the end
    depends on what the last one reached."""
    one, other = (trainer_of("owlqn", many, l1=1.0, warm_up=warm_up, epsilon=0.0) for _ in range(2))
    for _ in range(passes):
        one.run_pass()
    other.restore(one.state())
    assert other.reached == one.reached > 0
    for l1 in (None, 0.5):
        if l1:
            one.set_l1(l1)
            other.set_l1(l1)
        for _ in range(2):
            assert one.run_pass() == other.run_pass()
        assert one.weights() == other.weights()
        assert one.ascended == (min(5 * (passes + 2), warm_up) if l1 is None else 10 if warm_up > 15 and passes == 1 else 0)


@pytest.mark.long
def test_what_is_reported_is_true_of_the_best_weights(many):
    """Where passes of the ascent lead to worse ones, too; and the same is reported by a run that was resumed."""
    chosen = {"l1": 0.01, "epsilon": 0.0, "train_accuracy": True}
    trainer, reported = trainer_of("owlqn", many, **chosen), []
    for _ in range(16):
        resumed = trainer_of("owlqn", many, **chosen)
        if reported:
            resumed.restore(trainer.state())
        reported.append(trainer.run_pass())
        assert resumed.run_pass() == reported[-1]
        assert reported[-1]["train_accuracy"] == 1 - mistakes(many.dataset, many.layout, trainer.weights())[0] / many.dataset.n_tokens
    assert any(after["objective"] == before["objective"] for before, after in pairwise(reported))


@pytest.mark.parametrize("passes", [0, 4])
def test_a_stopped_ascent_is_marked_as_interrupted(many, passes):
    """Of the five passes of a record, before each of which it is asked, and within them after every 64 sequences."""
    trainer = trainer_of("owlqn", many, l1=1.0)
    asked = iter([False] * (passes * (1 + -(-1800 // 64)) + passes))
    trainer.run_pass(lambda: next(asked, True))
    assert trainer.interrupted


def test_a_path_ends_where_its_last_point_alone_does(many):
    trainer = trainer_of("owlqn", many, l1=3.0)
    for l1 in (3.0, 0.5):
        trainer.set_l1(l1)
        values = end(trainer)
    assert values[-1] == pytest.approx(end(trainer_of("owlqn", many, l1=0.5))[-1], rel=2e-4)
