"""The first rate where none is given: that which slow twins say comes nearest to the optimum, for each trainer that looks for one."""

import array
import random
import signal
from itertools import chain

import pytest
from trainers.samples import ROOT, end, read, sentences, trainer_of, with_passes
from trainers.twins import Built, Corpus, Sample, objective
from trainers.twins_online import Adf, Sgd, shares

import crfkit
from crfkit.errors import CrfkitWarning
from crfkit.options import trainers as options
from crfkit.tagging import Tagger
from crfkit.trainers.online import adf, sgd

TRAINERS = {
    "sgd": lambda data, layout, own: sgd.Sgd(data, layout, options.Sgd(**own)),
    "adf": lambda data, layout, own: adf.Adf(data, layout, options.Adf(**own)),
}
each_trainer = pytest.mark.parametrize("name", TRAINERS)


def chosen_rate(name, samples, n_attributes, **own):
    built = Built(Corpus(samples, 2, n_attributes, u_all=set(range(n_attributes)), tau_all=True))
    trainer = TRAINERS[name](built.dataset, built.layout, {"l2": 1.0, **own})
    assert not any(trainer.weights())
    return built.corpus, trainer.rate0


def objective_after(corpus, rate, rounds, l2, l1):
    """The objective of a twin that learned from the corpus at this rate, which falls to zero, as in trials of a single sequence."""
    twin = Sgd(corpus, dict.fromkeys(corpus.features(), 0.0), l2, rate, decay=1.0, l1=l1)
    twin.shares = {} if l1 else shares(corpus)
    for round in range(rounds):
        twin.rate = rate * (1 - round / rounds)
        twin.run_pass(range(len(corpus.samples)))
    return objective(twin.weights, corpus, l2)[0] + l1 * sum(map(abs, twin.weights.values()))


@pytest.mark.parametrize(("name", "l1"), [("sgd", 0.0), ("sgd", 0.7), ("adf", 0.0)])
@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0, 1000.0])
def test_the_rate_found_comes_nearest_to_the_optimum(name, l1, scale):
    """Closer than twice or half of the rate, whatever the magnitude of the values, also where the usual rates overflow."""
    values = [(0, 1, 0), (1, 2, 1), (0, 3, 1), (1, 1, 0), (0, 1, 1)]
    items = [item for _, v, _ in values for item in ([(0, v * scale)], [(1, scale)])]
    sample = Sample([label for i, _, j in values for label in (i, j)], items, [[] for _ in items])
    corpus, rate = chosen_rate(name, [sample], 2, l2=0.01, **({"l1": l1} if l1 else {}))
    chosen, *others = (objective_after(corpus, rate * factor, 4, 0.01, l1) for factor in (1, 0, 0.5, 2))
    assert chosen < min(others) + 1e-6


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_rates_that_fall_by_themselves_do_not_fall_at_the_end_of_a_trial(scale):
    """Those of adf, where a window has but one sequence, as in the twin."""
    values = [(0, 1, 0), (1, 2, 1), (0, 3, 1), (1, 1, 0), (0, 1, 1)]
    items = [item for _, v, _ in values for item in ([(0, v * scale)], [(1, scale)])]
    sample = Sample([label for i, _, j in values for label in (i, j)], items, [[] for _ in items])
    corpus, rate = chosen_rate("adf", [sample], 2, l2=0.01, window=1)
    found = []
    for factor in (1, 0.5, 2):
        twin = Adf(corpus, dict.fromkeys(corpus.features(), 0.0), 0.01, rate * factor, 0.995, 0.6, shares=shares(corpus))
        for _ in range(4):
            twin.run_pass([0])
        found.append(objective(twin.weights, corpus, 0.01)[0])
    assert found[0] < min(found[1:]) + 1e-6


def noise():
    """Two attributes tell of the label, three times out of four; with twenty of a hundred others any sequence is known again. The less is
    learned, the better new ones are foreseen."""
    chance = random.Random(0)
    samples = []
    for s in range(100):
        label = s % 2 if chance.random() < 0.75 else 1 - s % 2
        samples.append(Sample([label], [[(s % 2, 1.0), *((a, 1.0) for a in chance.sample(range(2, 102), 20))]], [[]]))
    return Corpus(samples, 2, 102, u_all=set(range(102)), tau_all=True)


def test_penalties_decide_how_far_to_go():
    """A slightly lower held-out loss must not lead to a rate that does not get near the optimum."""
    built = Built(noise())
    optimum = end(trainer_of("lbfgs", built, l2=1.0))[-1]
    trainer = with_passes(30, trainer_of("sgd", built, l2=1.0))
    assert objective(built.to_weights(trainer.weights()), built.corpus, 1.0)[0] < 1.02 * optimum


