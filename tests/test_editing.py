"""Weights changed by hand: against the features that fire, found by expanding the template, and the weights that were listed."""

import random
from collections import Counter
from functools import cache
from itertools import pairwise, product

import pytest
from commands import crfkit as command
from commands import error, limit, write
from foreign.hostile import WAPITI
from hypothesis import given
from hypothesis import strategies as st
from models import ROOT, attributes, model, sentences

import crfkit
from crfkit import foreign
from crfkit.editing import edited
from crfkit.foreign import model_bytes
from crfkit.model import precision_of
from crfkit.spelling import attribute_text, escaped, previous_text

pytestmark = pytest.mark.filterwarnings("ignore:.*(no line changes a weight|no such feature to drop|it is added):crfkit.errors.CrfkitWarning")

TEMPLATES = {
    "cells": "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB0:%x[0,0]\nB\n",
    "no pairs": "U0:%x[0,0]/%x[1,0]/%x[-2,0]\nB0:%x[1,0]\n",
    "by string": "U0%x[0,0]\nU0:%x[0,0]\n*1:%x[0,0]%x[1,0]\nB\n",
    "constants": "U0:%x[0,0]\nU1\nB\nB1\n",
    "macros": "U0:%X[0,0]\nU1:%p[0,0,1]/%s[-1,0,2]\nU2:%S[0,0]\nU3:%C[1,0]/%N[0,0]\nU4:%t[0,0,\"^A\"]\n*5:%m[0,0,\"[0-9]+\"]/%x[1,0]\n"
    "U6:%=[0,0,-1,0]/%x[0,0]\nB7:%X[-1,0]/%N[1,0]\nB\n",
}
WORDS = ["a", "A1", "a/b", "/", "b-22", "éÉ", "Ab", "*", "\\t"]
NEW = [*WORDS, "new", "New/2", "É", "a2", "ß/", "#"]


@cache
def tiny(kind):
    """A model with few features, whose weights are whole numbers."""
    rng = random.Random(7)
    names = ["#", "*", "B-X"]
    texts = [[[rng.choice(WORDS), label] for label in rng.choices(names, k=4)] for _ in range(5)]
    if kind == "items":
        rows = [[({"w": 0.5, word: rng.choice([1.0, 2.5, -3.0])}, label) for word, label in text] for text in texts]
        trained = crfkit.learn(rows, format="crfsuite", algorithm="perceptron", passes=2, average=False)
    else:
        trained = crfkit.learn(texts, TEMPLATES[kind], "perceptron", passes=2, average=False)
    return trained


def weights_of(opened):
    return {feature: weight for *feature, weight in opened.features() for feature in [tuple(feature)]}


def fired(trained, rows, labels):
    """How often each feature counts, by its value."""
    found = Counter()
    for t, (unigrams, bigrams) in enumerate(attributes(trained, rows)):
        for name, value in unigrams:
            found[name, None, labels[t]] += value
        for name, value in bigrams:
            found[name, labels[t - 1], labels[t]] += value
    return found


def lines(changes):
    return "".join(f"{attribute_text(name)}\t{previous_text(before)}\t{escaped(label)}\t{weight!r}\n" for (name, before, label), weight in changes.items())


def apply(opened, changes, folder):
    path = folder / "edits"
    path.write_bytes(lines(changes).encode(errors="surrogateescape"))
    return edited(opened, path)


def changed(weights, changes):
    return {feature: weight for feature, weight in (weights | changes).items() if weight}


@st.composite
def edits(draw):
    """A model, a sentence with labels, and weights for features: some that it has, some that the sentence has, some that are new."""
    trained = tiny(draw(st.sampled_from([*TEMPLATES, "items"])))
    words = draw(st.lists(st.sampled_from(NEW), min_size=1, max_size=5))
    rows = [{word: 2.0, "w": 1.0} for word in words] if trained.template is None else [[word] for word in words]
    labels = draw(st.lists(st.sampled_from(trained.labels), min_size=len(rows), max_size=len(rows)))
    others = fired(trained, rows, draw(st.permutations(labels)))
    features = [feature for feature in {**weights_of(trained), **fired(trained, rows, labels), **others} if feature[0] is not None or pairs(trained)]
    weight = st.integers(-40, 40).map(lambda number: number / 4)
    return trained, rows, labels, draw(st.dictionaries(st.sampled_from(features), weight, max_size=12))


def counts(opened):
    return {name: opened.header[name] for name in ("attributes", "bigram_attributes", "features", "has_tau", "hot")}


