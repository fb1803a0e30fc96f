"""`crfkit learn --partial` and its kin in Python: labels that are not known, or known to be one of several."""

import re
from pathlib import Path

import numpy
import pytest
from commands import crfkit, error, write
from workers import use_local_workers

import crfkit as library
from crfkit import CRF
from crfkit.errors import DataError
from crfkit.model import load

TEMPLATE = "U:%x[0,0]\nB\n"
TRAIN = "a X\nb Y\nc Z\n\na ?\nb Y\n\na X|Z\nc ?\n\n"


@pytest.fixture(autouse=True)
def files():
    write(template=TEMPLATE, train=TRAIN)


@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn", "sgd", "adf"])
def test_labels_are_those_that_choices_name(algorithm):
    crfkit("learn", "-q", "-a", algorithm, "--partial", "template", "train", "model")
    model = load("model")
    assert model.labels == ["X", "Y", "Z"]
    assert model.header["options"]["partial"] is True
    assert {(name, label) for name, before, label, _ in model.features() if before is None} <= {("U:a", "X"), ("U:a", "Z"), ("U:b", "Y"), ("U:c", "Z")}
    assert crfkit("tag", "-q", "model", stdin="a\nb\nc\n\n").stdout.split() == ["a", "X", "b", "Y", "c", "Z"]


def test_how_many_labels_are_given_is_told():
    assert "\n4 tokens have one label, 3 a choice\n" in crfkit("learn", "--partial", "template", "train", "model").stderr
    assert "a choice" not in crfkit("learn", "template", "train", "model").stderr


def test_without_the_option_choices_are_labels():
    crfkit("learn", "-q", "template", "train", "model")
    assert load("model").labels == ["?", "X", "X|Z", "Y", "Z"]


def test_the_same_weights_where_all_labels_are_given(tmp_path):
    (tmp_path / "whole").write_text("a X\nb Y\nc Z\n\nb Y\na X\n\n")
    for options in ((), ("--partial",)):
        crfkit("learn", "-q", *options, "template", "whole", f"model{len(options)}")
    assert list(load("model0").features()) == list(load("model1").features())


def test_in_conllu_an_underscore_is_any_label():
    rows = [("a", "X"), ("b", "_"), ("c", "Y|X"), ("d", "?"), ("e", "Y")]
    write(trees="".join(f"{k}\t{word}\t_\t{tag}" + "\t_" * 6 + "\n" for k, (word, tag) in enumerate(rows, 1)) + "\n", template="U:%x[0,form]\nB\n")
    crfkit("learn", "-q", "--partial", "--format", "conllu", "--label", "upos", "template", "trees", "model")
    assert load("model").labels == ["X", "Y"]


@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn", "sgd", "adf"])
def test_choices_alone(tmp_path, algorithm):
    """No attribute has a label of its own, from which the penalty could be chosen."""
    (tmp_path / "train").write_text("a X|Y\nb ?\n\nb Y|Z\n\n")
    crfkit("learn", "-q", "-a", algorithm, "--partial", "template", "train", "model")
    assert load("model").labels == ["X", "Y", "Z"]


def test_attribute_lines(tmp_path):
    (tmp_path / "items").write_text("X\ta\nY|Z\tb:2\n?\tc\n\nY\tb\n\n")
    crfkit("learn", "-q", "--partial", "--format", "crfsuite", "items", "model")
    assert load("model").labels == ["X", "Y", "Z"]
    assert ("b", None, "Z") in {feature[:3] for feature in load("model").features()}


@pytest.mark.parametrize(("text", "said"), [
    ("a X\nb X||Y\n\n", "train: the label 'X||Y' lists an empty one: expected labels with | between, or ? for any"),
    ("a |\nb X\n\n", "train: the label '|' lists an empty one: expected labels with | between, or ? for any"),
    ("a X|?\nb X\n\n", "train: the label 'X|?' lists ? among others: expected labels with | between, or ? for any"),
    ("a ?\nb ?\n\n", "train: no token has a label: all of them are ?"),
    ("".join(f"a L{k}|M{k}\n" for k in range(32768)) + "\n", "train: 65536 labels; at most 65535 are supported"),
])
def test_faults_in_choices(tmp_path, text, said):
    (tmp_path / "train").write_text(text)
    assert error("learn", "--partial", "template", "train", "model") == said


def test_faults_of_several_files_name_none_of_them():
    """The label may be in any of them."""
    write(other="a X\n\n", train="a X|\nb Y\n\n")
    assert error("learn", "--partial", "template", "other", "train", "model").startswith("the label 'X|' lists an empty one")


@pytest.mark.parametrize("label", ["?", "X|Y"])
def test_development_data_need_all_labels(tmp_path, label):
    """A label that is open would count as wrong."""
    (tmp_path / "dev").write_text(f"a X\nb {label}\n\n")
    crfkit("learn", "-q", "--dev", "dev", "template", "train", "model")
    said = error("learn", "-q", "--partial", "--dev", "dev", "template", "train", "model")
    assert said == f"dev:2: the label '{label}' in the development data, which need all labels"


def test_the_place_of_an_open_label_among_several_files():
    """Files of several blocks; sentences in memory have no lines."""
    part = f"{'b' * 20_000} X\n\n" * 60
    write(one=part, two=f"{part}c Z\na X|Y\n\n")
    said = "the label 'X|Y' in the development data, which need all labels"
    for dev, place in ((["one", "two"], "two:122: "), ([[["a", "X"]], [["a", "X|Y"]]], "")):
        with pytest.raises(DataError, match=f"^{re.escape(place + said)}$"):
            library.learn("train", TEMPLATE, partial=True, max_iter=1, dev=dev)


