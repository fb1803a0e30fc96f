"""Checkpoints: a resumed run ends with the same model as a run that was never interrupted."""

import array
import io
import signal
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import DATA, crfkit, error, limit, log_lines, start, write_part
from trainers.samples import sentences, template

from crfkit import modelfile, options
from crfkit.errors import CrfkitError, CrfkitWarning, FileError, ModelFileError, OptionError
from crfkit.learning import checkpoint
from crfkit.learning.corpus import read_corpus
from crfkit.learning.fitting import fitted
from crfkit.learning.learn import learn
from crfkit.learning.local import make_trainer
from crfkit.learning.reader import Reader
from crfkit.model import load
from crfkit.options import Run
from crfkit.values import interval

# What leads a trainer through other code.
VARIANTS = [
    *((name, {}) for name in options.TRAINERS),
    ("sgd", {"decay": 0.9, "rate": 0.25}),  # nothing is tried to find one
    ("sgd", {"l1": 0.5, "rate": 0.25}),
    ("sgd", {"batch_size": 4, "rate": 0.25}),
    ("adf", {"batch_size": 4, "rate": 0.25}),
    ("mira", {"nbest": 3}),
    ("mira", {"average": False}),
    ("mira", {"shrinking": 2, "aggressiveness": 0.5}),
    ("owlqn", {"train_accuracy": True}),
    ("owlqn", {"l1": 0.5}),
    ("perceptron", {"average": False}),
    ("perceptron", {"dropout": 0.2}),
    ("sapo", {"nbest": 2}),
    ("lbfgs", {"memory": 2}),
    ("lbfgs", {"delta": 0.05, "period": 3, "warm_up": 0}),  # converges
]
variants = pytest.mark.parametrize(("algorithm", "chosen"), VARIANTS, ids=[" ".join([name, *more]) for name, more in VARIANTS])


def rules():
    return template("chunking-rich")


def passes(algorithm, n, **chosen):
    """Options for so many passes, without an earlier end unless chosen."""
    endless = {"epsilon": 0.0, "delta": 0.0} if "delta" in options.TRAINERS[algorithm].__dataclass_fields__ else {}
    return {**limit(algorithm, n), **endless, **chosen}


class Hand:
    """Stops training after so many questions."""

    def __init__(self, questions):
        self.questions = questions

    def __call__(self):
        self.questions -= 1
        return self.questions < 0


class Power(Hand):
    """Fails: as a power cut does, nothing is saved."""

    def __call__(self):
        if super().__call__():
            raise SystemExit


@pytest.mark.long
@variants
def test_resuming_with_more_passes_is_one_long_run(algorithm, chosen):
    data = sentences("chunking", limit=60)
    for n in (1, 3, 7):
        learn(data, rules(), algorithm, **passes(algorithm, n, **chosen), checkpoint="state", resume=n > 1)
    model = learn(data, rules(), algorithm, **passes(algorithm, 9, **chosen), checkpoint="state", resume=True)
    assert model.to_bytes() == learn(data, rules(), algorithm, **passes(algorithm, 9, **chosen)).to_bytes()


def test_with_more_passes_the_rate_falls_as_before():
    """A run's passes say how fast it falls, and a resumed run makes those that were made before once more."""
    data, chosen = sentences("chunking", limit=20), {"rate": 0.5}
    learn(data, rules(), "sgd", **chosen, passes=40, checkpoint="state")
    more = learn(data, rules(), "sgd", **chosen, passes=50, checkpoint="state", resume=True)
    assert more.header["chosen"]["decay"] == 0.885
    assert list(more.weights) == list(learn(data, rules(), "sgd", **chosen, passes=50, decay=0.885).weights)


@pytest.mark.parametrize(("algorithm", "option"), [("lbfgs", "max_iter"), ("sgd", "passes")])
def test_fewer_passes_than_were_made(algorithm, option):
    data = sentences("chunking", limit=60)
    learn(data, rules(), algorithm, **{option: 4}, checkpoint="state")
    with pytest.raises(OptionError, match=f"^state: 4 passes have been made already, more than {option}=2$"):
        learn(data, rules(), algorithm, **{option: 2}, checkpoint="state", resume=True)


