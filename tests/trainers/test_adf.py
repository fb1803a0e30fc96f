"""Rates that adapt to frequency, with lazy updates: step by step against the dense textbook form, and end to end."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import apart
from trainers.samples import options_of, read, with_passes
from trainers.twins import Built, Corpus, Sample, corpora, passes_of_both, weighted
from trainers.twins_online import Adf, shares

from crfkit.options import trainers as options
from crfkit.trainers.online.adf import Adf as Trainer
from crfkit.trainers.online.sgd import Sgd

PRECISION = {"rel": 1e-5, "abs": 3e-6}  # weights are stored in single precision


def both(corpus, l2, rate, alpha=0.995, beta=0.6, seed=0, start=None, shared=False, **more):
    """crfkit's trainer and the twin; `shared`: rates by the magnitude of values, as where the first one is found."""
    built = Built(corpus)
    start = start or dict.fromkeys(corpus.features(), 0.0)
    own = options.Adf(l2=l2, rate=rate, alpha=alpha, beta=beta, **more)
    trainer = Trainer(built.dataset, built.layout, own, initial=built.to_cells(start), seed=seed, found=shared)
    return built, trainer, Adf(corpus, dict(start), l2, rate, alpha, beta, shares=shares(corpus) if shared else {})


def rates_of(built, trainer):
    rates, n = trainer.rates(), built.layout.n_attributes[0]
    find = {"U": lambda a, *_: rates[built.u_new[a]], "B": lambda b, *_: rates[n + built.b_new[b]], "T": lambda *_: rates[-1]}
    return {feature: find[feature[0]](*feature[1:]) for feature in built.cells}


@given(corpora(most_samples=6), st.integers(1, 3), st.sampled_from([0.0, 0.5, 3.0]), st.sampled_from([0.1, 0.4]),
       st.sampled_from([(0.995, 0.6), (0.9, 0.1), (1.0, 1.0)]), st.booleans(), st.integers(0, 9), st.data())
def test_every_pass_is_that_of_the_dense_form(corpus, passes, l2, rate, bounds, shared, seed, data):
    """So few samples that each is a window: most rows are idle for some windows, and are updated later."""
    built, trainer, twin = both(corpus, l2, rate, *bounds, seed, weighted(data.draw, corpus.features()), shared, **({"window": 1} if shared else {}))
    for loss, weights, expected_loss, expected in passes_of_both(built, trainer, twin, passes):
        assert loss == pytest.approx(expected_loss, rel=1e-5, abs=1e-5)
        assert weights == pytest.approx(expected, **PRECISION)
        assert rates_of(built, trainer) == pytest.approx(twin.rates, rel=1e-9)


