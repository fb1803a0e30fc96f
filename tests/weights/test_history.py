"""Models with history at work: labels against a walk of the whole tree over the model's list of features, both
directions, constraints, files."""

from __future__ import annotations

import array
import json
import random
from contextlib import suppress
from functools import cache
from itertools import product

import pytest
from commands import crfkit as run
from commands import error, write
from models import ROOT, sentences

import crfkit
from crfkit import modelfile
from crfkit.errors import DataError, ModelFileError, TemplateError
from crfkit.features.tables import Names
from crfkit.learning.corpus import read_corpus
from crfkit.learning.reader import Reader
from crfkit.model import Model, load
from crfkit.options import Run
from crfkit.tagging import Tagger
from crfkit.template.meaning import expand
from crfkit.template.parsing import Template

PLAIN = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nU2:%x[1,1]\nB"
TEMPLATES = {
    "pairs": PLAIN,
    "rich pairs": PLAIN + "\nB1:%x[0,1]",
    "last": PLAIN + "\nU3:%y[-1]\nU4:%y[-1]/%x[0,1]",
    "trigrams": PLAIN + "\nT",
    "rich trigrams": PLAIN + "\nT1:%x[0,1]\nT2:%x[1,1]",
    "both": "U0:%x[0,0]\nU1:%x[0,1]/%y[-1]/%y[-2]",
    "before": PLAIN + "\nU3:%y[-2]\nU4:%x[0,1]/%y[-2]\nT",
}


@cache
def trained(name: str, direction: str = "forward", depth: int = 1, features: str = "observed", corpus: str = "chunking") -> Model:
    """A small model: few sentences, few passes."""
    return crfkit.learn(
        sentences(corpus, "train")[:60], template=Template.parse(TEMPLATES[name]), algorithm="lookahead",
        direction=direction, depth=depth, features=features, passes=2, margin=1.0,
    )


class Oracle:
    """A model by its features: dictionaries of strings."""

    def __init__(self, model: Model):
        self.labels = model.labels
        self.backward = model.header["options"]["direction"] == "backward"
        self.depth = model.header["options"]["depth"]
        self.weights = {feature[:3]: feature[3] for feature in model.features()}
        # What a line looks at, its %y macros as text
        self.lines = [(line, Template.parse(line.text.replace("%y", "%%y")).lines[0]) for line in model.template.lines]

    def step(self, rows, done, label):
        """What a label adds after those done, in the order in which they were given."""
        k = len(done)
        t = len(rows) - 1 - k if self.backward else k
        last = done[k - 1] if k else -1
        pair = (done[k - 2] if k > 1 else k - 2, last)
        total = 0.0
        for line, plain in self.lines:
            text = expand(plain, rows, t)
            if text is None:
                continue
            contexts = {0: None, 1: last if k else (None, last), 2: (pair[0], None), 3: pair}[line.reach]
            if line.reach or "U" in line.kinds:
                total += self.weights.get((text, contexts, label), 0.0)
            if "B" in line.kinds and k:
                total += self.weights.get((text if line.macros else None, last, label), 0.0)
        return total

    def value(self, rows, done, label, depth, allowed):
        """The best score of a label and `depth` more."""
        own, now = self.step(rows, done, label), [*done, label]
        if depth == 0 or len(now) == len(rows):
            return own
        return own + max(self.value(rows, now, j, depth - 1, allowed) for j in allowed(now))

    def tag(self, rows, allowed=None):
        """One label after the other; `allowed` says which may come next."""
        allowed = allowed or (lambda done: self.labels)
        done = []
        while len(done) < len(rows):
            done.append(max(allowed(done), key=lambda j: self.value(rows, done, j, self.depth, allowed)))
        return done[::-1] if self.backward else done

    def score(self, rows, labels):
        order = labels[::-1] if self.backward else labels
        return sum(self.step(rows, order[:k], order[k]) for k in range(len(order)))


def short(k, length=5):
    return [row[:-1] for row in sentences("chunking")[k][:length]]


CASES = [(name, direction, depth) for name in TEMPLATES for direction, depth in (("forward", 0), ("forward", 2), ("backward", 1))]


