"""Parsers in the hands of Python programs: copies, subclasses, what is printed, what is refused."""

import copy
import io
import pickle
import warnings
from contextlib import redirect_stderr
from threading import Barrier

import pytest
from parser.test_parser import TEMPLATE, corpus

import crfkit
from crfkit import parallel
from crfkit.errors import CrfkitWarning, DataError, OptionError, TemplateError
from crfkit.learning.judging import judge
from crfkit.learning.parser import Trees
from crfkit.learning.progress import Progress
from crfkit.parser.model import Parser, ParserModel
from crfkit.parser.search import Scratch
from crfkit.parser.statetables import StateTables
from crfkit.parser.trainer import ParserTrainer
from crfkit.parser.trees import check_ids
from crfkit.template.parsing import Template


def learned(**options):
    return crfkit.learn(corpus(5, 8), TEMPLATE, "lookahead", format="conllu", passes=2, depth=1, **options)


MODEL = learned(labels=True)


class OwnModel(ParserModel):
    pass


class OwnParser(Parser):
    pass


def test_parts_that_do_not_belong_together():
    trees = Trees(corpus(5, 2), Template.parse(TEMPLATE), False, Progress(quiet=True))
    other = Trees(corpus(5, 2), Template.parse("P:%=[s0,form,s1,upos]\n"), False, Progress(quiet=True))
    _, options, _ = judge("lookahead", {"format": "conllu"})
    for bank, template in ((trees.bank, other.template), (other.bank, trees.template)):
        with pytest.raises(ValueError, match="tables of another template"):
            ParserTrainer(bank, StateTables(template, 1), options)
    growing = ParserTrainer(trees.bank, StateTables(trees.template, 1), options).tables
    for taken in (growing, MODEL.tables):
        with pytest.raises(ValueError, match="in use"):
            ParserTrainer(trees.bank, taken, options)
        with pytest.raises(ValueError, match="in use"):
            taken.map({}, True, MODEL.sizes)
    index, tables, weights, used = MODEL.index, MODEL.tables, MODEL.weights, MODEL.index.plan.columns
    compared = MODEL.parts.compared
    Scratch(index, tables, weights, 0, used, compared, [], 0)
    for parts in (
        (index, tables, weights, 0, used, [*compared, 1]), (index, StateTables(other.template, 1), weights, 0, used, compared),
        (other.builder, tables, weights, 0, None, compared), (index, tables, weights[1:], 0, used, compared), (index, growing, weights[:0], 0, used, compared),
    ):
        with pytest.raises(ValueError, match="tables of another template, or not of a model, or other weights"):
            Scratch(*parts, [], 0)


@pytest.mark.parametrize(
    ("line", "message"), [("%x[s0,form]" * 17, "17 macros in a P line"), ("%x[s0.l9.l9.l9.l9,form]%x[s1.r9.r9.r9.r9,form]", "more than 64 places")]
)
def test_no_tables_beyond_the_limits_of_templates(line, message):
    """In which the search would write beyond its arrays."""
    with pytest.raises(TemplateError, match=message):
        StateTables(Template.parse(f"P:{line}\n", columns={"form": 1}), 1)


@pytest.mark.parametrize("relations", [-1, 0, 30_001])
def test_no_tables_without_actions_or_with_too_many(relations):
    """By none it would be divided, and more have no number."""
    with pytest.raises(ValueError, match=f"{relations} relations"):
        StateTables(Template.parse(TEMPLATE), relations)


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


def test_a_log_does_not_replace_the_parser_to_start_from(tmp_path):
    MODEL.save("m")
    for init in (crfkit.load("m"), crfkit.load("m").model):
        with pytest.raises(OptionError, match="log: m has another use here"):
            learned(init=init, log="m")
    assert (tmp_path / "m").read_bytes() == MODEL.to_bytes()


def test_relations_are_counted_where_there_are_any():
    for options, said in (({}, "tokens, 11 lines; "), ({"labels": True}, f"tokens, {len(MODEL.header['relations'])} relations, ")):
        with redirect_stderr(io.StringIO()) as printed:
            learned(progress=True, **options)
        assert said in printed.getvalue() and ("relation" in printed.getvalue()) == bool(options)


@pytest.mark.parametrize(("relations", "said"), [
    ("ab", None), ("axb", "one token of the development data has a relation that no training data have, 'x': it counts as wrong"),
    ("xyb", "2 tokens of the development data have relations that no training data have, such as 'x': they count as wrong")])
