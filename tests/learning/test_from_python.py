"""Training from Python: progress functions, log files, signals and interruption."""

import inspect
import io
import json
import math
import os
import pathlib
import re
import signal
from contextlib import contextmanager

import numpy
import pytest
from commands import text_of, write
from liars import Sips
from workers import corpus, use_local_workers

from crfkit import CRF, errors, learn, learn_path, load, options
from crfkit.errors import CrfkitWarning, FileError, Interrupted, ModelFileError, OptionError, in_python
from crfkit.learning import training
from crfkit.tagging import Tagger
from crfkit.template.parsing import Template

ROWS = [[["the", "X"], ["dog", "Y"]], [["dogs", "X"]], [["the", "X"], ["old", "Y"], ["dog", "Y"]]]
TEMPLATE = Template.parse("U:%x[0,0]\nB\n")


def short(**given):
    return learn(ROWS, TEMPLATE, "perceptron", **{"passes": 5, **given})


# --- warnings -----------------------------------------------------------------------------------------------------


def test_weights_that_are_all_zero_are_told_once_and_here():
    with pytest.warns(CrfkitWarning) as heard:
        learn(ROWS, TEMPLATE, "owlqn", l1=1000)
    assert [str(one.message) for one in heard] == ["all weights are zero: every token will have the same label; lower l1, which is 1000"]
    assert heard[0].filename == __file__


def test_the_penalty_is_not_blamed_for_zeros_of_a_run_that_was_stopped():
    with pytest.warns(CrfkitWarning) as heard:
        learn(ROWS, TEMPLATE, "owlqn", l1=1000, stop=lambda: True)
    assert [str(one.message) for one in heard] == ["all weights are zero: every token will have the same label"]


def test_who_stands_beside_crfkit_hears_of_it_too():
    """The name of a program may begin as the folder of crfkit does."""
    name = os.path.dirname(errors.__file__) + "_trials.py"
    with pytest.warns(CrfkitWarning) as heard:
        exec(compile("learn(ROWS, TEMPLATE, 'owlqn', l1=1000)", name, "exec"), globals())
    assert heard[0].filename == name


def test_large_values_and_models_without_a_common_feature_are_told():
    data = [[(["a", ("b", 1e30)], "X"), (["a"], "Y")]]
    with pytest.warns(CrfkitWarning, match=r"^values of the features reach 1e\+30"):
        learn(data, format="crfsuite", algorithm="perceptron", passes=1)
    with pytest.warns(CrfkitWarning, match="no feature of .* exists here: training starts from zero"):
        learn([[["a", "V"], ["b", "W"]]], TEMPLATE, max_iter=2, init=short())


# --- objects ------------------------------------------------------------------------------------------------------


def test_rows_of_conllu_name_their_label_as_files_do():
    rows = [[[str(t), word, "_", "_", label, *"_____"] for t, (word, label) in enumerate(sentence, 1)] for sentence in ROWS]
    text = text_of(rows, "\t")
    given = {"template": "U:%x[0,form]\nB\n", "algorithm": "perceptron", "passes": 2, "format": "conllu", "label": "xpos"}
    model = learn(rows, **given)
    assert model.to_bytes() == learn(io.BytesIO(text.encode()), **given).to_bytes()
    assert model.tagger().tag_with_gold(rows) == model.tagger().tag_with_gold(io.BytesIO(text.encode()))
    with pytest.raises(errors.DataError, match="there is no column 'x': the columns are id form lemma upos xpos"):
        learn(rows, **{**given, "label": "x"})


def test_progress_may_be_a_function(capsys):
    records = []
    short(progress=records.append)
    assert [record["pass"] for record in records] == [1, 2, 3, 4, 5] and "loss" in records[0]
    assert capsys.readouterr() == ("", "")


def test_progress_may_be_true(capsys):
    short(progress=True)
    out, said = capsys.readouterr()
    assert out == "" and "sequences, " in said and "pass    5  loss " in said
    short(progress=False)
    assert capsys.readouterr() == ("", "")


def test_progress_names_arguments(capsys):
    """Messages name arguments of Python, not options of the command line."""
    learn(ROWS, TEMPLATE, max_iter=2, progress=True)
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if re.fullmatch(r"l2 [0-9.]+, by how often attributes occur, and with how many labels", line)]
    assert not [line for line in said if "--" in line]


