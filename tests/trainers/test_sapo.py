"""Learning from the n best paths: step by step against a slow twin, against its two limits, and end to end."""

import random
import warnings
from math import exp
from math import log as log_of

import pytest
from commands import log_lines
from hypothesis import assume, given
from hypothesis import strategies as st
from trainers.samples import read, sentences, template
from trainers.twins import Built, Corpus, Sample, corpora, log_sum, problem, weighted
from trainers.twins_online import Sapo, shares

import crfkit
from crfkit.errors import CrfkitWarning
from crfkit.options import trainers as options
from crfkit.tagging import Tagger
from crfkit.template.parsing import Template
from crfkit.trainers.online.perceptron import Perceptron
from crfkit.trainers.online.sapo import Sapo as Trainer
from crfkit.trainers.online.sgd import Sgd

PRECISION = {"rel": 1e-5, "abs": 1e-5}  # weights are stored in single precision

searches = st.sampled_from(["astar", "beam"])
seeds = st.integers(0, 9)


def no_close_call(weights, n, corpus):
    """Whether the choice of candidates is independent of the last digits of the weights."""
    for sample in corpus.samples:
        scores = [score for score, _ in problem(weights, sample, corpus.n_labels).paths]
        if len(scores) > n and abs(scores[n - 1] - scores[n]) < 1e-4:
            return False
    return True


@given(corpora(labels=st.integers(1, 4)), st.integers(1, 6), st.sampled_from([0.0, 2.0]), st.sampled_from([0.0, 0.5, 1.0]),
       st.sampled_from([0.0, 0.03]), searches, seeds, st.data())
def test_a_step_is_that_of_the_twin(corpus, n, l2, decay, ratio, search, seed, data):
    """One sequence a pass, so that both sides always choose between the same scores; equal scores have an order."""
    corpus.samples = corpus.samples[:1]
    assume(corpus.features())
    built, start = Built(corpus), weighted(data.draw, corpus.features())
    own = options.Sapo(nbest=n, l2=l2, rate=0.3, decay=decay, ratio=ratio, search=search, beam=4**4)
    for number in range(3):
        trainer = Trainer(built.dataset, built.layout, own, initial=built.to_cells(start), seed=seed)
        twin = Sapo(corpus, built.to_weights(trainer.weights()), l2, 0.3, decay, n=n, ratio=ratio)
        record = trainer.run_pass()
        loss = twin.run_pass(list(trainer.state()["order"]))
        assert record == {"loss": pytest.approx(loss, rel=1e-5, abs=1e-5), "updates": twin.updates}
        start = built.to_weights(trainer.weights())
        assert start == pytest.approx(twin.weights, **PRECISION)
        assume(number == 2 or no_close_call(start, n, corpus))


@given(corpora(labels=st.integers(1, 4)), st.integers(1, 3), st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([0.0, 0.8, 1.0]), searches, seeds, st.data())
def test_with_all_paths_it_is_sgd(corpus, passes, l2, decay, search, seed, data):
    built, start = Built(corpus), weighted(data.draw, corpus.features())
    chosen = {"l2": l2, "rate": 0.3, "decay": decay}
    every = options.Sapo(nbest=4**4, ratio=0.0, search=search, beam=4**4, **chosen)
    sapo = Trainer(built.dataset, built.layout, every, initial=built.to_cells(start), seed=seed)
    sgd = Sgd(built.dataset, built.layout, options.Sgd(**chosen), initial=built.to_cells(start), seed=seed)
    for _ in range(passes):
        assert sapo.run_pass()["loss"] == pytest.approx(sgd.run_pass()["loss"], rel=1e-5, abs=1e-5)
        assert built.to_weights(sapo.weights()) == pytest.approx(built.to_weights(sgd.weights()), **PRECISION)


def test_with_all_paths_and_a_strong_penalty_it_is_sgd():
    """The common factor of the weights halves at each step. When it is carried out within a pass, the scores of label pairs change, too,
    although most sequences have none."""
    samples = [Sample([s % 2], [[(s % 3, 1.0)]], [[]]) if s % 4 else Sample([0, 1, 1], [[(0, 1.0)], [(1, 1.0)], [(2, 1.0)]], [[], [], []]) for s in range(32)]
    built, found = Built(Corpus(samples, 2, 3)), []
    chosen = {"l2": 25.0, "rate": 0.6, "decay": 1.0}
    for own in (options.Sapo(nbest=8, ratio=0.0, **chosen), options.Sgd(**chosen)):
        trainer = (Trainer if isinstance(own, options.Sapo) else Sgd)(built.dataset, built.layout, own)
        found.append([])
        for _ in range(3):
            trainer.run_pass()
            found[-1] += trainer.weights()
    assert found[0] == pytest.approx(found[1], **PRECISION) and max(map(abs, found[0])) > 0.1


