"""crfkit.compat.pycrfsuite.Trainer beside python-crfsuite's: parameters, objectives, logs, events."""

import re
import threading
from fractions import Fraction

import numpy
import pycrfsuite
import pytest
from compat.kept import appended
from compat.pycrfsuite_runs import ALGORITHMS, BOTH, TWO, given, opened, sentences, trained
from pycrfsuite._logparser import TrainLogParser as PeerParser

from crfkit.compat import pycrfsuite as compat
from crfkit.compat.pycrfsuite._logparser import TrainLogParser


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
    for value in (True, False, 1.5, "x"):
        with pytest.raises(ValueError, match=f"^Parameter not found: averaging = {int(value) if isinstance(value, bool) else value}$"):
            trainer.set("averaging", value)
    with pytest.raises(ValueError, match="Bad arguments: algorithm='foo', type='crf1d'"):
        trainer.select("foo")
    with pytest.raises(ValueError, match=r"\|x\| = 1, \|y\| = 2"):
        trainer.append([["a"]], ["A", "B"])
    with pytest.raises(TypeError):
        trainer.append([["a"]], [1])


@pytest.mark.parametrize("params", [{}, {"c2": 0.1}, {"c1": 0.2, "c2": 0.01}, {"feature.possible_states": True, "feature.possible_transitions": True},
                                    {"feature.possible_states": True}, {"feature.possible_transitions": True}], ids=str)
def test_lbfgs_reaches_the_objective_of_the_peer(tmp_path, params):
    ours, theirs = (trained(library, tmp_path / library.__name__, delta=1e-9, epsilon=1e-6, **params) for library in (compat, pycrfsuite))
    mine, yours = ours.logparser, theirs.logparser
    assert mine.featgen_num_features == yours.featgen_num_features
    assert mine.last_iteration["loss"] == pytest.approx(yours.last_iteration["loss"], rel=1e-4)
    assert mine.last_iteration["loss"] <= yours.last_iteration["loss"] * (1 + 1e-5)


@BOTH
@pytest.mark.parametrize("period", [1, 3])
def test_where_l2sgd_stops(library, tmp_path, period):
    """Where the loss has fallen by less than `delta` times itself over a period."""
    losses = [iteration["loss"] for iteration in trained(library, tmp_path / "m", "l2sgd", period=period, delta=0.05).logparser.iterations]
    *before, last = [(first - second) / second for first, second in zip(losses, losses[period:], strict=False)]
    assert last < 0.05 <= min(before)


@BOTH
def test_where_lbfgs_stops(library, tmp_path):
    """Where the norm of the gradient has fallen below `epsilon` times that of the weights."""
    iterations = trained(library, tmp_path / "m", epsilon=0.05, delta=1e-12, c2=0.01).logparser.iterations
    *before, last = [iteration["error_norm"] / max(1, iteration["feature_norm"]) for iteration in iterations]
    assert last < 0.05 <= min(before) and iterations[-1]["feature_norm"] > 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_peer_tags_with_models_written_here(tmp_path, algorithm):
    trained(compat, tmp_path / "m", algorithm, max_iterations=10)
    ours, theirs = opened(compat, tmp_path / "m"), opened(pycrfsuite, tmp_path / "m")
    right = total = 0
    for items, labels in sentences(seed=3):
        assert ours.tag(items) == theirs.tag(items)
        right += sum(a == b for a, b in zip(theirs.tag(items), labels, strict=True))
        total += len(labels)
    assert right > 0.8 * total


