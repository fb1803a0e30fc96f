"""Columns in another order, options and templates of a parser, and what it says of them."""

import io
import json

import pytest
from parser.test_parser import TEMPLATE, corpus, run_tag
from parser.test_parser_files import by_tabs, learned

import crfkit
from crfkit.errors import DataError, ModelFileError, OptionError, TemplateError
from crfkit.text.reading import Source

ORDER = ("id", "deprel", "xpos", "head", "form", "upos", "own")
PLACES = (0, 7, 4, 6, 1, 3)


def plus(data):
    """CoNLL-U Plus: fewer columns in another order, and one more."""
    return "# global.columns = " + " ".join(ORDER).upper() + "\n" + by_tabs([[row[place] for place in PLACES] + ["own"] for row in rows] for rows in data)


def test_columns_are_found_by_their_names(tmp_path):
    """To learn from, to fill in and to score: the relation stands before the head here."""
    model, test = learned(labels=True), corpus(8, 5)
    model.save(tmp_path / "m")
    (tmp_path / "in").write_text(plus(test))
    parsed = [[[*row[:6], str(head), relation, *row[8:]] for row, (head, relation) in zip(rows, model.tagger().tag(rows), strict=True)] for rows in test]
    written = run_tag(tmp_path, "m", "in").decode()
    assert written.startswith(plus(parsed)) and written.count("# gold") == len(test)
    named = [crfkit.learn(io.BytesIO(text.encode()), TEMPLATE, "lookahead", format="conllu", labels=True, passes=2) for text in (plus(test), by_tabs(test))]
    assert sorted(named[0].features()) == sorted(named[1].features()) and named[0].header["column_names"] == list(ORDER)
    (tmp_path / "in").write_text("# global.columns = ID FORM HEAD DEPREL\n1\ta\t_\t_\n")
    with pytest.raises(DataError, match=r"in:1: the model's template uses column 'upos'; the columns are id form head deprel$"):
        next(crfkit.load(tmp_path / "m").text(Source(str(tmp_path / "in"), "conllu")))
    with pytest.raises(DataError, match=r"^the model's template uses column 'upos'; the columns are id form lemma$"):
        crfkit.learn(test, "P:%=[s0,form,q0,upos]", "lookahead", format="conllu", passes=1).tagger().tag([["1", "a", "_"]])


def test_without_relations_heads_alone_are_filled_in(tmp_path):
    """Into their own column, although that of relations stands before it."""
    model, test = learned(), corpus(8, 5)
    model.save(tmp_path / "m")
    (tmp_path / "in").write_text(plus(test))
    parsed = [[[*row[:6], str(head), *row[7:]] for row, head in zip(rows, model.tagger().tag(rows), strict=True)] for rows in test]
    assert run_tag(tmp_path, "m", "in").decode().startswith(plus(parsed))


def test_development_data_of_other_columns(tmp_path):
    (tmp_path / "dev").write_text(plus(corpus(8, 2)))
    with pytest.raises(DataError, match="dev:1: the columns are id deprel xpos head form upos own, expected those of the training data: id form"):
        learned(dev=tmp_path / "dev")
    with pytest.raises(DataError, match="no tokens in the development data"):
        learned(dev=[[]])


def test_trees_with_crossing_arcs_count_in_development_data_alone():
    """They are scored there, whole trees by sentences; in training they are left out and counted."""
    heads = ["3", "4", "0", "3"]
    crossing = [[str(t + 1), "w", "_", "X", "_", "_", head, "r", "_", "_"] for t, head in enumerate(heads)]
    one, records = [["1", "w", "_", "X", "_", "_", "0", "r", "_", "_"]], []
    model = crfkit.learn([*corpus(5, 8), crossing], TEMPLATE, "lookahead", format="conllu", passes=1, dev=[one, crossing], progress=records.append)
    parsed = model.tagger().tag(crossing)
    assert records[-1]["dev_sentence_accuracy"] == 0.5
    assert records[-1]["dev_unlabelled"] == (1 + sum(str(head) == right for head, right in zip(parsed, heads, strict=True))) / 5
    assert (model.header["skipped"], model.header["sequences"]) == (1, 8)


def test_small_weights_are_dropped():
    kept, everything = ({feature[:3]: feature[3] for feature in learned(**options).features()} for options in ({"prune": 2.0}, {}))
    assert kept == {name: weight for name, weight in everything.items() if abs(weight) >= 2} and 0 < len(kept) < len(everything)


