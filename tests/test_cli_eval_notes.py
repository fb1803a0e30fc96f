"""What `crfkit eval` says of labels that are probably not what it takes them for."""

import shlex
from functools import partial

import pytest
from commands import crfkit

run = partial(crfkit, "eval")


def test_a_note_on_labels_that_mark_no_chunks():
    said = "<stdin>: the gold labels mark no chunks, so that only the accuracy tells something; --tokens reports on labels"
    assert said in run(stdin=b"a NN NN\nb -LRB- NN\n").stderr
    for options in (["--tokens"], ["--raw"], ["--scheme", "bio"]):
        assert "mark no chunks" not in run(*options, stdin=b"a NN NN\nb -LRB- NN\n").stderr
    assert run(stdin=b"a B-X NN\nb O O\n").stderr == ""


def test_a_note_where_a_column_is_not_of_labels(tmp_path):
    said = "<stdin>: no label is both a gold and a predicted one: is one of the two another column?"
    unlabelled = b"He PRP B-NP\nfell VBD B-VP\n"  # what `tag` writes for text without labels
    for options in ([], ["--tokens"], ["--raw"], ["--scheme", "bio"], ["--json"]):
        assert run(*options, stdin=unlabelled).stderr == f"crfkit: {said}; --gold takes the gold labels from another file\n"
    gold = tmp_path / "gold"
    gold.write_bytes(b"He B-NP PRP\nfell B-VP VBD\n")
    assert run("--gold", gold, stdin=unlabelled).stderr == f"crfkit: {said}\n"
    gold.write_bytes(b"He PRP B-NP\nfell VBD O\n")
    assert run("--gold", gold, stdin=unlabelled).stderr == ""


@pytest.mark.parametrize(("gold", "options", "meant"), [
    ("B-X I-X 0", (), "0"), ("I-X Other", (), "Other"), ("B-X a|b", (), "a|b"), ("S-X B-X E-X _", (), "_"),
    ("B-X I-X O", (), None), ("B-X O Other", (), None), ("B-X I-X", (), None), ("B-X one two", (), None), ("NN VB", (), None),
    ("B-X 0", ("--outside", "0"), None), ("B-X 0", ("--scheme", "bio"), None), ("B-X 0", ("--tokens",), None), ("B I 0", (), None),
    ("S", (), None), ("B-X S", (), None), ("B-X I", (), None), ("B-X ?", (), "?"), ("B-X O-Y 0", (), None),
])
def test_a_note_on_another_label_outside_of_chunks(gold, options, meant):
    """What it advises counts the chunks as O does."""
    text = "".join(f"a {label} {label}\n" for label in gold.split())
    done = run(*options, stdin=text + "a B-X B-X\n" * ("-" in gold))
    if meant is None:
        assert "outside" not in done.stderr
        return
    assert done.stderr == f"crfkit: <stdin>: no gold label is O: if {meant} is the label outside of chunks, give --outside {shlex.quote(meant)}\n"
    assert run("--outside", meant, stdin=text).stdout == run(stdin=text.replace(meant, "O")).stdout != run(stdin=text).stdout


@pytest.mark.parametrize(("outside", "told"), [("N", False), ("X", False), ("O", False), ("o", True), ("B-n", True)])
@pytest.mark.parametrize("options", [(), ("--tokens",), ("--raw",), ("--scheme", "bio"), ("--json",)])
def test_a_note_on_a_label_outside_of_chunks_that_does_not_occur(outside, told, options):
    """Neither as a gold label nor as a predicted one."""
    said = run(*options, "--outside", outside, stdin=b"a B-N N\nb X O\nc O X\nd I-N I-N\n").stderr
    assert said == f"crfkit: <stdin>: no label is {outside!r}, which --outside names\n" * told


@pytest.mark.parametrize(("lexicon", "told"), [("", True), ("x y\n", True), ("京\n".encode("gb18030"), True), ("京\n", False), ("京 3\nx\n", False)])
def test_a_note_on_a_lexicon_of_another_text(tmp_path, lexicon, told):
    (tmp_path / "lexicon").write_bytes(lexicon if isinstance(lexicon, bytes) else lexicon.encode())
    said = run("--segments", "--lexicon", tmp_path / "lexicon", stdin="京 S S\n都 S S\n".encode()).stderr
    assert said == "crfkit: <stdin>: no word is in the lexicon: has it one in each line, in the encoding of the text?\n" * told
