"""What may be tagged from Python: rows that do not fit, arrays, iterators, labels."""

import re

import numpy
import pytest
from liars import liar
from models import ROOT, model

import crfkit
from crfkit.errors import DataError, OptionError
from crfkit.tagging import Tagger


@pytest.mark.parametrize(("rows", "message"), [
    ([["a"]], "found 1 column, expected 2 or more: line .* of the model's template has %x"),
    ([["a", "b"], ["a"]], "sentence 1, token 2: found 1 column, expected 2"),
    ([["a", 3]], "sentence 1, token 1: found int 3, expected a str"),
    (["ab"], "sentence 1, token 1: found str 'ab', expected a list of columns"),
    ([[]], "sentence 1, token 1: found 0 columns"),
    ([["a", "\ud800"]], "text that UTF-8 can encode"),
    ([{"word": "the", "pos": "DT"}], "sentence 1, token 1: found dict .*, expected a list of columns"),
    ([{"the", "DT"}], "sentence 1, token 1: found set .*, expected a list of columns"),
    (None, "found None, expected a sentence"),
    (numpy.array(3), r"found array\(3\), expected a sentence"),
    ("the dog", "found 'the dog', expected a sentence"),
])
def test_rows_that_do_not_fit(rows, message):
    tagger = Tagger(model("chunking"))
    for ask in (tagger.tag, tagger.marginals, lambda rows: tagger.tag_many([rows]), lambda rows: tagger.nbest(rows, 2)):
        with pytest.raises(DataError, match=message):
            ask(rows)
    assert tagger.tag([["a", "DT"]]) == tagger.tag([["a", "DT", "B-NP", "more"]])


def test_arrays_and_iterators_are_as_good_as_lists():
    tagger = Tagger(model("chunking"))
    rows = [["the", "DT"], ["old", "JJ"], ["dog", "NN"]]
    labels = tagger.tag(rows)
    for kinds in (numpy.array, lambda found: numpy.array(found, object), iter):
        assert tagger.tag(kinds(rows)) == labels
        assert tagger.tag(kinds(rows), posterior=True) == tagger.tag(rows, posterior=True)
        assert tagger.nbest(kinds(rows), numpy.int64(2)) == tagger.nbest(rows, 2)
        assert (tagger.marginals(kinds(rows)) == tagger.marginals(rows)).all()
        assert (tagger.edge_marginals(kinds(rows)) == tagger.edge_marginals(rows)).all()
        assert tagger.probability(kinds(rows), kinds(labels)) == tagger.probability(rows, labels)
        assert tagger.score(kinds(rows), kinds(labels)) == tagger.score(rows, labels)
        assert tagger.tag(kinds(rows), allowed=kinds([None, "O", None])) == tagger.tag(rows, allowed=[None, "O", None])
        assert tagger.tag_many(iter([kinds(rows), kinds(rows[:2])])) == tagger.tag_many([rows, rows[:2]])


@pytest.mark.parametrize("told", [0, 1, 2, 4, 1000])
def test_what_tells_another_length_than_it_has(told):
    tagger, rows = Tagger(model("chunking")), [["the", "DT"], ["old", "JJ"], ["dog", "NN"]]
    labels, allowed = tagger.tag(rows), [None, ["O", "B-NP"], None]

    def odd(items):
        return liar(told, items)

    strange = odd([odd(row) for row in rows])
    assert tagger.tag(strange) == labels
    assert tagger.tag(strange, allowed=odd([None, odd(["O", "B-NP"]), None])) == tagger.tag(rows, allowed=allowed)
    assert tagger.tag_many(odd([strange, rows[:1], strange])) == [labels, tagger.tag(rows[:1]), labels]
    assert tagger.nbest(strange, 3) == tagger.nbest(rows, 3)
    assert (tagger.marginals(strange) == tagger.marginals(rows)).all()
    assert (tagger.edge_marginals(strange) == tagger.edge_marginals(rows)).all()
    assert tagger.probability(strange, odd(labels)) == tagger.probability(rows, labels)
    assert tagger.score(strange, odd(labels)) == tagger.score(rows, labels)
    assert tagger.tag_with_gold([odd([odd([*row, "O"]) for row in rows])]) == ([["O"] * 3], [labels])
    with pytest.raises(DataError, match=r"^sentence 1, token 1: found Table '.*, expected a list of columns$"):
        tagger.tag([type("Table", (), {"ndim": 2, "__iter__": lambda self: iter("xyz"), "__repr__": lambda self: "'x\\ny'"})()])


