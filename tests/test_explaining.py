"""Why a token got its label: rivals against enumeration of all labellings, and reasons against the features of the two."""

import array
import pickle
import random
from functools import cache
from itertools import pairwise, product
from math import inf

import pytest
from commands import memory_promised
from hypothesis import given
from hypothesis import strategies as st
from models import attributes, model, sentences

import crfkit
from crfkit import foreign
from crfkit.decode.decoder import Decoder
from crfkit.decode.sentence import OneSentence
from crfkit.errors import OptionError, UnsupportedError
from crfkit.explaining import Explanation, Reason
from crfkit.features.indexing import IndexBuilder
from crfkit.foreign import model_bytes
from crfkit.model import Model
from crfkit.tagging import Tagger
from crfkit.weights.layout import Layout

TEMPLATES = {
    "pairs": "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB\n",
    "rich": "U0:%x[0,0]\nB0:%x[0,0]\nB1:%x[-1,0]/%x[0,0]\nB2:%x[1,0]\nB\n",
    "no pairs": "U0:%x[0,0]\nB0:%x[1,0]\n",
    "single": "U0:%x[0,0]\nU1:%x[1,0]\n",
}
WORDS = "abc"
MANY = 1 << 20  # reasons: all there are
CLOSE = 1e-9


@cache
def tiny(kind, labels, whole, seed):
    """A model of few labels, all of whose features have weights drawn at random: whole numbers tie."""
    rng = random.Random(seed)
    names = ["#", "*", "B-X", "I-X"][:labels]
    texts = [[[rng.choice(WORDS), label] for label in rng.choices(names, k=5)] for _ in range(40)]
    if kind == "items":
        rows = [[({"w": 0.5, word: rng.choice([1.0, 2.5, -3.0])}, label) for word, label in text] for text in texts]
        trained = crfkit.learn(rows, format="crfsuite", algorithm="perceptron", passes=1, average=False)
    else:
        trained = crfkit.learn(texts, TEMPLATES[kind], "perceptron", passes=1, average=False, features="all")
    return reweighted(trained, (lambda: rng.randint(-2, 2)) if whole else lambda: rng.gauss(0, 2))


def reweighted(trained, draw):
    weights = array.array("f", [draw() if weight else 0 for weight in trained.weights])
    return Model(trained.header, {**trained.sections, "weights": weights})


class Oracle:
    """All labellings of a sentence that `may` allows, with their scores, and the features of each."""

    def __init__(self, trained, rows, may=lambda path: True, bias=None):
        self.bias = bias
        self.weights = {(name, previous, label): weight for name, previous, label, weight in trained.features()}
        self.tokens = list(attributes(trained, rows))
        paths = filter(may, product(trained.labels, repeat=len(rows)))
        self.scores = {path: sum(score for *_, score in self.fired(path)) for path in paths}

    def fired(self, path):
        """(position, name, previous label, label, score), in an order that does not depend on the labels."""
        for t, (unigrams, bigrams) in enumerate(self.tokens):
            for name, value in unigrams:
                yield t, name, None, path[t], value * self.weights.get((name, None, path[t]), 0.0)
            if self.bias is not None:
                yield t, None, None, path[t], self.bias.get(path[t], 0.0)
            for name, value in bigrams:
                yield t, name, path[t - 1], path[t], value * self.weights.get((name, path[t - 1], path[t]), 0.0)

    def reasons(self, best, rival, t):
        both = zip(self.fired(best), self.fired(rival), strict=True)
        found = [Reason(u - t, name, *chosen, *other) for (u, name, *chosen), (_, _, *other) in both if chosen[2] != other[2]]
        return sorted(found, key=lambda reason: -abs(reason.says))

    def check(self, path, t, found, some):
        """What is said of a token of the best labelling: with all reasons, and with at most n in `some`, of (n, explanation)."""
        best = self.scores[path]
        rivals = {other: score for other, score in self.scores.items() if other[t] != path[t]}
        if not rivals:
            assert all(of == Explanation(path[t], None, inf, 0, 0, [], 0, 0.0) for of in (found, *(of for _, of in some)))
            return
        lead = pytest.approx(best - max(rivals.values()), abs=CLOSE)
        assert found.label == path[t] and found.lead == lead and found.lead >= 0
        assert sum(reason.says for reason in found.reasons) == lead
        assert sizes(found) == sorted(sizes(found), reverse=True) and (found.others, found.rest) == (0, 0.0)
        fitting = [
            other
            for other, score in rivals.items()
            if other[t] == found.rival
            and best - score == lead
            and [u - t for u in range(len(path)) if other[u] != path[u]] == [*range(found.first, found.last + 1)]
        ]
        assert any(sorted(map(repr, self.reasons(path, other, t))) == sorted(map(repr, found.reasons)) for other in fitting)
        for n, of in some:
            assert of[:5] == found[:5] and {*of.reasons} <= {*found.reasons}
            assert sizes(of) == sizes(found)[:n] and of.others == len(found.reasons[n:])
            assert sum(reason.says for reason in of.reasons) + of.rest == lead