def test_a_log_may_be_an_open_file(tmp_path):
    text, data = io.StringIO(), io.BytesIO()
    with open(tmp_path / "open", "w") as file:
        for log in (text, data, file):
            short(log=log)
            log.write("" if log is not data else b"")  # still open
    written = (text.getvalue(), data.getvalue().decode(), (tmp_path / "open").read_text())
    assert [[json.loads(line)["pass"] for line in lines.splitlines()] for lines in written] == [[1, 2, 3, 4, 5]] * 3


def test_a_log_may_be_a_file_that_takes_a_part_of_each_line():
    log, whole = Sips(7), io.BytesIO()
    short(log=log)
    short(log=whole)
    assert [json.loads(line)["loss"] for line in log.held.splitlines()] == [json.loads(line)["loss"] for line in whole.getvalue().splitlines()]


def test_a_log_that_is_closed_loses_no_model():
    log = io.StringIO()
    log.close()
    with pytest.warns(CrfkitWarning, match="the log cannot be written: I/O operation on closed file; training goes on without it"):
        assert short(log=log).to_bytes() == short().to_bytes()


@pytest.mark.parametrize("kind", [str, os.fsencode, pathlib.Path])
def test_paths_of_any_kind(tmp_path, kind):
    write(template=TEMPLATE.text, dev="the X\n\n")
    files = {name: kind(str(tmp_path / name)) for name in ("template", "dev", "log", "state")}
    learn(ROWS, files["template"], "perceptron", passes=2, dev=files["dev"], log=files["log"], checkpoint=files["state"])
    assert (tmp_path / "log").exists() and (tmp_path / "state").exists()


def test_files_that_are_read_are_not_written_to(tmp_path):
    contents = {"train": b"a X\nb Y\n", "other": b"a X\n", "template": b"U:%x[0,0]\n", "dev": b"a X\n", "model": short().to_bytes()}
    for name, content in contents.items():
        pathlib.Path(name).write_bytes(content)
    for given in ({name: form} for name in ("log", "checkpoint") for form in (*contents, b"./train", tmp_path / "dev")):
        with pytest.raises(OptionError, match=f"{next(iter(given))}: .* has another use here and would be overwritten"):
            learn(["train", pathlib.Path("other")], "template", "perceptron", dev="dev", init="model", **given)
    with pytest.raises(OptionError, match="checkpoint: both has another use here"):
        short(log="both", checkpoint="both")
    with open("train", "rb") as file, pytest.raises(OptionError, match="log: train has another use here"):
        learn(file, "template", "perceptron", log="train")
    with pytest.raises(OptionError, match="log: template has another use here"):
        learn(ROWS, Template.load("template"), "perceptron", log="template")
    for init in (load("model"), load("model").model):
        with pytest.raises(OptionError, match="log: model has another use here"):
            short(init=init, log="model")
    assert {name: pathlib.Path(name).read_bytes() for name in os.listdir()} == contents


def test_a_tagger_to_start_from():
    model = short()
    assert short(init=Tagger(model), passes=1).to_bytes() == short(init=model, passes=1).to_bytes()
    assert short(init=load(model.to_bytes()), passes=1).to_bytes() == short(init=model, passes=1).to_bytes()
    in_training = Tagger.of_parts(model.header, model.index, model.layout, model.weights)
    for other in (in_training, type("Other", (), {"model": 3})()):  # which have no model
        with pytest.raises(ModelFileError, match=f"found {type(other).__name__}, expected the path of a model, an open file or its bytes"):
            short(init=other)


@pytest.mark.parametrize(("given", "message"), [
    ({"progress": 3}, "progress: expected True, False, auto, always, never or a function that takes a dictionary, found 3"),
    ({"progress": "loud"}, "progress: expected True, False, auto, always, never or a function .*, found 'loud'"),
    ({"stop": 3}, "stop: expected a function that returns True to stop, found 3"),
    ({"log": 3}, "log: expected a path or an open file, found 3"),
    ({"checkpoint": io.StringIO()}, "checkpoint: expected a path, found "),
])
def test_faulty_options_are_refused(given, message):
    with pytest.raises(OptionError, match=f"^{message}"):
        short(**given)


