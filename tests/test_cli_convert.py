"""`crfkit convert`: what a format cannot hold is an error that names the file once, and nothing is written."""

import pytest
from commands import crfkit, error, python, write

ROWS = "".join(f"{word}\t{label}\n" for word, label in ("aX", "bY", "cX", "aX")) + "\n"
ITEMS = "X\ta\nY\tb\nX\tc:2\n\n"


@pytest.fixture(autouse=True)
def models():
    write(rows=ROWS, items=ITEMS, template="U:%x[0,0]\nB\n", shapes="U:%S[0,0]\nB\n")
    short = ("-q", "-a", "perceptron", "--passes", 1)
    crfkit("learn", *short, "template", "rows", "plain")
    crfkit("learn", *short, "shapes", "rows", "shaped")
    crfkit("learn", *short, "--format", "crfsuite", "items", "attributes")
    crfkit("learn", "-q", "-a", "lookahead", "--passes", 1, "template", "rows", "ahead")


@pytest.mark.parametrize("to", ["crfpp", "crfpp-text", "wapiti"])
def test_templates_are_kept(to):
    crfkit("convert", "--to", to, "plain", "other")
    assert crfkit("tag", "other", "rows").stdout == crfkit("tag", "plain", "rows").stdout


def test_names_are_translated_and_weights_changed_without_what_takes_long_to_import():
    code = "import sys; from crfkit.{0} import {1}; {1}(sys.argv[1:], standalone_mode=False); print('numpy' in sys.modules)"
    assert python(code.format("cli", "cli"), "convert", "--to", "wapiti", "plain", "other").stdout == "False\n"
    changed = crfkit("dump", "other").stdout.splitlines()[0].rpartition("\t")[0] + "\t2.00000\n"
    write(patch=changed)
    assert python(code.format("compat.wapiti.commands", "cli"), "update", "-c", "-m", "other", "patch", "changed").stdout == "False\n"
    assert changed in crfkit("dump", "changed").stdout


@pytest.mark.parametrize(("arguments", "model", "reason"), [
    (["--to", "crfpp"], "ahead", "trained by lookahead, whose search for labels no other program has"),
    (["--to", "crfsuite"], "plain", "a CRFsuite model has no template: only models of attribute lines (--format crfsuite) can become one"),
    (["--to", "wapiti"], "shaped", "line 1 of the template: %S[0,0] has another meaning in Wapiti, or none; only %x[row,column] is the same"),
    (["--template", "template"], "plain", "the model has a template already"),
    ([], "rows", "not a crfkit model: a text file; the model is what crfkit learn writes"),
    ([], "absent", "cannot be read: No such file or directory"),
], ids=str)
def test_what_cannot_be_converted(tmp_path, arguments, model, reason):
    assert error("convert", *arguments, model, "other") == f"{model}: {reason}"
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(("edits", "told"), [
    ("", True), ("\ufeff\n\r\n", True), ("U:zz\t#\tX\t0\n", True), ("{old}", True), ("{new}", False),
])
def test_a_file_without_a_change_is_mentioned(tmp_path, edits, told):
    """Such as one that drops what the model does not have; `old`: a line of its dump."""
    old = crfkit("dump", "plain").stdout.splitlines(keepends=True)[0]
    (tmp_path / "edits").write_text(edits.format(old=old, new=old.rpartition("\t")[0] + "\t0\n"), encoding="utf-8", newline="")
    said = crfkit("convert", "--edit", "edits", "plain", "other").stderr
    assert said == "crfkit: warning: edits: no line changes a weight: the model stays as it is\n" * told
    assert (crfkit("dump", "other").stdout == crfkit("dump", "plain").stdout) == told


@pytest.mark.parametrize(("model", "edits", "told"), [
    ("plain", "U:b\t#\tX\t5\n\nU:B\t#\tX\t5\n", "edits:3: the model did not have this attribute; it is added"),
    ("plain", "U:B\t#\tX\t5\nU:B\t#\tY\t5\nU:b\t#\tX\t5\nU:b1\t#\tX\t5\nU:b2\t#\tY\t5\n", "edits:1: the model did not have this attribute; it is added; likewise 2 more attributes"),
    ("plain", "U:b\t#\tX\t5\nU:B\t#\tX\t0\n", "edits:2: the model has no such feature to drop"),
    ("plain", "U:b\t#\tY\t5\nU:b\t#\tX\t0\n*\tX\tX\t0\nU:b1\t#\tY\t0\n", "edits:2: the model has no such feature to drop; likewise 1 more line"),
    ("plain", "U:b\t#\tX\t5\n*\tX\tX\t5\n*\tY\tY\t0\n", "edits:3: the model has no such feature to drop"),
    ("attributes", "b\t#\tX\t5\nb2\t#\tX\t5\n", "edits:2: the model did not have this attribute; it is added"),
    ("ahead", "U:b\t#\tX\t5\n*\tY\tY\t0\n", "edits:2: the model has no such feature to drop"),
])
def test_lines_that_may_be_misspelt_are_mentioned(model, edits, told):
    """Among lines that do what they were meant for. Features that are new to an attribute that the model has are no slip, nor are lines of a dump as they were."""
    dumped = [line for line in crfkit("dump", model).stdout.splitlines(keepends=True) if line.rpartition("\t")[0] not in edits]
    write(edits=edits + "".join(dumped))
    assert crfkit("convert", "--edit", "edits", model, "other").stderr == f"crfkit: warning: {told}\n"