@pytest.mark.long
@pytest.mark.parametrize(("name", "direction", "depth"), CASES)
def test_labels_are_those_of_the_whole_tree(name, direction, depth):
    model = trained(name, direction, depth)
    oracle, tagger = Oracle(model), crfkit.load(model.to_bytes())
    texts = [short(k) for k in (0, 3, 5, 8)] + [short(1, 1), short(2, 2)]
    expected = [oracle.tag(rows) for rows in texts]
    assert [tagger.tag(rows) for rows in texts] == expected
    assert tagger.tag_many(texts, threads=3) == expected
    assert crfkit.load(model.to_bytes(), verify=False).tag_many(texts) == expected
    rng = random.Random(1)
    for rows in texts:
        labels = [rng.choice(model.labels) for _ in rows]
        assert tagger.score(rows, labels) == pytest.approx(oracle.score(rows, labels), abs=1e-4)


def test_all_features_are_all_that_can_be_seen():
    model = trained("before", features="all")
    rows = short(0, 6)
    assert Tagger(model).tag(rows) == Oracle(model).tag(rows)
    train = sentences("chunking", "train")[:60]
    corpus = read_corpus(Reader(train, Template.parse("U:%x[0,0] @observed\nT @all\nU1:%y[-2] @all\nU2:%y[-1] @all"), Run(), direction="forward"))
    n = len(corpus.dataset.labels)
    assert corpus.layout.arrays()["b_ptr"][-1] == n * ((n * n + n + 1) + (n + 2) + (n + 1))


def test_features_are_those_seen_with_paddings_before_the_sentence():
    train = [[["a", "X"], ["b", "Y"], ["a", "X"]], [["b", "Y"]]]
    template = Template.parse("T\nT1:%x[0,0]\nU1:%x[0,0]/%y[-1]\nU2:%y[-2]")
    corpus = read_corpus(Reader(train, template, Run(), direction="forward"))
    layout, names = corpus.layout, list(Names(corpus.builder, True))
    x, y, one, two = 0, 1, 2, 3
    expected = {
        b"T": {(two, one, x), (one, x, y), (x, y, x), (two, one, y)},
        b"T1:a": {(two, one, x), (x, y, x)},
        b"T1:b": {(one, x, y), (two, one, y)},
        b"U1:a/%y[-1]": {(-1, one, x), (-1, y, x)},
        b"U1:b/%y[-1]": {(-1, x, y), (-1, one, y)},
        b"U2:%y[-2]": {(two, -1, x), (one, -1, y), (x, -1, x), (two, -1, y)},
    }
    every = list(product(range(-1, 4), range(-1, 3), range(2)))
    assert {name: {f for f in every if layout.rich_cell(a, *f) >= 0} for a, name in enumerate(names)} == expected


def test_percent_signs_do_not_pass_for_history():
    train = [[["a", "X"], ["b", "Y"], ["b", "X"]]]
    lines = "U1:%y[-1]%%y[-2]\nU1:%y[-1]%y[-2]\nU1:%%y[-1]%y[-2]\nU1:%%y[-1]%%y[-2]"
    corpus = read_corpus(Reader(train, Template.parse(lines), Run(), direction="forward"))
    assert sorted(Names(corpus.builder, True)) == [b"U1:%%y[-1]%y[-2]", b"U1:%y[-1]%%y[-2]", b"U1:%y[-1]%y[-2]"]
    assert list(Names(corpus.builder, False)) == [b"U1:%y[-1]%y[-2]"]


# Directions


@pytest.mark.parametrize("name", TEMPLATES)
def test_backward_is_forward_on_reversed_sentences(name):
    train = sentences("chunking", "train")[:60]
    mirrored = TEMPLATES[name].replace("[-1,", "[@,").replace("[1,", "[-1,").replace("[@,", "[1,")
    chosen = {"algorithm": "lookahead", "passes": 2, "depth": 2, "average": False, "margin": 2.0}
    backward = crfkit.learn(train, template=Template.parse(TEMPLATES[name]), direction="backward", **chosen)
    forward = crfkit.learn([rows[::-1] for rows in train], template=Template.parse(mirrored), **chosen)
    mirror = {(f[0] and f[0].replace("_B+1", "_B-1"), *f[1:3]): f[3] for f in forward.features()}
    assert {(f[0] and f[0].replace("_B+1", "_B-1"), *f[1:3]): f[3] for f in backward.features()} == mirror
    texts = [[row[:-1] for row in rows] for rows in sentences("chunking")[:20]]
    turned = Tagger(forward).tag_many([rows[::-1] for rows in texts])
    assert Tagger(backward).tag_many(texts) == [labels[::-1] for labels in turned]