def test_every_option_is_in_the_signature():
    for function in (learn, learn_path):
        assert {*options.declared()} - {"quiet"} <= {*inspect.signature(function).parameters}


def test_help_says_what_each_option_means():
    for name, option in options.declared().items():
        if name not in ("quiet", "progress"):
            assert f"\n* `{name}`: {in_python(option.help)}" in learn.__doc__


def test_none_stands_for_the_default():
    assert short(passes=1, l2=None, memory=None, features=None).to_bytes() == short(passes=1).to_bytes()
    with pytest.raises(OptionError, match="unknown option pases"):
        short(pases=None)


# --- when it ends -------------------------------------------------------------------------------------------------


def test_arguments_are_judged_when_learn_path_is_called():
    for given, error in (({"path": [1, 3]}, OptionError), ({"log": "absent/log"}, FileError), ({"init": "absent"}, FileError)):
        with pytest.raises(error):
            learn_path(ROWS, TEMPLATE, **{"path": [3, 1], **given})
    with pytest.raises(FileError):
        learn_path(ROWS, "absent", path=[3, 1])


def test_a_function_says_when_to_stop():
    records = []
    model = short(passes=10**6, progress=records.append, stop=lambda: len(records) >= 3)
    assert len(records) in (3, 4) and model.labels == ["X", "Y"]


@pytest.mark.parametrize(("algorithm", "chosen"), [
    ("lbfgs", {"max_iter": 3}), ("lbfgs", {"max_iter": 3, "warm_up": 0}), ("lbfgs", {"max_iter": 3, "init": "model"}), ("owlqn", {"max_iter": 3}), ("sgd", {"passes": 3}),
])
def test_asked_to_stop_before_the_first_pass(algorithm, chosen):
    """The pass is made as a whole, and a checkpoint is left; but not where a warm-up was cut short, as passes would begin elsewhere."""
    short().save("model")
    expected = learn(ROWS, TEMPLATE, algorithm, **chosen).to_bytes()
    learn(ROWS, TEMPLATE, algorithm, checkpoint="state", stop=lambda: True, **chosen)
    assert pathlib.Path("state").exists() == (chosen != {"max_iter": 3} or algorithm == "owlqn")
    assert learn(ROWS, TEMPLATE, algorithm, checkpoint="state", resume=True, **chosen).to_bytes() == expected


def test_ctrl_c_keeps_what_was_learned():
    def interrupt(record):
        if record["pass"] == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as caught:
        short(passes=10**6, progress=interrupt)
    assert isinstance(caught.value, Interrupted)
    assert caught.value.model.to_bytes()[64:] and caught.value.model.labels == ["X", "Y"]
    assert [*caught.value.model.features()] == [*short(passes=3).features()]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_after_the_last_pass_is_heard(monkeypatch):
    """As the memory of all that was read is given back, which may take long."""

    @contextmanager
    def removed(path):
        yield
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(training, "empty_folders_removed", removed)
    with pytest.raises(Interrupted) as caught:
        short()
    monkeypatch.undo()
    assert caught.value.model.to_bytes() == short().to_bytes()


def test_ctrl_c_ends_the_workers(tmp_path, monkeypatch):
    """Also while the exception is held, as interactive sessions do."""
    made = use_local_workers(monkeypatch)
    with pytest.raises(Interrupted) as caught:
        learn(corpus(tmp_path / "train", 50), TEMPLATE.text, "perceptron", passes=10**6, workers=2, progress=lambda _: signal.raise_signal(signal.SIGINT))
    assert caught.value.model is not None and len(made) == 1 and not made[0].workers()


def test_ctrl_c_in_a_warm_up_keeps_what_it_found():
    questions = []

    def stop():
        questions.append(signal.raise_signal(signal.SIGINT) if not questions else None)

    with pytest.raises(Interrupted) as caught:
        learn(ROWS, TEMPLATE, "lbfgs", warm_up=50, max_iter=50, stop=stop)
    assert caught.value.model.tagger().tag([["the"], ["dog"]]) == ["X", "Y"]


def test_a_warm_up_that_is_cut_short_leaves_no_checkpoint():
    """A run that went on from there would end with another model."""
    learn(ROWS, TEMPLATE, "lbfgs", checkpoint="run", stop=lambda: True)
    assert not pathlib.Path("run").exists()


