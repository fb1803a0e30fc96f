"""What several trainers must do, each by its own options."""

from math import inf, log

import pytest
from commands import BATCH
from trainers.samples import accuracy, end, read, trainer_of, with_passes
from trainers.twins import Built, Corpus, Sample
from trainers.twins_lookahead import Lookahead
from trainers.twins_online import Perceptron

from crfkit.errors import TrainingError


@pytest.mark.parametrize(
    ("algorithm", "chosen", "least"),
    [("lbfgs", {}, 0.9), ("sgd", {"passes": 8}, 0.9), ("adf", {"passes": 5}, 0.93), ("adf", {"passes": 1}, 0.85)],
)
def test_new_text_is_tagged_well(algorithm, chosen, least):
    assert accuracy(algorithm, **chosen) > least


@pytest.mark.parametrize(("algorithm", "chosen", "more"), [
    ("perceptron", {"passes": 1, "seed": 1}, 0.02), ("lookahead", {"passes": 1, "margin": 0.0, "seed": 1}, 0.005), ("mira", {"passes": 2, "nbest": 1}, 0.0),
    ("mira", {"passes": 2, "nbest": 5}, 0.0), ("arow", {"passes": 3, "regularization": 30.0}, 0.0), ("cw", {"passes": 3, "confidence": 0.55}, 0.0),
])
def test_the_average_tags_new_text_well_and_the_last_weights_less_so(algorithm, chosen, more):
    averaged, last = (accuracy(algorithm, average=average, **chosen) for average in (True, False))
    assert averaged > 0.92
    assert last < averaged - more


@pytest.mark.parametrize(("algorithm", "chosen", "part"), [
    ("perceptron", {}, 1 / 10), ("mira", {}, 1 / 10), ("lookahead", {"margin": 1.0}, 1 / 10), ("arow", {"regularization": 30.0}, 1 / 2), ("cw", {}, 1 / 2),
])
def test_mistakes_become_few(algorithm, chosen, part):
    """And so do variances, where there are any."""
    trainer = trainer_of(algorithm, read("chunking", sentences=150), **chosen)
    losses = [trainer.run_pass()["loss"] for _ in range(10)]
    assert losses[-1] < losses[0] * part
    if algorithm in ("arow", "cw"):
        variances = trainer.state()["variances"]
        assert 0 < min(variances) < 0.7
        assert max(variances) == 1


@pytest.mark.parametrize(("algorithm", "name", "values", "passes", "part"), [
    ("sgd", "l2", (0.0, 1.0, 10.0, 100.0), 5, 1 / 3), ("sapo", "l2", (0.0, 10.0, 100.0), 5, 1 / 3), ("mira", "aggressiveness", (1.0, 0.01, 0.001), 1, 1 / 3),
    ("arow", "regularization", (10.0, 100.0, 1000.0), 1, 1 / 2), ("cw", "confidence", (0.7, 0.52, 0.501), 1, 1 / 2),
])
def test_penalties_and_averaging_make_weights_smaller(algorithm, name, values, passes, part):
    own = {"rate": 0.1} if name == "l2" else {"average": False}

    def size(value):
        trainer = with_passes(passes, trainer_of(algorithm, read("chunking", sentences=100), **own, **{name: value}))
        return sum(map(abs, trainer.weights()))

    sizes = [size(value) for value in values]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] * part


@pytest.mark.parametrize(("algorithm", "chosen", "twin"), [("perceptron", {}, Perceptron), ("lookahead", {"margin": 1.0}, Lookahead)])
def test_stopped_early_the_average_is_over_the_steps_taken(algorithm, chosen, twin):
    built = Built(Corpus([Sample([s % 2, s % 3 == 0], [[(s % 5, 1.0)], [(s % 7, 1.0)]], [[], []]) for s in range(200)], 2, 7))
    trainer = trainer_of(algorithm, built, **chosen)
    trainer.run_pass(lambda: True)
    assert 0 < trainer.steps < 200
    assert algorithm != "lookahead" or trainer.decisions == 2 * trainer.steps
    twin = twin(built.corpus, dict.fromkeys(built.corpus.features(), 0.0), *([1, 1.0] if algorithm == "lookahead" else []))
    twin.run_pass(list(trainer.state()["order"])[: trainer.steps])
    assert built.to_weights(trainer.weights()) == pytest.approx(twin.average, rel=1e-5, abs=1e-6)


