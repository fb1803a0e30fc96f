"""`crfkit eval` on other formats than columns."""

import io
import json
from functools import partial

import pytest
from commands import crfkit

from crfkit import learn

run = partial(crfkit, "eval")

CONLLU = """\
# text = the dogs
1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\tDET
2-3\tdogs'\t_\t_\t_\t_\t_\t_\t_\t_
2\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\tVERB
2.1\tx\tx\t_\t_\t_\t_\t_\t_\t_

# text = it
1\tit\tit\tPRON\tPRP\t_\t0\troot\t_\t_\tPRON

"""
ATTRIBUTES = "@weight:2\nX\ta:2\tb/0.5\tX\nY\\:1\tb/0.5\tY:1\n\nX\tX\n\n"


def test_the_gold_labels_of_conllu_stand_in_a_column_by_name():
    for text in (CONLLU, CONLLU.replace("# text = it", "# 0 0.75")):
        scores = json.loads(run("--format", "conllu", "--label", "upos", "--json", stdin=text.encode()).stdout)
        assert (scores["sentences"], scores["correct_sentences"]) == (2, 1)
        assert scores["labels"].keys() == {"DET", "NOUN", "PRON", "VERB"} and scores["confusion"] == [["NOUN", "VERB", 1]]
    named = "# global.columns = ID TAG\n1\tA\tA\n2\tB\tC\n"
    assert json.loads(run("--format", "conllu", "--label", "tag", "--json", stdin=named.encode()).stdout)["accuracy"] == 0.5


@pytest.mark.parametrize("header", ["# columns = tag word pos\n", "\ufeff# columns=tag word pos\r\n"])
def test_the_gold_labels_of_named_columns(header):
    """A gold column given by --label counts like the last column but one."""
    rows = [("B-X", "a", "N", "B-X"), ("I-X", "b", "B-X", "O"), (), ("O", "c", "O", "B-Y"), ("#", "=", "#", "#")]
    named = header + "".join(" ".join(row) + "\n" for row in rows)
    moved = "".join(" ".join((*row[1:3], row[0], *row[3:])) + "\n" if row else "\n" for row in rows)
    wanted = run("--json", "--scheme", "bio", stdin=moved.encode()).stdout
    assert run("--json", "--scheme", "bio", "--label", "tag", stdin=named.encode()).stdout == wanted
    assert json.loads(wanted)["accuracy"] == 0.5
    for text, said in (
        (named, ":1: there is no column 'x': the columns are tag word pos"), (moved, ":1: there is no column 'x': the columns have no names; a first line such as '# columns = word label' gives them"),
        (named.replace(" N B-X", " N"), ":2: 3 columns; expected at least 4, the last of them the predicted label"),
    ):
        assert f"<stdin>{said}" in run("--label", "tag" if "at least" in said else "x", stdin=text.encode(), code=1).stderr


def test_the_gold_labels_of_attribute_lines_come_first():
    for text in (ATTRIBUTES, "# 0.9\n" + ATTRIBUTES.replace("X\n", "X/0.912345\n")):
        scores = json.loads(run("--format", "crfsuite", "--json", stdin=text.encode()).stdout)
        assert (scores["tokens"], scores["correct_tokens"], scores["sentences"]) == (3, 3, 2)
        assert scores["labels"].keys() == {"X", "Y:1"}


@pytest.mark.parametrize("delimiter", ["|", "=", r"\|", " *[|] *", r"\s*[|]\s*|\s"])
def test_named_columns_between_other_characters(delimiter):
    """The separator of the first line does not matter for the others."""
    rows = (("a b", "B-X", "B-X"), ("#", "I-X", "O")) if "s" not in delimiter else (("ab", "B-X", "B-X"), ("#", "I-X", "O"))
    text = "# columns = word tag\n" + "".join(("=" if delimiter == "=" else "|").join(row) + "\n" for row in rows)
    for label in ([], ["--label", "tag"]):
        scores = json.loads(run("--json", "-d", delimiter, *label, stdin=text.encode()).stdout)
        assert (scores["tokens"], scores["correct_tokens"], list(scores["labels"])) == (2, 1, ["B-X", "I-X", "O"])
    text = text.replace("tag", "tag word2 word3")
    assert "expected at least 5, the last of them" in run("-d", delimiter, "--label", "tag", stdin=text.encode(), code=1).stderr


@pytest.mark.parametrize(
    ("gold", "label"), [("a", "a"), (r"a\:b", "a:b"), (r"a\\:b", r"a\:b"), (r"a\\", "a\\"), (r"a\b", r"a\b"), (r"\\\:", r"\:"), (r"\:", ":")]
)
def test_gold_labels_of_attribute_lines_are_escaped_and_predicted_ones_are_not(gold, label):
    """As written by `crfkit tag`. Labels that differ only in backslashes are different."""
    lines = [f"{gold}\tx:0.5", "other\ty"]
    model = learn(io.BytesIO(("\n".join(lines) + "\n\n").encode() * 9), None, format="crfsuite")
    assert set(model.labels) == {label, "other"}
    scores = json.loads(run("--format", "crfsuite", "--json", stdin=f"{lines[0]}\t{label}\n".encode()).stdout)
    assert (scores["correct_tokens"], list(scores["labels"])) == (1, [label])
    for wrong in {gold, label.replace("\\", ""), label + "\\"} - {label, ""}:
        scores = json.loads(run("--format", "crfsuite", "--json", stdin=f"{lines[0]}\t{wrong}\n".encode()).stdout)
        assert (scores["correct_tokens"], set(scores["labels"])) == (0, {label, wrong})


@pytest.mark.parametrize(("text", "options", "message"), [
    (CONLLU, ["conllu", "--label", "tag"], "<stdin>:1: there is no column 'tag': the columns are id form lemma"),
    (CONLLU.replace("\tDET\n", "\n"), ["conllu", "--label", "upos"], "<stdin>:2: 10 columns; expected at least 11, the last of them the predicted label"),
    (CONLLU.replace("\tVERB", "\tVERB\tx"), ["conllu", "--label", "upos"], "<stdin>:4: 12 columns, but line 2 has 11"),
    ("X\ta\tX\nY\n", ["crfsuite"], "<stdin>:2: 1 column; expected at least 2, the last of them the predicted label"),
    ("X\ta\tX\t0.500000\t0.400000\n", ["crfsuite"], "<stdin>:1: the last two columns are probabilities"),
    ("# 0.9\nX\ta\tX/0.900000\tX/0.900000\tY/0.100000\n", ["crfsuite"], "<stdin>:2: the last two columns are labels with prob"),
])
def test_errors_in_other_formats(text, options, message):
    assert f"crfkit: error: {message}" in run("--format", *options, stdin=text.encode(), code=1).stderr


def test_a_segmentation_is_pointed_to_its_report():
    assert "--segments counts words" in run(stdin="a B B\nb E E\nc S S\n").stderr
    assert "--segments" not in run(stdin="a B-X B-X\nb E-X E-X\nc S-X S-X\n").stderr


def test_labels_of_words_may_be_lower_case():
    text = b"a B B\nb E E\nc S B\nd S E\n\na B S\nb E S\n"
    lower = b"".join(line[:2] + line[2:].lower() for line in text.splitlines(keepends=True))
    assert run("--segments", stdin=lower).stdout == run("--segments", stdin=text).stdout
    for label in ("be", "-"):
        assert f"the label '{label}' is not one of a word segmentation" in run("--segments", stdin=f"a {label} B\n", code=1).stderr