def moment(algorithm, chosen, interruption):
    """A case that is long unless it is the first of its kind: that a state holds all is tested of every variant."""
    usual = interruption is Power and not chosen.keys() - {"batch_size", "rate", "delta", "period", "warm_up", "dropout"}
    return pytest.param(algorithm, chosen, interruption, marks=() if usual else pytest.mark.long, id=" ".join([interruption.__name__, algorithm, *chosen]))


@pytest.mark.parametrize(("algorithm", "chosen", "interruption"), [moment(*variant, kind) for kind in (Power, Hand) for variant in VARIANTS])
def test_any_moment(algorithm, chosen, interruption):
    """Interrupted at several places, also within passes, with development data that choose the pass."""
    data, dev = sentences("chunking", limit=12), sentences("chunking", "dev", 4)
    given = {**passes(algorithm, 6, **chosen), "dev": dev, "patience": 3}
    expected = learn(data, rules(), algorithm, **given).to_bytes()
    for questions in (3, 13):
        stop = interruption(questions)
        try:
            learn(data, rules(), algorithm, **given, checkpoint="state", resume=True, stop=stop)
        except SystemExit:
            assert interruption is Power
    assert learn(data, rules(), algorithm, **given, checkpoint="state", resume=True).to_bytes() == expected
    # A finished run is resumed without a pass: whoever lost the model has it again.
    assert learn(data, rules(), algorithm, **given, checkpoint="state", resume=True, stop=Power(3)).to_bytes() == expected


@pytest.mark.filterwarnings("ignore:values of the features are far from 0")
@pytest.mark.parametrize("algorithm", options.TRAINERS)
def test_values_and_a_model_to_start_from(algorithm):
    data = b"\n\n".join((DATA / "reals.train.txt").read_bytes().split(b"\n\n")[:40]) + b"\n\n"

    def model(**given):
        return learn(io.BytesIO(data), format="crfsuite", algorithm=algorithm, init=first, **passes(algorithm, 5), **given).to_bytes()

    first = learn(io.BytesIO(data), format="crfsuite", max_iter=2)
    for questions in (3, 8):
        with suppress(SystemExit):
            model(checkpoint="state", resume=True, stop=Power(questions))
    assert model(checkpoint="state", resume=True) == model()


@cache
def few():
    return read_corpus(Reader(sentences("chunking", limit=40), rules(), Run()))


@variants
def test_a_state_holds_all(algorithm, chosen):
    """A trainer that restores its own state returns the same state; a damaged state is refused."""
    corpus = few()

    def trainer():
        own, *_ = fitted(options.make(algorithm, passes(algorithm, 5, **chosen)), corpus)
        return make_trainer(algorithm, corpus, own, Run())

    def plain(state):
        return {name: bytes(value) if isinstance(value, memoryview) else value for name, value in state.items()}

    first, second = trainer(), trainer()
    list(first.prepare())
    for _ in range(3):
        first.run_pass()
    state = plain(first.state())
    second.restore(first.state())
    assert plain(second.state()) == state
    assert second.weights() == first.weights()
    assert second.run_pass() == first.run_pass()
    assert plain(second.state()) == plain(first.state()) != state
    third = trainer()
    for name in state:
        with pytest.raises(KeyError):
            third.restore({key: value for key, value in first.state().items() if key != name})
    for name, value in first.state().items():
        if isinstance(value, memoryview) and value.nbytes:
            with pytest.raises(ValueError):
                third.restore({**first.state(), name: bytes(value)[:-1]})
    if "order" in state:
        with pytest.raises(ValueError):
            third.restore({**first.state(), "order": bytes(len(state["order"]))})


@cache
def small():
    return sentences("chunking", limit=30)


