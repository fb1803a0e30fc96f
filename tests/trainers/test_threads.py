"""Several threads that change the same weights without locks: each sequence once, each rate and penalty that of its step.

These hold in every run. How good the models are differs from run to run: benchmarks/bench_threads.py looks at that.
"""

import array
import gc
import weakref

import pytest
from problems import apart
from trainers.samples import read, trainer_of, with_passes
from trainers.twins import Built, Corpus, Sample

import crfkit
from crfkit import options
from crfkit.trainers import trainer_class
from crfkit.trainers.base import all_finite

pytestmark = pytest.mark.steady
LOCK_FREE = ["sgd", "adf", "sapo"]
SCHEDULES = [*((name, {}) for name in LOCK_FREE), ("sgd", {"decay": 0.0}), ("sapo", {"decay": 0.0})]


def test_these_trainers_work_without_locks():
    assert [name for name in options.TRAINERS if trainer_class(name).lock_free] == LOCK_FREE


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(
    ("name", "own"), [*((name, {"l2": 1.0}) for name in LOCK_FREE), pytest.param("adf", {"l2": 1500.0, "window": 300}, id="adf-weights-halve-at-each-step")]
)
def test_numbers_are_finite_and_all_steps_are_made(name, own, threads):
    corpus = read("chunking", sentences=300)
    trainer = trainer_of(name, corpus, threads=threads, rate=0.1, **own)
    assert trainer.threads == threads
    for k in range(10):
        trainer.run_pass()
        assert trainer.steps == 300 * (k + 1) and all_finite(trainer.weights())
    assert sorted(list(trainer.state()["order"])) == list(range(300))


@pytest.mark.parametrize(("name", "own"), SCHEDULES)
def test_each_sequence_once_and_each_step_once(name, own):
    """Sequences that share no attribute: the weight of each says at which step it was learned from. A sequence that is
    left out has a weight of zero, and one that is taken twice has a larger weight than any step gives. With a decay of 0, rates and
    penalties make up for each other: all steps count the same in the end."""
    samples = [Sample([a % 2], [[(a, 1.0)]], [[]]) for a in range(1000)]
    built = Built(Corpus(samples, 2, 1000))

    def weights(threads, seed):
        trainer = trainer_of(name, built, seed=seed, threads=threads, l2=1.0, rate=0.5, **own)
        assert trainer.run_pass().get("updates", 1000) == 1000
        found = built.to_weights(trainer.weights())
        return sorted(found["U", a, a % 2] for a in range(1000))

    expected = weights(1, 1)
    assert expected[0] > 0 and (expected[-1] < 1.0001 * expected[0] if own else len({round(weight, 9) for weight in expected}) > 900)
    for seed in range(3):
        assert not apart(weights(3, seed), expected, rel=1e-6, abs=1e-12).any()


@pytest.mark.parametrize(("name", "own"), SCHEDULES)
@pytest.mark.parametrize("l2", [0.5, 300.0, 3000.0])
def test_schedules_are_exact(name, own, l2):
    """Gradients are zero where each sequence weighs nothing: what is left are penalty and rates, at every step once."""
    samples = [Sample([0, 1], [[(a % 7, 1.0)], [(a % 3, 0.5)]], [[], []], weight=0.0) for a in range(500)]
    built = Built(Corpus(samples, 2, 7))
    found = []
    start = built.to_cells(dict.fromkeys(built.cells, 1.0))
    for threads in (1, 3):
        trainer = with_passes(3, trainer_of(name, built, start, seed=1, threads=threads, l2=l2, rate=0.02, **own))
        found.append(built.to_weights(trainer.weights()))
        if name == "adf":
            found[-1] |= {("rate", row): rate for row, rate in enumerate(trainer.rates())}
    assert found[1] == pytest.approx(found[0], rel=1e-5, abs=1e-30)
    assert max(found[0].values()) < 1


@pytest.mark.parametrize("name", LOCK_FREE)
def test_every_thread_scores_with_the_weights_that_are_there(name):
    """Those of label pairs, too, which a trainer with one thread keeps. At so low a rate weights change in between only."""
    corpus, low = read("chunking", sentences=300), {"rate": 1e-30, "l2": 0.0}
    trainer = with_passes(1, trainer_of(name, corpus, threads=2, **low))
    cells = array.array("f", [0.5 - k % 7 / 8 for k in range(corpus.layout.n_cells)])
    trainer.restore({**trainer.state(), "weights": cells})
    assert trainer.run_pass()["loss"] == pytest.approx(trainer_of(name, corpus, cells, **low).run_pass()["loss"], rel=1e-9)


@pytest.mark.parametrize("name", LOCK_FREE)
def test_a_trainer_that_has_finished_is_freed_at_once(name):
    """The model is built in its memory: it does not wait for the garbage collector."""
    trainer = trainer_of(name, read("chunking", sentences=400), threads=2, rate=0.1)
    options = weakref.ref(trainer.options)
    gc.disable()
    try:
        trainer.run_pass()
        trainer.finish()
        del trainer
        assert options() is None
    finally:
        gc.enable()


def test_a_loss_that_grows_without_bounds_ends_all_threads():
    corpus = read("chunking", sentences=200)
    trainer = trainer_of("sgd", corpus, threads=2, rate=1e38, l2=0.0)
    with pytest.raises(crfkit.CrfkitError, match=r"no longer finite|is not finite"):
        for _ in range(20):
            trainer.run_pass()
