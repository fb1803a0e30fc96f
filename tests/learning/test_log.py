"""The log beside a checkpoint: one record for each pass of the run, however often it is resumed."""

import errno
import io
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import crfkit, error, log_lines
from trainers.samples import ROOT, sentences, template

from crfkit.errors import FileError
from crfkit.learning import log
from crfkit.learning.learn import learn
from crfkit.learning.log import PassLog
from crfkit.options import TRAINERS


def logged():
    return [record["pass"] for record in log_lines()]


def test_logs_that_have_changed(train):
    command = ("learn", "-a", "sgd", "--checkpoint", "state", "--log", "log", "template", "train", "model")
    crfkit(*command, "--passes", 2)
    os.truncate("log", 5)
    assert "log: the log has 5 bytes, at the checkpoint it had " in error(*command, "--passes", 3, "--resume")
    Path("log").write_text("x" * 10_000)
    assert "log: is not the log of this run" in error(*command, "--passes", 3, "--resume")
    assert Path("log").read_text() == "x" * 10_000
    os.unlink("log")
    crfkit(*command, "--passes", 3, "--resume")
    assert logged() == [3]


def test_records_behind_the_checkpoint_are_removed():
    """Also where fewer passes are made again."""
    data, rules = sentences("chunking", limit=30), template("chunking-rich")
    given = {"checkpoint": "state", "checkpoint_every": 3, "log": "log"}

    def cut(record):
        if record["pass"] == 5:
            raise SystemExit

    with pytest.raises(SystemExit):
        learn(data, rules, "perceptron", passes=9, progress=cut, **given)
    learn(data, rules, "perceptron", passes=4, resume=True, **given)
    assert logged() == [1, 2, 3, 4]


@pytest.mark.parametrize("between", [None, io.StringIO(), os.devnull], ids=["none", "an open file", "a device"])
def test_a_part_of_the_run_that_is_not_logged_keeps_the_log(train, between):
    def run(passes, log, resume=True):
        learn("train", "template", "perceptron", passes=passes, checkpoint="state", resume=resume, log=log)

    run(2, "log", resume=False)
    run(3, between)
    assert logged() == [1, 2]
    run(4, "log")
    assert logged() == [1, 2, 4]


@pytest.mark.parametrize("fails", ["fsync", "write"])
def test_a_log_that_fails_keeps_what_it_held(train, monkeypatch, fails):
    """A run that is resumed removes no records of passes before the failure."""
    command = ("learn", "-a", "sgd", "--rate", 0.1, "--checkpoint", "state", "--log", "log")
    files = ("template", "train", "model")
    write, calls = PassLog.write, []

    def failing(*given):
        calls.append(given)
        if fails == "fsync":
            raise OSError(errno.EIO, "no")
        if len(calls) == 3:
            raise FileError("log: no")
        write(*given)

    with monkeypatch.context() as patch:
        if fails == "fsync":
            patch.setattr(log, "os", SimpleNamespace(**{**vars(os), "fsync": failing}))
        else:
            patch.setattr(PassLog, "write", failing)
        crfkit(*command, "--passes", 3, *files)
    assert calls
    crfkit(*command, "--passes", 4, "--resume", *files)
    assert logged() == ([1, 2, 3, 4] if fails == "fsync" else [1, 2, 4])


BATCH = ("lbfgs", "owlqn", "sbcd")


def documented():
    """The fields of docs/files.md, with what it says of when they are present."""
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", (ROOT / "docs/files.md").read_text().split("## Scores")[0], re.MULTILINE)
    return {name: present for names, present in rows for name in re.findall(r"`(\w+)`", names)}


@pytest.mark.parametrize("algorithm", TRAINERS)
def test_all_fields_are_documented(algorithm):
    """Those of a run with default options, whose penalties, rates and passes are chosen."""
    written, fields = io.BytesIO(), documented()
    learn(sentences("chunking", limit=20), template("chunking"), algorithm, log=written, **({"max_iter": 1} if algorithm in BATCH else {}))
    for name in json.loads(written.getvalue().splitlines()[0]):
        present = fields[name]
        assert present == "always" or f"`{algorithm}`" in present or present.startswith("batch" if algorithm in BATCH else "online"), name