def pairs(trained):
    return trained.template is None or "\nB\n" in trained.template.text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("edits")


@given(edits())
def test_scores_change_by_the_features_that_fire(folder, case):
    trained, rows, labels, changes = case
    new, before = apply(trained, changes, folder), weights_of(trained)
    assert weights_of(new) == changed(before, changes)
    reopened = crfkit.Model(new.header, new.sections)  # all checks
    times = fired(trained, rows, labels)
    change = sum(times[feature] * (weight - before.get(feature, 0.0)) for feature, weight in changes.items())
    assert reopened.tagger().score(rows, labels) == trained.tagger().score(rows, labels) + change
    assert new.header == {**trained.header, **counts(new)}


@given(edits(), st.sampled_from(["crfsuite", "crfpp", "crfpp-text"]))
def test_models_of_other_programs(folder, case, to):
    trained, rows, labels, changes = case
    if (to == "crfsuite") != (trained.template is None) or trained not in map(tiny, ("cells", "no pairs", "constants", "items")):
        return
    other = foreign.load(model_bytes(foreign.read(trained.to_bytes()), to))
    new, before = apply(other, changes, folder), weights_of(other)
    times = fired(other, rows, labels)
    change = sum(times[feature] * (weight - before.get(feature, 0.0)) for feature, weight in changes.items())
    assert weights_of(new) == changed(before, changes)
    assert new.tagger().score(rows, labels) == other.tagger().score(rows, labels) + change


@pytest.mark.parametrize("kind", TEMPLATES)
def test_all_features_of_a_sentence(folder, kind):
    """Most of its attributes are new; each gets a weight of its own."""
    trained = tiny(kind)
    rows = [[word] for word in NEW + NEW[::-1]]
    labels = [trained.labels[t % 3] for t in range(len(rows))]
    times = fired(trained, rows, labels)
    changes = {feature: float(number) for number, feature in enumerate(times, 1) if feature[0] is not None or pairs(trained)}
    new = apply(trained, changes, folder)
    assert weights_of(new) == weights_of(trained) | changes
    assert new.tagger().score(rows, labels) == sum(times[feature] * weight for feature, weight in changes.items())


def test_the_first_pair_of_labels(folder):
    """A model of sentences of one token has none, though its template has a line for them."""
    trained, rows = crfkit.learn([[["a", "X"]], [["b", "Y"]]] * 3, "U:%x[0,0]\nB\n", "perceptron", passes=2, average=False), [["a"], ["b"], ["a"]]
    assert not trained.header["has_tau"]
    changes = {(None, "Y", "X"): 8.5, (None, "X", "X"): -3.0}
    new = apply(trained, changes, folder)
    assert weights_of(new) == weights_of(trained) | changes and new.header == {**trained.header, **counts(new)}
    for labels in product("XY", repeat=3):
        change = sum(changes.get((None, *pair), 0.0) for pair in pairwise(labels))
        assert new.tagger().score(rows, labels) == trained.tagger().score(rows, labels) + change


@pytest.mark.parametrize("word", ["a", "new"])
def test_lines_may_come_in_any_order(folder, word):
    """Rows of features ascend by label all the same."""
    trained = tiny("cells")
    labels = trained.labels[::-1]
    changes = {(f"U0:{word}", None, label): 1.0 + number for number, label in enumerate(labels)}
    changes |= {(f"B0:{word}", before, label): 1.0 + number for number, before in enumerate(labels) for label in labels}
    assert weights_of(apply(trained, changes, folder)) == weights_of(trained) | changes


def test_patterns_of_wapiti(folder):
    """u0:%x[0,0], *1:%t[0,1,"\\a$"], b and b2:%X[-1,0]."""
    other = foreign.load(WAPITI)
    changes = {
        ("u0:the", None, "BB"): 0.0,
        ("u0:new", None, "O"): 2.0,
        ("*1:false", None, "O"): 0.5,
        ("*1:true", "BB", "BB"): -4.0,
        (None, "O", "O"): 8.0,
        ("b2:new", "BB", "O"): 16.0,
    }
    before = weights_of(other)
    new = apply(other, changes, folder)
    assert weights_of(new) == changed(before, changes)
    rows, labels = [["new", "a"], ["the", "1"], ["new", "a"]], ["BB", "O", "O"]
    expected = before["u0:the", None, "O"] * 0 + 2.0 + 0.5 + 8.0 - before.get((None, "O", "O"), 0.0) + 16.0
    assert new.tagger().score(rows, labels) == pytest.approx(other.tagger().score(rows, labels) + expected)
    for name, before_ in (("u9:x", None), ("u0:x", "O"), ("b2:x", None), ("b", "O")):
        with pytest.raises(crfkit.errors.DataError, match="edits:1: no line of the template makes"):
            apply(other, {(name, before_, "O"): 1.0}, folder)


