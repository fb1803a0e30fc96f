"""Killed processes, signals, full disks, files that vanish: what is there afterwards is whole."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import kills
import pytest
from commands import crfkit, error, full_device, interrupted, log_lines, python, start, write_part

from crfkit import learn, threads
from crfkit.errors import FileError
from crfkit.learning.log import PassLog
from crfkit.model import load
from crfkit.tagging import Tagger

CARELESS = """
import pathlib, sys, time
data = pathlib.Path("right").read_bytes()
pathlib.Path("model").write_bytes(data[: len(data) // 2])
print("half", file=sys.stderr, flush=True)
time.sleep(3600)
"""


# --- kills --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_killed_at_random_moments():
    found = kills.run(6, seed=1, algorithms=["adf"])
    assert found["kills"] == 6
    assert found["no model"] + found["old model"] + found["new model"] >= 6


@pytest.mark.steady
def test_the_harness_sees_a_model_that_is_not_whole(tmp_path, monkeypatch):
    """A program that writes its model in place does not survive it."""
    careless = kills.scene(tmp_path / "adf", "adf")
    (careless.folder / "right").write_bytes(careless.expected)
    monkeypatch.setattr(kills.Scene, "command", lambda self, resume: [sys.executable, "-c", CARELESS])
    monkeypatch.setattr(kills, "wait", lambda chosen, process, source: process.stderr.readline())
    with pytest.raises(AssertionError, match="neither the old one nor the new one"):
        kills.kill_once(careless, kills.random.Random(1), kills.collections.Counter())


# --- names --------------------------------------------------------------------------------------------------------


def test_names_of_files_steer_no_terminal(train):
    """Nor do they make more lines of one."""
    name = "a\x1b[2J\nb"
    os.symlink("train", name)
    assert "MB: m\\x1b[2J\\n; " in crfkit("learn", "--max-iter", 2, "template", name, "m\x1b[2J\n").stderr
    assert error("tag", "template", name).startswith("template: not a crfkit model")
    os.unlink(name)
    Path(name).write_text("a b X\na X\n")
    assert error("learn", "--max-iter", 2, "template", name, "m").startswith("a\\x1b[2J\\nb:2: ")


def test_names_of_nothing(train):
    """A message begins with what was given, not with a colon."""
    crfkit("learn", "-q", "-a", "perceptron", "--passes", 1, "template", "train", "model")
    for arguments in (
        ("tag", "--constraints", "", "model", "train"), ("tag", "--output-dir", "", "model", "train"),
        ("learn", "--data-dir", "", "template", "train", "m"), ("learn", "--config", "", "template", "train", "m"),
    ):
        assert error(*arguments).startswith("'': cannot ")


# --- full disks ---------------------------------------------------------------------------------------------------


def limited(size, *arguments, code=1):
    """What a command says that can make no file larger than this."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # Python would not notice that a module's was cut off
    with start(*arguments, env=environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))) as process:
        _, said = process.communicate()
    assert process.returncode == code, said
    return said