@pytest.mark.parametrize("threads", [-1, "2", True, None])
def test_threads_that_are_no_number(threads):
    tagger = Tagger(model("chunking"))
    for ask in (lambda: tagger.tag_many([], threads), lambda: tagger.tag_with_gold([], threads)):
        with pytest.raises(OptionError, match="threads: expected a whole number of at least 0"):
            ask()


def test_labels_that_do_not_fit():
    tagger = Tagger(model("chunking"))
    rows = [["the", "DT"], ["dog", "NN"]]
    for labels, message in (
        (["B-NP"], "found 1 label, expected 2"), (numpy.array(3), r"found array\(3\), expected "), ("OO", "found 'OO', expected labels"),
        (["B-NP", "B-XX"], "token 2: the model has no label 'B-XX'"), ([1, 2], "token 1: found int 1"),
    ):
        for ask in (tagger.probability, tagger.score):
            with pytest.raises(DataError, match=message):
                ask(rows, labels)
    with pytest.raises(DataError, match="allowed: found 1 entry, expected 2"):
        tagger.tag(rows, allowed=[None])
    with pytest.raises(OptionError, match=r"^n: expected a whole number from 1 to 2147483647, found 2147483648$"):
        tagger.nbest(rows, 2**31)
    for n in (0, -1, 1.5, True):
        with pytest.raises(OptionError, match="expected a whole number of at least 1"):
            tagger.nbest(rows, n)


def test_empty_sentence():
    tagger = Tagger(model("chunking"))
    labels = len(tagger.labels)
    assert (tagger.tag([]), tagger.nbest([], 3), tagger.probability([], [])) == ([], [(1.0, [])], 1.0)
    assert tagger.marginals([]).shape == (0, labels)
    assert tagger.edge_marginals([]).shape == tagger.edge_marginals([["a", "DT"]]).shape == (0, labels, labels)


def test_cells_may_hold_anything():
    assert len(Tagger(model("chunking")).tag([["a\tb\n\0", ""], ["", " "]])) == 2


def test_attribute_lines():
    tagger = Tagger(model("reals"))
    lines = (ROOT / "data/reals.test.txt").read_text().strip().split("\n\n")
    rows = []
    for line in lines:
        fields = [field.replace("\\:", "\0").rpartition(":") for field in line.strip().split("\t")[1:]]
        rows.append([{(name or value).replace("\0", ":"): float(value) if name else 1.0 for name, _, value in fields}])
    gold, predicted = tagger.tag_with_gold(ROOT / "data/reals.test.txt")
    assert tagger.tag_many(rows) == predicted
    assert tagger.tag_many([[], rows[0], []]) == [[], predicted[0], []]
    assert tagger.tag([list(rows[0][0].items())]) == predicted[0]
    assert tagger.marginals([[]]).sum() == pytest.approx(1)
    assert crfkit.evaluate(gold, predicted, scheme="none").accuracy > 0.7
    for bad, message in (
        ([["x", ("y",)]], "a name, or a pair"),
        ([{"x": float("inf")}], "a finite value of 'x'"),
        ([{3: 1}], "the name of an attribute"),
        ([""], "a list of attributes"),
        ([[("x", "z")]], "a name, or a pair"),
    ):
        with pytest.raises(DataError, match=message):
            tagger.tag(bad)


def test_items_without_order_are_no_sentence():
    """Not even where their names could be characters."""
    tagger = crfkit.learn([[({"w": "a"}, "A"), ({"w": "b"}, "B")]], format="crfsuite", max_iter=2).tagger()
    for sentence in ({"w": "a"}, {"w"}, frozenset("ab"), {"a": 1, "b": 2}.keys()):
        with pytest.raises(DataError, match=r"sentence 1: found .*, expected a sentence: a list of rows"):
            tagger.tag_many([sentence] * 2)
        with pytest.raises(DataError, match=r"found .*, expected a sentence: a list of rows"):
            tagger.tag(sentence)


class Lookup:
    """Answers to some keys; nobody knows how many there are."""

    def __getitem__(self, key):
        return {"w": "a"}[key]


@pytest.mark.parametrize("value", [Lookup(), re.match("a", "a")])
def test_what_has_no_length_has_no_indexes(value):
    tagger = crfkit.learn([[({"w": "a"}, "A"), ({"w": "b"}, "B")]], format="crfsuite", max_iter=2).tagger()
    with pytest.raises(DataError, match=r"found .*, expected a sentence: a list of rows"):
        tagger.tag(value)
    with pytest.raises(DataError, match=r"token 1: found .*, expected a list of attributes"):
        tagger.tag([value])