def test_names_in_other_encodings(folder):
    """A dump shows bytes that are no UTF-8 with backslashes. New names may have such bytes as they are."""
    other = foreign.load(WAPITI.replace(b"u0:the", b"u0:\xe9he"))
    other.dump(folder / "dump")
    assert edited(other, folder / "dump").dump() == other.dump()
    (folder / "line").write_bytes(b"u0:\xe8\t#\tO\t8\n")
    new = edited(other, folder / "line")
    (folder / "line").write_bytes(b"u0:\xe9he\t#\tO\t8\n")  # and known ones, too
    assert weights_of(edited(other, folder / "line")) == {**weights_of(other), ("u0:\\xe9he", None, "O"): 8.0}
    assert [name for name, *_ in new.features_in_bytes() if name == b"u0:\xe8"] and "u0:\\\\xe8\t#\tO\t8\n" in new.dump()


@cache
def short_model(algorithm):
    """A model of every line of a shipped template, for few sentences."""
    return crfkit.learn(sentences("ner", "train")[:25], ROOT / "templates/ner.txt", algorithm, **limit(algorithm, 2))


@pytest.mark.parametrize("algorithm", ["lbfgs", "lookahead"])
@pytest.mark.parametrize("form", ["float32", "float16", "int8"])
def test_the_dump_of_a_model_is_the_model(folder, algorithm, form):
    """Written back as it is, or with one line changed."""
    trained = short_model(algorithm).quantised(form)
    trained.dump(folder / "dump")
    again = edited(trained, folder / "dump")
    assert weights_of(again) == weights_of(trained) and {**trained.header, **counts(again)} == again.header
    lines = again.dump().splitlines(keepends=True)
    assert form == "int8" or (bytes(again.weights) == bytes(trained.weights) and "".join(lines) == trained.dump())
    changed_line = lines[0].rsplit("\t", 1)[0] + "\t1.5\n"
    (folder / "line").write_text(changed_line)
    assert edited(again, folder / "line").dump() == "".join([changed_line, *lines[1:]])


def test_the_dump_of_a_model_of_tiny_values_is_the_model(folder):
    """Its weights are large, and its scores are not."""
    rows = [[({"c": 1.0, "a": 3e-12}, "A"), ({"c": 1.0, "b": 2e-12}, "B")], [({"b": 3e-12}, "B"), ({"a": 2e-12}, "A")]]
    trained = crfkit.learn(rows, format="crfsuite", l2=1e-30)
    trained.dump(folder / "dump")
    assert max(weights_of(trained).values()) > 1e12 and bytes(edited(trained, folder / "dump").weights) == bytes(trained.weights)


def test_labels_before_the_last_one(folder):
    """Features with history keep their labels; a model that decides label by label takes no new ones."""
    template = "U:%x[0,0]\nU1:%y[-1]/%y[-2]\nT:%x[0,0]\nB\n"
    text = [[["a", "X Y"], ["b", "_B-1"], ["a", "#"], ["b", "X Y"]] for _ in range(3)]
    trained = crfkit.learn(text, template, "lookahead", passes=3)
    changes = {feature: 1.0 + number for number, feature in enumerate(weights_of(trained))}
    assert any(isinstance(before, tuple) for _, before, _ in changes)
    assert weights_of(apply(trained, changes, folder)) == changes
    assert weights_of(apply(trained, {("U:new", None, "#"): 9.0, ("T:new", ("#", "#"), "#"): 0.0}, folder)) == {**weights_of(trained), ("U:new", None, "#"): 9.0}
    (folder / "pair").write_text("*\t# _B-1\tX Y\t1\n")
    with pytest.raises(crfkit.errors.DataError, match="pair:1: expected a previous label, found # _B-1: the features of"):
        edited(trained, folder / "pair")
    assert weights_of(apply(trained, {("T:a", ("_B-1", -2), "#"): 0.0}, folder)) == weights_of(trained)
    for feature in ("T:a", ("_B-1", "_B-1"), "_B-1"), ("T:new", ("#", "X Y"), "#"):
        if feature not in changes:
            with pytest.raises(crfkit.errors.DataError, match=r"edits:1: the model has no such feature, and a model that decides"):
                apply(trained, {feature: 1.0}, folder)