# Learning


def test_weights_come_back_from_a_model():
    train, template = sentences("chunking", "train")[:60], Template.parse(TEMPLATES["before"])
    model = trained("before")
    corpus = read_corpus(Reader(train, template, Run(), direction="forward"))
    weights = corpus.weights_of(model)
    names = [list(Names(corpus.builder, bigram)) for bigram in (False, True)]
    found = {(kind, names[kind != "U"][a].decode() if a >= 0 else None, previous, label, weight)
             for kind, a, previous, label, weight in corpus.layout.features(weights)}
    assert len(found) == sum(1 for _ in model.features()) > 100
    assert {f[4] for f in found} == {f[3] for f in model.features()}
    again = crfkit.learn(train, template=template, algorithm="lookahead", init=model, passes=1, margin=0.0)
    assert again.header["features"] >= model.header["features"]


# Constraints


def feasible(labels, allowed, follow, starts, ends):
    """Which labels may come next, such that the sentence can still be finished."""

    def possible(done, label):
        t = len(done)
        if label not in allowed[t] or (t and not follow(done[-1], label)) or (not t and not starts(label)):
            return False
        return finishes((*done, label))

    @cache
    def end_of(t, label):
        if t == len(allowed) - 1:
            return ends(label)
        return any(j in allowed[t + 1] and follow(label, j) and end_of(t + 1, j) for j in labels)

    def finishes(done):
        return end_of(len(done) - 1, done[-1])

    return lambda done: [label for label in labels if possible(done, label)]


@pytest.mark.parametrize(("name", "direction", "depth"), [("pairs", "forward", 0), ("before", "forward", 2), ("both", "backward", 1)])
def test_constraints_and_allowed_labels(name, direction, depth):
    model = trained(name, direction, depth)
    oracle, free, tagger = Oracle(model), Tagger(model), Tagger(model, constraints="bio")
    assert any("I-NP" in model.labels and free.tag(short(k, 9)) != tagger.tag(short(k, 9)) for k in range(40))
    rng = random.Random(3)

    def sound(before, after):
        return not after.startswith("I-") or before[2:] == after[2:]

    for k in range(6):
        rows = short(k)
        allowed = [[*rng.sample(model.labels, 6), "O"] for _ in rows]
        order = allowed[::-1] if direction == "backward" else allowed
        step = (lambda a, b: sound(b, a)) if direction == "backward" else sound
        begins = [lambda label: not label.startswith("I-"), lambda label: True]
        starts, ends = begins[::-1] if direction == "backward" else begins
        expected = oracle.tag(rows, feasible(model.labels, order, step, starts, ends))
        assert tagger.tag(rows, allowed=allowed) == expected
        assert all(map(sound, ["O", *expected], expected))


def test_labels_that_constraints_would_lead_into_a_dead_end_are_not_chosen(tmp_path):
    # After X only X may stand, and the last token may not be X: X must not be chosen, however good it looks.
    train = [[["a", "X"], ["b", "X"], ["c", "X"]], [["d", "Y"], ["e", "Z"]]] * 3
    model = crfkit.learn(train, template=Template.parse("U:%x[0,0]\nB"), algorithm="lookahead", depth=0)
    (tmp_path / "pairs").write_text("X X\nY Y\nY Z\nZ Z\nZ Y\n")
    tagger = Tagger(model, constraints=tmp_path / "pairs")
    rows = [["a"], ["b"], ["c"]]
    assert Tagger(model).tag(rows) == ["X", "X", "X"]
    assert "X" not in tagger.tag(rows, allowed=[None, None, ["Y", "Z"]])
    with pytest.raises(DataError, match="leave no labels"):
        tagger.tag(rows, allowed=["X", None, "Y"])


