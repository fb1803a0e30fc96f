"""crfkit-crf-learn and crfkit-crf-test on files that CRF++ was not made for, and what they advise."""

from pathlib import Path

import pytest
from commands import invoked as run
from commands import write

import crfkit
from crfkit.compat.crfpp.crf_learn import crf_learn
from crfkit.compat.crfpp.crf_test import crf_test
from crfkit.compat.wapiti.commands import cli as wapiti


@pytest.fixture(autouse=True)
def files():
    write(template="U00:%x[0,0]\nU01:%x[-1,1]\nB\n", train="the D O\ndog N B\n\nbarks V O\nthe D O\ncat N B\n\n" * 3, test="the D\ncat N\n\n")


def test_byte_order_marks_are_ignored():
    run(crf_learn, "template", "train", "model")
    expected = run(crf_test, "-m", "model", "test").stdout
    assert expected.splitlines()[:2] == ["the\tD\tO", "cat\tN\tB"]
    for name in ("template", "train", "test"):
        Path(name).write_bytes(b"\xef\xbb\xbf" + Path(name).read_bytes())
    run(crf_learn, "template", "train", "marked")
    assert run(crf_test, "-m", "marked", "test").stdout == run(crf_test, "-m", "model", "test").stdout == expected


def test_comments_of_templates_may_stand_behind_blanks():
    run(crf_learn, "template", "train", "model")
    Path("indented").write_text("  # words\n" + Path("template").read_text().replace("B\n", "\t#pairs\nB\n"))
    run(crf_learn, "indented", "train", "same")
    assert Path("same").read_bytes() == Path("model").read_bytes()


def test_lines_of_no_kind_in_templates_are_named_and_passed_over():
    run(crf_learn, "template", "train", "model")
    Path("stray").write_text("lower case\n%U63:%x[0,0]\n" + Path("template").read_text() + "\tU9:%x[0,0]\n \n")
    result = run(crf_learn, "stray", "train", "same")
    assert Path("same").read_bytes() == Path("model").read_bytes()
    lines = result.stderr.splitlines()
    assert lines[0] == "crfkit: warning: stray:1: no feature is made of a line that starts with 'l': CRF++ knows U and B"
    assert "stray:2: " in lines[1] and "starts with '\\t'" in lines[2] and len(lines) == 3
    for more, said in ((1, "1 more line"), (2000, "2,000 more lines")):
        Path("stray").write_text("x\n" * (3 + more) + Path("template").read_text())
        lines = run(crf_learn, "stray", "train", "same").stderr.splitlines()
        assert len(lines) == 4 and lines[3] == f"crfkit: warning: stray: nor of {said}: the template is given before the training data"
    Path("stray").write_text("*:%x[0,0]\n")
    assert run(crf_learn, "stray", "train", "none", code=1).stderr.endswith("error: stray: the template has no line that starts with U or B\n")


@pytest.mark.parametrize("cell", ["%x[,0]", "%x[0,]", "%x[-,]", "%x[,]", "%x[00,000]"])
def test_zeros_may_be_left_out_of_templates(cell):
    """Models keep them as they are written."""
    run(crf_learn, "-t", "template", "train", "model")
    Path("short").write_text(Path("template").read_text().replace("%x[0,0]", cell))
    run(crf_learn, "-t", "short", "train", "same")
    assert Path("same.txt").read_text() == Path("model.txt").read_text().replace("%x[0,0]", cell)
    run(crf_learn, "-C", "same.txt", "converted")
    assert cell.encode() in Path("converted").read_bytes()


def test_a_cost_factor_that_is_too_large_for_one_weight():
    run(crf_learn, "-c", "1000", "template", "train", "model")
    sizes = sorted(abs(weight) for *_, weight in crfkit.load("model").model.features())
    assert sizes[0] < sizes[-1] / 2 and sizes[-1] > 1.5
    factor = f"{3.5e38 / sizes[-1]:.9g}"
    said = run(crf_test, "-c", factor, "-m", "model", "test", code=1).stderr
    assert said.endswith(f"--cost-factor: {float(factor):g} makes weights that are no longer finite\n")


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_data_without_tokens(content):
    Path("none").write_text(content)
    assert "none: no tokens: expected" in run(crf_learn, "template", "none", "model", code=1).stderr
    assert not Path("model").exists()
    run(crf_learn, "template", "train", "model")
    assert run(crf_test, "-m", "model", "none").stdout == ""


@pytest.mark.parametrize("algorithm", ["CRF", "CRF-L1", "MIRA"])
def test_data_of_one_label(algorithm):
    Path("one").write_text("a b X\nc d X\n\n")
    done = run(crf_learn, "-a", algorithm, "template", "one", "model")
    assert done.stderr == "crfkit: warning: only one label, 'X': the model will give it to every token\n"
    assert "iter=0 terr=0.00000 serr=0.00000" in done.stdout and "Done!" in done.stdout
    assert run(crf_test, "-m", "model", "one").stdout == "a\tb\tX\tX\nc\td\tX\tX\n\n"


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["-f300", "words", "train", "model"], 1, "error: train: no feature is left: lower --freq"),
    (["-aCRF-L1", "-c1e-4", "template", "train", "model"], 0, "warning: all weights are zero: every token will have the same label; raise --cost"),
    (["-c1e-300", "template", "train", "model"], 0, "warning: all weights are zero: every token will have the same label; raise --cost"),
    (["template", "notes", "model"], 1, "error: notes:2: found 3 columns, expected 2 as in notes:1 (crfkit's --comments passes over"),
    (["template", "tree", "model"], 1, "error: tree:2: found 2 columns, expected 10 as in tree:1 (CoNLL-U is read with crfkit's --format conllu)"),
    (["-C", "attributes", "model"], 1, "error: attributes: a CRF++ model needs a template: give the one that made the attributes with crfkit's --template"),
])
def test_advice_is_in_the_options_of_crfpp(arguments, code, message):
    write(words="U:%x[0,0]\n", notes="# a\nthe D O\n", tree="1\tw\tw\tX\tX\t_\t0\troot\t_\t_\n2 w\n", pairs="A\ta\nB\tb\n")
    crfkit.learn("pairs", format="crfsuite", max_iter=1).save("attributes")
    assert run(crf_learn, *arguments, code=code).stderr.startswith(f"crfkit: {message}")


@pytest.mark.parametrize(("program", "words"), [(crf_test, ["-m"]), (wapiti, ["label", "-m"])])
def test_models_of_attributes_are_for_crfkit_alone(program, words):
    crfkit.learn([[(["a"], "A")], [(["b"], "B")]], format="crfsuite", max_iter=1).save("attributes")
    said = run(program, *words, "attributes", "test", code=1).stderr
    assert "crfkit: error: attributes: " in said and said.endswith("; label such data with `crfkit tag`\n")