def test_features_whose_weights_single_bytes_made_zero(folder):
    """They are in the model, which may get other weights for them, also with previous labels where it takes no new ones."""
    rng = random.Random(5)
    text = [[[str(rng.randrange(40)), rng.choice("ABC")] for _ in range(9)] for _ in range(100)]
    options = {"template": "U:%x[0,0]\nB:%x[0,0]\n", "algorithm": "lookahead", "passes": 3}
    small = crfkit.learn(text, **options, weights="int8")
    feature = min({key for key in weights_of(crfkit.learn(text, **options)) if key[1]} - set(weights_of(small)))
    assert weights_of(apply(small, {feature: 4.0}, folder))[feature] == 4.0


def test_two_labels_that_look_like_one(folder):
    """As one label before that has a blank, unless the feature looks two labels back."""
    labels = ["X", "Y", "X Y"]
    text = [[["a", label] for label in (first, second, third)] for first in labels for second in labels for third in labels]
    trained = crfkit.learn(text, "U:%x[0,0]\nU1:%y[-1]\nT\nB1:%x[0,0]\nB\n", "lookahead", passes=3)
    changes = {feature: 1.0 + number for number, feature in enumerate(weights_of(trained))}
    assert {(name, before) for name, before, _ in changes} >= {(None, "X Y"), ("U1:%y[-1]", "X Y"), ("B1:a", "X Y"), ("T", ("X", "Y"))}
    assert weights_of(apply(trained, changes, folder)) == changes


@pytest.fixture
def files(tmp_path):
    tiny("cells").save("cells.model")
    tiny("items").save("items.model")
    (tmp_path / "edits").write_text("U0:new\t#\tB-X\t2.5\n\n*\t\\*\tB-X\t0\r\n")


def test_files(files):
    """Through the command, with options of convert, and in another format."""
    command("convert", "--edit", "edits", "cells.model", "new.model")
    expected = changed(weights_of(tiny("cells")), {("U0:new", None, "B-X"): 2.5, (None, "*", "B-X"): 0.0})
    assert weights_of(foreign.load("new.model")) == expected
    command("convert", "--edit", "edits", "--to", "crfpp", "cells.model", "new.crfpp")
    assert weights_of(foreign.load("new.crfpp")) == expected
    command("convert", "--edit", "edits", "--weights", "float16", "new.crfpp", "half.model")
    command("convert", "--edit", "edits", "half.model", "again.model")
    assert [precision_of(foreign.load(name)) for name in ("new.model", "half.model", "again.model")] == ["float32", "float16", "float16"]
    assert weights_of(foreign.load("again.model")) == expected


def test_digits_of_small_models(files, tmp_path):
    """The edits are rounded once, and only where the new file holds fewer digits."""
    tiny("cells").quantised("int8").save("small.model")
    (tmp_path / "edits").write_text("U0:a\t#\tB-X\t0.123456789\n")
    edit = ("convert", "--edit", "edits", "small.model", "new.model")
    for arguments in ([], ["--weights", "float32"], ["--weights", "float16"], ["--to", "crfpp"]):
        command(*edit, *arguments)
        form = "int8" if not arguments else arguments[-1] if "--weights" in arguments else "float32"
        expected = edited(foreign.load("small.model"), "edits").quantised(form)
        assert weights_of(foreign.load("new.model")) == weights_of(expected)
        assert precision_of(foreign.load("new.model")) == form