@pytest.mark.parametrize(("progress", "unbuffered", "stderr"), [
    ("auto", "", "/dev/full"), ("always", "1", "closed"),
    *(pytest.param(*one, marks=pytest.mark.long) for one in (("auto", "", "closed"), ("always", "1", "/dev/full"))),
])
def test_messages_that_nobody_hears_do_not_stop_it(train, progress, stderr, unbuffered, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    if stderr == "closed":
        how = {"preexec_fn": lambda: os.close(2), "stderr": None}
    elif os.path.exists(stderr):
        how = {"preexec_fn": lambda: os.dup2(os.open(stderr, os.O_WRONLY), 2), "stderr": None}
    else:
        pytest.skip(f"needs {stderr}")
    with start("learn", "--progress", progress, "--max-iter", 3, "--warm-up", 0, "template", "train", "model", **how) as process:
        assert process.wait() == 0
    assert load("model").labels


def test_standard_output_that_is_closed():
    """As by >&- in a shell."""
    Path("labelled").write_text("a B-X B-X\n")
    with start("eval", "labelled", preexec_fn=lambda: os.close(1), stdout=None) as process:
        assert (process.stderr.read(), process.wait()) == ("crfkit: error: standard output is closed\n", 1)


def test_standard_error_that_is_closed():
    """What is wrong with the options is no result."""
    with start("tag", "--none", preexec_fn=lambda: os.close(2), stderr=None) as process:
        assert (process.stdout.read(), process.wait()) == ("", 2)


@full_device
@pytest.mark.parametrize("quiet", [[], ["-q"]], ids=["", "-q"])
def test_a_log_on_a_full_disk(train, quiet):
    result = crfkit("learn", *quiet, "-a", "adf", "--passes", 3, "--log", "/dev/full", "template", "train", "model")
    assert result.stderr.count("crfkit: warning: /dev/full: the log cannot be written: No space left on device; training goes on") == 1
    assert load("model").labels


def test_a_log_that_outgrows_the_disk_keeps_whole_lines_before_it(train):
    said = limited(12000, "learn", "-a", "adf", "--passes", 200, "--log", "log", "template", "train", "model")
    assert said.count("the log cannot be written") == 1
    lines = Path("log").read_text().splitlines()
    assert [json.loads(line)["pass"] for line in lines[:-1]] == list(range(1, len(lines)))


@pytest.mark.parametrize("command", ["tag", "eval", pytest.param("dump", marks=pytest.mark.long), "learn"])
@full_device
def test_results_on_a_full_disk(train, command):
    crfkit("learn", "-q", "-a", "perceptron", "--passes", 1, "template", "train", "model")
    crfkit("tag", "-o", "tagged", "model", "train")
    arguments = {"tag": ("model", "train"), "eval": ("tagged",), "dump": ("model",), "learn": ("--print-config",)}[command]
    with open("/dev/full", "wb") as full, start(command, *arguments, stdout=full) as process:
        _, said = process.communicate()
    assert (process.returncode, said) == (1, "crfkit: error: standard output: cannot be written: No space left on device\n")


@pytest.mark.parametrize(
    "arguments", [("learn", "--help"), ("templates", "ner")]
)
@full_device
def test_help_on_a_full_disk(arguments):
    with open("/dev/full", "wb") as full, start(*arguments, stdout=full) as process:
        _, said = process.communicate()
    assert process.returncode == 1
    assert re.fullmatch("crfkit: error: (the output|standard output: cannot be written): No space left on device\n", said)


# --- before reading ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "target", "message"), [
    ((), "absent/model", "absent/model: no usable folder "),
    ((), "train/model", "train/model: no usable folder "),
    ((), ".", ".: names a folder"),
    (("--init", "absent"), "model", "absent: cannot be read"),
    (("--dev", "absent"), "model", "absent: cannot be read"),
    (("--log", "absent/log"), "model", "absent/log: no usable folder "),
])
def test_faults_that_are_found_before_reading(train, arguments, target, message):
    """Who opens the data first says that they are not there."""
    assert error("learn", *arguments, "template", "not there", target).startswith(message)