def test_large_weights_to_start_from_are_not_forgotten():
    """The penalty falls fastest at rates far too high for learning: it must not decide."""
    corpus = read("chunking", sentences=40)
    first = with_passes(5, trainer_of("perceptron", corpus))
    large = array.array("f", (30 * w for w in first.weights()))
    trainer = trainer_of("sgd", corpus, initial=large, crf_loss=True)
    before = trainer.measures()["crf_loss"]
    for _ in range(3):
        trainer.run_pass()
    assert trainer.measures()["crf_loss"] <= before


def test_without_penalties_nothing_is_learned_by_heart():
    """Some weights grow without end then, and a high rate only takes them further. An l1 is a penalty, too."""
    built = Built(noise())
    rates = [trainer_of("sgd", built, l2=l2, l1=l1).rate0 for l2, l1 in ((0.0, 0.0), (0.01, 0.0), (0.0, 0.01))]
    assert 4 * rates[0] < min(rates[1:])


@pytest.mark.parametrize("batch", [1, pytest.param(8, marks=pytest.mark.long)])
@each_trainer
def test_noise_of_frequent_attributes_does_not_lower_the_rate_too_much(name, batch):
    """Attributes that occur everywhere make for much noise at first. It goes away as the rate falls, so it is no reason for a rate
    that does not get anywhere in thirty passes."""
    corpus = read("segmentation", sentences=200)
    trainer = with_passes(30, TRAINERS[name](corpus.dataset, corpus.layout, {"l2": 1.0, "batch_size": batch}))
    assert corpus.left(trainer.weights()) < {"sgd": 0.02, "adf": 0.12}[name]


@pytest.mark.parametrize("limit", [400, pytest.param(None, marks=pytest.mark.long)])
def test_where_tokens_have_one_attribute_twice_the_rate_gains_little(limit):
    """Label pairs then make for much noise, which is no reason for a rate at which thirty passes end far from the optimum."""
    data, found, double = sentences("chunking", limit=limit), [], []
    model = crfkit.learn(data, "U:%x[0,0]\nB\n", "sgd", l2=0.2, crf_loss=True, progress=found.append)
    crfkit.learn(data, "U:%x[0,0]\nB\n", "sgd", l2=0.2, crf_loss=True, progress=double.append, rate=2 * model.header["chosen"]["rate"])
    assert found[-1]["crf_loss"] < 1.1 * double[-1]["crf_loss"]


def test_few_sequences_do_not_lower_the_rate_of_sapo():
    """Of few sequences with many attributes the held-out loss is lowest while weights are small: at a rate of a quarter here."""
    template = (ROOT / "templates" / "ner.txt").read_text(encoding="utf-8")

    def rate(data):
        return crfkit.learn(data, template, "sapo", l2=1.0).header["chosen"]["rate"]

    few = sentences("ner", limit=50)
    joined = [list(chain.from_iterable(few[k : k + 10])) for k in range(0, 50, 10)]
    assert rate(few) == rate(joined) == rate(sentences("ner", limit=200)) == 1 > rate(sentences("ner", limit=201))


def test_with_values_above_1_few_sequences_may_have_a_low_rate():
    def rate(value):
        cells = [[(row[0], row[-1]) for row in rows] for rows in sentences("ner", limit=50)]
        data = [[({f"{end} {k} {word[:k] if end else word[-k:]}": value for end in (0, 1) for k in range(1, 9)}, label) for word, label in rows] for rows in cells]
        return crfkit.learn(data, None, "sapo", l2=1.0, format="crfsuite").header["chosen"]["rate"]

    assert rate(1.0) == 1 and rate(3.0) < 1


def test_few_sequences_do_not_raise_the_rate_of_sapo_to_one_that_diverges():
    """Attributes with small values have a rate so much higher that a penalty of 1 is too large for it."""
    chance, data = random.Random(1), []
    for _ in range(30):
        quarters = [(chance.choice((-1, 1)), chance.choice((-1, 1))) for _ in range(10)]
        data.append([({"x": 0.03 * chance.gauss(x, 0.4), "y": 0.03 * chance.gauss(y, 0.4)}, f"{x} {y}") for x, y in quarters])
    with pytest.warns(CrfkitWarning, match=r"below 0\.1"):
        model = crfkit.learn(data, None, "sapo", l2=1.0, format="crfsuite")
    assert 0 < model.header["chosen"]["rate"] < 1


def test_where_nothing_can_be_foreseen_the_training_objective_decides():
    """Each sequence has an attribute of its own, so that held-out ones show no difference between rates."""
    corpus = Corpus([Sample([s % 2], [[(s, 1.0)]], [[]]) for s in range(40)], 2, 40)
    built, reached = Built(corpus), []
    for own in ({}, {"rate": 1e-3}):
        trainer = with_passes(5, adf.Adf(built.dataset, built.layout, options.Adf(l2=1.0, **own)))
        reached.append(objective(built.to_weights(trainer.weights()), corpus, 1.0)[0])
    assert reached[0] < 0.9 * reached[1]