def test_columns_by_name(files, tmp_path):
    """The names of columns, the column of labels and the format stay."""
    words = "".join(f"{n}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for n, (word, tag) in enumerate(zip("aba", "XYX", strict=True), 1)) + "\n"
    write(data=words, template="U:%x[0,form]\nB\n")
    command("learn", "-q", "--format", "conllu", "--label", "upos", "template", "data", "model")
    (tmp_path / "edits").write_text("U:a\t#\tY\t90\nU:c\t#\tX\t90\n")
    command("convert", "--edit", "edits", "model", "new")
    old, new = foreign.load("model"), foreign.load("new")
    assert new.header == {**old.header, **counts(new)} and new.header["label_column"] is not None
    assert [line.split("\t")[-1] for line in command("tag", "new", "data").stdout.splitlines() if line] == ["Y", "X", "Y"]  # the pairs were learned


@pytest.mark.parametrize(("line", "reason"), [
    ("U0:a\t#\tB-X", "found 3 fields, expected four with tabs between, as crfkit dump --layout crfkit prints them: attribute, previous label or #, label, weight"),
    ("U0:a # B-X 1", "found 1 field, expected four with tabs between, as crfkit dump --layout crfkit prints them: attribute, previous label or #, label, weight"),
    ("U0:a\t#\tB-Y\t1", "the model has no label 'B-Y'; did you mean B-X?"),
    ("B0:a\tQQQ\tB-X\t1", "the model has no label 'QQQ'"),
    ("U0:a\t#\tB-X\tmuch", "expected a weight, found 'much'"),
    ("U0:a\t#\tB-X\t1_0", "expected a weight, found '1_0'"),
    ("U0:a\t#\tB-X\t-inf", "expected a weight, found '-inf'"),
    ("U0:a\t#\tB-X\t1e39", "the weight 1e39 is beyond 3.4e38, the most that single precision holds"),
    ("*\t#\tB-X\t1", "expected a previous label, found #: the features of * are pairs of labels"),
    ("U0:\\x\t#\tB-X\t1", "'\\\\x' stands for nothing: a backslash is written \\\\"),
    ("U0:a\t#\tB-X\t1\nU0:b\t#\tB-X\t1\nU0:a\t#\tB-X\t0", "line 1 has a weight for this feature already"),
    ("U7:a\t#\tB-X\t0", "no line of the template makes 'U7:a' without a previous label"),
    ("U0:a\t\\#\tB-X\t1", "no line of the template makes 'U0:a' with a previous label"),
    ("B\t\\#\tB-X\t1", "no line of the template makes 'B' with a previous label"),
])
def test_what_is_wrong_with_a_line(files, tmp_path, line, reason):
    (tmp_path / "edits").write_text(line)
    assert error("convert", "--edit", "edits", "cells.model", "new") == f"edits:{line.count(chr(10)) + 1}: {reason}"
    assert not (tmp_path / "new").exists()


def test_what_cannot_be_edited(files, tmp_path):
    (tmp_path / "pair").write_text("w\t\\#\tB-X\t1")
    assert error("convert", "--edit", "pair", "items.model", "new").startswith("pair:1: the model has no template, and its attributes no pairs of labels")
    assert "absent: cannot" in error("convert", "--edit", "absent", "items.model", "new")
    assert "edits" in error("convert", "--edit", "edits", "cells.model", "edits", code=2)
    tiny("no pairs").save("without.model")
    (tmp_path / "pair").write_text("*\t\\#\tB-X\t1")
    assert error("convert", "--edit", "pair", "without.model", "new") == "pair:1: the template has no line B, which makes plain pairs of labels"
    rows = [[["1", "a", *"____", "0", *"___"], ["2", "b", *"____", "1", *"___"]]]
    crfkit.learn(rows, "P:%x[s0,form]/%x[q0,form]\n", "lookahead", format="conllu").save("parser")
    assert error("convert", "--edit", "edits", "parser", "new").startswith("parser: is a parser")


def test_values_that_no_transform_makes(folder):
    """Such features would never fire: prefixes that are too long, upper case where all is lower case."""
    trained = tiny("macros")
    for name in ("U0:A", "U1:ab/c", "U1:a/bcd", "U2:a", "U3:xx/a", "U3:x/1", "U4:maybe", "U6:no/a", "B7:a"):
        with pytest.raises(crfkit.errors.DataError, match="no line of the template makes"):
            apply(trained, {(name, None, "#"): 1.0}, folder)


@pytest.mark.parametrize("algorithm", ["lbfgs", "lookahead"])
def test_a_large_model_keeps_its_labels(folder, algorithm):
    """Where no edited feature fires: attributes from all kinds of lines, and cells of other words that share parts with the new ones."""
    trained = model("ner", algorithm)
    changes = {("U02:Zzyzx", None, "B-LOC"): 90.0, ("U05:Zzyzx/Mill", None, "B-ORG"): -3.0, ("U24:Xx/Xx-x/Xx", None, "O"): 1.0, ("U35:zyzx", None, "O"): 1.0}
    new = apply(trained, changes, folder)
    tagger, other = trained.tagger(), new.tagger()
    for sentence in sentences("ner")[:60]:
        rows = [row[:-1] for row in sentence]
        assert other.tag(rows) == tagger.tag(rows)
    assert other.tag([["Zzyzx", "NNP"]]) == ["B-LOC"]
