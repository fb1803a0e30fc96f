"""`--comments`, and the warning where it is missing: lines that begin with '#' and stand before a sentence."""

import io
import warnings
from pathlib import Path

import pytest
from commands import crfkit as command
from commands import write
from workers import use_local_workers

import crfkit
from crfkit.errors import CrfkitWarning
from crfkit.tagging import Tagger
from crfkit.template.parsing import Template

PLAIN = "Ada NNP B-PER\nsleeps VBZ O\n\nBob NNP B-PER\nruns VBZ O\n\n"
MARKED = "# alone\n\n# text = 1\nAda NNP B-PER\nsleeps VBZ O\n\n# text = 2\nBob NNP B-PER\nruns VBZ O\n\n# end\n"
ALIKE = PLAIN.replace("Ada", "# text 1\nAda").replace("Bob", "# text 2\nBob")  # with as many columns
TOKEN = PLAIN.replace("sleeps VBZ", "# NN")
SINGLE = PLAIN.replace("\n", "\n\n") + "# NN O\n\n#1 NN O\n\n"  # each sentence is one token
WARNING = "stand before a sentence: if they are comments, use --comments"
FEATURES = "U0:%x[0,0]\nU1:%x[-1,1]\nB\n"


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "template").write_text(FEATURES)
    write(plain=PLAIN, marked=MARKED, alike=ALIKE, token=TOKEN, both=ALIKE.replace("sleeps VBZ", "# NN"), single=SINGLE)
    crfkit.learn("plain", "template", "sgd", passes=3).save("model")


def learned(*arguments):
    command("learn", "-q", "-a", "sgd", "--passes", 3, *arguments)
    return Path(arguments[-1]).read_bytes()


def test_learn_passes_over_them():
    expected = Path("model").read_bytes()
    assert learned("--comments", "template", "marked", "m") == learned("--comments", "template", "alike", "m") == expected
    assert learned("--comments", "--dev", "marked", "template", "alike", "m") == learned("--dev", "plain", "template", "plain", "m")


def test_a_stream_passes_over_them():
    one = ("learn", "-q", "-a", "adf", "--passes", 1)
    command(*one, "template", "-", "m", stdin=PLAIN.encode())
    command(*one, "--comments", "template", "-", "n", stdin=MARKED.encode())
    assert Path("m").read_bytes() == Path("n").read_bytes()


def test_a_checkpoint_knows_of_them():
    command("learn", "-q", "-a", "sgd", "--passes", 3, "--checkpoint", "c", "template", "alike", "m")
    other = command("learn", "-q", "-a", "sgd", "--passes", 3, "--checkpoint", "c", "--resume", "--comments", "template", "alike", "m", code=1)
    assert "--comments" in other.output


def test_attribute_lines_may_have_them():
    text = "# a\nX\tf\n\n# b\nY\tg\n\n"
    marked = crfkit.learn(io.BytesIO(text.encode()), format="crfsuite", comments=True)
    plain = crfkit.learn(io.BytesIO(text.replace("# a\n", "").replace("# b\n", "").encode()), format="crfsuite")
    assert list(marked.features()) == list(plain.features())
    assert Tagger(marked).tag_with_gold(io.BytesIO(text.encode()), comments=True)[0] == [["X"], ["Y"]]


def test_eval_passes_over_them():
    expected = command("eval", stdin=command("tag", "model", "plain").stdout_bytes).stdout
    for name in ("marked", "alike"):
        for layout in ((), ("-v", 1), ("-n", 2)):
            tagged = command("tag", "--comments", *layout, "model", name).stdout_bytes
            assert command("eval", "--comments", stdin=tagged).stdout == expected


def test_layouts_of_crfpp_keep_them():
    text = command("tag", "--comments", "-n", 2, "model", "marked").stdout
    kept = [line for line in text.splitlines() if line.startswith("#") and not line[2].isdigit()]
    assert kept == ["# alone"] + ["# text = 1"] * 2 + ["# text = 2"] * 2 + ["# end"]
    assert text.startswith("# alone\n\n# 0 0.") and text.endswith("\n\n# end\n\n")
    conllu = "# 1\n\n# 2\n1\ta\tA\n\n# 3\n"
    crfkit.learn(io.BytesIO(b"# columns = id form upos\n1\ta\tA\n\n1\tb\tB\n\n"), Template.parse("U:%x[0,form]"), format="conllu", label="upos").save("c")
    for option in ("-v1", "-n1"):
        lines = command("tag", option, "c", stdin=b"# columns = id form upos\n" + conllu.encode()).stdout.splitlines()
        assert [line for line in lines if line in conllu.splitlines()] == ["# 1", "", "# 2", "", "# 3", ""]