# --- those that know the objective ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("algorithm", "sentences", "rules", "part"), [("owlqn", 25, "chunking-rich", 1 / 3), ("sbcd", 25, None, 1 / 5)])
def test_more_penalty_leaves_fewer_weights(algorithm, sentences, rules, part):
    def active(l1):
        trainer = trainer_of(algorithm, read("chunking", sentences, rules), l1=l1)
        end(trainer)
        return sum(map(bool, trainer.weights()))

    counts = [active(l1) for l1 in (0.1, 0.5, 2.0, 10.0, 1e6)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] * part > counts[3] > 0 == counts[4]


@pytest.mark.parametrize(("algorithm", "chosen", "reason"), [
    ("lbfgs", {"epsilon": 0.1, "delta": 0.0}, "--epsilon"),
    ("lbfgs", {"epsilon": 0.0, "delta": 1e-3}, "--delta"),
    ("lbfgs", {"epsilon": 0.0, "delta": 0.0, "period": 100}, "no step"),
    ("owlqn", {"epsilon": 0.1, "delta": 0.0}, "--epsilon"),
    ("owlqn", {"epsilon": 1e-4, "delta": 0.0, "l2": 1.0}, "--epsilon"),
    ("owlqn", {"epsilon": 0.0, "delta": 1e-3}, "--delta"),
    ("owlqn", {"epsilon": 0.0, "delta": 0.0, "period": 3000, "l1": 1.0}, "no step"),
    ("owlqn", {"l1": 1e6}, "is zero"),
    ("sbcd", {"epsilon": 0.5, "delta": 0.0, "l1": 1.0}, "--epsilon"),
    ("sbcd", {"epsilon": 0.0, "delta": 1e-2, "l1": 1.0}, "--delta"),
])
def test_each_reason_to_stop(algorithm, chosen, reason):
    sentences, rules = {"lbfgs": (50, "chunking-rich"), "owlqn": (30, "chunking-rich"), "sbcd": (20, None)}[algorithm]
    trainer = trainer_of(algorithm, read("chunking", sentences, rules), **chosen)
    end(trainer)
    assert reason in trainer.converged


@pytest.mark.parametrize("algorithm", ["lbfgs", "sbcd"])
def test_without_penalty_separable_data_come_to_an_end(algorithm):
    corpus = Corpus([Sample([j], [[(j, 1.0)]], [[]]) for j in range(2)], 2, 2, u_all={0, 1})
    assert end(trainer_of(algorithm, Built(corpus), l2=0.0, **({"l1": 0.0} if algorithm == "sbcd" else {})))[-1] < 1e-3


@pytest.mark.parametrize(("values", "start"), [((1.0, -1.0), [inf, -inf]), ((1.0, 1.0), [-inf, -inf]), ((1e-45, 1e-40), None)])
@pytest.mark.parametrize("algorithm", sorted(BATCH))
def test_numbers_that_are_not_finite(algorithm, values, start):
    """Scores of the first weights, and steps without a penalty: the error says what helps, and nothing of constraints."""
    built = Built(Corpus([Sample([j, 0], [[(0, v)]] * 2, [[], []]) for j, v in enumerate(values)], 2, 1, u_all={0}))
    initial = start and built.to_cells({("U", 0, j): w for j, w in enumerate(start)})
    trainer = trainer_of(algorithm, built, initial, l2=0.0, **({} if algorithm == "lbfgs" else {"l1": 0.0}))
    if algorithm == "sbcd" and not start:
        assert end(trainer)[-1] < 4 * log(2)
    else:
        with pytest.raises(TrainingError, match="the objective is not finite; scale down the values of the features, or raise "):
            end(trainer)


@pytest.mark.parametrize("size", [1e-30, 1e6, 1e15, 1e38])
@pytest.mark.parametrize("algorithm", sorted(BATCH))
def test_values_out_of_all_proportion(algorithm, size):
    corpus = Corpus([Sample([j], [[(0, v * size)]], [[]]) for j, v in ((0, 1.0), (1, -0.5))], 2, 1, u_all={0})
    chosen = {"l1": 0.0, "l2": 1.0} if algorithm == "sbcd" else {}
    try:
        values = end(trainer_of(algorithm, Built(corpus), **chosen))
    except TrainingError as error:
        assert "scale down the values" in str(error)
    else:
        assert values[-1] <= values[0] <= 2 * log(2)  # where all weights are zero
