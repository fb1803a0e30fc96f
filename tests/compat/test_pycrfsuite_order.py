"""What crfkit.compat.pycrfsuite counts, and in which order, beside python-crfsuite itself."""

import pickle
import platform
import random
import re
from ast import literal_eval
from itertools import chain
from pathlib import Path

import pycrfsuite
import pytest
from commands import python
from compat.pycrfsuite_runs import ALGORITHMS, TWO, given, opened
from pycrfsuite._dumpparser import CRFsuiteDumpParser as PeerParser

from crfkit.compat import pycrfsuite as compat
from crfkit.compat.pycrfsuite._dumpparser import CRFsuiteDumpParser


def sequences(n=30, seed=1, values=False):
    """Names in no order, values of some attributes, groups that take turns; some names occur in group 2 alone."""
    rng = random.Random(seed)
    for number in range(n):
        length, group = rng.randrange(1, 7), rng.randrange(3)
        words = [rng.choice("zqaxmb" + "QP" * (group == 2)) for _ in range(length)]
        items = [{f"w={word}": 1.0, f"n={number % 7}": rng.choice([0.5, -0.5, 2, 0.25]) if values else 1, f"once={number}": 1} for word in words]
        yield items, [f"{word}{rng.randrange(2)}" if word in "zaQ" else "O" for word in words], group


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
        tagger = opened(library, tmp_path / "m")
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
@pytest.mark.parametrize("least", [0.5, 2, 1000, *(pytest.param(least, marks=pytest.mark.long) for least in (0, 1, 3))])
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
def test_the_log_has_the_messages_of_the_peer(tmp_path, algorithm):
    """Piece by piece the same words, where numbers differ and iterations are as many."""
    logs = []
    for library in (compat, pycrfsuite):
        log = trained(library, tmp_path / "m", algorithm, 1, max_iterations=2).messages
        masked = [re.sub(r"[0-9*.]+", "#", message) for message in log]
        logs.append([message for message in masked if not message.startswith(("Trial", "# (worse", "#\n"))])
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


TRAINED = """
import sys
sys.path[:0] = sys.argv[4:]
from compat.test_pycrfsuite_order import trained, pycrfsuite, compat
trainer = trained({"peer": pycrfsuite, "crfkit": compat}[sys.argv[1]], "m", sys.argv[2], 1, values=True, **eval(sys.argv[3]))
tagger = pycrfsuite.Tagger()
tagger.open("m")
info = tagger.info()
print([list(info.transitions), list(info.state_features), [*info.transitions.values(), *info.state_features.values()]])
print([[iteration["loss"], iteration.get("feature_norm", 0)] for iteration in trainer.logparser.iterations])
"""
STEPS = [
    ("ap", {}), ("ap", {"epsilon": 0.4}), ("arow", {}), ("arow", {"variance": 2.0, "gamma": 0.3}), ("pa", {}), ("pa", {"type": 2, "c": 0.3}),
    ("l2sgd", {}), ("l2sgd", {"c2": 0.01, "calibration.eta": 1.5, "calibration.rate": 3.0, "calibration.samples": 9, "calibration.max_trials": 6}),
    ("pa", {"type": 0}), ("pa", {"averaging": 0, "error_sensitive": 0, "c": 0.1}),
]


@pytest.mark.long
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the order is that of glibc's rand()")
@pytest.mark.parametrize(("algorithm", "params"), STEPS, ids=str)
def test_the_steps_of_online_algorithms_are_those_of_the_peer(tmp_path, algorithm, params):
    """In a process of its own the peer draws the same numbers each time."""
    found = []
    for library in ("crfkit", "peer"):
        arguments = [library, algorithm, str({**params, "max_iterations": 6, **({"period": 3} if algorithm == "l2sgd" else {})}), str(Path(compat.__file__).parents[3]), str(Path(__file__).parents[1])]
        found.append([literal_eval(line) for line in python(TRAINED, *arguments, cwd=tmp_path).stdout.splitlines()])
    (model, log), (peer_model, peer_log) = found
    assert model[:2] == peer_model[:2]
    assert model[2] == pytest.approx(peer_model[2], abs=1e-4)
    assert [*chain(*log)] == pytest.approx([*chain(*peer_log)], rel=1e-4)


def test_errors_have_the_codes_of_the_peer(tmp_path):
    assert compat.CRFSuiteError(0).code == 0 and str(compat.CRFSuiteError(0)) == "Unexpected error"
    assert {code: str(compat.CRFSuiteError(code)) for code in pycrfsuite.CRFSuiteError._messages} == pycrfsuite.CRFSuiteError._messages
    for params, path, kind in (({}, tmp_path / "absent" / "m", OSError), ({"c2": -1}, tmp_path / "m", ValueError)):
        trainer = given(compat.Trainer(params=params, verbose=False), TWO)
        with pytest.raises(compat.CRFSuiteError) as caught:
            trainer.train(path)
        assert isinstance(caught.value, kind) and caught.value.code in pycrfsuite.CRFSuiteError._messages
        again = pickle.loads(pickle.dumps(caught.value))
        assert str(again) == str(caught.value) and again.code == caught.value.code


def test_dumps_are_parsed_as_by_the_peer(tmp_path):
    trained(compat, tmp_path / "m")
    tagger = opened(compat, tmp_path / "m")
    tagger.dump(tmp_path / "dump")
    ours, theirs = CRFsuiteDumpParser(), PeerParser()
    for line in (tmp_path / "dump").read_text().splitlines(keepends=True):
        ours.feed(line)
        theirs.feed(line)
    assert vars(ours.result) == vars(theirs.result) == vars(tagger.info())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", ["one label", "no feature", "no attribute", "no iteration"])
def test_where_there_is_little_to_learn(tmp_path, case, algorithm):
    """The same events, as many iterations of online algorithms, and a model with the same labels."""
    params = {"no feature": {"feature.minfreq": 9}, "no iteration": {"max_iterations": 0}}.get(case, {})
    items, labels = ([[], []] if case == "no attribute" else [["a"], ["b"]]), (["A", "A"] if case == "one label" else ["B", "A"])
    found = []
    for library in (compat, pycrfsuite):
        trainer = given(library.Trainer(algorithm, {"max_iterations": 3, **params}, verbose=False), [(items, labels)])
        trainer.train(str(tmp_path / "m"))
        tagger = opened(library, tmp_path / "m")
        events = [event for event, _, _ in trainer.logparser.events if event != "iteration"]
        iterations = len(trainer.logparser.iterations) if algorithm != "lbfgs" else bool(trainer.logparser.iterations)
        found.append((tagger.labels(), tagger.tag(items), events, iterations))
    assert found[0] == found[1]


def test_no_step_where_no_feature_differs(tmp_path):
    """BAB and ABA always have the same score here, and of equal ones the best ends in A. So all that passive aggressive of type 0, whose
    steps have no limit, can learn is that these two are better than the others."""
    items = [{"a": 1.0}, {"a": 2.0}, {"a": 1.0}]
    trainer = given(compat.Trainer("pa", {"type": 0, "max_iterations": 9}, verbose=False), [([[]], ["A"]), (items, ["B", "A", "B"])])
    trainer.train(tmp_path / "m")
    tagger = opened(compat, tmp_path / "m")
    assert tagger.tag(items) == ["A", "B", "A"] and all(iteration["feature_norm"] < 9 for iteration in trainer.logparser.iterations)
