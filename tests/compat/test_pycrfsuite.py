"""crfkit.compat.pycrfsuite beside python-crfsuite itself: the same calls, the same answers."""

import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st
from liars import Sips
from pycrfsuite._logparser import TrainLogParser as PeerParser

from crfkit.compat import pycrfsuite as compat
from crfkit.compat.pycrfsuite._logparser import TrainLogParser
from crfkit.features import indexing

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
BOTH = pytest.mark.parametrize("library", [pycrfsuite, compat], ids=["python-crfsuite", "crfkit"])


def sentences(n=40, seed=1):
    """Words that tell their labels most of the time."""
    dice = random.Random(seed)
    for _ in range(n):
        words = [dice.randrange(6) for _ in range(dice.randrange(1, 7))]
        items = [{"w": str(word), "bias": 1, "deep": {"odd": word % 2 == 1, "size": [f"s{word // 2}"]}} for word in words]
        yield items, [("O" if dice.random() < 0.1 else "OABO"[word % 4]) for word in words]


def trained(library, path, algorithm="lbfgs", **params):
    trainer = library.Trainer(algorithm, params, verbose=False)
    for items, labels in sentences():
        trainer.append(items, labels)
    trainer.train(str(path))
    return trainer


@pytest.fixture
def model(tmp_path):
    trained(pycrfsuite, tmp_path / "peer.crfsuite")
    return str(tmp_path / "peer.crfsuite")


# --- Items ------------------------------------------------------------------------------------------------------------

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)  # at a zero byte the peer's names end
leaves = st.one_of(st.booleans(), st.integers(-9, 9), st.floats(-9, 9), names, st.lists(names, max_size=3), st.sets(names, max_size=3))
mappings = st.dictionaries(names, st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=2), max_leaves=4), max_size=4)


@given(st.lists(st.one_of(mappings, st.lists(names, max_size=4), st.sets(names, max_size=4)), max_size=4))
def test_items(sequence):
    ours, theirs = compat.ItemSequence(sequence), pycrfsuite.ItemSequence(sequence)
    assert ours.items() == theirs.items()
    assert len(ours) == len(theirs) and repr(ours) == repr(theirs)
    assert compat.ItemSequence(ours).items() == ours.items()


def test_bytes_and_whatever_is_iterable():
    assert compat.ItemSequence([{b"a": b"x"}, [b"y"], {"k": 1}.keys(), (name for name in "ab")]).items() == [
        {"a:x": 1.0}, {"y": 1.0}, {"k": 1.0}, {"a": 1.0, "b": 1.0},
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [5, None, [5], [None], [[5]], [{"a": None}], [{"a": {1, 2}}], [{1: 2}], [{"a": object()}]])
def test_what_is_no_item(bad):
    with pytest.raises(ValueError, match=r"expected|not iterable"):
        compat.ItemSequence(bad)


# --- Tagger -----------------------------------------------------------------------------------------------------------


def test_the_answers_of_the_peer_on_its_model(model):
    ours, theirs = compat.Tagger(), pycrfsuite.Tagger()
    ours.open(model)
    theirs.open(model)
    assert ours.labels() == theirs.labels()
    for items, labels in sentences(seed=2):
        assert ours.tag(items) == theirs.tag(items)
        assert ours.probability(labels) == pytest.approx(theirs.probability(labels), abs=1e-5)
        for place in range(len(items)):
            for label in ours.labels():
                assert ours.marginal(label, place) == pytest.approx(theirs.marginal(label, place), abs=1e-5)


def test_sequences_that_ask_the_tagger_themselves(model):
    """A generator may use the tagger that reads it; each gets the answers of its own sequence."""
    tagger = compat.Tagger()
    tagger.open(model)
    sequences = [items for items, _ in sentences(8, seed=4)]
    alone = [tagger.tag(items) for items in sequences]

    def nested(items, other):
        for item in items:
            assert tagger.tag(other) == alone[1]
            yield item

    assert tagger.tag(nested(sequences[0], sequences[1])) == alone[0]
    trainer = compat.Trainer(verbose=False)
    trainer.append((trainer.append([["b"]], ["B"]) or item for item in (["a"], ["c"])), ["A", "C"])
    assert sorted(map(len, trainer.sequences.rows.attributes())) == [1, 1, 2]


def test_one_tagger_and_many_threads(model):
    tagger = compat.Tagger()
    tagger.open(model)
    sequences = [items * 50 for items, _ in sentences(16, seed=5)]
    alone = [tagger.tag(items) for items in sequences]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(tagger.tag, sequences * 3)) == alone * 3


