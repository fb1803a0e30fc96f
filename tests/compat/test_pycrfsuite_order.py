"""What crfkit.compat.pycrfsuite counts, and in which order, beside python-crfsuite itself."""

import random
import re

import pycrfsuite
import pytest

from crfkit.compat import pycrfsuite as compat

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")


def sequences(n=30, seed=1, values=False):
    """Names in no order, values of some attributes, groups that take turns; some names occur in group 2 alone."""
    dice = random.Random(seed)
    for number in range(n):
        length, group = dice.randrange(1, 7), dice.randrange(3)
        words = [dice.choice("zqaxmb" + "QP" * (group == 2)) for _ in range(length)]
        items = [{f"w={word}": 1.0, f"n={number % 7}": dice.choice([0.5, -0.5, 2, 0.25]) if values else 1, f"once={number}": 1} for word in words]
        yield items, [f"{word}{dice.randrange(2)}" if word in "zaQ" else "O" for word in words], group


def trained(library, path, algorithm="lbfgs", holdout=-1, values=False, **params):
    class Told(library.Trainer):
        def message(self, message):
            self.messages = [*getattr(self, "messages", ()), message]
            super().message(message)

    trainer = Told(algorithm, params, verbose=False)
    for items, labels, group in sequences(values=values):
        trainer.append(items, labels, group)
    trainer.train(str(path), holdout)
    return trainer


@pytest.mark.parametrize("holdout", [-1, 0, 2])
def test_labels_and_attributes_stand_in_the_order_of_the_peer(tmp_path, holdout):
    dumps = []
    for library in (compat, pycrfsuite):
        trained(library, tmp_path / "m", holdout=holdout, epsilon=1e-9, delta=1e-12)
        tagger = library.Tagger()
        tagger.open(str(tmp_path / "m"))
        tagger.dump(str(tmp_path / library.__name__))
        info = tagger.info()
        dump = (tmp_path / library.__name__).read_text()
        weights = [float(weight) for weight in re.findall(r"-?\d+\.\d{6}", dump)]
        names = [list(of) for of in (info.header.items(), info.labels.items(), info.attributes.items(), info.transitions, info.state_features)]
        dumps.append((tagger.labels(), names, re.sub(r"-?\d+\.\d{6}", "", dump), weights))
    (*ours, mine), (*theirs, yours) = dumps
    assert ours == theirs
    assert mine == pytest.approx(yours, abs=1e-3)


@pytest.mark.parametrize("holdout", [-1, 2])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("least", [0, 0.5, 1, 2, 3, 1000])
@pytest.mark.parametrize("possible", [{}, {"feature.possible_states": 1}, {"feature.possible_transitions": 1}], ids=str)
def test_frequencies_are_those_of_the_peer(tmp_path, holdout, values, least, possible):
    params = {"feature.minfreq": least, "epsilon": 1e-7, "delta": 1e-10, "c2": 0.3, **possible}
    ours, theirs = (trained(library, tmp_path / "m", holdout=holdout, values=values, **params) for library in (compat, pycrfsuite))
    counted = [[line for line in trainer.messages if line.startswith("Number of")] for trainer in (ours, theirs)]
    assert counted[0] == counted[1]
    assert (ours.logparser.last_iteration is None) == (theirs.logparser.last_iteration is None) == (least == 1000)
    assert least == 1000 or ours.logparser.last_iteration["loss"] == pytest.approx(theirs.logparser.last_iteration["loss"], rel=1e-5)


@pytest.mark.parametrize("holdout", [-1, 1])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_iterations_have_the_keys_of_the_peer(tmp_path, algorithm, holdout):
    ours, theirs = (trained(library, tmp_path / "m", algorithm, holdout, max_iterations=12).logparser for library in (compat, pycrfsuite))
    assert [set(iteration) for iteration in ours.iterations] == [set(ours.last_iteration)] * len(ours.iterations)
    assert list(ours.last_iteration) == list(theirs.last_iteration)
    scores = [[(label, score.ref) for label, score in log.last_iteration["scores"].items() if score.ref] for log in (ours, theirs)]
    assert scores[0] == scores[1]
    assert [event for event, _, _ in ours.events if event != "iteration"] == [event for event, _, _ in theirs.events if event != "iteration"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_log_has_the_lines_of_the_peer(tmp_path, algorithm):
    """Line for line the same words, where numbers differ and iterations are as many."""
    logs = []
    for library in (compat, pycrfsuite):
        log = "".join(trained(library, tmp_path / "m", algorithm, 1, max_iterations=2).messages)
        logs.append([re.sub(r"[0-9*.]+", "#", line) for line in log.splitlines() if not line.startswith("Trial")])
    assert logs[0] == logs[1]


def test_groups_are_learned_in_the_order_of_appending(tmp_path):
    """The order of the groups' numbers plays no role: models are the same to the last bit."""
    models = []
    for renamed in (lambda group: group, lambda group: 9 - group, lambda group: 0):
        trainer = compat.Trainer("ap", {"max_iterations": 3}, verbose=False)
        for items, labels, group in sequences():
            trainer.append(items, labels, renamed(group))
        trainer.train(tmp_path / "m")
        models.append((tmp_path / "m").read_bytes())
    assert models[0] == models[1] == models[2]