@pytest.mark.parametrize("algorithm", ["sbcd", "sapo", "perceptron", "mira", "arow", "cw", "lookahead"])
def test_trainers_that_need_all_labels(algorithm):
    said = error("learn", "-a", algorithm, "--partial", "template", "train", "model", code=2)
    assert said.startswith(f"--partial needs a trainer that sums over all labellings, and {algorithm} does not: take one of lbfgs, owlqn, sgd, adf")


@pytest.mark.parametrize(("options", "named"), [
    (("--workers", 2), "--workers"),
    (("--cluster", "tcp://a:1"), "--cluster"),
    (("--train-accuracy",), "--train-accuracy"),
])
def test_options_that_need_all_labels(options, named):
    assert error("learn", "--partial", *options, "template", "train", "model", code=2).startswith(f"--partial does not go with {named}")


@pytest.mark.parametrize("algorithm", ["lbfgs", "sgd", "adf"])
def test_data_in_files(algorithm):
    for more in ((), ("--data-dir", "folder")):
        crfkit("learn", "-q", "-a", algorithm, "--partial", *more, "template", "train", f"model{len(more)}")
    assert Path("model0").read_bytes() == Path("model2").read_bytes()


def test_attributes_are_selected_by_labels_that_are_given(tmp_path):
    """Those of tokens without one change nothing: without these, the same is selected."""
    (tmp_path / "template").write_text("U:%x[0,0]\nU:%x[0,1]\n")
    known = "a u X\nb u Y\na u X\nb u Y\nc v Y\n\n"
    write(train=known + "b w ?\nb w X|Y\nb w ?\n\n" * 9, known=known)
    chosen = []
    for data in ("train", "known"):
        crfkit("learn", "-q", "--partial", "--select", "mi:2", "template", data, "model")
        chosen.append({attribute for attribute, *_ in load("model").features()})
    assert chosen[0] == chosen[1] == {"U:a", "U:b"}


def test_streams_need_all_labels():
    assert "leave out --partial" in error("learn", "-a", "adf", "--passes", 1, "--partial", "template", "-", "model", stdin=TRAIN)


def test_a_checkpoint_is_of_these_choices(tmp_path):
    start = ("-a", "sgd", "--rate", 1, "--partial", "--checkpoint", "point")
    crfkit("learn", "-q", *start, "--passes", 4, "template", "train", "whole")
    (tmp_path / "point").unlink()
    crfkit("learn", "-q", *start, "--passes", 2, "template", "train", "half")
    crfkit("learn", "-q", *start, "--passes", 4, "--resume", "template", "train", "resumed")
    assert list(load("whole").features()) == list(load("resumed").features())
    (tmp_path / "train").write_text(TRAIN.replace("c ?", "c X|Z"))
    assert "different training data" in error("learn", *start, "--passes", 6, "--resume", "template", "train", "other")


def test_in_python_none_and_collections_are_choices():
    X = [[["a"], ["b"], ["c"]], [["a"], ["b"]], [["a"], ["c"]]]
    spelled = CRF("sgd", partial=True).fit(X, [["X", "Y", "Z"], ["?", "Y"], ["X|Z", "?"]])
    meant = CRF("sgd", partial=True).fit(X, [["X", "Y", "Z"], [None, "Y"], [("X", "Z"), None]])
    assert meant.classes_ == ["X", "Y", "Z"]
    assert list(meant.model_.features()) == list(spelled.model_.features())
    missing = CRF("sgd", partial=True).fit(X, [["X", "Y", "Z"], [float("nan"), "Y"], [{"Z", "X"}, numpy.nan]])
    assert list(missing.model_.features()) == list(spelled.model_.features())
    with pytest.raises(library.CrfkitError, match="a label: a str"):
        CRF("sgd").fit(X, [["X", "Y", "Z"], [None, "Y"], ["X", "Z"]])
    with pytest.raises(library.CrfkitError, match="expected a list with an entry for each token"):
        CRF("sgd", partial=True).fit(X, [["X", "Y", "Z"], None, ["X", "Z"]])
    assert CRF.load(meant.model_.to_bytes()).partial is True


@pytest.mark.parametrize("choice", [(), ("X", None), ("X", 1), (b"X", "Y"), (("X", "Y"), "Z"), ["X", float("nan")]], ids=str)
def test_in_python_a_choice_has_labels_alone(choice):
    with pytest.raises(library.CrfkitError) as caught:
        CRF("sgd", partial=True).fit([[["a"], ["b"]]], [["X", choice]])
    assert str(caught.value) == f"sentence 1, token 2: found {choice!r}, expected a label: a str"


@pytest.mark.parametrize(("tokens", "told"), [(3, True), (10, True), (11, False)])
def test_labels_that_seem_unknown_are_mentioned(tmp_path, monkeypatch, tokens, told):
    use_local_workers(monkeypatch)
    (tmp_path / "train").write_text("a ?\n" + "".join(f"b {'XY'[place % 2]}\n" for place in range(tokens - 1)))
    expected = "crfkit: warning: many tokens have the label '?', which is learned like any other: with --partial it means that the label is unknown\n"
    assert (expected in crfkit("learn", "template", "train", "model").stderr) == told
    assert (expected in crfkit("learn", "--workers", 1, "template", "train", "model").stderr) == told
    assert expected not in crfkit("learn", "--partial", "template", "train", "model").stderr
