"""AROW and CW: step by step against slow twins, what their formulas promise, and the r that AROW chooses."""

import random
from statistics import NormalDist

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from trainers.samples import with_passes
from trainers.twins import Built, Corpus, Sample, corpora, passes_of_both
from trainers.twins_margin import Arow, Cw

import crfkit
from crfkit.learning.local import make_trainer
from crfkit.options import trainers as options
from crfkit.trainers.online.confidence import Arow as ArowTrainer
from crfkit.trainers.online.confidence import Cw as CwTrainer

PRECISION = {"rel": 1e-5, "abs": 1e-5}  # weights and variances are stored in single precision
CLEAR = 1e-4  # scores that differ less may be ranked otherwise by weights in single precision


def both(algorithm, corpus, chosen, average, seed):
    """crfkit's trainer and the twin, from the same random weights, so that few scores are equal."""
    built, rng = Built(corpus), random.Random(seed)
    start = built.to_cells({feature: rng.gauss(0, 1) for feature in sorted(corpus.features(), key=str)})
    weights = built.to_weights(start)
    if algorithm == "arow":
        own, cls, twin = options.Arow(regularization=chosen, average=average), ArowTrainer, Arow(corpus, weights, r=chosen)
    else:
        own, cls = options.Cw(confidence=chosen, average=average), CwTrainer
        twin = Cw(corpus, weights, phi=NormalDist().inv_cdf(chosen))
    return built, cls(built.dataset, built.layout, own, initial=start, seed=seed), twin


trainers = st.one_of(
    st.tuples(st.just("arow"), st.sampled_from([0.1, 1.0, 30.0])), st.tuples(st.just("cw"), st.sampled_from([0.5001, 0.6, 0.9, 0.999]))
)


@given(trainers, corpora(labels=st.integers(1, 4)), st.integers(1, 3), st.booleans(), st.integers(0, 2**32))
def test_every_pass_is_that_of_the_twin(which, corpus, passes, average, seed):
    algorithm, chosen = which
    built, trainer, twin = both(algorithm, corpus, chosen, average, seed)
    for loss, weights, expected_loss, expected in passes_of_both(built, trainer, twin, passes, average):
        assume(twin.gap > CLEAR)
        assert loss == pytest.approx(expected_loss, rel=1e-5, abs=1e-5)
        assert weights == pytest.approx(expected, **PRECISION)
        cells = trainer.state()["variances"]
        assert {f: cells[cell] for f, cell in built.cells.items()} == pytest.approx(
            {f: twin.variances.get(f, 1.0) for f in built.cells}, **PRECISION
        )


@pytest.mark.parametrize("scale", [4.0, 1.0, 0.4, 0.01, 1e-5])
@pytest.mark.parametrize("algorithm", ["arow", "cw"])
def test_first_variances_follow_the_unit_of_values(algorithm, scale):
    """Of attributes with values above 1, each by its own; of all, where no value reaches 0.1. Pairs of labels have no value."""
    tokens = [[(0, 0.2 * scale), (1, -scale)], [(0, 0.1 * scale)]]
    built, trainer, twin = both(algorithm, Corpus([Sample([0, 1], tokens, [[], []])], 2, 2, u_all={0, 1}), 0.9, False, 0)
    cells, expected = trainer.state()["variances"], {feature: twin.first_variance(feature) for feature in built.cells}
    assert {feature: cells[cell] for feature, cell in built.cells.items()} == pytest.approx(expected, rel=1e-6)
    assert len({*expected.values()}) == (1 if 0.1 <= scale <= 1 else 2) and expected["T", 0, 1] == 1


# One token with one label wrong at first, and two features that tell the labels apart.
def one_step(algorithm, chosen, weight=1.0):
    """Weights and variances after a step from zero: d = (+1 for the true label, -1 for the other), m = 0, v = 2."""
    built = Built(Corpus([Sample([1], [[(0, 1.0)]], [[]], weight)], 2, 1, u_all={0}, has_tau=False))
    cls, own = (ArowTrainer, options.Arow(regularization=chosen, average=False)) if algorithm == "arow" else (
        CwTrainer, options.Cw(confidence=chosen, average=False)
    )
    trainer = with_passes(1, cls(built.dataset, built.layout, own))
    weights, cells = built.to_weights(trainer.weights()), trainer.state()["variances"]
    return [weights["U", 0, j] for j in (0, 1)], [cells[built.cells["U", 0, j]] for j in (0, 1)]