def test_a_run_is_resumed_only_with_the_same_options_and_data():
    given = {"passes": 2, "rate": 0.25, "checkpoint": "state", "dev": small()[:5], "init": learn(small(), rules(), max_iter=2)}
    learn(small(), rules(), "sgd", **given)
    for changed, message in (
        ({"l2": 2.0}, "state: was written without l2, not with 2.0; resume"),
        ({"seed": 5}, "state: was written with seed 0, not 5"),
        ({"features": "all"}, "state: was written with features=.observed., not all"),
        ({"min_freq": 2}, "state: was written with min_freq 1, not 2"),
        ({"select": "mi:9"}, "state: was written without select, not with mi:9"),
        ({"comments": True}, "state: was written without comments, not with it; resume"),
        ({"patience": 4}, "state: was written without patience, not with 4"),
        ({"outside": "NP"}, "state: was written with outside O, not NP"),
        ({"dev": small()[:6]}, "state: was written by a run with different dev data"),
        ({"dev": None}, "state: was written by a run with different dev data"),
        ({"init": None}, "state: was written by a run with different init model"),
    ):
        with pytest.raises(OptionError, match=message):
            learn(small(), rules(), "sgd", **{**given, **changed}, resume=True)
    learn(small(), rules(), "sgd", **given | {"checkpoint": "patient"}, patience=4)
    with pytest.raises(OptionError, match="patient: was written with patience 4, not without; resume"):
        learn(small(), rules(), "sgd", **given | {"checkpoint": "patient"}, resume=True)
    learn(small(), rules(), "perceptron", passes=1, checkpoint="averaged")
    with pytest.raises(OptionError, match="averaged: was written with average, not without it; resume"):
        learn(small(), rules(), "perceptron", passes=2, checkpoint="averaged", average=False, resume=True)
    other_data = "was written by a run with different training data, template or column of labels"
    for data, lines, algorithm, message in (
        (small(), rules(), "sapo", "was written with algorithm sgd, not sapo"),
        (small()[1:], rules(), "sgd", other_data),
        (small(), template("chunking"), "sgd", other_data),
    ):
        with pytest.raises(OptionError, match=message):
            learn(data, lines, algorithm, **given, resume=True)
    # Builds of one version know each other's files: messages may change, these names may not.
    assert set(modelfile.read("state").header["identity"]["data"]) == {"training data or template", "--init model", "--dev data"}
    learn(small(), rules(), "sgd", **given, threads=1, resume=True)
    with pytest.raises(OptionError, match="state: was written with threads 1, not 2; resume"):  # whose steps are others
        learn(small(), rules(), "sgd", **given, threads=2, resume=True)
    learn(small(), rules(), max_iter=2, threads=1, checkpoint="batch")
    learn(small(), rules(), max_iter=3, threads=2, checkpoint="batch", resume=True)


def test_files_that_are_no_checkpoints():
    learn(small(), rules(), max_iter=2).save("model")
    Path("text").write_text("mine\n")
    for name, message in (("model", "not a checkpoint"), ("text", "not a crfkit checkpoint: a text file")):
        before = Path(name).read_bytes()
        for resume in (False, True):
            with pytest.raises(CrfkitError, match=f"{name}: {message}"):
                learn(small(), rules(), max_iter=2, checkpoint=name, resume=resume)
        assert Path(name).read_bytes() == before
    learn(small(), rules(), max_iter=2, checkpoint="state")
    with pytest.raises(ModelFileError, match="state: is a checkpoint of a training run, not a model"):
        load("state")


def test_best_weights_of_another_layout_are_refused():
    given = {"dev": small(), "checkpoint": "state"}
    learn(small(), rules(), "perceptron", **given, passes=1)
    file = modelfile.read(Path("state").read_bytes())
    best = array.array("f", file.contents()["best"])
    for other in (best[:-1], best + best[:1], best[:0]):
        modelfile.write("state", file.header, {**file.contents(), "best": other})
        with pytest.raises(ModelFileError, match=r"damaged: .*best: weights of another layout"):
            learn(small(), rules(), "perceptron", **given, passes=2, resume=True)