def test_weights_are_taken_over_line_by_line():
    """Of places without a token, of distances, of numbers of children and of comparisons; not of lines that the new template lacks, nor of
    words that the new data lack."""
    lines = ["P1:%=[s0,form,q0,upos]", "P2:%d[s0,s1]", "P3:%x[s1.l,form]", "P5:%v[s0.l]", "P4:%x[s0,form]"]
    first = crfkit.learn(corpus(5, 8), "\n".join(lines), "lookahead", format="conllu", passes=2, average=False)
    weights = {feature[:3]: feature[3] for feature in first.features()}
    (one,) = corpus(3, 1, 1)  # a single word, so that nothing is learned from it
    words = sorted({row[1] for rows in corpus(5, 8) for row in rows})
    known = [[["1", word, *one[0][2:]]] for word in words]
    template = "\n".join(["P0:%x[q1,form]", *lines[3::-1]])
    again = crfkit.learn(known, template, "lookahead", format="conllu", passes=1, average=False, init=first)
    expected = {name: weight for name, weight in weights.items() if not name[0].startswith("P4")}
    assert {feature[:3]: feature[3] for feature in again.features()} == expected
    child = next(word for word in words if any(name[0] == f"P3:{word}" for name in weights))
    fewer = crfkit.learn([rows for rows in known if rows[0][1] != child], template, "lookahead", format="conllu", passes=1, average=False, init=first)
    assert {feature[:3]: feature[3] for feature in fewer.features()} == {name: weight for name, weight in expected.items() if name[0] != f"P3:{child}"}
    assert {"P1:true", "P1:false", "P1:_B-1", "P2:1", "P2:_B-1", "P3:_B-1", "P5:1", "P5:_B-1"} <= {name[0] for name in expected}


def test_children_beyond_the_fourth_are_not_counted():
    """docs/templates.md"""
    family = [[str(t), "w", "_", "X", "_", "_", "0" if t == 1 else "1", "r", "_", "_"] for t in range(1, 9)]
    model = crfkit.learn([family], "P:%v[s1.r]\nP1:%x[s0,form]", "lookahead", format="conllu", passes=3, average=False, dropout=0.0)
    assert {name[0] for name in model.features() if name[0].startswith("P:")} == {"P:_B-1", "P:1", "P:2", "P:3", "P:4"}


@pytest.mark.parametrize(("line", "message"), [
    ("P:%x[s0,deprel]", "%x[s0,deprel] uses column 'deprel', which the parser predicts"),
    ("P:%=[s0,form,q0,head]", "%=[s0,form,q0,head] uses column 'head', which the parser predicts"),
    ("P:%x[s0.l9.l9.l9.l9,form]%x[s1.r9.r9.r9.r9,form]", "the P lines up to here look at more than 64 places"),
    ("P:%x[s0,form] @minfreq=2", "a P line takes no @observed, @all or @minfreq"),
])
def test_lines_that_a_parser_cannot_have(line, message):
    with pytest.raises(TemplateError) as raised:
        crfkit.learn(corpus(0), line, "lookahead", format="conllu")
    assert str(raised.value).startswith(f"template:1: {message}")


def test_a_search_that_takes_too_much_memory():
    data = corpus(1, 300)
    for number, rows in enumerate(data):
        rows[0][7] += str(number)
    with pytest.raises(OptionError, match=r"^depth=10 with 30[0-9] relations takes too much memory: lower depth$"):
        crfkit.learn(data, TEMPLATE, "lookahead", format="conllu", depth=10, labels=True)


@pytest.mark.parametrize(("field", "value", "message"), [
    ("relations", ["a", "a"], "relations are not different names"),
    ("relations", ["a\tb"], "relations are not different names"),
    ("relations", [f"r{k}" for k in range(30_001)], "more than 30,000 relations"),
    ("root_relation", 99, "no relation of the root"),
    ("format", "columns", "not of a parser of CoNLL-U"),
    ("column_names", ["id", "form", "upos"], "not of a parser of CoNLL-U"),
    ("column_names", ["id", "id", "head", "deprel"], "not different strings"),
])
def test_headers_that_no_parser_has(field, value, message):
    model = learned(labels=True)
    header = json.loads(json.dumps(model.header))
    header[field] = value
    with pytest.raises(ModelFileError, match=message):
        type(model)(header, model.sections)


def test_more_relations_than_a_parser_has_actions_for():
    data = [[["1", "a", "_", "X", "_", "_", "2", f"r{k}", "_", "_"], ["2", "b", "_", "X", "_", "_", "0", "root", "_", "_"]] for k in range(30_000)]
    with pytest.raises(DataError, match=r"^30001 different relations in column deprel, expected at most 30,000$"):
        crfkit.learn(data, TEMPLATE, "lookahead", format="conllu", depth=0, labels=True)