def sizes(found):
    """How much each reason says, whatever for."""
    return [abs(reason.says) for reason in found.reasons]


def check(tagger, oracle, rows, allowed=None):
    path = tuple(tagger.tag(rows, allowed=allowed))
    assert oracle.scores[path] == pytest.approx(max(oracle.scores.values()), abs=CLOSE)
    some = [[(n, found) for found in tagger.explain(rows, n, allowed=allowed)] for n in (1, 2, 5)]
    for t, found in enumerate(tagger.explain(rows, MANY, allowed=allowed)):
        oracle.check(path, t, found, [of[t] for of in some])


@st.composite
def cases(draw):
    kind, labels = draw(st.sampled_from([*TEMPLATES, "items"])), draw(st.integers(2, 4))
    trained = tiny(kind, labels, draw(st.booleans()), draw(st.integers(0, 5)))
    length = draw(st.integers(1, 6 if labels < 4 else 5))
    if kind == "items":
        row = st.dictionaries(st.sampled_from([*WORDS, "w", "unknown"]), st.sampled_from([1.0, -2.0, 0.5, 0.0]), max_size=3)
    else:
        row = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=1)
    return trained, draw(st.lists(row, min_size=length, max_size=length))


@given(cases())
def test_rivals_and_reasons_agree_with_enumeration(case):
    trained, rows = case
    check(trained.tagger(), Oracle(trained, rows), rows)


@given(cases(), st.data())
def test_the_bias_of_a_label_is_a_reason(case, data):
    trained, rows = case
    bias = data.draw(st.dictionaries(st.sampled_from(trained.labels), st.sampled_from([-2.5, 0.0, 0.25, 3.0])))
    check(trained.tagger(bias=bias), Oracle(trained, rows, bias=bias), rows)


@given(cases(), st.randoms(use_true_random=False))
def test_only_labellings_that_are_allowed_count(case, rng):
    """Pairs, first and last labels by constraints, and labels of single tokens; where nothing else is allowed there is no rival."""
    trained, rows = case
    labels = trained.labels
    pairs = {(first, second) for first in labels for second in labels if rng.random() < 0.7}
    starts, ends = ({label for label in labels if rng.random() < 0.8} for _ in range(2))
    allowed = [rng.choice([None, None, rng.choice(labels), rng.sample(labels, rng.randint(1, len(labels)))]) for _ in rows]

    def may(path):
        fits = (choice is None or label == choice or (isinstance(choice, list) and label in choice) for label, choice in zip(path, allowed, strict=True))
        return all(fits) and path[0] in starts and path[-1] in ends and all(pair in pairs for pair in pairwise(path))

    oracle = Oracle(trained, rows, may)
    if oracle.scores and pairs:
        limits = [*pairs, *(("<start>", label) for label in starts), *((label, "<end>") for label in ends)]
        check(Tagger(trained, limits), oracle, rows, allowed)


def test_labels_that_tie_do_not_change():
    trained = tiny("single", 3, False, 0)
    assert [found[2:] for found in trained.tagger().explain([["unknown"]] * 4)[:3]] == [(0.0, 0, 0, [], 0, 0.0)] * 3


def check_by_search(tagger, rows, top=3):
    """Against the best labelling without the label of the token, one search for each token."""
    path, score = tagger.tag(rows), tagger.score(rows, tagger.tag(rows))
    for t, found in enumerate(tagger.explain(rows, top)):
        assert found.label == path[t] and len(found.reasons) <= top
        if found.rival is None:
            continue
        others = [None] * t + [[label for label in tagger.labels if label != path[t]]] + [None] * (len(path) - t - 1)
        rival = tagger.tag(rows, allowed=others)
        close = dict(rel=1e-9, abs=1e-9 * max(1, abs(score)))
        assert found.lead == pytest.approx(score - tagger.score(rows, rival), **close)
        assert sum(reason.says for reason in found.reasons) + found.rest == pytest.approx(found.lead, **close)
        if found.rival == rival[t]:
            differing = [u - t for u, pair in enumerate(zip(path, rival, strict=True)) if pair[0] != pair[1]]
            assert (found.first, found.last) == (differing[0], differing[-1])