def test_ctrl_c_while_workers_find_the_rate(tmp_path, monkeypatch):
    """There is nothing to keep yet, and a first pass may take hours."""
    made = use_local_workers(monkeypatch, lambda _worker, verb, _n: signal.raise_signal(signal.SIGINT) if verb == "find_rate" else None)
    with pytest.raises(KeyboardInterrupt) as caught:
        learn(corpus(tmp_path / "train", 50), TEMPLATE.text, "sgd", passes=10**6, workers=2, checkpoint="run")
    assert not isinstance(caught.value, Interrupted) and not made[0].workers()
    assert {"find_rate", "learn"} & set(made[0].verbs) == {"find_rate"} and not pathlib.Path("run").exists()


def test_a_second_ctrl_c_ends_at_once():
    def interrupt(record):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        short(passes=10**6, progress=interrupt)
    assert not isinstance(caught.value, Interrupted)


def test_a_handler_of_the_program_is_left_alone():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        short(progress=lambda record: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(heard) == 5


def test_the_advice_names_what_is_not_the_choice_already():
    from crfkit.errors import TrainingError

    for features, algorithm, batch in (("observed", "lbfgs", True), ("all", "perceptron", False)):
        with pytest.raises(TrainingError) as caught:
            learn(ROWS, TEMPLATE, algorithm, max_memory=1, features=features)
        assert ("features='observed'" in str(caught.value)) == (features == "all")
        assert ("online trainer" in str(caught.value)) == batch


# --- weights of sentences --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", options.TRAINERS)
def test_weights_are_those_of_files(algorithm, tmp_path):
    weights = [0.5, 2, 0]
    lines = [f"@weight:{weight}\n" + "".join(f"{label}\t{name}\n" for name, label in rows) for rows, weight in zip(ROWS, weights, strict=True)]
    (tmp_path / "train").write_text("\n".join(lines))
    of_file = learn(tmp_path / "train", algorithm=algorithm, format="crfsuite").to_bytes()
    items, labels = [[[name] for name, _ in rows] for rows in ROWS], [[label for _, label in rows] for rows in ROWS]
    data = [list(zip(*both, strict=True)) for both in zip(items, labels, strict=True)]
    assert learn(data, algorithm=algorithm, format="crfsuite", sample_weight=numpy.array(weights)).to_bytes() == of_file
    assert CRF(algorithm).fit(items, labels, sample_weight=weights).model_.to_bytes() == of_file
    assert CRF(algorithm).fit(items, labels).model_.to_bytes() != of_file


def test_a_masked_weight_counts_not_at_all():
    masked = numpy.ma.array([1.0, 2.0, 5.0], mask=[False, False, True])
    assert short(sample_weight=masked).to_bytes() == short(sample_weight=[1, 2, 0]).to_bytes()


def test_weights_of_zero_teach_nothing():
    with pytest.warns(CrfkitWarning, match="^all weights are zero: every token will have the same label$"):
        short(sample_weight=[0, 0, 0])


@pytest.mark.parametrize(("given", "message"), [
    ([2], "found 1 weight, expected 3: one for each sentence"),
    (2, "found 2, expected a list of numbers, one for each sentence"),
    ("abc", "found 'abc', expected a list of numbers, one for each sentence"),
    ([1, -1, 1], "sentence 2: found -1, expected a finite number, 0 or more"),
    ([1, 1, math.nan], "sentence 3: found nan, expected a finite number"),
    (["1", 1, 1], "sentence 1: found '1', expected a finite number"),
])
def test_weights_that_are_none(given, message):
    with pytest.raises(OptionError, match=f"^sample_weight: {message}"):
        short(sample_weight=given)


def test_where_weights_have_no_place():
    with pytest.raises(OptionError, match=r"^sample_weight: only for sentences in memory; files have lines such as @weight:2, with format='crfsuite'$"):
        learn("train", TEMPLATE, sample_weight=[1])
    with pytest.raises(OptionError, match=r"^unknown option sample_weight; it is an argument of fit$"):
        CRF(sample_weight=[1])
    with pytest.raises(OptionError, match=r"^sample_weight is of no use to a parser"):
        learn(ROWS, "P:%x[s0,0]", "lookahead", format="conllu", sample_weight=[1, 1, 1])