def test_answers_in_any_order(model):
    tagger = compat.Tagger()
    tagger.open(model)
    items, labels = next(iter(sentences(1, seed=6)))
    sequence = compat.ItemSequence(items)
    tagger.set(sequence)
    expected = tagger.marginals()
    assert tagger.tag(items) == tagger.tag(sequence) == tagger.tag()
    before = tagger.probability(labels)
    assert tagger.tag() and tagger.marginals() == expected and tagger.probability([label.encode() for label in labels]) == before
    assert tagger.marginal(b"A", 0) == expected[0]["A"]
    for bad in ([5], [["x"], [5]], 5):
        with pytest.raises(ValueError, match="expected"):
            tagger.set(bad)


def test_dump_and_info_are_those_of_the_peer(model, tmp_path, capsys, monkeypatch):
    ours, theirs = compat.Tagger(), pycrfsuite.Tagger()
    ours.open(model)
    theirs.open(model)
    ours.dump(tmp_path / "ours")
    theirs.dump(str(tmp_path / "theirs"))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    ours.dump()
    assert capsys.readouterr().out == (tmp_path / "ours").read_text()
    unbuffered = Sips(7)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=unbuffered, flush=lambda: None))
    ours.dump()
    assert unbuffered.held == (tmp_path / "ours").read_bytes()
    assert vars(ours.info()) == vars(theirs.info())


def test_nobody_appends_while_features_are_made(tmp_path, monkeypatch):
    """Another thread would move the sequences away from below those who read them."""
    trainer, free = compat.Trainer(verbose=False), []

    class Watched(indexing.IndexBuilder):
        def add(self, *arguments):
            free.append(trainer.sequences.lock.acquire(blocking=False))
            return super().add(*arguments)

        def meet(self, *arguments):
            free.append(trainer.sequences.lock.acquire(blocking=False))
            return super().meet(*arguments)

    monkeypatch.setattr(indexing, "IndexBuilder", Watched)
    for group in (0, 1):
        trainer.append([["a"], ["b"]], ["A", "B"], group)
    trainer.train(tmp_path / "m", 1)
    assert trainer.sequences.n_attributes() == 2
    assert free and not any(free)


def test_info_of_names_that_break_lines(tmp_path):
    trainer = compat.Trainer(verbose=False)
    trainer.append([["x --> y: 1"], ["b"]], ["A", "B"])
    trainer.train(tmp_path / "m")
    with compat.Tagger().open(tmp_path / "m"):
        pass
    tagger = compat.Tagger()
    tagger.open_inmemory((tmp_path / "m").read_bytes())
    assert tagger.info().state_features["x --> y: 1", "A"] > 0


@BOTH
def test_a_tagger_that_is_closed(library, model):
    tagger = library.Tagger()
    with tagger.open(model) as opened:
        assert opened is tagger
        assert tagger.tag() == [] == tagger.tag([])
    for call in (tagger.labels, tagger.tag, lambda: tagger.set([["a"]]), lambda: tagger.probability(["A"]), lambda: tagger.marginal("A", 0)):
        with pytest.raises(ValueError, match="The tagger is not opened"):
            call()
    for call in (tagger.info, tagger.dump):
        with pytest.raises(RuntimeError, match="Tagger is closed"):
            call()
    tagger.close()


@BOTH
def test_what_cannot_be_opened(library, tmp_path):
    tagger = library.Tagger()
    with pytest.raises(IOError, match="No such file"):
        tagger.open("absent")
    for content in (b"foo", b"lCRFfoo", b""):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(ValueError, match=r"odel file '.*bad'"):
            tagger.open(str(tmp_path / "bad"))
        with pytest.raises(ValueError, match="Invalid model"):
            tagger.open_inmemory(content)
    with pytest.raises(TypeError):
        tagger.open_inmemory("text")


@BOTH
def test_questions_that_have_no_answer(library, model):
    tagger = library.Tagger()
    tagger.open(model)
    tagger.set([["bias"], ["w:1"]])
    for labels, error, message in ((["A"], ValueError, r"\|x\| = 2, \|y\| = 1"), (["A", "none"], RuntimeError, "label identifier: none")):
        with pytest.raises(error, match=message):
            tagger.probability(labels)
    with pytest.raises(RuntimeError, match="label identifier: none"):
        tagger.marginal("none", 0)
    for place in (-1, 2):
        with pytest.raises(ValueError, match="out of range of 2"):
            tagger.marginal("A", place)