# Errors and files


@pytest.mark.parametrize(("text", "message"), [
    ("U:%y[-3]", "t:1: '%y[-3]' is too far away"),
    ("U\nB:%y[-1]", "t:2: '%y[-1]' in a line that starts with B"),
    ("*:%y[-1]", "starts with *"),
    ("T:%y[-1]", "starts with T"),
])
def test_templates_that_are_refused(text, message):
    with pytest.raises(TemplateError) as found:
        Template.parse(text, "t")
    assert message in str(found.value)


@pytest.mark.parametrize("algorithm", ["lbfgs", "sgd", "adf", "sapo", "perceptron"])
@pytest.mark.parametrize(("line", "what"), [("T", "T lines see"), ("U1:%y[-1]", "%y macros see")])
def test_other_trainers_cannot_use_history(algorithm, line, what):
    write(template=f"U:%x[0,0]\n{line}\n", train="a X\nb Y\n\n")
    said = error("learn", "-a", algorithm, "template", "train", "model")
    assert said == f"template:2: {what} labels given before, which only the trainer lookahead can use"


def damaged(model, header=None, **changed):
    """The bytes of a model with other things in it; None takes a section away."""
    sections = {name: values for name, values in {**model.sections, **changed}.items() if values is not None}
    return modelfile.dumps({**model.header, **(header or {})}, sections)


def test_damaged_history_is_refused():
    model = trained("before")
    good = array.array("H", model.sections["layout.b_prev2"])
    n = len(model.labels)
    assert load(damaged(model)).header == model.header
    for place, value in ((0, n + 2), (0, 0xFFFE), (len(good) - 1, 0), (0, 0xFFFF)):
        bad = array.array("H", good)
        bad[place] = value
        data = damaged(model, **{"layout.b_prev2": bad})
        with pytest.raises(ModelFileError, match="layout"):
            load(data)
        with suppress(ModelFileError):  # found where it is used, or out of the way
            crfkit.load(data, verify=False).tag_many([short(k) for k in range(10)])
    for bad in (good[:-1], good + good[:1], array.array("H")):
        with pytest.raises(ModelFileError, match="different lengths"):
            load(damaged(model, **{"layout.b_prev2": bad}), verify=False)
    with pytest.raises(ModelFileError):
        load(damaged(model, **{"layout.b_prev2": None}))
    for options, message in (({"depth": -1}, "depth"), ({"depth": "1"}, "depth"), ({"depth": 1, "direction": "up"}, "direction"), ({}, "depth")):
        with pytest.raises(ModelFileError, match=message):
            load(damaged(model, {"options": options}), verify=False)
    with pytest.raises(ModelFileError, match="cannot use"):
        load(damaged(model, {"algorithm": "lbfgs"}), verify=False)
    with pytest.raises(ModelFileError, match=r"section 'layout\.b_prev2' is not possible in a model of sgd"):
        load(damaged(trained("rich pairs"), {"algorithm": "sgd"}, **{"layout.b_prev2": good}), verify=False)


def test_on_the_command_line(tmp_path):
    (tmp_path / "template").write_text(TEMPLATES["before"])
    train = ROOT / "data/chunking.train.txt"
    run("learn", "-a", "lookahead", "--depth", 2, "--direction", "backward", "--passes", 2, "template", train, "model")
    text = (ROOT / "data/chunking.test.txt").read_bytes()
    tagged = run("tag", "model", stdin=text).stdout_bytes
    assert tagged == run("tag", "--threads", 3, "model", stdin=text).stdout_bytes
    assert json.loads(run("eval", "--json", stdin=tagged).stdout)["accuracy"] > 0.95
    gold = run("tag", "--partial", "model", stdin=text).stdout
    assert all(len(set(line.split()[-2:])) == 1 for line in gold.splitlines() if line)
    dumped = {tuple(line.split("\t")[:2]) for line in run("dump", "model").stdout.splitlines()}
    assert {("T", "_B-2 _B-1"), ("T", "O B-NP"), ("U3:%y[-2]", "O #"), ("*", "O")} <= dumped