@pytest.mark.parametrize(("r", "weight"), [(0.5, 1.0), (4.0, 1.0), (4.0, 2.0), (1e6, 1.0)])
def test_a_step_of_arow_by_hand(r, weight):
    weights, variances = one_step("arow", r, weight)
    assert weights == pytest.approx([-1 / (2 + r / weight), 1 / (2 + r / weight)], rel=1e-6)
    assert variances == pytest.approx([1 / (1 + weight / r)] * 2, rel=1e-6)


@pytest.mark.parametrize("confidence", [0.500001, 0.6, 0.9, 0.9999])
def test_a_step_of_cw_by_hand(confidence):
    """m' = 2 a = phi v', with v' = 2 / (1 + 4 a phi) before the diagonal is taken."""
    phi = NormalDist().inv_cdf(confidence)
    (low, a), variances = one_step("cw", confidence)
    assert low == -a
    assert 2 * a == pytest.approx(phi * 2 / (1 + 4 * a * phi), rel=1e-5)
    assert variances == pytest.approx([1 / (1 + 2 * a * phi)] * 2, rel=1e-6)


@pytest.mark.parametrize("wrong", [1e6, 1e20])
def test_a_step_of_cw_makes_up_for_any_margin(wrong):
    """From weights that are as wrong as that, the margin comes to nearly zero: a = -m / v, nearly."""
    built = Built(Corpus([Sample([1], [[(0, 1.0)]], [[]])], 2, 1, u_all={0}, has_tau=False))
    start = built.to_cells({("U", 0, 0): wrong, ("U", 0, 1): -wrong})
    trainer = with_passes(1, CwTrainer(built.dataset, built.layout, options.Cw(average=False), initial=start))
    assert list(built.to_weights(trainer.weights()).values()) == pytest.approx([0, 0], abs=max(1, 1e-6 * wrong))


@pytest.mark.parametrize(("algorithm", "chosen"), [("arow", 1.0), ("cw", 0.9)])
def test_a_sequence_of_weight_zero_teaches_nothing(algorithm, chosen):
    assert one_step(algorithm, chosen, weight=0.0) == ([0, 0], [1, 1])


@pytest.mark.parametrize("cls", [ArowTrainer, CwTrainer])
def test_no_step_where_no_feature_differs(cls):
    """The second token has no attributes, so its labels are equally good, and the first of them is not the true one."""
    built = Built(Corpus([Sample([0, 1], [[(0, 1.0)], []], [[], []])], 2, 1, u_all={0}, has_tau=False))
    trainer = cls(built.dataset, built.layout, options.Arow(regularization=1.0) if cls is ArowTrainer else options.Cw())
    assert trainer.run_pass()["loss"] == 0 and not any(trainer.weights())


# --- r where none is given ----------------------------------------------------------------------------------------


def noisy(chance):
    """A quarter of the labels are wrong, and by its rare attributes each sequence could be learned by heart."""
    label = chance.randrange(2)
    rare = [(a, 1.0) for a in chance.sample(range(2, 2000), 15)]
    return Sample([label if chance.random() < 0.75 else 1 - label], [[(label, 1.0), *rare]], [[]])


def sparse(chance):
    """One of 400 attributes decides, and occurs twice or so; two others occur everywhere and are right seven times of ten."""
    deciding = chance.randrange(400)
    label = deciding * 7919 % 5 % 2
    return Sample([label], [[(2 + deciding, 1.0), (0 if chance.random() < (0.7 if label else 0.3) else 1, 1.0)]], [[]])