class Listening(compat.BaseTrainer):
    def message(self, message):
        self.messages = [*getattr(self, "messages", ()), message]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_log_is_read_by_the_parser_of_the_peer(tmp_path, algorithm):
    trainer = Listening(algorithm)
    for number, (items, labels) in enumerate(sentences()):
        trainer.append(items, labels, number % 3)
    trainer.set("max_iterations", 3)
    trainer.train(tmp_path / "m", holdout=2)
    theirs, ours = PeerParser(), TrainLogParser()
    for message in trainer.messages:
        assert theirs.feed(message) == ours.feed(message)
        assert theirs.last_log == ours.last_log
    assert theirs.state == "STORING" and len(theirs.iterations) == 3
    assert "\nSeconds required: " in "".join(trainer.messages).partition("Storing the model")[2]  # the peer's parser takes 0.000 for none
    for key in ("featgen_num_features", "featgen_seconds", "training_seconds", "storing_seconds", "featgen_percent"):
        assert (getattr(theirs, key) or 0.0) == getattr(ours, key)
    for mine, yours in zip(ours.iterations, theirs.iterations, strict=True):
        assert {**mine, "feature_norm": 0, "scores": {}} == {**yours, "feature_norm": 0, "scores": {}}
        assert {name: tuple(score) for name, score in mine["scores"].items()} == {
            name: (score.match, score.model, score.ref, score.precision, score.recall, score.f1) for name, score in yours["scores"].items()
        }
    assert ours.last_iteration["scores"]["O"].ref > 0 and 0 < ours.last_iteration["item_accuracy"] <= 1
    tagger = compat.Tagger()
    tagger.open(str(tmp_path / "m"))
    held = [tagger.tag(items) == labels for items, labels in [*sentences()][2::3]]
    if algorithm != "l2sgd":  # which keeps the weights of the best iteration
        assert any(held) and ours.last_iteration["instance_accuracy"] == Fraction(sum(held), len(held))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_head_of_the_log_is_that_of_the_peer(tmp_path, algorithm):
    class Peer(pycrfsuite.BaseTrainer):
        message = Listening.message

    heads, first = [], ([["there is one of it"]], ["O"])
    for trainer in (Listening(algorithm), Peer(algorithm)):
        given(trainer, (first, *sentences())).set("max_iterations", 1)
        trainer.train(str(tmp_path / "m"))
        head = "".join(trainer.messages).partition("***** ")[0].partition("Calibrating")[0]
        heads.append(re.sub(r"required: [0-9.]+", "", head))
    assert heads[0] == heads[1]


@pytest.mark.parametrize("algorithm", [algorithm for algorithm in ALGORITHMS if algorithm != "lbfgs"])
def test_a_group_is_held_out_where_no_feature_is_left(algorithm):
    logs = []
    for library in (compat, pycrfsuite):

        class Trainer(library.BaseTrainer):
            def message(self, message):
                self.messages.append(message)

        trainer = Trainer(algorithm, {"feature.minfreq": 9, "max_iterations": 2})
        trainer.messages = []
        for group in (1, 0):
            trainer.append([["a"], ["b"], ["b"]], ["X", "Y", "Y"], group)
        trainer.train("", 0)
        logs.append(re.sub(r"(required[^:]*): [0-9.]+", "", "".join(trainer.messages)))
    assert logs[0] == logs[1] and "Number of features: 0" in logs[0] and "Item accuracy: 1 / 3" in logs[0]


def test_events_of_a_run(tmp_path, capsys):
    class Told(compat.Trainer):
        def on_iteration(self, log, info):
            self.seen = [*getattr(self, "seen", ()), info["num"]]

    trainer = given(Told("ap", {"max_iterations": 2}))
    trainer.train(tmp_path / "m")
    assert trainer.seen == [1, 2]
    printed = capsys.readouterr().out
    assert printed.startswith("Feature generation\n") and "Storing the model\n" in printed and "Iteration" not in printed
    assert [event for event, _, _ in trainer.logparser.events if event != "featgen_progress"] == [
        "start", "featgen_end", "prepared", "iteration", "iteration", "optimization_end", "end",
    ]


@BOTH
def test_a_log_that_nobody_can_hear(library, tmp_path):
    class Bad(library.Trainer):
        def message(self, message):
            raise LookupError("deaf")

    trainer = given(Bad(), TWO)
    with pytest.raises(LookupError, match="deaf"):
        trainer.train(str(tmp_path / "m"))


@BOTH
def test_algorithms_in_capitals(library):
    assert library.Trainer("L2SGD", verbose=False).params() == library.Trainer("l2sgd", verbose=False).params()


@pytest.mark.parametrize(("items", "labels"), [([["a"], [5]], ["A", "B"]), ([["a"]], ["A\0B"]), ([["a"]], ["\ud800"]), ([["\ud800"]], ["A"]), ([["a"]], None),
                                             ([["a"]], [3]), ([["a"]], 3)])