@pytest.mark.parametrize("search", ["astar", "beam"])
def test_the_ratio_is_that_of_probabilities_under_a_strong_penalty(search):
    """Weights shrink by a third at each step, while the searches see them without their common factor."""
    samples = [Sample([s % 3, s * s % 3], [[(s % 2, 1.0)], [(2, 0.5 + s % 4)]], [[], []]) for s in range(12)]
    corpus = Corpus(samples, 3, 3, u_all={0, 1, 2}, tau_all=True)
    built, start = Built(corpus), {feature: (3 * feature[1] + 5 * feature[2]) % 7 / 2 for feature in corpus.features()}
    own = options.Sapo(nbest=9, l2=20.0, rate=0.2, decay=1.0, ratio=0.1, search=search, beam=9)
    trainer = Trainer(built.dataset, built.layout, own, initial=built.to_cells(start))
    twin = Sapo(corpus, dict(start), 20.0, 0.2, 1.0, n=9, ratio=0.1)
    for _ in range(2):
        record = trainer.run_pass()
        loss = twin.run_pass(list(trainer.state()["order"]))
        assert record == {"loss": pytest.approx(loss, rel=1e-5), "updates": twin.updates}
        assert built.to_weights(trainer.weights()) == pytest.approx(twin.weights, **PRECISION)


@pytest.mark.parametrize(("own", "moved"), [({}, True), ({"search": "beam", "beam": 2}, True), ({"search": "beam", "beam": 1}, False)])
def test_a_beam_is_as_wide_as_asked_for(own, moved):
    """The true path begins with the better label, and is all that a beam of one finds; another one is the best in the end."""
    corpus = Corpus([Sample([0, 0], [[(0, 1.0)], [(1, 1.0)]], [[], []])], 2, 2, u_all={0, 1}, tau_all=True)
    built, start = Built(corpus), {**dict.fromkeys(corpus.features(), 0.0), ("U", 0, 0): 1.0, ("U", 1, 0): 0.5, ("T", 1, 1): 5.0}
    trainer = Trainer(built.dataset, built.layout, options.Sapo(nbest=1, l2=0.0, rate=0.5, **own), initial=built.to_cells(start))
    trainer.run_pass()
    assert (built.to_weights(trainer.weights()) != start) == moved


@given(corpora(), st.integers(1, 4), seeds, st.data())
def test_with_one_path_it_is_the_perceptron(corpus, passes, seed, data):
    built, start = Built(corpus), weighted(data.draw, corpus.features())
    own = options.Sapo(nbest=1, l2=0.0, rate=1.0, decay=1.0)
    sapo = Trainer(built.dataset, built.layout, own, initial=built.to_cells(start), seed=seed)
    perceptron = Perceptron(
        built.dataset, built.layout, options.Perceptron(average=False), initial=built.to_cells(start), seed=seed
    )
    for _ in range(passes):
        sapo.run_pass()
        perceptron.run_pass()
        assert sapo.weights() == perceptron.weights()  # sums of quarters: exact


class OfAnySize(Trainer):
    """Tells the share of candidates of a little data, too."""

    fewest_tokens = 0