@pytest.mark.parametrize("command", ["tag", "dump", "convert"])
def test_a_file_that_cannot_be_read_is_no_error_of_usage(train, command, monkeypatch):
    """Who opens it says so."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert error(command, "train", *["new"] * (command == "convert")).startswith("train: not a ")


# --- files that vanish --------------------------------------------------------------------------------------------


def test_development_data_that_vanish_are_not_missed(train):
    write_part(Path("dev"), "chunking", 20, part="dev")

    def vanish(record):
        if record["pass"] == 2:
            os.unlink("dev")

    models = [learn("train", "template", "perceptron", average=False, passes=5, dev="dev", progress=told) for told in (None, vanish)]
    assert not Path("dev").exists()
    assert models[0].to_bytes() == models[1].to_bytes()


@pytest.mark.steady
def test_a_folder_that_vanishes(train):
    """Nothing can be saved; that is said, and the checkpoint brings the model back."""
    os.mkdir("folder")
    command = ("learn", "-a", "adf", "--passes", 15, "--checkpoint", "state", "template", "train")
    data = Path("train").read_bytes()
    os.unlink("train")
    os.mkfifo("train")
    with start(*command, "folder/model") as process:
        with open("train", "wb") as pipe:  # opened by the other side, too: names of files have been looked at
            os.rmdir("folder")
            pipe.write(data)
        _, said = process.communicate()
    os.unlink("train")
    Path("train").write_bytes(data)
    assert process.returncode == 1
    assert "crfkit: error: folder/model: no usable folder " in said
    assert "pass " not in crfkit(*command, "--resume", "model").stderr.replace("resuming after pass 15", "")
    assert load("model").labels


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a current folder stays")
def test_no_current_folder(train, tmp_path):
    """What has a whole name can be read and written; what has not is an error that names it."""
    crfkit("learn", "-q", "-a", "perceptron", "--passes", 1, "template", "train", "model")
    (tmp_path / "gone").mkdir()

    def run(*arguments):
        code = f"import os, sys; os.chdir('gone'); os.rmdir('../gone'); sys.argv[1:] = {[*map(str, arguments)]!r}; from crfkit.cli import main; main()"
        (tmp_path / "gone").mkdir(exist_ok=True)
        done = python(code, cwd=tmp_path, code=None)
        return done.returncode, done.stderr

    assert run("learn", "-q", "--max-iter", 1, *(tmp_path / name for name in ("template", "train", "second"))) == (0, "")
    for arguments in (("learn", tmp_path / "template", tmp_path / "train", "other"), ("tag", "-o", "other", tmp_path / "model", tmp_path / "train")):
        assert run(*arguments) == (1, "crfkit: error: other: cannot be written: No such file or directory\n")


def test_a_thread_too_many(train, monkeypatch):
    """Where processes are limited: an error that says what to do."""

    def refused(*_):
        raise RuntimeError("can't start new thread")

    write_part(train, "chunking", 300)
    monkeypatch.setattr(threads, "start_new_thread", refused)
    said = error("learn", "-q", "--threads", 2, "--max-iter", 1, "template", "train", "model")
    assert said == "the system has no room for another thread: lower --threads, or --workers"
    assert sorted(os.listdir()) == ["template", "train"]


def test_names_that_cannot_be(train):
    """A zero byte, which only Python can give."""
    crfkit("learn", "-q", "-a", "perceptron", "--passes", 1, "template", "train", "model")
    tagger = Tagger(load("model"))
    for call in (
        lambda: learn("a\0b", "template"), lambda: learn("train", "a\0b"), lambda: learn("train", "template", dev="a\0b"),
        lambda: learn("train", "template", dev=["a\0b"], max_iter=1), lambda: learn("train", "template", log="a\0b"),
        lambda: learn("train", "template", checkpoint="a\0b"), lambda: load("a\0b"), lambda: load("model").save("a\0b"),
        lambda: Tagger(load("model"), "a\0b"), lambda: tagger.tag_with_gold("a\0b"),
    ):
        with pytest.raises(FileError, match=r"'a.x00b': not a file name"):
            call()


# --- signals ------------------------------------------------------------------------------------------------------


PRESSED = """
import os, signal, sys

class Pressed:
    def find_spec(self, name, *_):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressed())
