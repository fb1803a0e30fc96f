"""The scripts that compare with the papers run, on a few sentences; what they find is not judged here."""

import importlib.util
import re
from pathlib import Path

import pytest
import tasks
from commands import paper

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("script", "task", "row"), [
    ("adf", "sentiment", "adf"),
    ("sapo", "wsj-sample-pos", "sapo"),
    ("dbl_crf", "conll2000-np-plain", "sgd"),
    ("lookahead", "conll2000-all-plain", "averaged perceptron"),
    ("lookahead", "jnlpba-pos", "depth 1"),
])
def test_a_script_makes_its_rows(script, task, row):
    document = Path(paper(script, "--quick", "--tasks", task).stdout.split()[-1])
    text = document.read_text(encoding="utf-8")
    assert re.search(rf"^\| {row} \|(?: +\d+\.\d\d \|)+ +\d+\.\d\d(?: ± \d+\.\d\d)? \|", text, re.M), text
    pictures = re.findall(r"\]\((\S+\.png)\)", text)
    assert bool(pictures) == (importlib.util.find_spec("matplotlib") is not None)
    assert all((document.parent / name).stat().st_size for name in pictures)


def test_parsing_makes_its_page():
    text = Path(paper("parsing", "--quick", "--seeds", "2", "--work", "work").stdout.strip()).read_text(encoding="utf-8")
    assert all(len(re.findall(rf"^\| depth {depth} \| 30 \| [12] \| +\d+\.\d\d \|", text, re.M)) == 4 for depth in range(4)), text
    assert len(re.findall(r"^\| `templates/parsing(?:-best)?\.txt` \| (?:may wait|at once) \| (?:yes|no) \| \d+\.\d\d ± .* \| -?\d+\.\d\d \| ", text, re.M)) == 5, text


def test_finished_runs_are_not_repeated():
    given = ("--quick", "--tasks", "conll2000-np-plain")
    paper("dbl_crf", "--only", "pages", *given)
    assert "without rich edges (`conll2000-np-plain`)" in Path("out/dbl-crf.md").read_text(encoding="utf-8")
    assert "sgd --l2" in paper("dbl_crf", *given).stderr
    document = Path("out/dbl-crf.md").read_bytes()
    for more in ((), ("--only", "pages")):
        again = paper("dbl_crf", *more, *given)
        assert "sgd --l2" not in again.stderr and Path("out/dbl-crf.md").read_bytes() == document
    assert "sgd --l2" in paper("dbl_crf", "--fresh", *given).stderr


def test_missing_corpora_are_named():
    said = paper("adf", "--tasks", "jnlpba", "sentiment", code=1).stderr
    assert "CRFKIT_CORPORA" in said and "jnlpba, sentiment" in said
    assert not Path("out").exists()


@pytest.mark.corpora
def test_all_corpora_are_found():
    tasks.prepare(tasks.SENTIMENT, Path("work"), False)
    lines = Path("work/data/sentiment/books.train.txt").read_text(encoding="utf-8").split("\n\n")
    assert len(lines) == 1600 + 1 and all(re.match(r"(positive|negative)\t", line) for line in lines[:-1])