def test_what_cannot_be_appended_leaves_nothing_behind(items, labels):
    trainer = given(compat.Trainer(verbose=False), [([["x"]], ["X"])])
    with pytest.raises(ValueError, match="expected") as refused:
        trainer.append(items, labels)
    assert isinstance(refused.value, TypeError)
    assert labels is None or str(refused.value).startswith("sentence 2")
    trainer.append([{"y": 0.5}], [b"Y"], group=0)
    assert appended(trainer.sequences) == [([b"X"], [[(b"x", 1.0)]]), ([b"Y"], [[(b"y", 0.5)]])]


def test_training_without_data_or_with_one_label(tmp_path):
    for library in (compat, pycrfsuite):
        library.Trainer(verbose=False).train(str(tmp_path / library.__name__))
    assert (tmp_path / compat.__name__).read_bytes() == (tmp_path / pycrfsuite.__name__).read_bytes()
    trained(compat, tmp_path / "one", data=[([["a"], ["b"]], ["A", "A"]), ([], [])]).train("")
    tagger = opened(compat, tmp_path / "one")
    assert tagger.labels() == ["A"] and tagger.tag([["x"], ["y"]]) == ["A", "A"]


@BOTH
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sequences_that_come_during_training_wait_for_the_next(library, algorithm, tmp_path):
    class Trainer(library.BaseTrainer):
        later = ("C", "D")

        def message(self, message):
            if message.startswith("type") and self.later:
                self.append([["c"], ["d"]], self.later)
                self.later = ()

    trainer, tagger = given(Trainer(algorithm), TWO * 3), library.Tagger()
    for labels in ["A", "B"], ["A", "B", "C", "D"]:
        trainer.train(str(tmp_path / "m"))
        tagger.open(str(tmp_path / "m"))
        assert tagger.labels() == labels


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_does_not_matter_what_was_trained_before(algorithm, tmp_path):
    data = list(sentences(60))

    def extended(trainer, first, last):
        for number in range(first, last):
            items, labels = data[number]
            own = {f"rare{number // 2}": 1, "real": number / 7 - 3 if number > 30 else 1}
            if number % 12 == 5:  # more than 256, which are sorted in another way, and each name three times: sums depend on the order of the values
                for k in range(90):
                    own |= {f"{k}": {"x:y": k / 7}, f"{k}:x": {"y": number / (k + 1)}, f"{k}:x:y": -0.3}
            trainer.append([{**item, **own} for item in items], labels, number % 2)
        return trainer

    trainer, n = compat.Trainer(verbose=False), 0
    for more, holdout, least in ((20, -1, 0), (0, -1, 0), (0, 1, 0), (10, -1, 3), (15, -1, 0), (0, 0, 2), (15, 7, 0)):
        n += more
        found = []
        for one in (extended(trainer, n - more, n), extended(compat.Trainer(verbose=False), 0, n)):
            one.select(algorithm)
            one.set_params({"max_iterations": 4, "feature.minfreq": least})
            one.train(str(tmp_path / "m"), holdout)
            found.append((tmp_path / "m").read_bytes())
        assert found[0] == found[1]


def test_training_takes_no_copy_of_the_sequences():
    """Not the second one either, nor one behind a training that failed."""
    trainer = given(compat.BaseTrainer("ap"), TWO)
    kept = trainer.sequences.data
    trainer.message = lambda message: None
    trainer.train("")
    trainer.message = lambda message: {}[message] if message.startswith("Loss") else None
    with pytest.raises(KeyError):
        trainer.train("")
    assert trainer.sequences.data is kept


def test_what_is_changed_after_append_does_not_matter(tmp_path):
    trainer, items, labels = compat.Trainer(verbose=False), [{"a": 1}, {"b": 1}], ["A", "B"]
    trainer.append(items, labels)
    items[0]["a"], labels[1] = "changed", "C"
    trainer.train(tmp_path / "m")
    tagger = opened(compat, tmp_path / "m")
    assert set(tagger.info().attributes) == {"a", "b"} and set(tagger.labels()) == {"A", "B"}


