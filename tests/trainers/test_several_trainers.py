"""What several trainers must do, each by its own options."""

from math import inf, log

import pytest
from commands import BATCH
from trainers.samples import end, trainer_of
from trainers.twins import Built, Corpus, Sample
from trainers.twins_lookahead import Lookahead
from trainers.twins_online import Perceptron

from crfkit.errors import TrainingError


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