# --- Trainer ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parameters_are_those_of_the_peer(algorithm):
    ours, theirs = compat.Trainer(algorithm, verbose=False), pycrfsuite.Trainer(algorithm, verbose=False)
    assert ours.params() == theirs.params()
    assert ours.get_params() == theirs.get_params()
    assert all(ours.help(name) for name in ours.params())
    for trainer in (ours, theirs):
        trainer.set_params({"feature.possible_states": True, "max_iterations": 7})
    assert ours.get_params() == theirs.get_params()


@BOTH
def test_parameters_that_do_not_exist(library):
    trainer = library.Trainer("l2sgd", verbose=False)
    for call in (lambda: trainer.set("c1", 1), lambda: trainer.get("c1"), lambda: trainer.help("c1"), lambda: trainer.set_params({"bad": 2})):
        with pytest.raises(ValueError, match="Parameter not found: "):
            call()
    with pytest.raises(ValueError, match="Bad arguments: algorithm='foo', type='crf1d'"):
        trainer.select("foo")
    with pytest.raises(ValueError, match=r"\|x\| = 1, \|y\| = 2"):
        trainer.append([["a"]], ["A", "B"])
    with pytest.raises(TypeError):
        trainer.append([["a"]], [1])


@pytest.mark.parametrize("params", [{}, {"c2": 0.1}, {"c1": 0.2, "c2": 0.01}, {"feature.possible_states": True, "feature.possible_transitions": True},
                                    {"feature.possible_states": True}, {"feature.possible_transitions": True}], ids=str)  # fmt: skip
def test_lbfgs_reaches_the_objective_of_the_peer(tmp_path, params):
    ours, theirs = (trained(library, tmp_path / library.__name__, delta=1e-9, epsilon=1e-6, **params) for library in (compat, pycrfsuite))
    mine, yours = ours.logparser, theirs.logparser
    assert mine.featgen_num_features == yours.featgen_num_features
    assert mine.last_iteration["loss"] == pytest.approx(yours.last_iteration["loss"], rel=1e-4)
    assert mine.last_iteration["loss"] <= yours.last_iteration["loss"] * (1 + 1e-5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_peer_tags_with_models_written_here(tmp_path, algorithm):
    trained(compat, tmp_path / "m", algorithm, max_iterations=10)
    ours, theirs = compat.Tagger(), pycrfsuite.Tagger()
    ours.open(tmp_path / "m")
    theirs.open(str(tmp_path / "m"))
    right = total = 0
    for items, labels in sentences(seed=3):
        assert ours.tag(items) == theirs.tag(items)
        right += sum(a == b for a, b in zip(theirs.tag(items), labels, strict=True))
        total += len(labels)
    assert right > 0.8 * total


class Listening(compat.BaseTrainer):
    def message(self, message):
        self.messages = [*getattr(self, "messages", ()), message]


def test_the_log_is_read_by_the_parser_of_the_peer(tmp_path):
    for algorithm in ALGORITHMS:
        trainer = Listening(algorithm)
        for number, (items, labels) in enumerate(sentences()):
            trainer.append(items, labels, number % 3)
        trainer.set("max_iterations", 3)
        trainer.train(tmp_path / "m", holdout=2)
        theirs, ours = PeerParser(), TrainLogParser()
        for message in trainer.messages:
            assert theirs.feed(message) == ours.feed(message)
            assert theirs.last_log == ours.last_log
        assert theirs.state == "STORING" and len(theirs.iterations) == 3 and theirs.storing_seconds is not None
        for key in ("featgen_num_features", "featgen_seconds", "training_seconds", "storing_seconds", "featgen_percent"):
            assert getattr(theirs, key) == getattr(ours, key)
        for mine, yours in zip(ours.iterations, theirs.iterations, strict=True):
            assert {**mine, "feature_norm": 0, "scores": {}} == {**yours, "feature_norm": 0, "scores": {}}
            assert {name: tuple(score) for name, score in mine["scores"].items()} == {
                name: (score.match, score.model, score.ref, score.precision, score.recall, score.f1) for name, score in yours["scores"].items()
            }
        assert ours.last_iteration["scores"]["O"].ref > 0 and 0 < ours.last_iteration["item_accuracy"] <= 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_head_of_the_log_is_that_of_the_peer(tmp_path, algorithm):
    class Peer(pycrfsuite.BaseTrainer):
        message = Listening.message

    heads = []
    for trainer in (Listening(algorithm), Peer(algorithm)):
        for items, labels in sentences():
            trainer.append(items, labels)
        trainer.set("max_iterations", 1)
        trainer.train(str(tmp_path / "m"))
        head = "".join(trainer.messages).partition("***** ")[0].partition("Calibrating")[0]
        heads.append(re.sub(r"required: [0-9.]+", "", head))
    assert heads[0] == heads[1]


def test_events_of_a_run(tmp_path, capsys):
    class Told(compat.Trainer):
        def on_iteration(self, log, info):
            self.seen = [*getattr(self, "seen", ()), info["num"]]

    trainer = Told("ap", {"max_iterations": 2})
    for items, labels in sentences():
        trainer.append(items, labels)
    trainer.train(tmp_path / "m")
    assert trainer.seen == [1, 2]
    printed = capsys.readouterr().out
    assert printed.startswith("Feature generation\n") and "Storing the model\n" in printed and "Iteration" not in printed
    assert [event for event, _, _ in trainer.logparser.events if event != "featgen_progress"] == [
        "start", "featgen_end", "prepared", "iteration", "iteration", "optimization_end", "end",
    ]  # fmt: skip


@BOTH
def test_a_log_that_nobody_can_hear(library, tmp_path):
    class Bad(library.Trainer):
        def message(self, message):
            raise LookupError("deaf")

    trainer = Bad()
    trainer.append([["a"], ["b"]], ["A", "B"])
    with pytest.raises(LookupError, match="deaf"):
        trainer.train(str(tmp_path / "m"))


@BOTH
def test_algorithms_in_capitals(library):
    assert library.Trainer("L2SGD", verbose=False).params() == library.Trainer("l2sgd", verbose=False).params()


ALIASED = """
import sys
import crfkit.compat.pycrfsuite, crfkit.compat.sklearn_crfsuite
sys.modules["pycrfsuite"], sys.modules["sklearn_crfsuite"] = crfkit.compat.pycrfsuite, crfkit.compat.sklearn_crfsuite
import pycrfsuite
from pycrfsuite._dumpparser import ParsedDump
from pycrfsuite._logparser import TrainLogParser
from pycrfsuite._pycrfsuite import BaseTrainer, CRFSuiteError, ItemSequence, Tagger, Trainer
from sklearn_crfsuite import CRF
from sklearn_crfsuite.estimator import CRF as Same
assert Trainer is pycrfsuite.Trainer and CRFSuiteError is pycrfsuite.CRFSuiteError
crf = CRF().fit([[["a"], ["b"]]], [["A", "B"]])
assert isinstance(crf.tagger_.info(), ParsedDump)
"""


def test_programs_may_import_it_under_the_old_names():
    def forget():
        """The modules of these names: those that were there."""
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in ("pycrfsuite", "sklearn_crfsuite")}

    before = forget()
    try:
        exec(ALIASED, {})
    finally:
        forget()
        sys.modules.update(before)


