"""Commands in a locale without UTF-8, as of programs that cron starts: what they are given is UTF-8 all the same, as data are."""

import os

import pytest
from commands import start

ASCII = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "é").mkdir()
    for name in ("train", "é/dev"):
        (tmp_path / name).write_text("# columns = é w\né ça\nN x\n\n")
    (tmp_path / "template").write_text("U:%x[0,w]\n")
    (tmp_path / "é" / "config").write_text("dev: é/dev\nlog: é/log\nlabel: é\n")


def run(*arguments):
    with start(*arguments, env=ASCII, encoding="utf-8") as process:
        output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    return output


def test_texts_and_names_of_files(folder, tmp_path):
    run("learn", "-q", "--label", "é", "--dev", "é/dev", "template", "train", "é/model")
    run("learn", "-q", "--config", "é/config", "template", "train", "é/other")
    assert (tmp_path / "é" / "other").read_bytes() == (tmp_path / "é" / "model").read_bytes() and (tmp_path / "é" / "log").exists()
    assert run("dump", "--attribute", "U:ça", "é/model").startswith("U:ça\t#\té\t")
    labelled = run("tag", "-q", "--bias", "é=100", "--separator", "·", "é/model", "train")
    assert labelled == "# columns = é w\né ça·é\nN x·é\n\n"
    run("tag", "-q", "--bias", "é=100", "-o", "labelled", "é/model", "train")
    assert "50.00%" in run("eval", "--label", "é", "--tokens", "labelled")
