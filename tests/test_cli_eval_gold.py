"""`crfkit eval --gold`: labels in one file, the right ones in another; and the layouts of other programs."""

import io
import json
from functools import partial

import pytest
from commands import crfkit, invoked, write

from crfkit.compat.crfsuite import cli as crfsuite
from crfkit.errors import OptionError
from crfkit.evaluation.evaluate import Outputs

run = partial(crfkit, "eval")

WORDS = [[("The", "DT", "B-X", "B-X"), ("#", "NN", "I-X", "O")], [("it:s", "PR", "B-Y", "B-Y")], [("-X-", "NN", "O", "B-X"), ("1/2", "CD", "B-X", "B-X")]]


def rows(form, header="", gap="\n"):
    """A file with one line for each token, made from (word, part of speech, gold label, predicted label)."""
    return (header + "".join("".join(form.format(*token) + "\n" for token in sentence) + gap for sentence in WORDS)).encode()


def conllu(place, added=None):
    """The labels in XPOS; or there `-`, and in a column at the end."""
    return "".join(
        "# text = x\n1-2\tx" + 8 * "\t_" + "\n" + "".join(f"{i}\t{t[0]}\t_\t{t[1]}\t{t[place]}" + 5 * "\t_" + ("" if added is None else f"\t{t[added]}") + "\n"
        for i, t in enumerate(sentence, 1)) + "\n" for sentence in WORDS
    ).encode()


LABELS = rows("{3}")
HEADER = "# columns = word pos label\n"


@pytest.mark.parametrize(("options", "gold", "answers"), [
    ([], rows("{0} {1} {2}"), rows("{0} {1} {3}")),
    ([], rows("{0} {1} {2}"), rows("{0}\t{1}\t{2}\t{3}", gap="\r\n")),
    ([], rows("{0} {1} {2}"), LABELS),
    ([], rows("{2}"), rows("{0} {1} {3}")),
    ([], rows("{0} {1} {2}"), rows("{0}\t{1}\t{3}/0.912345", "# 0 0.75\n", "\n# 1 0.25\nx\ty\tO/0.5\n\n# 0 0.75\n")),  # crf_test -n -v 1
    ([], rows("{0} {1} {2}"), rows("{3}/0.912345", "# 0.75\n")),
    (["-d", "|"], rows("{0}|{1}|{2}"), rows("{0}|{3}")),
    (["--label", "label"], rows("{2}\t{0}", "# columns = label word\r\n", "\r\n"), rows("{3}\t{0}\r", "# columns = label word\r\n")),
    (["--label", "label"], rows("{0} {1} {2}", HEADER), rows("{0} {1} {3}", HEADER)),
    (["--label", "label"], rows("{2} {0} {1}", "# columns = label word pos\n"), rows("{2} {0} {1} {3}", "# columns = label word pos\n")),
    (["--label", "label"], rows("{0} {1} {2}", HEADER), rows("{0} {1} {3}", "# columns = word pos\n")),
    (["--label", "label"], rows("{0} {1} {2}", HEADER), rows("{1} {0} {3}", "# columns = pos word\n")),
    ([], rows("{0} {1} {2}", HEADER), rows("{1} {0} {3}", "# columns = pos word\n")),
    (["--label", "label"], rows("{0} {1} {2}", HEADER), LABELS),
    (["--format", "conllu", "--label", "xpos"], conllu(2), conllu(3)),
    (["--format", "conllu", "--label", "xpos"], conllu(2), conllu(2, 3)),
    (["--format", "crfsuite"], b"@weight:2\n" + rows("{2}\tx:0.5"), LABELS),
    (["--format", "crfsuite"], rows("{2}\ty:0.123456\tx:0.500000\t0.500000"), rows("{2}\tx:0.5\t{3}")),
    (["--label", "label"], rows("{2} {0} 0.123456", "# columns = label word value\n"), rows("{3} {0} 0.123456", "# columns = label word value\n")),
    (["--format", "crfsuite"], rows("{2}\tx:0.5"), b"@probability\t0.5\n" + rows("{3}:0.912345")),
])
def test_gold_labels_from_another_file(tmp_path, options, gold, answers):
    (tmp_path / "gold").write_bytes(gold)
    found = json.loads(run(*options, "--json", "--gold", tmp_path / "gold", stdin=answers).stdout)
    assert found == json.loads(run("--json", stdin=rows("{0} {2} {3}").replace(b"-X-", b"x")).stdout)
    assert (found["tokens"], found["correct_tokens"], found["found"], found["correct"]) == (5, 3, 4, 2)