@pytest.mark.parametrize("name", ["plain", "alike", "token", "both", "single"])
def test_a_warning_where_every_such_line_stands_before_a_sentence(name, monkeypatch):
    use_local_workers(monkeypatch)
    wanted = [WARNING] if name == "alike" else []

    def said(*arguments, **how):
        return [WARNING for line in command(*arguments, **how).stderr.splitlines() if line.startswith("crfkit: warning: ") and line.endswith(WARNING)]

    assert said("learn", "-a", "sgd", "template", name, "m") == said("tag", "model", name) == wanted
    assert said("tag", "--threads", 3, "model", name) == said("learn", "-a", "sgd", "--workers", 2, "template", name, "m") == wanted
    assert said("eval", name) == said("eval", name, "plain") == said("eval", "--gold", name, name) == wanted
    assert said("learn", "-q", "-a", "sgd", "template", name, "m") == said("tag", "-q", "model", name) == []
    assert said("learn", "-a", "sgd", "--comments", "template", name, "m") == said("tag", "--comments", "model", name) == []
    assert said("eval", "--comments", name) == []


def test_the_warning_in_python():
    with pytest.warns(CrfkitWarning, match="if they are comments, use comments$"):
        crfkit.learn("alike", "template", "sgd")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crfkit.learn("alike", "template", "sgd", comments=True)
        crfkit.learn("token", "template", "sgd")


@pytest.mark.parametrize("arguments", [("learn", "template", "marked", "m"), ("tag", "model", "marked"), ("eval", "marked")])
def test_other_numbers_of_columns_suggest_the_option(arguments):
    assert "(--comments passes over lines before a sentence that begin with '#')" in command(*arguments, code=1).output


@pytest.mark.parametrize("text", ["a D\nb N\n# text = c\nc D\n\n", "a D\nb N\n\n# text = c\nc D\n\n", "# text\na D x\n\n"])
def test_a_comment_suggests_the_option(text):
    """Be it the line with another number of columns, or the first one, whose number is expected."""
    Path("later").write_text(text)
    assert "later:" in (said := command("learn", "template", "later", "m", code=1).stderr) and "(--comments passes over lines" in said


def test_who_has_the_option_needs_no_suggestion():
    Path("ragged").write_text("# text = a\na D\n\n# text = b\nb N x\n\n")
    said = command("learn", "--comments", "template", "ragged", "m", code=1).stderr
    assert said.endswith("ragged:5: found 3 columns, expected 2 as in ragged:2\n")


def test_columns_with_names_and_a_line_beside_them():
    Path("named").write_text("# columns = word pos label\n# one\n" + PLAIN)
    message = "named:2: found 2 columns, expected 3: word pos label (--comments passes over lines before a sentence"
    assert message in command("learn", "template", "named", "m", code=1).output
    assert learned("--comments", "template", "named", "m")


@pytest.mark.parametrize("columns", [10, 11])
def test_data_that_look_like_conllu_suggest_its_format(columns):
    """The first line is a comment or a word. For CRFsuite's format, and for columns with names, nothing is suggested."""
    word = "\t".join(["1", *"abcdefghij"][:columns])
    for text in (f"# text = a\n{word}\n\n", f"{word}\n\n# text = a\n{word}\n\n"):
        Path("of_trees").write_text(text)
        for arguments in (("learn", "template", "of_trees", "m"), ("tag", "model", "of_trees"), *([("eval", "of_trees")] if columns == 11 else [])):
            said = command(*arguments, code=1).output
            assert "(CoNLL-U is read with --format conllu)" in said and "--comments" not in said
    Path("of_trees").write_text(f"{word}\n{word}\tx\n\n")
    assert "(CoNLL-U" not in command("learn", "--format", "conllu", "--label", "upos", "template", "of_trees", "m", code=1).output
    Path("of_trees").write_text(f"# columns = {' '.join('abcdefghijk'[:columns])}\n{word}\n{word}\tx\n\n")
    assert "(CoNLL-U" not in command("learn", "template", "of_trees", "m", code=1).output