@pytest.mark.parametrize("labels", [True, False])
def test_relations_that_training_data_lack_are_mentioned(relations, said, labels):
    """Where the parser gives relations at all."""

    def tree(names):
        return [[[str(k), "w", *"_XX_", str(k - 1), name, "_", "_"] for k, name in enumerate(names, 1)]]

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        crfkit.learn(tree("aba"), TEMPLATE, "lookahead", format="conllu", passes=1, labels=labels, dev=tree(relations))
    assert [str(one.message) for one in heard] == ([said] if said and labels else [])


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


def test_two_long_sentences_are_parsed_at_once():
    both = Barrier(2)

    class Waiting(Parser):
        def _scratch(self, places):
            both.wait(60)
            return super()._scratch(places)

    words = [[str(k), "a", *"_XX_____"] for k in range(1, 2001)]
    assert Waiting(MODEL).tag_many([words, words], threads=2) == [MODEL.tagger().tag(words)] * 2


def test_processors_are_counted_where_several_threads_would_have_work(monkeypatch):
    counted, words = [], [["1", "a", *"_XX_____"]]
    monkeypatch.setattr(parallel, "available_cpus", lambda: counted.append(1) or 2)
    for some, times in ([words], 0), ([words] * 9, 0), ([words] * 5000, 1):
        counted.clear()
        assert MODEL.tagger().tag_many(some) == [MODEL.tagger().tag(words)] * len(some)
        assert len(counted) == times


@pytest.mark.parametrize("some", [[], [[]], [[["1", "a", *"_XX_____"]]]])
def test_a_number_of_threads_is_looked_at_whatever_there_is_to_parse(some):
    with pytest.raises(OptionError, match=r"^threads: expected a whole number of at least 0, found -1$"):
        MODEL.tagger().tag_many(some, threads=-1)


def test_rows_whose_numbers_are_checked_must_be_there():
    with pytest.raises(TypeError):
        check_ids(None, 0)


@pytest.mark.parametrize(("column", "cell", "message"), [(6, "99", "HEAD is '99'"), (7, "a\tb", r"DEPREL 'a\\tb' holds a tab, a line end or a zero byte$")])
def test_sentences_are_refused_with_their_place(column, cell, message):
    rows = [list(row) for row in corpus(1)[0]]
    rows[0][column] = cell
    with pytest.raises(DataError, match=f"sentence 2, token 1: {message}"):
        crfkit.learn([corpus(1)[0], rows], TEMPLATE, "lookahead", format="conllu", labels=True)


@pytest.mark.parametrize("depth", [0, 2])
def test_only_roots_get_the_relation_of_roots(depth):
    """Also in words that were never seen, where all relations have the same score, and this one is the first."""
    data = [sorted(rows, key=lambda row: int(row[0])) for rows in corpus(4, 12)]
    data.insert(0, [["1", "a", *"_XX_", "0", "root", "_", "_"]])
    learn = {"template": "P1:%x[s0,form]/%x[s1,form]\n", "algorithm": "lookahead", "format": "conllu", "passes": 3, "depth": depth, "labels": True}
    records = []
    dev = [[[row[0], "new", *row[2:]] for row in rows] for rows in corpus(9, 6)]
    model = crfkit.learn(data, dev=dev, progress=records.append, **learn)
    assert model.header["relations"][model.header["root_relation"]] == "root" == model.header["relations"][0]
    parsed = model.tagger().tag_many(dev)
    assert sum(len(tree) for tree in parsed) > 2 * len(dev)
    assert all((head == 0) == (relation == "root") for tree in parsed for head, relation in tree)
    right = sum(entry == (int(row[6]), row[7]) for tree, rows in zip(parsed, dev, strict=True) for entry, row in zip(tree, rows, strict=True))
    assert max(record["dev_labelled"] for record in records) == pytest.approx(right / sum(map(len, dev)))


def test_a_relation_of_roots_and_other_words():
    """As it is in some treebanks, or where all words have the same relation."""
    for relations in (["dep", "dep", "dep"], ["dep", "dep", "x"]):
        rows = [[str(k), form, *"_XX_", head, relation, "_", "_"] for k, form, head, relation in zip((1, 2, 3), "abc", "202", relations, strict=True)]
        model = crfkit.learn([rows], TEMPLATE, "lookahead", format="conllu", passes=5, labels=True)
        assert model.tagger().tag(rows) == list(zip((2, 0, 2), relations, strict=True))


def test_the_relation_of_roots_is_the_most_frequent_one():
    words = [[["1", "a", *"_XX_", "0", relation, "_", "_"], ["2", "b", *"_XX_", "1", "x", "_", "_"]] for relation in ("x", "root", "dep", "root")]
    model = crfkit.learn(words, TEMPLATE, "lookahead", format="conllu", passes=1, labels=True)
    assert model.header["relations"][model.header["root_relation"]] == "root"
