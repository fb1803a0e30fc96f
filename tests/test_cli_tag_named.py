"""`crfkit tag` on columns with names: CoNLL-U, and files that begin with `# columns = ...`."""

import io
import re

import pytest
from commands import crfkit as command
from commands import write

import crfkit
from crfkit.errors import DataError

CONLLU = """\
# sent_id = 1
1\tthe\tthe\t{}\tDT\t_\t2\tdet\t_\t_
2-3\tdogs'\t_\t_\t_\t_\t_\t_\t_\t_
2\tdogs\tdog\t{}\tNNS\t_\t0\troot\t_\t_
2.1\tx\tx\t_\t_\t_\t_\t_\t_\t_

"""


def test_conllu_is_tagged_by_the_names_of_its_columns():
    write(train=CONLLU.format("DET", "NOUN") * 3, template="U0:%x[0,form]\nU1:%x[-1,xpos]\nB\n")
    crfkit.learn("train", template="template", format="conllu", label="upos").save("c")
    text = CONLLU.format("_", "_")

    def tag(*options, text=text):
        return command("tag", *options, "c", stdin=text).stdout

    lines = text.split("\n")
    lines[1] += "\tDET"
    lines[3] += "\tNOUN"
    assert tag() == "\n".join(lines)
    marked = tag("-v1").split("\n")
    assert marked[0].startswith("# ") and marked[1] == "# sent_id = 1" and marked[3] == lines[2]
    assert marked[2].startswith(lines[1] + "/") and marked[4].startswith(lines[3] + "/") and marked[5:] == [lines[4], "", ""]
    assert "\tVERB" not in tag("--partial")
    assert tag("--partial", text=CONLLU.format("NOUN", "_")).split("\n")[1].endswith("\tNOUN")
    few = "# global.columns = ID XPOS FORM UPOS\n1\tDT\tthe\tNOUN\n\n"  # each column is found by its name
    assert tag("--partial", text=few) == few.replace("\tNOUN\n", "\tNOUN\tNOUN\n")
    for option in ("-v1", "-n2"):  # the names stay where eval finds them, and are there once
        names, probability, first, *_ = tag(option, text=few).split("\n")
        assert names + "\n" == few[: few.index("1\t")] and probability.startswith("# ") and first.startswith("1\tDT\tthe\tNOUN\t")
        assert tag(option, text=few).count("global.columns") == 1
        assert "processed 1 tokens in 1 sentences" in command("eval", "--format", "conllu", "--label", "upos", "--tokens", stdin=tag(option, text=few)).stdout
    without = few.replace(" UPOS", "").replace("\tNOUN", "")
    result = command("tag", "--partial", "c", stdin=without, code=1)
    assert result.stderr == "crfkit: error: <stdin>:1: there is no column 'upos': the columns are id xpos form\n"


def test_labels_fill_in_the_column_that_is_predicted(tmp_path):
    write(train=CONLLU.format("DET", "NOUN") * 3, template="U0:%x[0,form]\nU1:%x[-1,xpos]\nB\n")
    crfkit.learn("train", template="template", format="conllu", label="upos").save("c")

    def fill(text, *options, code=0):
        return command("tag", "--fill", *options, "c", stdin=text, code=code)

    text, filled = CONLLU.format("_", "a longer one"), CONLLU.format("DET", "NOUN")
    assert fill(text).stdout == fill(text, "--posterior").stdout == filled
    (tmp_path / "text").write_bytes(text.replace("\n", "\r\n").encode())
    command("tag", "--fill", "-o", "out", "c", "text")
    assert (tmp_path / "out").read_bytes() == filled.replace("\n", "\r\n").encode()
    assert fill(CONLLU.format("NOUN", "_"), "--partial").stdout == CONLLU.format("NOUN", "NOUN")
    elsewhere = "# global.columns = ID XPOS FORM UPOS\n1\tDT\tthe\t{}\n\n"
    assert fill(elsewhere.format("_")).stdout == elsewhere.format("DET")
    missing = elsewhere.replace(" UPOS", "").replace("\t{}", "")
    assert fill(missing, code=1).stderr == "crfkit: error: <stdin>:1: there is no column 'upos': the columns are id xpos form\n"
    tagged = command("tag", "c", stdin=text).stdout  # which has a column more
    advised = re.search(r"crfkit (tag --\w+)", command("tag", "c", stdin=tagged, code=1).stderr)[1].split()
    with pytest.raises(DataError, match=r"found 11 columns, expected 10: .*; crfkit tag --fill replaces labels"):  # in Python, too
        crfkit.learn(io.BytesIO(tagged.encode()), template="template", format="conllu", label="upos")
    assert command(*advised, "c", stdin=text).stdout == filled
    for option in ("-v1", "-n2", "--probability", "--separator=x"):
        assert "--fill adds no columns" in fill("", option, code=2).stderr