def test_one_rate_for_all_where_values_are_far_from_zero():
    """There no rate gets as far with shares, which slow down what distinguishes the labels as well as what is common to all."""
    chance = random.Random(0)
    centre = [[100 + chance.gauss(0, 1) for _ in range(8)] for _ in range(4)]
    samples = [Sample([k % 4], [[(d, x + chance.gauss(0, 1)) for d, x in enumerate(centre[k % 4])]], [[]]) for k in range(400)]
    built = Built(Corpus(samples, 4, 8, u_all=set(range(8))))

    def reached(own, **more):
        trainer = with_passes(10, adf.Adf(built.dataset, built.layout, options.Adf(l2=1.0, **own), **more))
        return objective(built.to_weights(trainer.weights()), built.corpus, 1.0)[0]

    assert reached({}) < 0.95 * min(reached({"rate": 2.0**k}, found=True, shares=True) for k in range(-8, 9, 2))


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("scale", [1.0, 1e16, 1e17])
@each_trainer
def test_trials_leave_no_trace(name, scale, batch):
    """After them training goes on as if their rate had been given, also where weights grew beyond all bounds in some."""
    for seed in range(3):
        chance, samples = random.Random(seed), []
        for _ in range(40):
            labels = [chance.randrange(2) for _ in range(4)]
            samples.append(Sample(labels, [[(j, scale * chance.random()), (2 + chance.randrange(5), 1.0)] for j in labels], [[]] * 4))
        built = Built(Corpus(samples, 2, 7, tau_all=True))
        found = trainer_of(name, built, l2=1.0, batch_size=batch)
        cls, own = type(found), type(found.options)(l2=1.0, batch_size=batch, rate=found.rate0)
        given = cls(built.dataset, built.layout, own, found=True, shares=found.has_shares)
        assert found.run_pass() == given.run_pass()
        assert found.weights() == given.weights()


@pytest.mark.parametrize("documents", [40, *(pytest.param(n, marks=pytest.mark.long) for n in (60, 80, 120)), 200])
@pytest.mark.parametrize("algorithm", ["sgd", "adf", "sapo"])
def test_few_documents_with_values_of_different_magnitudes(algorithm, documents, tmp_path):
    """At rates that are good in the end, losses go up and down at first."""
    text = (ROOT / "data/reals.train.txt").read_text().split("\n\n")
    train = tmp_path / "train"
    train.write_text("\n\n".join(text[:documents]) + "\n\n")
    model = crfkit.learn(train, format="crfsuite", algorithm=algorithm)
    gold, predicted = Tagger(model).tag_with_gold(ROOT / "data/reals.test.txt")
    assert sum(map(list.__eq__, gold, predicted)) > 0.75 * len(gold)


@each_trainer
def test_the_sample_has_all_classes_where_they_take_turns(name):
    """Every second document would show but one, and that is learned the better the higher the rate."""
    samples = [Sample([s % 2], [[(s % 2 if s * 619 % 1000 < 700 else 1 - s % 2, 3.0), (2 + s % 7, 1.0)]], [[]]) for s in range(2000)]
    assert chosen_rate(name, samples, 9)[1] < 0.25


@pytest.mark.parametrize("algorithm", ["sgd", "adf", "sapo"])
@pytest.mark.parametrize("l2", [0, 0.01, 1, 30, 1000, 1e10])
@pytest.mark.parametrize("copies", [1, 2, 40])
def test_few_sequences_do_not_make_it_diverge(algorithm, l2, copies):
    """The penalty of a step grows as sequences become fewer; it takes away at most half of a weight. For sapo no pass takes away more than all."""
    model = crfkit.CRF(algorithm=algorithm, l2=l2).fit([[["a"], ["b"]]] * copies, [["x", "y"]] * copies)
    assert model.model_.header["chosen"]["rate"] * l2 <= (min(copies / 2, 1) if algorithm == "sapo" else copies / 2)
    if l2 <= 1:
        assert model.predict([[["a"], ["b"]]]) == [["x", "y"]]


@pytest.mark.steady
@each_trainer
def test_signals_are_heard_during_the_trials(name):
    """A timer sends a signal every two milliseconds. If trials did not check for signals, only one would be handled."""
    chance = random.Random(0)
    samples = [
        Sample([chance.randrange(2) for _ in range(200)], [[(chance.randrange(50), 1.0)] for _ in range(200)], [[]] * 200)
        for _ in range(100)
    ]
    heard = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(True))
    built = Built(Corpus(samples, 2, 50, u_all=set(range(50)), tau_all=True))
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        TRAINERS[name](built.dataset, built.layout, {"l2": 1.0})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(heard) > 2
