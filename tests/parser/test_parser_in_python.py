"""Parsers in the hands of Python programs: copies, subclasses, what is printed, what is refused."""

import copy
import io
import pickle
from contextlib import redirect_stderr

import pytest
from parser.test_parser import TEMPLATE, corpus

import crfkit
from crfkit.errors import CrfkitWarning, DataError
from crfkit.parser.model import Parser, ParserModel


def learned(**options):
    return crfkit.learn(corpus(5, 8), TEMPLATE, "lookahead", format="conllu", passes=2, depth=1, **options)


MODEL = learned(labels=True)


class OwnModel(ParserModel):
    pass


class OwnParser(Parser):
    pass


def test_copies_keep_the_class_and_what_it_adds():
    made = OwnModel(MODEL.header, MODEL.sections, "mine")
    made.note = ["kept"]
    parser = OwnParser(made)
    parser.threshold = 0.5
    rows = corpus(77, 1)[0]
    for again in (pickle.loads(pickle.dumps(parser)), copy.copy(parser), copy.deepcopy(parser)):
        assert (type(again), again.threshold, type(again.model), again.model.note, again.model.name) == (OwnParser, 0.5, OwnModel, ["kept"], "mine")
        assert repr(again) == repr(parser) and repr(parser).startswith("<OwnParser mine: depth 1")
        assert again.tag(rows) == parser.tag(rows)


def test_relations_are_counted_where_there_are_any():
    for options, said in (({}, "tokens, 9 lines; "), ({"labels": True}, f"tokens, {len(MODEL.header['relations'])} relations, ")):
        with redirect_stderr(io.StringIO()) as printed:
            learned(progress=True, **options)
        assert said in printed.getvalue() and ("relation" in printed.getvalue()) == bool(options)


def test_weights_that_are_all_zero_are_told():
    """Trees of one word leave nothing to learn. What is said of such a model is so."""
    with pytest.warns(CrfkitWarning, match=r"^all weights are zero: every word will depend on the last one of its sentence$"):
        model = crfkit.learn([[["1", "a", "_", "X", "X", "_", "0", "root", "_", "_"]]], TEMPLATE, "lookahead", format="conllu", passes=1)
    words = [[str(k), "a", *"_XX_____"] for k in range(1, 5)]
    assert model.tagger().tag(words) == [4, 4, 4, 0]


@pytest.mark.parametrize("given", [3, None, "text"])
def test_sentences_that_are_none(given):
    with pytest.raises(DataError, match=f"found {given!r}, expected sentences"):
        MODEL.tagger().tag_many(given)
