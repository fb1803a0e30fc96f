"""Batch trainers end after the first pass at which their options say so, as reckoned from what they log; no sooner and no later. `sbcd` hears Ctrl-C
in a pass."""

from itertools import pairwise
from math import hypot
from random import Random
from types import SimpleNamespace

import pytest
from trainers.samples import Numbers, end, read, trainer_of

import crfkit
from crfkit import Template
from crfkit.data.dataset import Dataset
from crfkit.learning.corpus import read_corpus
from crfkit.learning.reader import Reader
from crfkit.options import Run
from crfkit.weights.layout import Layout

ALGORITHMS = ["lbfgs", "owlqn", "sbcd"]


@pytest.fixture(scope="module")
def corpus():
    return read("chunking", sentences=30)


def trained(algorithm, corpus, **chosen):
    """A trainer, and the record of each pass until it has converged: first the objective where it began."""
    chosen = {"l2": 0.1, **({} if algorithm == "lbfgs" else {"l1": 0.1}), **({} if algorithm == "sbcd" else {"warm_up": 0}), **chosen}
    trainer, records = trainer_of(algorithm, corpus, **chosen), []
    for _ in trainer.prepare():
        pass
    start = corpus.doubles(trainer.weights())
    records.append({"objective": corpus.value_at(0.1, start)[0] + chosen.get("l1", 0.0) * sum(map(abs, start))})
    while not trainer.converged:
        records.append(trainer.run_pass())
        assert len(records) < 1000
    return trainer, records


@pytest.mark.parametrize("chosen", [{"delta": 0.05, "period": 3}, {"delta": 1e-3, "period": 1}, {"delta": 0.2, "period": 10}])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_ends_when_so_many_passes_gain_too_little(algorithm, corpus, chosen):
    trainer, records = trained(algorithm, corpus, epsilon=0.0, **chosen)
    values, period = [record["objective"] for record in records], chosen["period"]
    ended = [values[p - period] - values[p] < chosen["delta"] * values[p] for p in range(period, len(values))]
    assert "--delta" in trainer.converged and ended == [False] * (len(ended) - 1) + [True]


@pytest.mark.parametrize(("period", "looked"), [(10, 4), (3, 3)])
def test_after_a_warm_up_that_came_near_few_passes_tell(corpus, period, looked):
    """Four gain less than their part of what ten would have to gain."""
    trainer, records = trained("lbfgs", corpus, warm_up=100, epsilon=0.0, delta=1e-7, period=period)
    values = [record["objective"] for record in records]
    ended = [values[p - looked] - values[p] < 1e-7 * looked / period * values[p] for p in range(looked, len(values))]
    assert trainer.near and "--delta" in trainer.converged and ended == [False] * (len(ended) - 1) + [True]


@pytest.mark.parametrize("epsilon", [0.5, 0.01])
@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn"])
def test_it_ends_when_the_gap_is_small(algorithm, corpus, epsilon):
    trainer, records = trained(algorithm, corpus, epsilon=epsilon, delta=0.0)
    ended = ["gap" in record and record["gap"] <= epsilon * (record["objective"] - record["gap"]) for record in records]
    assert "--epsilon" in trainer.converged and ended == [False] * (len(ended) - 1) + [True]


@pytest.mark.parametrize("epsilon", [0.5, 0.01])
def test_sbcd_ends_when_the_gradient_is_small(corpus, epsilon):
    trainer, ended = trainer_of("sbcd", corpus, l1=0.1, l2=0.1, epsilon=epsilon, delta=0.0), []
    while not trainer.converged:
        gradient = trainer.run_pass()["gradient"]
        ended.append(gradient <= epsilon * max(1.0, hypot(*trainer.weights())))
    assert "--epsilon" in trainer.converged and ended == [False] * (len(ended) - 1) + [True]


@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn"])
def test_it_ends_where_numbers_get_no_lower(algorithm, corpus):
    trainer, _ = trained(algorithm, corpus, epsilon=0.0, delta=0.0)
    assert trainer.converged == "no step lowers the objective any more"


