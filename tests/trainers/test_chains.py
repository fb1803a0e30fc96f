"""The recursions that sbcd keeps, where the scores of a sequence move far within a pass."""

import pytest
from trainers.samples import trainer_of
from trainers.twins import Built, Corpus, Sample


def moved_by_others(kind, n=250):
    """Sequences with an attribute each, whose weights rise by several units in a pass, and one with all of them, which counts nothing itself. Its
    scores rise by more than doubles can hold as potentials."""
    if kind == "B":
        near = [Sample([0, 1], [[], []], [[], [(b, 1.0)]]) for b in range(n)]
        return near, Sample([0, 1, 0], [[], [], []], [[], [(b, 1.0) for b in range(n)], []], 0.0)
    near = [*(Sample([1], [[(a, 1.0)]], [[]]) for a in range(n)), Sample([0], [[]], [[]])]
    ends = [(0, 1.0), (n - 1, 1.0)]  # visited first and last: then the potentials between them count
    return near, Sample([1, 1, 1], [ends, [(a, 1.0) for a in range(1, n - 1)], ends], [[]] * 3, 0.0)


@pytest.mark.parametrize("kind", ["U", "B"])
def test_a_sequence_without_weight_changes_nothing_however_far_its_scores_move(kind):
    near, far = moved_by_others(kind)
    found = []
    for samples in (near, [*near, far]):
        built = Built(Corpus(samples, 2, 250 * (kind == "U"), 250 * (kind == "B"), has_tau=False))
        trainer = trainer_of("sbcd", built, l1=0.001, l2=0.001, kappa=0.1)
        found.append(([trainer.run_pass()["objective"] for _ in range(3)], built.to_weights(trainer.weights())))
    assert found[0] == found[1]
    assert sum(found[0][1].values()) > 4 * 250  # exp of that is beyond 1.8e308