def test_gold_labels_of_crfsuite_are_escaped():
    """Answers are not, as there."""
    gold, answers = (io.BytesIO(text) for text in (b"a\\:b\tx:0.5\nO\\\\\ty\nN\\\\\\\\\tz\n", b"a:b\nO\\\nN\\\\\n"))
    assert Outputs(answers, format="crfsuite", gold=gold).scores[0].correct_tokens == 3


def test_gold_labels_are_in_one_file():
    with pytest.raises(OptionError, match="gold: expected one file, found a list"):
        Outputs(io.BytesIO(b"a O\n"), gold=[io.BytesIO(b"a O\n")])


def test_several_files_are_compared_with_the_same_gold_labels(tmp_path):
    write(gold=rows("{0} {2}"), a=rows("{0} {3}"), b=rows("{0} {2}"))
    done = run("--json", "--compare", "--gold", "-", tmp_path / "a", tmp_path / "b", stdin=(tmp_path / "gold").read_bytes())
    assert [file["accuracy"] for file in json.loads(done.stdout)["files"]] == [0.6, 1.0]


@pytest.mark.parametrize(("gold", "answers", "message"), [
    ("a O\n\nb O\nc O\n\n", "a O\n\nb O\nx O\n\n", "answers:3: word 2 of the sentence is 'x', expected 'c' as in gold:3"),
    ("a O\n\nb O\nc O\n\n", "a O\n\nb O\n\n", "answers:3: the sentence has 1 word, expected 2 as in gold:3"),
    ("a O\n\nb O\nc O\n\n", "O\n\nO\n\n", "answers:3: the sentence has 1 word, expected 2 as in gold:3"),
    ("a O\n\nb O\n\nc O\n\n", "a O\n\nc O\n\n", "answers:3: word 1 of the sentence is 'c', expected 'b' as in gold:3"),
    ("a O\n\nb O\n\nc O\n\n", "a O\n\n", "answers: found 1 sentence, expected 3 as in gold"),
    ("a O\n\n", "a O\n\nb O\n\nc O\n\n", "answers: found 3 sentences, expected 1 as in gold"),
    ("a O\n\nb\n\n", "a O\n\nb O\n\n", "gold:3: 1 column, but line 1 has 2"),
    ("a O\n\nb O\n\n", "a O\n\nb\n\n", "answers:3: 1 column, but line 1 has 2"),
    ("a O\n", "a \udcff\n", r"answers:1: the label b'\xff' is not valid UTF-8"),
    ("", "a O\n", "answers: found 1 sentence, expected 0 as in gold"),
    ("a O\n\nb O\n\n", "x O\n\nb\n\n", "answers:1: word 1 of the sentence is 'x', expected 'a' as in gold:1"),  # the first fault
])
def test_sentences_that_differ(gold, answers, message):
    write(gold=gold.encode(errors="surrogateescape"), answers=answers.encode(errors="surrogateescape"))
    assert run("--gold", "gold", "answers", code=1).stderr == f"crfkit: error: {message}\n"


@pytest.mark.parametrize(("gold", "answers", "message"), [
    (HEADER + "a b O\n", "# columns = word pos\na O\n", "answers:2: 2 columns; expected at least 3"),
    ("a b O\n", "a b O\n", "gold:1: there is no column 'label': the columns have no names"),
    (HEADER + "a b\n", "a b O\n", "gold:2: 2 columns; expected at least 3"),
])
def test_names_that_are_not_there(gold, answers, message):
    write(gold=gold, answers=answers)
    assert run("--label", "label", "--gold", "gold", "answers", code=1).stderr.startswith(f"crfkit: error: {message}")