def test_steps_as_lists_and_as_matrices():
    """Many labels, of which few pairs have a weight; more of them with the attributes of some tokens."""
    rng = random.Random(4)
    names = [f"L{number:02}" for number in range(60)]
    texts = [[[rng.choice("abcdefgh"), name] for name in rng.sample(names, 6)] for _ in range(12)]
    texts += [[["i", name]] for name in names]
    for template in ("U:%x[0,0]\nB\n", "U:%x[0,0]\nB\nB0:%x[0,0]\n"):
        trained = reweighted(crfkit.learn(texts, template, "perceptron", passes=1), lambda: rng.gauss(0, 3))
        for length in (1, 2, 5, 30):
            check_by_search(trained.tagger(), [[rng.choice("abcdefghi")] for _ in range(length)])


@given(cases())
def test_lists_say_what_matrices_say(case):
    """To the last bit, as a maximum does not round: also where all labels that may follow one are on the list, or the best ones are."""
    trained, rows = case

    def said(recursions):
        scratch = OneSentence(Decoder(trained.index, trained.layout, trained.weights, trained.labels, recursions=recursions), form=trained.header["format"])
        scratch.read(rows)
        return scratch.explain(MANY)

    assert said("sparse") == said("dense")


@memory_promised
def test_the_time_does_not_grow_with_pairs_of_labels_that_have_no_weight():
    """With 65,000 labels, to look at each pair would be two hundred thousand million steps."""
    n = 65_000
    layout = Layout(n, False, 0, array.array("q", [0]), array.array("H"), array.array("q", [0]), array.array("H"), array.array("H"))
    bias = array.array("d", [j / n for j in range(n)])
    names = [f"L{j}" for j in range(n)]
    scratch = OneSentence(Decoder(IndexBuilder(None, crfsuite=True), layout, array.array("f"), names, bias=bias))
    scratch.read([["a"]] * 50)
    assert [found[:5] for found in scratch.explain(1)] == [(n - 1, n - 2, pytest.approx(1 / n), 0, 0)] * 50


@pytest.mark.parametrize("limits", [None, [("H", "H"), ("H", "B"), ("B", "B"), ("B", "F"), ("F", "F"), ("<start>", "H")]])
def test_rivals_that_differ_over_long_parts(limits):
    """Where no label can come back, a token takes all that are between it and the next border with it."""
    rng = random.Random(7)
    texts = [[[rng.choice(WORDS) + (label if rng.random() < 0.4 else ""), label] for label in "H" * 8 + "B" * 12 + "F" * 6] for _ in range(20)]
    trained = crfkit.learn(texts, "U0:%x[0,0]\nU1:%x[-1,0]\nB\nB0:%x[0,0]\n", "sgd", passes=3)
    tagger, rows = Tagger(trained, limits), [row[:1] for row in [*texts[0], *texts[1][8:], *texts[2][20:]]]
    for top in (1, 4, MANY):
        check_by_search(tagger, rows, top)
    if limits:
        assert max(found.last - found.first for found in tagger.explain(rows)) > 10


def test_the_time_grows_with_the_tokens():
    """20,000 tokens, whose rivals differ over thousands: followed one by one, these would be a hundred million steps."""
    trained = crfkit.learn([[["a", "X"], ["b", "Y"], ["a", "X"]], [["b", "Y"]]], "U:%x[0,0]\nB\n", max_iter=5)
    rows = [["a"]] * 20_000
    found = Tagger(trained, [("X", "X"), ("Y", "Y")]).explain(rows, 2)
    assert all((of.label, of.rival, of.first, of.last) == ("X", "Y", -t, 19_999 - t) for t, of in enumerate(found))
    assert {of.others for of in found} == {20_000 - 2}


