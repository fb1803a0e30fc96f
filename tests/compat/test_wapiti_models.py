"""crfkit-wapiti and the models that it is given: crfkit's own, damaged ones, and what cannot be read."""

import errno
import os
import re
from pathlib import Path

import pytest
from commands import invoked, python
from compat.wapiti_runs import run, sentences, trained, write_files

import crfkit
from crfkit.compat.crfsuite import cli as crfsuite
from crfkit.compat.wapiti.commands import cli as wapiti
from crfkit.foreign.wapiti import read


@pytest.fixture(autouse=True)
def files():
    write_files()


def test_label_and_dump_open_models_of_crfkit():
    Path("template").write_text("U:%x[0,0]\nB\n")
    crfkit.learn("train", template="template", l2=1.0).save("crfkit.model")
    tagger = crfkit.load("crfkit.model")
    printed = run("label", "-l", "-m", "crfkit.model", "plain").stdout
    assert [part.split() for part in printed.strip().split("\n\n")] == [tagger.tag(rows) for rows in sentences(4, 60, 2)]
    assert run("dump", "crfkit.model").stdout.startswith("b\tB\tB\t")


def test_label_imports_nothing_of_training():
    program = """
import sys
from crfkit.compat.wapiti.commands import cli
cli(["label", "-m", "wapiti.model", "plain"], standalone_mode=False)
print([name for name in ("numpy", "crfkit.learning", "crfkit.options.trainers") if name in sys.modules], file=sys.stderr)
"""
    Path("patterns").write_text("u:%x[0,0]\nb\n")
    run("train", "-p", "patterns", "train", "wapiti.model")
    assert python(program).stderr.endswith("\n[]\n")


def test_label_does_not_look_ahead():
    """It would find the best path of scores that lack those of label pairs with attributes."""
    crfkit.learn("train", template="U:%x[0,0]\nU1:%y[-1]\nB\n", algorithm="lookahead", passes=1).save("crfkit.model")
    assert "the model chooses labels one after the other; label with `crfkit tag`" in run("label", "-m", "crfkit.model", "plain", code=1).stderr


def test_models_that_are_read():
    assert read(memoryview(b"#mdl#0#0\n#rdr#1/0/0\n1:b,\n#qrk#1\n1:X,\n#qrk#0\n")).pairs is None


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no file that opens and cannot be read")
@pytest.mark.parametrize("words", ["train -p MEM train", "train -p patterns MEM", "label -m MEM test", "dump MEM", "update -m model MEM", "update -m MEM"])
def test_files_that_cannot_be_read_are_named(words):
    if "-m model" in words:
        trained("-i", "1")
    result = run(*words.replace("MEM", "/proc/self/mem").split(), code=1)
    assert result.stderr.endswith(f"\ncrfkit: error: /proc/self/mem: cannot be read: {os.strerror(errno.EIO)}\n")


@pytest.mark.parametrize(("words", "name"), [("dump damaged", "damaged"), ("dump", "<stdin>"), ("update -m damaged", "damaged"), ("label -m damaged test", "damaged")])
def test_damaged_models_are_named(words, name):
    trained("-i", "1")
    Path("damaged").write_bytes(Path("model").read_bytes()[:60])
    error = run(*words.split(), code=1, stdin=Path("damaged").read_bytes()).stderr
    assert f"\ncrfkit: error: {name}:5: damaged: expected " in error


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="pipes have no names")
def test_models_of_crfkit_come_from_pipes():
    crfkit.learn("train", template="U:%x[0,0]\nB\n", max_iter=1).save("ours")
    reading, writing = os.pipe()
    os.write(writing, Path("ours").read_bytes())
    os.close(writing)
    with open(reading):
        assert run("dump", f"/dev/fd/{reading}").stdout == run("dump", "ours").stdout != ""


def test_a_model_that_wapiti_has_no_room_for_is_named():
    Path("items").write_text("X\ta\nY\tb\n\n", encoding="utf-8")
    crfkit.learn("items", format="crfsuite", max_iter=1).save("ours")
    assert "crfkit: error: ours: a Wapiti model needs patterns" in run("dump", "ours", code=1).stderr


INFINITE = b"version: 100\ncost-factor: 1\nmaxid: 2\nxsize: 1\n\nA\nB\n\nU:%x[0,0]\n\n0 U:a\n\ninf\n1.0000000000000000\n"


@pytest.mark.parametrize(
    ("program", "words", "name"),
    [
        (wapiti, "dump", "looks"), (wapiti, "update -m", "looks"), (crfsuite, "dump", "looks"),
        (wapiti, "dump", "infinite"), (wapiti, "update -m", "infinite"), (crfsuite, "dump", "plain"),
    ],
)
def test_models_that_the_other_format_cannot_express_are_named_once(program, words, name):
    Path("infinite").write_bytes(INFINITE)
    for made, template, how in (("looks", "U:%x[0,0]\nU1:%y[-1]\n", {"algorithm": "lookahead", "passes": 1}), ("plain", "U:%x[0,0]\nB\n", {"max_iter": 1})):
        crfkit.learn("train", template=template, **how).save(made)
    (line,) = (line for line in invoked(program, *words.split(), name, code=1).stderr.splitlines() if not line.startswith("* "))
    assert re.match(rf"crfkit: error: {name}: (?!{name})(trained by lookahead|a weight is not a finite|a CRFsuite model has no template)", line)
