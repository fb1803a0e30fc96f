"""--dropout: training is that without it, on sequences without what was left out."""

from itertools import accumulate, chain, pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import apart
from trainers.samples import trainer_of, with_passes
from trainers.twins import Built, Corpus, Sample, corpora
from xoshiro import Random

from crfkit.data.dataset import Dataset

ONLINE = {
    "sgd": [{"rate": 0.25}, {"rate": 0.25, "l1": 0.5, "batch_size": 2}],
    "adf": [{"rate": 0.25}, {"rate": 0.25, "batch_size": 3, "l2": 0.0}],
    "sapo": [{"rate": 0.25}],
    "perceptron": [{"passes": 3}, {"passes": 3, "batch_size": 2}],
    "mira": [{"passes": 3, "nbest": 2}, {"passes": 3, "shrinking": 2}],
    "arow": [{"regularization": 3.0}],
    "cw": [{"passes": 3}],
    "lookahead": [{}],
}


def without(data, numbers, dropout):
    """The data without what was left out. `numbers` are the random numbers of each sequence: first one for each attribute of a
    label, then one for each attribute of a pair."""
    arrays = data.arrays()
    sequence = [s for s, (first, last) in enumerate(pairwise(arrays["seq_ptr"])) for _ in range(first, last)]
    for kind in "ub":
        if f"{kind}_ptr" not in arrays:
            continue
        rows = [range(first, last) for first, last in pairwise(arrays[f"{kind}_ptr"])]
        kept = [[k for k in row if numbers[s].fraction() >= dropout] for s, row in zip(sequence, rows, strict=True)]
        arrays[f"{kind}_ptr"] = [0, *accumulate(map(len, kept))]
        for name in (f"{kind}_id", f"{kind}_val"):
            if name in arrays:
                arrays[name] = [arrays[name][k] for k in chain.from_iterable(kept)]
    return Dataset(**arrays, n_u=data.n_u, n_b=data.n_b, labels=data.labels)


def results(trainer):
    """All that the next pass depends on, as values that can be compared; of adf, whose rows also say when they were last looked at,
    what follows from it."""
    if trainer.rates_of_rows:
        return list(trainer.weights()), list(trainer.rates())
    return {name: bytes(value) if isinstance(value, memoryview) else value for name, value in trainer.state().items()}


@pytest.mark.parametrize(("name", "chosen"), [(name, chosen) for name, all_of_them in ONLINE.items() for chosen in all_of_them])
@given(corpora(), st.sampled_from([0.001, 0.1, 0.5, 0.9]), st.integers(0, 2**64 - 1))
def test_training_is_that_on_what_is_left(name, chosen, corpus, dropout, seed):
    """What is left out in a step follows from the first word of the random state after shuffling, and the number of the step."""
    built = Built(corpus)
    trainer, rng, order = trainer_of(name, built, seed=seed, dropout=dropout, **chosen), Random(seed), list(range(len(corpus.samples)))
    for _ in range(2):
        rng.shuffle(order)
        if chosen.get("shrinking"):
            order.sort()
        first = rng.s[0] + trainer.steps * chosen.get("batch_size", 1)
        numbers = {s: Random((first + k) % 2**64) for k, s in enumerate(order)}
        twin = trainer_of(name, SimpleNamespace(dataset=without(built.dataset, numbers, dropout), layout=built.layout), **chosen)
        twin.restore(trainer.state())
        assert (trainer.run_pass(), results(trainer)) == (twin.run_pass(), results(twin))


@pytest.mark.steady
@pytest.mark.parametrize("name", ["sgd", "adf", "sapo"])
def test_threads_leave_out_the_same(name):
    """Sequences that share no attribute: threads do not meet, and each weight tells whether it was left out."""
    samples = [Sample([a % 2], [[(4 * a + k, 1.0) for k in range(4)]], [[]]) for a in range(1000)]
    built, found = Built(Corpus(samples, 2, 4000)), []
    for threads in (1, 3):
        trainer = with_passes(1, trainer_of(name, built, seed=1, threads=threads, l2=1.0, rate=0.5, dropout=0.4))
        found.append(trainer.weights())
    assert 0.35 < sum(weight == 0 for weight in found[0]) / len(found[0]) < 0.45
    assert not apart(found[1], found[0], rel=1e-6, abs=1e-12).any()