@pytest.mark.parametrize(("holdout", "parts"), [(1, 2), (-1, 1)])
def test_what_another_thread_appends_meanwhile_counts_in_the_next_run(tmp_path, holdout, parts):
    def new_trainer(n):
        made = compat.Trainer("ap", {"max_iterations": 3}, verbose=False)
        for number in range(300 + n):
            append(made, number)
        return made

    def append(to, number):
        to.append(*(([["a"], [f"b{number}"]], ["A", "B"]) if number < 300 else ([[f"c{number}"]], ["C"])), number % 2)

    def append_more():
        for number in range(300, 20_000):
            append(trainer, number)

    trainer, thread = new_trainer(0), threading.Thread(target=append_more)
    trainer.train("", holdout)
    before = trainer.logparser.featgen_num_features
    thread.start()
    trainer.train(tmp_path / "found", holdout)
    thread.join()
    # each sequence that is not held out, of a name of its own, adds a feature
    alone = new_trainer(parts * (trainer.logparser.featgen_num_features - before))
    alone.train(tmp_path / "expected", holdout)
    assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()
    assert len(appended(trainer.sequences)) == len(trainer.sequences.groups) == 20_000


def test_texts_of_whole_numbers_may_have_a_decimal_point():
    for name, value, wanted in (("max_iterations", "5.0", 5), ("num_memories", " 3. ", 3), ("period", 3.0, 3), ("feature.possible_states", "1.0", True)):
        for module in (pycrfsuite, compat):
            trainer = module.Trainer(verbose=False)
            trainer.set(name, value)
            assert trainer.get(name) == wanted
    for module, wanted in ((pycrfsuite, False), (compat, True)):
        trainer = module.Trainer(verbose=False)
        trainer.set("feature.possible_states", "true")
        assert trainer.get("feature.possible_states") is wanted
    for value in ("5.5", "5x", "1e3"):  # which python-crfsuite reads as 5, 5 and 1
        with pytest.raises(ValueError, match="expected a whole number, found"):
            compat.Trainer(verbose=False).set("max_iterations", value)


@pytest.mark.parametrize(("algorithm", "name", "value", "message"), [
    ("lbfgs", "c1", "inf", "c1: expected a finite number of at least 0, found inf"),
    ("l2sgd", "c2", "inf", "c2: expected a finite number of at least 0, found inf"),
    ("arow", "gamma", -1, "gamma: expected a number of at least 0, found -1"),
    ("l2sgd", "calibration.eta", 0, "calibration.eta: expected a number above 0, found 0"),
    ("l2sgd", "calibration.eta", "inf", "calibration.eta: expected a finite number above 0, found inf"),
])
def test_messages_name_the_parameter(algorithm, name, value, message):
    trainer = given(compat.Trainer(algorithm, {name: value}, verbose=False), TWO)
    with pytest.raises(ValueError) as refused:
        trainer.train("")
    assert str(refused.value) == message


@BOTH
@pytest.mark.parametrize(("limit", "fewest", "most"), [(-5, 1, 1), (0, 2, 1000)])
def test_a_limit_below_zero_is_one_iteration(tmp_path, library, limit, fewest, most):
    """CRFsuite looks at the limit after an iteration; 0 is none."""
    assert fewest <= len(trained(library, tmp_path / "m", max_iterations=limit).logparser.iterations) <= most


@BOTH
def test_a_subclass_may_do_something_before_training(library):
    class Own(library.Trainer):
        def _before_train(self):
            super()._before_train()
            self.parsers.append(self.logparser)

    trainer = given(Own(verbose=False), TWO)
    trainer.parsers = []
    for _ in range(2):
        trainer.train("")
    first, second = trainer.parsers
    assert first is not second and second is trainer.logparser and first.last_iteration and second.last_iteration


@pytest.mark.parametrize("held", [False, True])
def test_more_labels_than_there_are_numbers(tmp_path, held):
    """Those of the last ones begin at 0 again: no model may be made of them, even if they are all held out."""
    trainer = compat.Trainer("ap", verbose=False)
    for k in range(65_537):
        trainer.append([["a"]], [f"{k}"], int(held and k > 1))
    with pytest.raises(ValueError, match="65537 labels; at most 65535 are supported"):
        trainer.train(tmp_path / "model", 1)
    assert not (tmp_path / "model").exists()


@BOTH
def test_labels_may_be_of_subclasses_of_str_and_bytes(library, tmp_path):
    class Other(bytes):
        pass

    for labels in ([Other(b"A"), Other(b"B")], numpy.array([b"A", b"B"]), numpy.array(["A", "B"])):
        trained(library, tmp_path / "m", data=[(TWO[0][0], labels)])
        assert opened(library, tmp_path / "m").labels() == ["A", "B"]