@pytest.mark.parametrize(("items", "labels"), [([["a"], [5]], ["A", "B"]), ([["a"]], ["A\0B"]), ([["a"]], ["\ud800"]), ([["\ud800"]], ["A"])])
def test_what_cannot_be_appended_leaves_nothing_behind(items, labels):
    trainer = compat.Trainer(verbose=False)
    trainer.append([["x"]], ["X"])
    with pytest.raises(ValueError, match="expected") as refused:
        trainer.append(items, labels)
    assert isinstance(refused.value, TypeError)
    trainer.append([{"y": 0.5}], [b"Y"], group=0)
    assert trainer.sequences.rows.attributes() == [[[(b"x", 1.0)]], [[(b"y", 0.5)]]] and trainer.sequences.rows.sentences() == [[[b"X"]], [[b"Y"]]]


def test_nothing_to_learn(tmp_path):
    compat.Trainer(verbose=False).train(tmp_path / "none")
    trainer = compat.Trainer(verbose=False)
    trainer.append([["a"], ["b"]], ["A", "A"])
    trainer.append([], [])
    trainer.train(tmp_path / "one")
    trainer.train("")
    tagger = compat.Tagger()
    tagger.open(tmp_path / "one")
    assert tagger.labels() == ["A"] and tagger.tag([["x"], ["y"]]) == ["A", "A"]


def test_what_is_changed_after_append_does_not_matter(tmp_path):
    trainer, items, labels = compat.Trainer(verbose=False), [{"a": 1}, {"b": 1}], ["A", "B"]
    trainer.append(items, labels)
    items[0]["a"], labels[1] = "changed", "C"
    trainer.train(tmp_path / "m")
    tagger = compat.Tagger()
    tagger.open(tmp_path / "m")
    assert set(tagger.info().attributes) == {"a", "b"} and set(tagger.labels()) == {"A", "B"}