@pytest.mark.parametrize(("sample", "passes", "best"), [(noisy, 20, 3000.0), (noisy, 6, 300.0), (sparse, 20, 3.0), (sparse, 3, 3.0)])
def test_r_is_that_which_gets_new_sequences_right(sample, passes, best):
    """After so many passes. Of noisy ones a larger r gets as many right after few."""
    known, new = random.Random(0), random.Random(1)
    corpus = Corpus([sample(known) for _ in range(600)], 2, 2000, u_all=set(range(2000)), has_tau=False)
    built, later = Built(corpus), [sample(new) for _ in range(1000)]

    def wrong(r):
        trainer = with_passes(passes, ArowTrainer(built.dataset, built.layout, options.Arow(regularization=r)))
        weights = built.to_weights(trainer.weights())
        scores = [[sum(value * weights.get(("U", a, j), 0.0) for a, value in s.unigrams[0]) for j in (0, 1)] for s in later]
        return sum((no < yes) != s.labels[0] for (no, yes), s in zip(scores, later, strict=True))

    assert ArowTrainer(built.dataset, built.layout, options.Arow(passes=passes)).r == best
    tried = {r: wrong(r) for r in (3.0, 30.0, 300.0, 3000.0)}
    assert tried[best] == min(tried.values())
    assert tried[best] < 0.9 * tried[30]


def test_a_resumed_run_tries_no_r(tmp_path, monkeypatch):
    chance, first = random.Random(0), []
    samples = [sparse(chance) for _ in range(600)]
    data = [[({str(a): value for a, value in one.unigrams[0]}, f"l{one.labels[0]}")] for one in samples]

    def make(*given):
        trainer = make_trainer(*given)
        first.append(trainer.r)
        return trainer

    monkeypatch.setattr("crfkit.learning.local.make_trainer", make)
    chosen = {"algorithm": "arow", "format": "crfsuite"}
    for passes in (3, 5):
        model = crfkit.learn(data, **chosen, passes=passes, checkpoint=tmp_path / "state", resume=True)
        assert model.header["chosen"] == {"regularization": 3}
    assert first == [3, 30]
    assert list(model.weights) == list(crfkit.learn(data, **chosen, passes=5).weights)


def test_r_is_the_usual_one_where_others_are_better_by_chance():
    """Labels are drawn, so no r foresees new ones; the best of four on the sample is another one in most draws."""
    chosen = []
    for seed in range(12):
        rng = random.Random(seed)
        samples = [Sample([rng.randrange(2)], [[(a, 1.0) for a in rng.sample(range(40), 5)]], [[]]) for _ in range(100)]
        built = Built(Corpus(samples, 2, 40, u_all=set(range(40)), has_tau=False))
        chosen.append(ArowTrainer(built.dataset, built.layout, options.Arow()).r)
    assert chosen.count(30.0) > 6


def test_r_without_anything_to_judge_by_is_the_usual_one():
    built = Built(Corpus([Sample([1], [[(0, 1.0)]], [[]])], 2, 1, u_all={0}, has_tau=False))
    trainer = ArowTrainer(built.dataset, built.layout, options.Arow())
    assert trainer.r == 30
    given = ArowTrainer(built.dataset, built.layout, options.Arow(regularization=30.0))
    assert [trainer.run_pass(), list(trainer.weights())] == [given.run_pass(), list(given.weights())]


def test_trials_leave_no_trace():
    """From weights to start from, and after trials with another r: as if r had been given."""
    built = Built(Corpus([sparse(random.Random(s)) for s in range(300)], 2, 402, u_all=set(range(402)), has_tau=False))
    rng = random.Random(0)
    start = built.to_cells({feature: rng.gauss(0, 1) for feature in sorted(built.corpus.features(), key=str)})
    found = ArowTrainer(built.dataset, built.layout, options.Arow(), initial=start, seed=1)
    given = ArowTrainer(built.dataset, built.layout, options.Arow(regularization=found.r), initial=start, seed=1)
    for _ in range(3):
        assert found.run_pass() == given.run_pass()
        assert list(found.weights()) == list(given.weights())
        assert list(found.state()["variances"]) == list(given.state()["variances"])