def sparse_corpus(n=57, long=True):
    """Frequent and rare attributes with values, some of them repeated within a sample, windows of several samples."""
    samples = []
    for s in range(n):
        first = [(0, 1.0), (1 + s % 3, 0.5), (4 + s % 23, -1.5), (0, 0.25)]
        second = [(0, 2.0), (1 + s % 2, 1.0)]
        labels = [s % 3, (s // 2) % 3]
        if long and s % 5:
            samples.append(Sample(labels, [first, second], [[], [(s % 2, 1.0), (2 + s % 19, 0.5)]]))
        else:
            samples.append(Sample(labels[:1], [first], [[]]))
    return Corpus(samples, 3, 27, 21, u_all={0, 5}, tau_all=True)


@pytest.mark.parametrize(("l2", "rate", "long"), [
    (0.0, 0.1, True), (5.0, 0.3, False), (60.0, 0.5, True), (80.0, 1.0, False),
    *(pytest.param(*one, marks=pytest.mark.long) for one in ((0.0, 0.1, False), (5.0, 0.3, True), (60.0, 0.5, False), (80.0, 1.0, True))),
])
def test_windows_of_several_samples(l2, rate, long):
    """With 57 samples a window has 5, so windows and passes are out of step; the penalty takes up to everything a
    step (1 - rate l2/|S| is 0.97, 0.47 and -0.4 at first)."""
    built, trainer, twin = both(sparse_corpus(long=long), l2, rate)
    for loss, weights, expected_loss, expected in passes_of_both(built, trainer, twin, 4):
        assert loss == pytest.approx(expected_loss, rel=1e-5)
        assert weights == pytest.approx(expected, **PRECISION)
        assert rates_of(built, trainer) == pytest.approx(twin.rates, rel=1e-9)
    assert len(set(twin.rates.values())) > 5


@pytest.mark.parametrize(("n", "l2", "window", "alpha"), [(200, 7.0, 20, 0.995), (3000, 0.6, 300, 0.995), (3000, 0.6, 1, 0.9999)])
def test_decay_alone_is_exact(n, l2, window, alpha):
    """A weight whose attribute does not occur shrinks by the product over all steps, to 1e-6 after 40 windows, or 12,000; and its scale,
    which is in double precision, to 1e-12. With the lower penalty windows are closed many at once."""
    samples = [Sample([s % 2], [[(0, 1.0)]], [[]]) for s in range(n - 1)] + [Sample([0], [[(1, 1.0)]], [[]], weight=0.0)]
    corpus = Corpus(samples, 2, 2)
    feature, rate = ("U", 1, 0), 0.4
    built, trainer, _ = both(corpus, l2, rate, alpha, start=dict.fromkeys(corpus.features(), 1.0), window=window)
    expected, count, scales = 1.0, 0, [1.0]
    for _ in range(4):
        trainer.run_pass()
        for step, s in enumerate(list(trainer.state()["order"])):
            expected *= 1 - rate * l2 / n
            scales.append(expected)
            count += s == n - 1
            if step % window == window - 1:
                rate *= alpha - count / window * (alpha - 0.6)
                count = 0
        weight = built.to_weights(trainer.weights())[feature]
        assert weight == pytest.approx(expected, rel=1e-6)
        assert rates_of(built, trainer)[feature] == pytest.approx(rate, rel=1e-9)
        _, scale, step, _, _ = [*struct.iter_unpack("ddqii", trainer.state()["rows"])][built.u_new[1]]
        assert step > 0 and scale == pytest.approx(scales[step], rel=1e-12)
    assert expected < 0.8


def test_few_sequences_do_not_make_short_windows():
    """Where the first rate is found; with one that is given, windows are the paper's, a tenth of the data."""
    built = Built(sparse_corpus())

    def rates_after_two_passes(**own):
        trainer = with_passes(2, Trainer(built.dataset, built.layout, options_of("adf", **own)))
        return trainer.rate0, {*trainer.rates()[built.layout.n_attributes[0] :]}    # those of unigrams depend on their values, too

    found, rates = rates_after_two_passes()
    assert len(rates) > 5 and min(rates) > 0.6 * 0.99 * found  # one window in 114 steps
    for own in ({"rate": found}, {"window": 5}):
        first, rates = rates_after_two_passes(**own)
        assert min(rates) < 0.1 * first


@pytest.mark.parametrize(("n", "passes", "common", "rare", "window"), [
    (400, 40, 8, 1, 711),       # a sequence shares 8 of 9 attributes with all: 20 windows for a share of 1
    (400, 200, 1, 20, 400),     # 1 of 21: 200 windows
    (1100, 10, 1, 10, 110),     # in ten passes a tenth of the data makes only 100
    (100, 800, 1, 10, 400),
    (100, 100, 1, 10, 100),     # the least
])
@pytest.mark.parametrize("of_pairs", [False, True])
def test_windows_are_longer_where_rates_would_fall_to_nothing(n, passes, common, rare, window, of_pairs):
    """The rate of an attribute that all sequences have, at each token, falls by beta in each window. Rare ones form features with labels or with pairs."""
    common_ones, samples = [(a, 1.0) for a in range(common)], []
    for s in range(n):
        rare_ones = [(a, 1.0) for a in range(s * rare, (s + 1) * rare)]
        own = [] if of_pairs else [(common + a, value) for a, value in rare_ones]
        samples.append(Sample([s % 2, 0], [common_ones, common_ones + own], [[], rare_ones if of_pairs else []]))
    built = Built(Corpus(samples, 2, common + n * rare * (not of_pairs), n * rare * of_pairs, has_tau=False))
    trainer = with_passes(9, Trainer(built.dataset, built.layout, options_of("adf", passes=passes)))
    assert rates_of(built, trainer)["U", 0, 0] / trainer.rate0 == pytest.approx(0.6 ** (9 * n // window), rel=1e-9, abs=0)


@pytest.mark.parametrize(("values", "long"), [
    ((1.5, 1.5), False),        # the same everywhere
    ((150.0, 151.0), False),    # variance / mean square: 1.1e-5
    ((150.0, 155.0), True),     # 2.7e-4
    ((1.5, -1.5), True),
    ((1.5, 0.0), True),
])
@pytest.mark.parametrize("times", [1, 2])
def test_values_far_from_zero_make_no_longer_windows(values, long, times):
    """Two attributes, one of which has the same values in other sequences: 20 windows in 800 passes, or 100 sequences each. What a token has twice adds
    up."""
    tokens = [[times * [(0, values[s % 2]), (1, values[s // 2 % 2])]] for s in range(100)]
    built = Built(Corpus([Sample([s % 2], one, [[]]) for s, one in enumerate(tokens)], 2, 2, has_tau=False))
    first, last = (
        rates_of(built, with_passes(n, Trainer(built.dataset, built.layout, options_of("adf", passes=800))))["U", 0, 0] for n in (0, 9)
    )
    assert last / first == pytest.approx(1 if long else 0.6**9, rel=1e-9)


@pytest.mark.parametrize("square", [1, 0.01])
def test_small_values_of_a_part_have_the_rates_of_all_data(square):
    """Elsewhere there may be larger ones."""
    built = Built(Corpus([Sample([s % 2], [[(s % 2, 1e-3)]], [[]]) for s in range(20)], 2, 2, has_tau=False))
    trainer = Trainer(built.dataset, built.layout, options_of("adf", rate=0.5), found=True, square=square)
    assert {*trainer.rates()[:2]} == {0.5 / square}


def test_to_look_at_the_weights_changes_nothing():
    corpus = read("chunking", sentences=100)

    def final(look):
        trainer = Trainer(corpus.dataset, corpus.layout, options_of("adf"))
        for _ in range(3):
            trainer.run_pass()
            if look:
                trainer.weights()
        return trainer.weights()

    assert final(True) == final(False)


# --- end to end ---------------------------------------------------------------------------------------------------


def test_rates_that_never_fall_are_those_of_sgd():
    """alpha = beta = 1: a constant rate for all."""
    corpus = read("chunking", sentences=60)
    adf = Trainer(corpus.dataset, corpus.layout, options.Adf(l2=1.0, rate=0.1, alpha=1.0, beta=1.0), seed=3)
    sgd = Sgd(corpus.dataset, corpus.layout, options.Sgd(l2=1.0, rate=0.1, decay=1.0), seed=3)
    for _ in range(3):
        assert adf.run_pass()["loss"] == pytest.approx(sgd.run_pass()["loss"], rel=1e-5)
    assert not apart(adf.weights(), sgd.weights(), rel=1e-4, abs=1e-5).any()


def test_near_the_optimum():
    """Falls with a wrong sign, schedule or penalty."""
    corpus = read("chunking", sentences=150)
    trainer = with_passes(20, Trainer(corpus.dataset, corpus.layout, options.Adf(l2=1.0)))
    assert corpus.left(trainer.weights()) < 0.05