def test_damaged_checkpoints_are_refused():
    chosen = {"rate": 0.25, "passes": 2, "checkpoint": "state"}  # to find a rate each time would take long
    learn(small(), rules(), "adf", **chosen | {"passes": 1})
    data = Path("state").read_bytes()
    for at in range(0, len(data), len(data) // 20):
        Path("state").write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises((ModelFileError, OptionError)):
            learn(small(), rules(), "adf", **chosen, resume=True)
        Path("state").write_bytes(data[:at])
        with pytest.raises(ModelFileError):
            learn(small(), rules(), "adf", **chosen, resume=True)
    file = modelfile.read(data)
    sections = file.contents()
    for part, name, value in (
        ("standing", "passes", -1),
        ("standing", "passes", "one"),
        ("standing", "waited", None),
        ("standing", "seconds", []),
        ("standing", "seconds", "inf"),
        ("standing", "best_score", "nan"),
        ("trainer", "steps", 2**63),
        ("trainer", "passes", {}),
        ("trainer", "steps", 0),  # rows are ahead
        ("trainer", "steps", 2**31 - 1),  # rows would be brought there window by window
        ("trainer", "passes", 7),
        ("standing", "passes", 7),
    ):
        modelfile.write("state", {**file.header, part: {**file.header[part], name: value}}, sections)
        with pytest.raises(ModelFileError, match="state: damaged: not a valid state of this run"):
            learn(small(), rules(), "adf", **chosen, resume=True)
    own = next(name for name in sections if name.startswith("trainer."))
    modelfile.write("state", file.header, {**sections, own: array.array("B", bytes(sections[own]))})  # as many bytes, but other numbers
    with pytest.raises(ModelFileError, match="state: damaged: not a valid state of this run"):
        learn(small(), rules(), "adf", **chosen, resume=True)
    modelfile.write("state", file.header, {name.replace(own, "trainer.other"): values for name, values in sections.items()})
    with pytest.raises(ModelFileError, match=rf"^state: has no {own.removeprefix('trainer.')}: it was written by another build of crfkit [\d.]+; remove the file and start"):
        learn(small(), rules(), "adf", **chosen, resume=True)
    modelfile.write("state", {**file.header, "identity": {}}, sections)
    with pytest.raises(OptionError):
        learn(small(), rules(), "adf", **chosen, resume=True)


def test_an_unfinished_run_is_not_overwritten():
    with pytest.raises(SystemExit):
        learn(small(), rules(), "sgd", passes=5, checkpoint="state", stop=Power(6))
    with pytest.raises(FileError, match="state: contains a run that is not finished: add resume"):
        learn(small(), rules(), "sgd", passes=5, checkpoint="state")
    learn(small(), rules(), "sgd", passes=5, checkpoint="state", resume=True)
    learn(small(), rules(), "sgd", passes=1, checkpoint="state")  # that one was finished


def test_a_checkpoint_that_cannot_be_written_does_not_end_training(monkeypatch):
    expected = learn(small(), rules(), "sgd", passes=4).to_bytes()
    write = modelfile.write
    calls = []

    def full(path, *parts):
        calls.append(path)
        if len(calls) > 2:
            raise FileError(f"{path}: cannot be written: No space left on device")
        return write(path, *parts)

    with monkeypatch.context() as disk:
        disk.setattr(modelfile, "write", full)
        with pytest.warns(CrfkitWarning, match="state: cannot be written: No space left on device; training goes on") as heard:
            assert learn(small(), rules(), "sgd", passes=4, checkpoint="state").to_bytes() == expected
        assert len(heard) == 2
    assert len(calls) == 4
    assert modelfile.read("state").header["standing"]["passes"] == 2
    assert learn(small(), rules(), "sgd", passes=4, checkpoint="state", resume=True).to_bytes() == expected


# --- how often ----------------------------------------------------------------------------------------------------


def test_intervals_are_passes_or_minutes():
    assert [interval(text) for text in (1, "5", "10m", "0.5m")] == [(1, 0), (5, 0), (0, 600), (0, 30)]
    for text in (0, "0", "0m", "m", "-1", "1h", "1.5", True, "", 10**12, [], "1m "):
        assert interval(text) is None


@pytest.mark.parametrize(("every", "written"), [(None, [1, 2, 3, 4, 5]), (2, [2, 4, 5]), ("1000m", [5]), ("0.000001m", [1, 2, 3, 4, 5]), ("1m", [2, 4, 5])])
def test_how_often(monkeypatch, every, written):
    """A pass takes forty seconds here."""
    found, passed = [], []
    write = modelfile.write
    monkeypatch.setattr(modelfile, "write", lambda path, header, parts: [found.append(header["standing"]["passes"]), write(path, header, parts)])
    monkeypatch.setattr(checkpoint, "time", SimpleNamespace(monotonic=lambda: 40.0 * len(passed)))
    learn(small(), rules(), "perceptron", passes=5, checkpoint="state", checkpoint_every=every, progress=passed.append)
    assert found == written


# --- from the command line ----------------------------------------------------------------------------------------


@pytest.mark.steady
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_killed_and_resumed(train, number):
    """The log is that of an uninterrupted run, too."""
    write_part(train, "chunking", 200)
    command = ("learn", "-a", "adf", "--passes", 10, "template", "train", "model")
    crfkit(*command[:-1], "whole", "--log", "whole.log")
    with start(*command, "--log", "log", "--checkpoint", "state") as process:
        while "pass    3" not in (line := process.stderr.readline()):
            assert line
        process.send_signal(number)
        process.communicate()
    assert "resuming after pass " in crfkit(*command, "--log", "log", "--checkpoint", "state", "--resume").stderr
    assert (train.parent / "model").read_bytes() == (train.parent / "whole").read_bytes()

    def records(name):
        lines = log_lines(name)
        assert [line["elapsed"] for line in lines] == sorted(line["elapsed"] for line in lines)
        return [{key: value for key, value in line.items() if key not in ("seconds", "elapsed", "cpu")} for line in lines]

    assert records("log") == records("whole.log")


def test_the_first_start_of_a_script_that_resumes(train):
    command = ("learn", "-a", "sgd", "--passes", 2, "--checkpoint", "state", "--resume", "template", "train", "model")
    assert "no checkpoint to resume from: starting with the first pass" in crfkit(*command).stderr
    assert "resuming after pass 2" in crfkit(*command).stderr


def test_a_link_to_a_file_that_is_not_there_yet(train):
    Path("state").symlink_to("elsewhere")
    crfkit("learn", "-q", "-a", "sgd", "--passes", 2, "--checkpoint", "state", "template", "train", "model")
    assert Path("state").is_symlink() and modelfile.read("elsewhere").header["finished"]


def test_faults_of_options(train):
    files = ("template", "train", "model")
    assert error("learn", "--resume", *files, code=2) == "--resume needs --checkpoint: the name of the file"
    assert "--checkpoint-every needs --checkpoint" in error("learn", "--checkpoint-every", 2, *files, code=2)
    assert "--checkpoint: model has another use" in error("learn", "--checkpoint", "model", *files, code=2)
    assert "--checkpoint: train has another use" in error("learn", "--checkpoint", "train", *files, code=2)
    assert "no usable folder" in error("learn", "--checkpoint", "absent/state", *files)
    (train.parent / "config").write_text("checkpoint: 5\n")
    assert "checkpoint: expected a text" in error("learn", "--config", "config", *files)
    (train.parent / "config").write_text("checkpoint: state\nresume: maybe\n")
    assert error("learn", "--config", "config", *files) == "config:2: resume: expected true or false, found 'maybe'"
    (train.parent / "config").write_text("checkpoint: state\ncheckpoint-every: 2\nresume: true\n")
    crfkit("learn", "-a", "perceptron", "--passes", 2, "--config", "config", *files)
    assert modelfile.read("state").header["finished"]