def test_eval_finds_the_gold_labels_by_name_in_every_layout(tmp_path):
    """Lines before the first sentence have fewer columns than there are names."""
    rows = "# columns = pos word chunk\nDT the B-NP\nNN dog I-NP\n\n"
    (tmp_path / "train").write_text(rows)
    crfkit.learn("train", template="U:%x[0,word]\n", label="pos").save("named")
    for layout in ([], ["-v1"], ["-n2"], ["-n2", "-v1"]):
        for text, comments in ((rows, []), (rows.replace("\n", "\n# one\n", 1), ["--comments"])):
            tagged = command("tag", *comments, *layout, "named", stdin=text).stdout
            assert tagged.count("# one\n") == len(comments) * (2 if "-n2" in layout else 1)
            assert "\naccuracy: 100.00%" in command("eval", *comments, "--label", "pos", stdin=tagged).stdout


def test_named_columns_are_filled_in_too(tmp_path):
    rows = "# columns = word pos chunk\nthe {} B-NP\ndog {} I-NP\n\n"
    (tmp_path / "train").write_text(rows.format("DT", "NN"))
    crfkit.learn("train", template="U:%x[0,word]\n", label="pos").save("named")
    assert command("tag", "--fill", "named", stdin=rows.format("?", "VB")).stdout == rows.format("DT", "NN")
    assert "the columns have no names" in command("tag", "--fill", "named", stdin="the ? B-NP\n", code=1).stderr
    crfkit.learn([[["a", "X"], ["b", "Y"]]], template="U:%x[0,0]\n").save("last")
    assert "--fill needs a model that was trained with --label" in command("tag", "--fill", "last", stdin="a ?\n", code=2).stderr


def test_possible_labels_are_not_read_from_a_column_of_the_template(tmp_path):
    """Its cells may look like labels. With --fill, the column of labels has them, wherever it stands."""
    (tmp_path / "train").write_text("# columns = label word pos\nX a X\nY b Y\n\n")
    crfkit.learn("train", template="U:%x[0,word]\nU1:%x[0,pos]\n", label="label").save("m")
    for names, row in (("label word pos", "? a Y"), ("pos word", "X a"), ("word pos", "a Y")):
        said = command("tag", "--partial", "m", stdin=f"# columns = {names}\n{row}\n\n", code=1).stderr
        assert said == f"crfkit: error: <stdin>:2: the model's template uses the last column, '{names.split()[-1]}', where possible labels are expected\n"
    assert command("tag", "--partial", "m", stdin="# columns = pos word free\nX a Y\n\n").stdout.endswith("X a Y Y\n\n")
    assert command("tag", "--partial", "--fill", "m", stdin="# columns = label word pos\nY a X\n\n").stdout.endswith("Y a X\n\n")


def test_a_row_that_begins_with_a_carriage_return_stays_whole(tmp_path):
    """Behind a header, too, it is no line end."""
    crfkit.learn([[("a", "X"), ("b", "Y")]], template="U0:%x[0,0]", algorithm="perceptron").save("m")
    for end in ("\n", "\r\n", "\n\r\n"):
        (tmp_path / "text").write_bytes(f"# columns = word label{end}\rb\tY\n".encode())
        command("tag", "-o", "out", "m", "text")
        assert b"\n\rb\tY\t" in (tmp_path / "out").read_bytes()
