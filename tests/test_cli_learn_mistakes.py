"""What `crfkit learn` says of templates, labels and trainers that are probably not what was meant."""

from pathlib import Path

import pytest
from commands import crfkit, error, learn, limit_flags, write


@pytest.mark.parametrize(("cells", "told"), [("BB", 0), (["B", "B "], 1), (["B", "\u00a0B"], 1), ([" B", "B "], 1), (["B", "O "], 0)])
def test_labels_that_differ_in_blanks_alone(cells, told):
    write(template="U:%x[0,0]\n", train="a\t{}\nb\tI\n\na\t{}\n".format(*cells))
    stderr = learn("--max-iter", 1).stderr
    assert stderr.count(f"the labels {cells[0]!r} and {cells[1]!r} differ in blanks alone\n") == told
    padded = not told and any(cell.strip() != cell for cell in cells)
    assert stderr.count("the blanks beside the label 'O ' are part of it\n") == padded


@pytest.mark.parametrize(("algorithm", "template", "told"), [
    ("lbfgs", "U:%x[0,0]\n", 1), ("sgd", "U:%x[0,0]\n", 1),
    *(("lbfgs", f"U:%x[0,0]\n{line}\n", 0) for line in ("B", "B:%x[0,0]", "*:%x[1,0]")),
    *(("lookahead", f"U:%x[0,0]\n{line}\n", 0) for line in ("T", "U:%y[-1]")),
])
def test_templates_without_labels_beside_others(tmp_path, algorithm, template, told):
    (tmp_path / "template").write_text(template)
    for text, expected in (("a A\nb B\n\nb B\n", told), ("a A\n\nb B\n", 0)):
        (tmp_path / "train").write_text(text)
        assert learn("-a", algorithm, *limit_flags(algorithm, 1)).stderr.count("labels do not depend on their neighbours: the template has no line B\n") == expected


@pytest.mark.parametrize(("line", "said"), [
    ("U1:x[0,0]", "'x[0,0]' is plain text here: a macro begins with %"),
    ("U1:%x[0,0]/t[-1,0,\"a\"]", "'t[-1,0,\"a\"]' is plain text here: a macro begins with %"),
    ("U1:%x[0,0]@minfreq=2", "'@minfreq' is plain text here: an annotation is the last word of a line, as in U:%x[0,0] @minfreq=2"),
    ("U1:%x[0,0] @minfreq 2", "'@minfreq' is plain text here: an annotation is the last word of a line, as in U:%x[0,0] @minfreq=2"),
    ("B1:%x[0,0]@all", "'@all' is plain text here: an annotation is the last word of a line, as in U:%x[0,0] @minfreq=2"),
    ("U1:%x[0,0]/x[-1,0]", "'x[-1,0]' is plain text here: a macro begins with %"),
    *((line, None) for line in ("U1:x[0,0]=%x[0,0]", "Uwords[0,0]/%x[0,0]", "U_S[0,0]:%x[0,0]")),
    *((line, None) for line in ("U[0,1]:%x[0,0]", "Ux[0]:%x[0,0]", "U1-[%x[0,0]]", "U1:%x[0,0] @minfreq=2", "Ux@y:%x[0,0]", "# x[0,0]", "U:%%x[-1,0]")),
])
def test_text_like_a_macro_or_an_annotation_is_mentioned(train, line, said):
    (train.parent / "template").write_text(f"U:%x[0,0]\nB\n{line}\n")
    warnings = [text for text in learn("--max-iter", 1).stderr.splitlines() if text.startswith("crfkit: warning: ")]
    assert warnings == [f"crfkit: warning: template:3: {said}"] * (said is not None)


def test_lookahead_says_where_it_goes_through_too_many_pairs(train, monkeypatch):
    """passes * tokens * depth * labels * labels; with few labels, or all features, other trainers go through as many."""

    def told(labels, *options):
        train.write_text("\n".join(f"w{k} P X{k}" for k in range(labels)))
        return learn("-a", "lookahead", *options).stderr.count(f"it goes through all pairs of {labels} labels; with --depth 0 it does not")

    monkeypatch.setattr("crfkit.trainers.online.lookahead.MANY_PAIRS", 2 * 200 * 2 * 200**2)
    asked = ("--passes", 2, "--depth", 2)
    assert told(200, *asked) == 1
    assert told(200, "--passes", 1, "--depth", 2) == told(200, "--passes", 2, "--depth", 1) == told(200, *asked, "--features", "all") == 0
    monkeypatch.setattr("crfkit.trainers.online.lookahead.MANY_PAIRS", 1)
    assert (told(199, *asked), told(200, "--passes", 1, "--depth", 0), told(200, "--passes", 1)) == (0, 0, 1)


@pytest.mark.parametrize(("arguments", "said"), [
    (("", "train", "model"), "template: the template is empty: expected the name of a file, or lines that start with U, B or P"),
    (("template", "", "model"), "the path to read from is empty; give the name of a file"),
    (("template", "train", ""), "the path to write to is empty; give the name of a file"),
    (("", "", ""), "the path to write to is empty; give the name of a file"),  # one is not the other
    (("--log", "", "--dev", "", "template", "train", "model"), "the path to write to is empty; give the name of a file"),
])
@pytest.mark.usefixtures("train")
def test_names_that_are_empty(arguments, said):
    """As of a variable of the shell's that is not set."""
    assert error("learn", *arguments) == said


def test_a_model_in_text_is_no_part_of_the_data():
    """Its first line has two columns, too."""
    write(template="U:%x[0,0]\n", train="a X\nb Y\n\n")
    learn("-q")
    crfkit("convert", "--to", "crfpp-text", "model", "old")
    assert Path("old").read_text().startswith("version: 100\n")
    crfkit("learn", "-q", "template", "train", "old")
    assert Path("old").read_bytes() == Path("model").read_bytes()