@pytest.mark.long  # a gigabyte
def test_reasons_have_an_end():
    """A fault that says so, before the system runs out of memory and ends the program."""
    trained = crfkit.learn([[["a", "X"], ["b", "Y"]], [["a", "X"]]], "U:%x[0,0]\n", max_iter=5)
    with pytest.raises(MemoryError, match="more than a gigabyte: ask for fewer"):
        Tagger(trained, [("X", "X"), ("Y", "Y")]).explain([["a"]] * 10_000, MANY)


@pytest.mark.parametrize("corpus", ["chunking", "ner", "segmentation"])
def test_corpora(corpus):
    for text in sentences(corpus)[:4]:
        check_by_search(model(corpus).tagger(), [row[:-1] for row in text])


@pytest.mark.parametrize("to", ["crfpp", "crfpp-text", "crfsuite", "wapiti"])
def test_models_of_other_programs(to):
    """With their weights in single precision, and with exactly their weights."""
    if to == "crfsuite":
        trained, rows = tiny("items", 4, False, 1), [{"a": 0.3, "w": 1.0}, {"b": 1.0}, {"c": -2.0, "a": 1.0}]
    else:
        trained, rows = tiny("rich" if to != "wapiti" else "pairs", 3, False, 1), [[word] for word in "abacbb"]
    data = model_bytes(foreign.read(trained.to_bytes()), to)
    expected = trained.tagger().explain(rows, 3)
    for exact in (False, True):
        tagger = foreign.load(data, exact=exact).tagger()
        check_by_search(tagger, rows)
        assert [of[:2] for of in tagger.explain(rows, 3)] == [of[:2] for of in expected]
        assert [of.lead for of in tagger.explain(rows, 3)] == pytest.approx([of.lead for of in expected], abs=1e-5)


def test_weights_in_double_precision():
    """In single precision it would be off by 1e-9."""
    data = b"version: 100\ncost-factor: 1\nmaxid: 6\nxsize: 1\n\nX\nY\n\nU:%x[0,0]\nB\n\n0 U:a\n2 B\n\n0.1\n0.3\n0.7\n-0.1\n0.2\n0.9\n"
    (found,) = foreign.load(data, exact=True).tagger().explain([["a"]])
    assert (found.label, found.rival, found.lead) == ("Y", "X", pytest.approx(0.2, rel=1e-14))
    assert found.reasons[0].says == pytest.approx(0.2, rel=1e-14)


def test_large_scores():
    """Scores that labels have in common are taken away before labels are compared."""
    rows = [[({"a": 1.0}, "X"), ({"b": 1.0}, "Y")]] * 3
    trained = crfkit.learn(rows, format="crfsuite", algorithm="perceptron", passes=1)
    for found in trained.tagger().explain([{"a": 3e12, "b": 1.0}, {"b": 2e12, "a": -5.0}], MANY):
        assert sum(reason.says for reason in found.reasons) == pytest.approx(found.lead, rel=1e-12)


def test_what_is_refused():
    tagger, rows = model("chunking").tagger(), [["the", "DT"]]
    for top in (0, -1, 1.5, "3", None, True, 2**31):
        with pytest.raises(OptionError, match="top"):
            tagger.explain(rows, top)
    with pytest.raises(UnsupportedError, match="explain compares labellings of whole sentences, but a model trained by lookahead decides label by label"):
        model("chunking", "lookahead").tagger().explain(rows)
    with pytest.raises(ValueError, match="no reasons"):
        model("chunking", "lookahead").tagger().decoding.new_scratch().explain(1)
    scratch = tagger.decoding.new_scratch()
    assert isinstance(scratch, OneSentence) and scratch.explain(1) == []
    with pytest.raises(ValueError, match="no reasons"):
        scratch.explain(0)
    assert tagger.explain([]) == []


def test_questions_before_and_behind():
    """What was known of a sentence is not mixed up with it."""
    tagger, rows = model("chunking").tagger(), [row[:2] for row in sentences("chunking")[0]]
    with tagger.decoding.new_scratch() as scratch:
        scratch.read(rows)
        expected = scratch.marginals()
        scratch.explain(2)
        assert scratch.marginals() == expected
        assert scratch.best_labels() == tagger.tag(rows)


def test_copies_explain_too():
    tagger, rows = model("chunking").tagger(), [row[:2] for row in sentences("chunking")[0]]
    expected = tagger.explain(rows)
    assert pickle.loads(pickle.dumps(tagger)).explain(rows) == expected
    assert crfkit.load(model("chunking").to_bytes(), verify=False).explain(rows) == expected
    assert pickle.loads(pickle.dumps(expected)) == expected