@pytest.mark.parametrize(("pairs", "scale"), [(False, 1), (True, 1), (False, 3)])
@pytest.mark.parametrize(("n", "own"), [(1, {}), (2, {}), (5, {}), (5, {"ratio": 0.6}), (5, {"search": "beam"}), (3**4, {"ratio": 0.0})])
def test_the_share_of_candidates_in_the_trial_of_the_rate(n, own, pairs, scale):
    """A twin makes its four rounds, and all paths are enumerated. The sequences are alike, so their order does not matter. Of larger values, one
    rate for all attributes is tried last, and not kept."""
    items = [[(0, 0.97 * scale)], [(0, 0.83 * scale)], [(0, 0.71 * scale), (1, 0.29 * scale)], [(1, 0.89 * scale)]]
    sample = Sample([0, 0, 1, 0] if pairs else [0, 2, 1, 0], items, [[] for _ in items])
    whole, part = (Corpus([sample] * size, 3, 2, u_all={0, 1}, has_tau=pairs, tau_all=pairs) for size in (8, 6))
    built, chosen = Built(whole), options.Sapo(nbest=n, l2=0.0, **own)
    trainer = OfAnySize(built.dataset, built.layout, chosen)
    twin = Sapo(part, dict.fromkeys(part.features(), 0.0), 0.0, trainer.rate0, 1.0, n=n, ratio=chosen.ratio)
    twin.shares = shares(part)
    assert trainer.has_shares
    for round in range(4):
        for k in range(6):
            twin.rate = trainer.rate0 * (1 if round < 3 else 1 - k / 6)
            twin.run_pass([k])
    scores = [score for score, _ in problem(twin.weights, sample, 3).paths]
    best = [score for score in sorted(scores)[-n:] if score >= max(scores) + log_of(chosen.ratio or 1e-9)]
    share = sum(exp(score - log_sum(scores)) for score in best)
    assert trainer.covered == pytest.approx(share, rel=1e-4)
    assert share < 0.99 or n == 3**4


def test_only_trials_on_enough_data_know_the_share():
    corpus = read("chunking", sentences=20)
    for kind, rate, known in ((OfAnySize, 0.5, False), (OfAnySize, None, True), (Trainer, None, False)):
        trainer = kind(corpus.dataset, corpus.layout, options.Sapo(l2=1.0, rate=rate))
        assert (trainer.covered < 1) == known


# --- end to end ---------------------------------------------------------------------------------------------------


def test_the_alias():
    one, other = (crfkit.learn(sentences("chunking", limit=20), template("chunking"), name, passes=1, rate=0.1) for name in ("dbl-crf", "sapo"))
    assert one.weights == other.weights


@pytest.mark.parametrize("name", ["sapo", "sgd", "adf"])
def test_the_loss_of_a_crf_on_request(name, tmp_path):
    """In the log, with what else is said of the weights; it is that of all data after the pass."""
    log, train = tmp_path / "log", sentences("chunking", limit=80)
    model = crfkit.learn(train, template("chunking"), name, passes=3, l2=0.5, crf_loss=True, log=log)
    records = log_lines(log)
    tagger = Tagger(model)
    nll = -sum(log_of(tagger.probability([row[:-1] for row in rows], [row[-1] for row in rows])) for rows in train)
    assert records[-1]["crf_loss"] == pytest.approx(nll, rel=1e-4)
    assert all(record["mean_abs_weight"] > 0 for record in records)
    assert ("updates" in records[0]) == (name == "sapo")
    if name == "sapo":
        assert 80 >= records[0]["updates"] > records[2]["updates"]


def test_to_report_the_loss_changes_nothing():
    train = sentences("chunking", limit=60)
    models = [crfkit.learn(train, template("chunking"), "sapo", passes=3, crf_loss=asked) for asked in (False, True)]
    assert models[0].weights == models[1].weights


def ambiguous(sequences, tokens):
    """Words, every third of which stands for another of five labels than it usually does."""
    chance = random.Random(0)
    labels = [chance.choices(range(5), k=tokens) for _ in range(sequences)]
    return [[[f"w{label if chance.random() < 2 / 3 else chance.randrange(5)}", f"l{label}"] for label in own] for own in labels]


def said(train, rules, algorithm="sapo", **chosen):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        crfkit.learn(train, rules, algorithm, passes=1, **chosen)
    return [str(one.message) for one in heard if issubclass(one.category, CrfkitWarning)]


def test_training_says_where_candidates_have_little_of_the_probability():
    """Five of 5^40; of short sequences, and of chunks, which features tell, five have enough. A little data does not show that."""
    words = Template.parse("U:%x[0,0]\nB\n")
    (warning,) = said(ambiguous(150, 40), words)
    assert warning.startswith("the candidates of sapo (nbest=5) have at most 1 % of the probability on a sample") and "lbfgs" in warning
    assert not said(ambiguous(100, 40), words)
    assert not said(ambiguous(3000, 2), words)
    assert not said(ambiguous(150, 40), words, "sgd")
    assert not said(ambiguous(150, 40), words, rate=0.1)
    assert not said(sentences("chunking"), template("chunking"))