@pytest.mark.parametrize(("options", "gold", "answers"), [
    (["--format", "conllu", "--label", "xpos"], conllu(2), conllu(3)),
    (["--label", "label"], rows("{0} {1} {2}", HEADER), rows("{1} {0} {3}", "# columns = pos word\n")),
    (["--label", "label"], rows("{2} {0} {1}", "# columns = label word pos\n"), rows("{3} {0} {1}", "# columns = label word pos\n")),
])
def test_words_are_compared_in_the_column_of_their_name(tmp_path, options, gold, answers):
    """The first one whose name is not that of the labels."""
    (tmp_path / "gold").write_bytes(gold)
    done = run(*options, "--gold", tmp_path / "gold", stdin=answers.replace(b"1/2", b"1/3"), code=1)
    assert "word 2 of the sentence is '1/3', expected '1/2' as in" in done.stderr


def test_labels_outside_the_scheme_are_told_with_their_sentence():
    write(gold="a O\n\nb O\n\n", answers="a O\n\n\n\nb E-A\n\n")
    said = run("--gold", "gold", "--strict", "--scheme", "bio", "answers", code=1).stderr
    assert said.startswith("crfkit: error: answers:5: the label 'E-A' is not one of the scheme bio")


def test_gold_labels_that_nobody_predicted_are_told_of(tmp_path):
    """A file that was tagged in another column than the one that is scored."""
    (tmp_path / "gold").write_bytes(conllu(2))
    note = "crfkit: <stdin>: all labels are those of the gold file: if no model predicted them, the scores say nothing\n"
    for place, said in ((2, note), (3, "")):
        assert run("--format", "conllu", "--label", "xpos", "--gold", tmp_path / "gold", stdin=conllu(place)).stderr == said


def test_probabilities_of_crfsuite_are_no_part_of_labels():
    text = "B-X\tB-X:0.987654\nO\tB-X:0.500000\n\nO\tO:1.000000\n"
    scores = json.loads(run("--json", stdin=text).stdout)
    assert (scores["correct_tokens"], list(scores["labels"])) == (2, ["B-X", "O"])
    assert json.loads(run("--json", stdin=text.replace("654", "6")).stdout)["correct_tokens"] == 0  # part of the label
    done = run(stdin="O\tO\tO:0.900000\tB-X:0.100000\n", code=1)
    assert done.stderr == "crfkit: error: <stdin>:1: the last two columns are labels with probabilities, as `crfsuite tag -l` writes them; " \
        "expected a gold and a predicted label (`-r` or `-r -i`)\n"


def test_probabilities_of_crfsuite_before_a_sequence_are_no_tokens(tmp_path):
    sequences = ("B-X\tB-X\nO\tB-X\n\n", "@score\tO\nO\tO\n\n")  # a gold label may be called so
    head = "@score\t0.870992\t-1.800974\n@probability\t0.394561\n"
    expected = run("--tokens", stdin="".join(sequences)).stdout
    assert "processed 4 tokens" in expected
    assert run("--tokens", stdin="".join(head + lines for lines in sequences)).stdout == expected
    (tmp_path / "data").write_text("A\tx=1\nB\tx=2\n\nB\tx=2\n\n")
    crfkit("learn", "-q", "--format", "crfsuite", tmp_path / "data", tmp_path / "ours")
    crfkit("convert", "--to", "crfsuite", tmp_path / "ours", tmp_path / "model")
    tagged = [invoked(crfsuite, "tag", "-r", *more, "-m", "model", "data").stdout for more in ([], ["-p"])]
    assert "@probability" in tagged[1]
    assert run("--tokens", stdin=tagged[0]).stdout == run("--tokens", stdin=tagged[1]).stdout


@pytest.mark.parametrize(
    "line",
    ["@score 1 2", "@score 0.5 0.25", "@score 0.1.500000 12.500000", "@score 12345.67 0.500000", "@score X 0.500000", "@score 0.500000 X", "@score 0.500000", "@score x 0.500000 12.500000",
     "@scores 0.500000 12.500000", "@probability X", "@probability 0.5", "@probability 0.500000 12.500000"],
)
def test_tokens_may_look_like_such_lines(line):
    assert Outputs(io.BytesIO(line.replace(" ", "\t").encode())).scores[0].tokens == 1


def test_labels_behind_a_tab_where_blanks_separate_columns():
    """As Wapiti writes them."""
    text = "The DT B-X\tB-X\ncat NN I-X\tO\n"
    assert "<stdin>:1: the gold label has blanks" in run(stdin=text, code=1).stderr
    assert json.loads(run("-d", r"\s+", "--json", stdin=text).stdout)["accuracy"] == 0.5