@pytest.mark.parametrize(("before", "after"), [(3.0, 0.5), (0.5, 3.0)])
def test_sbcd_goes_on_with_another_penalty(corpus, before, after):
    """To where a trainer ends that starts from these weights: objectives with the penalty before are no measure of progress."""
    first = trainer_of("sbcd", corpus, l1=before, epsilon=0.0, delta=1e-4, period=2)
    end(first)
    second = trainer_of("sbcd", corpus, first.weights(), l1=after, epsilon=0.0, delta=1e-4, period=2)
    first.set_l1(after)
    assert first.converged is None and first.stride == second.stride
    values, others = end(first), end(second)
    assert min(len(values), len(others)) > 3 and values[-1] == pytest.approx(others[-1], rel=1e-4)


def test_owlqn_ends_where_zero_weights_are_best(corpus):
    trainer, records = trained("owlqn", corpus, l1=1e6)
    assert "is zero" in trainer.converged and not any(trainer.weights()) and len(records) == 2


def test_it_ends_where_large_values_leave_steps_without_a_gain():
    """The gradient stays above zero there: its terms are as large as the years."""
    words = [("w", 1987, "X"), ("v", 2013, "Y"), ("w", 1950, "Y"), ("v", 1999, "Y"), ("z", 1987, "X"), ("v", 2003, "Z")]
    tokens = [({word: 1.0, "year": float(year)}, label) for word, year, label in words]
    passes = []
    crfkit.learn([tokens[:2], tokens[2:4], tokens[4:]], format="crfsuite", l2=2.0, epsilon=0.0, delta=0.0, progress=passes.append)
    assert len(passes) < 100


def test_sbcd_hears_ctrl_c_everywhere_in_a_pass():
    """In blocks, in steps beyond them, and in sweeps: it is asked for after 100,000 steps of each, or tokens that a sweep looks at, and what is logged is the
    objective of the weights, from which the next pass goes on."""
    random = Random(3)
    rows = [[[f"w{random.randrange(40)}", f"l{random.randrange(3)}"] for _ in range(2)] for _ in range(37_500)]
    corpus = Numbers(read_corpus(Reader(rows, Template.parse("U:%x[0,0]\nB:%x[0,0]"), Run())))
    steps, stops, heard = [0], [], True
    first = trainer_of("sbcd", corpus, l1=1.0)
    before = first.run_pass()["objective"]

    def stop():
        steps.append(trainer.chains.steps)
        return len(steps) == len(stops) + 2

    while heard:
        trainer = trainer_of("sbcd", corpus, l1=1.0)
        trainer.restore(first.state())
        begun, steps = trainer.chains.steps, [trainer.chains.steps]
        record, cells = trainer.run_pass(stop), corpus.doubles(trainer.weights())
        heard = trainer.interrupted
        assert len(steps) == len(stops) + 1 + heard  # nobody is asked again
        assert corpus.value_at(0.0, cells)[0] + sum(map(abs, cells)) == pytest.approx(record["objective"], rel=1e-9)
        assert record["objective"] <= before
        assert max(b - a for a, b in pairwise([*steps, trainer.chains.steps])) < 2 * 100_000 + 10_000  # one after the other, and a block
        if heard:
            stops.append(trainer.chains.steps - begun)
            assert trainer.run_pass(lambda: False)["objective"] <= record["objective"]
            assert not trainer.interrupted
    assert stops == sorted(stops) and len(stops) > 2
    # A sweep takes no steps between its blocks, each of which is of some thousand tokens.
    assert steps.count(trainer.chains.steps) >= sum(corpus.dataset.n_incidences) // 110_000 > 0


def test_sbcd_hears_ctrl_c_between_visits_to_plain_label_pairs():
    """It makes four of them in a row, each of some steps for every token; and then it extrapolates, several times, by a step for every token."""
    n, steps = 42_000, [0]
    data = Dataset(range(0, n + 1, 6), [0] * (n + 1), label=[t * t // 5 % 3 for t in range(n)], labels=["X", "Y", "Z"])
    trainer = trainer_of("sbcd", SimpleNamespace(dataset=data, layout=Layout.build(data, 3, 1, b"", b"")[0]), l1=1.0)
    for _ in range(2):
        trainer.run_pass(lambda: steps.append(trainer.chains.steps))
    assert max(b - a for a, b in pairwise([*steps, trainer.chains.steps])) < 100_000 + 4 * n