from crfkit import programs
programs.{}()
"""


@pytest.mark.parametrize("name", ["crfkit", "crf_learn", "crf_test", "crfsuite", "wapiti"])
def test_ctrl_c_while_modules_are_imported(name):
    done = python(PRESSED.format(name), code=-signal.SIGINT, timeout=60)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("handler", ["default_int_handler", "SIG_IGN"])
def test_ctrl_c_between_what_commands_do(handler):
    """In the hands of click, which prints `Aborted!` and ends with 1, or a traceback. Of a process in the background it is ignored, and stays so."""
    code = f"import os, signal, sys, click; signal.signal(2, signal.{handler}); sys.argv = ['crfkit', '--version']; from crfkit import programs\n"
    code += "made = click.Group.make_context; click.Group.make_context = lambda *given, **more: os.kill(os.getpid(), 2) or made(*given, **more)\n"
    code += "programs.crfkit()"
    assert python(code, code=0 if handler == "SIG_IGN" else -signal.SIGINT, timeout=60).stderr == ""


@pytest.mark.steady
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_code_is_made_of_text(tmp_path, number, code):
    """As in the making of dataclasses. Python ends by SIGINT whoever was interrupted there, where it was started with -m."""
    text = f"import click, os\nmade = click.Group.invoke\ndef invoke(*given):\n    exec('os.kill(os.getpid(), {number:d})')\n    return made(*given)\n"
    (tmp_path / "hit.py").write_text(f"{text}click.Group.invoke = invoke\nfrom crfkit.programs import crfkit\ncrfkit()\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), *sys.path]))
    done = subprocess.run([sys.executable, "-m", "hit", "templates"], env=os.environ | {"PYTHONPATH": path}, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


@pytest.mark.steady
@pytest.mark.parametrize(("number", "code", "algorithm"), [
    (signal.SIGINT, 130, "sgd"), (signal.SIGTERM, 143, "owlqn"),
    *(pytest.param(*one, marks=pytest.mark.long) for one in ((signal.SIGINT, 130, "owlqn"), (signal.SIGTERM, 143, "sgd"))),
])
def test_a_signal_while_training_saves_the_model(train, algorithm, number, code):
    endless = ("--passes", 10**7) if algorithm == "sgd" else ("--delta", 0, "--epsilon", 0, "--period", 10**6, "--l1", 1e-6, "--l2", 1e-9, "--max-iter", 10**7)
    write_part(train, "chunking", 300)
    with start("learn", "-a", algorithm, *endless, "--log", "log", "template", "train", "model") as process:
        output, said = interrupted(process, number)
    assert (process.returncode, output) == (code, "")
    assert "stopped; the weights so far are kept" in said
    assert "Traceback" not in said
    assert load("model").header["features"] > 0
    assert all(log_lines())


def test_a_signal_ends_the_wait_for_the_reader_of_a_log(train, monkeypatch):
    class Waiting(PassLog):
        def __init__(self, *given):
            signal.raise_signal(signal.SIGTERM)
            super().__init__(*given)

    monkeypatch.setattr("crfkit.learning.passes.PassLog", Waiting)
    said = crfkit("learn", "--log", "log", "template", "train", "model", code=143).stderr
    assert said.endswith("crfkit: interrupted, no model was written\n") and not Path("log").exists()


@pytest.fixture
def fifo(train):
    """Data that never come: who reads them waits for ever."""
    os.mkfifo(train.parent / "fifo")
    return train.parent / "fifo"


@pytest.mark.parametrize("name", ["fifo", ".", os.devnull])
def test_a_checkpoint_is_a_regular_file(fifo, name):  # to look into a pipe would wait for ever
    assert error("learn", "--checkpoint", name, "template", "train", "model") == f"{name}: is not a regular file; give another name to --checkpoint"


@pytest.mark.steady
def test_a_signal_while_reading_writes_nothing(fifo):
    with start("learn", "template", "fifo", "model") as process, open(fifo, "w") as data:  # open when both sides are
        data.write("a b X\n" * 10)
        data.flush()
        process.send_signal(signal.SIGINT)
        output, said = process.communicate(timeout=600)
    assert (process.returncode, output) == (130, "")
    assert said == "crfkit: interrupted, no model was written\n"
    assert sorted(entry.name for entry in fifo.parent.iterdir()) == ["fifo", "template", "train"]


@pytest.mark.steady
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_labelling_leaves_no_files(fifo, number, code):
    crfkit("learn", "-q", "-a", "perceptron", "--passes", 1, "template", "train", "model")
    before = sorted(os.listdir())
    with start("tag", "-o", "out", "model", "train", "fifo") as process, open(fifo, "w") as data:  # open when both sides are
        data.write("a b X\n" * 10)
        data.flush()
        assert len(os.listdir()) == len(before) + 1
        process.send_signal(number)
        output, said = process.communicate(timeout=600)
    assert (process.returncode, output, said) == (code, "", "")
    assert sorted(os.listdir()) == before
