"""A bias of labels: against enumeration, and against models that have it as the weights of an attribute of every token."""

import array
import copy
import pickle
from functools import cache

import numpy
import pytest
from commands import crfkit as command
from commands import error, limit, tag, text_of
from hypothesis import given
from hypothesis import strategies as st
from models import ROOT, SMALL, model, names, problem, sentences, short

import crfkit
from crfkit import CRF
from crfkit.decode.constraints import constraints_of
from crfkit.errors import CrfkitWarning, OptionError, UnsupportedError
from crfkit.foreign import convert, load
from crfkit.model import Model, made
from crfkit.tagging import Tagger

BIAS = {"O": -2.5, "B-PER": 1.25, "I-LOC": -0.5}


@given(st.data())
def test_all_answers_agree_with_enumeration(data):
    trained, rows = model(*(case := data.draw(st.sampled_from(SMALL)))[:1]), short(*case)
    bias = data.draw(st.dictionaries(st.sampled_from(trained.labels), st.floats(-6, 6), min_size=1))
    allowed = data.draw(st.none() | st.lists(st.sets(st.sampled_from(trained.labels), min_size=1), min_size=len(rows), max_size=len(rows)))
    limits = constraints_of("auto", trained.labels) if allowed is None and data.draw(st.booleans()) else None
    width, mask, steps = len(trained.labels), [[1] * len(trained.labels) for _ in rows], None
    if allowed is not None:
        mask = [[int(label in some) for label in trained.labels] for some in allowed]
    if limits is not None:
        steps = [list(limits.transitions[i * width : (i + 1) * width]) for i in range(width)]
        mask[0] = list(limits.starts)
        mask[-1] = [a & b for a, b in zip(mask[-1], limits.ends, strict=True)]
    oracle = problem(trained, rows, mask, steps)
    for row in oracle.nodes:
        for label, number in bias.items():
            row[trained.labels.index(label)] += number

    tagger = trained.tagger(limits, bias)
    (score, best), more = oracle.best(), {"allowed": allowed}
    assert tagger.score(rows, names(trained, best)) == pytest.approx(score)
    assert tagger.score(rows, tagger.tag(rows, **more)) == pytest.approx(score)
    assert [p for p, _ in tagger.nbest(rows, 4, **more)] == pytest.approx([oracle.probability(path) for _, path in oracle.top(4)])
    nodes = oracle.node_marginals()
    assert tagger.marginals(rows, **more) == pytest.approx(numpy.array(nodes), abs=1e-9)
    for t, found in enumerate(tagger.edge_marginals(rows, **more), 1):
        assert found == pytest.approx(numpy.array(oracle.pair_marginals(t)), abs=1e-9)
    assert tagger.log_z(rows, **more) == pytest.approx(oracle.log_z)
    found = [trained.labels.index(label) for label in tagger.tag(rows, posterior=True, **more)]
    gains = {tuple(path): sum(nodes[t][j] for t, j in enumerate(path)) for _, path in oracle.paths}
    assert gains[tuple(found)] == pytest.approx(max(gains.values()))


ALWAYS = "Ualways"  # a line without macros: every token has this attribute


@cache
def even(algorithm="lbfgs", **options):
    """A model of names, whose weights of the attribute of every token can be added to without rounding."""
    template = f"{ALWAYS}\n{(ROOT / 'templates/ner.txt').read_text()}"
    options = {**limit(algorithm, 2, 15), **options}
    return changed(crfkit.learn(sentences("ner", "train")[:300], template, algorithm, **options), lambda _, weight: round(weight * 1024) / 1024)


def changed(trained, weight_of):
    """The model with other weights of the attribute of every token: for each label, from the one it has."""
    weights = array.array("f", trained.weights)
    own = list(trained.index.attributes(False)).index(ALWAYS.encode())
    for number, label in enumerate(trained.labels):
        cell = trained.layout.cell(own, number)
        weights[cell] = weight_of(label, weights[cell])
    return made(Model, trained.header, {**trained.sections, "weights": weights})


def pushed(trained, bias):
    return changed(trained, lambda label, weight: weight + bias.get(label, 0))


LAYOUTS = [(), ("-v", 2), ("-n", 3), ("--probability",), ("--posterior",), ("--constraints", "bio"), ("--constraints", "bio", "--posterior"), ("--partial",)]
BIASED = ("--bias", "O=-2.5", "--bias", "B-PER=1.25", "--bias=I-LOC=-0.5")


@pytest.mark.parametrize("options", LAYOUTS)
def test_it_is_a_weight_of_an_attribute_that_every_token_has(options, tmp_path):
    even().save(tmp_path / "m")
    pushed(even(), BIAS).save(tmp_path / "pushed")
    some = ["?", "O|B-LOC|I-LOC|B-PER", "?"]
    text = text_of([[[*row[:-1], *([some[t % 3]] if "--partial" in options else [])] for t, row in enumerate(rows)] for rows in sentences("ner")[:60]])
    expected = tag(*options, "pushed", stdin=text)
    assert tag(*BIASED, *options, "m", stdin=text) == expected != tag(*options, "m", stdin=text)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [("perceptron", {}), ("lookahead", {"depth": 0}), ("lookahead", {"depth": 2}), ("lookahead", {"direction": "backward"})],
)
@pytest.mark.parametrize("constraints", [None, "bio"])
def test_without_probabilities(algorithm, options, constraints):
    bias = {label: 40 * number for label, number in BIAS.items()}  # scores are larger
    rows = [[row[:-1] for row in rows] for rows in sentences("ner")[:60]]
    trained = even(algorithm, **options)
    ours, theirs = trained.tagger(constraints, bias), pushed(trained, bias).tagger(constraints)
    expected = theirs.tag_many(rows)
    assert ours.tag_many(rows) == [ours.tag(some) for some in rows] == expected != trained.tagger(constraints).tag_many(rows)
    assert [ours.score(*both) for both in zip(rows, expected, strict=True)] == pytest.approx([theirs.score(*both) for both in zip(rows, expected, strict=True)])


def test_many_sentences_and_columns_in_another_order(tmp_path):
    """All ways into a tagger."""
    text = "# columns = word pos label\n" + text_of(sentences("ner", "train")[:60])
    (tmp_path / "train").write_text(text)
    trained = crfkit.learn(tmp_path / "train", "U:%x[0,word]/%x[0,pos]\n", max_iter=9)
    rows = [[row[:-1] for row in rows] for rows in sentences("ner")[:20]]
    free, tagger = trained.tagger(), trained.tagger(bias=BIAS)
    expected = [tagger.tag(some) for some in rows]
    assert tagger.tag_many(rows, threads=2) == expected != free.tag_many(rows)
    assert [paths[0][1] for paths in tagger.nbest_many(rows, 2)] == expected
    for found, one in zip(tagger.marginals_many(rows), rows, strict=True):
        assert (found == tagger.marginals(one)).all() and (found != free.marginals(one)).all()
    (tmp_path / "turned").write_text("# columns = pos word label\n" + text_of([[[*row[::-1], "O"] for row in some] for some in rows]))
    assert tagger.tag_with_gold(tmp_path / "turned")[1] == expected


@pytest.mark.parametrize("form", ["crfsuite", "crfpp", "wapiti"])
def test_models_of_other_programs(form, tmp_path):
    if form == "crfsuite":
        trained, rows, bias = model("reals"), [[[name] for name in ("colour=red", "colour=green", "x")]], {"early": -1}
    else:
        trained = crfkit.learn(sentences("ner", "train")[:200], "U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[-1,0]\nB\n", max_iter=9)
        rows, bias = [[row[:-1] for row in rows] for rows in sentences("ner")], BIAS
    trained.save(tmp_path / "m")
    convert(tmp_path / "m", tmp_path / "theirs", form)
    expected = trained.tagger(bias=bias).tag_many(rows)
    assert expected != trained.tagger().tag_many(rows)
    for exact in (False, True):
        assert load(tmp_path / "theirs", exact=exact).tagger(bias=bias).tag_many(rows) == expected


def test_files_labelled_by_workers(tmp_path):
    even().save(tmp_path / "m")
    (tmp_path / "text").write_text(text_of(sentences("ner")))
    expected = tag(*BIASED, "m", "text")
    command("tag", *BIASED, "--output-dir", "here", "m", "text")
    command("tag", *BIASED, "--output-dir", "there", "--workers", 1, "m", "text")
    assert (tmp_path / "here/text").read_text() == (tmp_path / "there/text").read_text() == expected
    assert "did you mean 'O'?" in error("tag", "--bias", "OO=1", "--output-dir", "there", "--workers", 1, "m", "text", code=2)


def test_nothing_added():
    rows = [row[:-1] for row in sentences("ner")[0]]
    expected = even().tagger().nbest(rows, 9)
    for bias in ({}, {"O": 0}, None):
        assert even().tagger(bias=bias).nbest(rows, 9) == expected


@pytest.mark.parametrize("number", [1e9, 50.0])
def test_large_numbers(number):
    rows = [row[:-1] for row in sentences("ner")[0]]
    only, never = even().tagger(bias={"B-LOC": number}), even().tagger(bias={"O": -number})
    assert set(only.tag(rows)) == {"B-LOC"} == set(only.tag(rows, posterior=True)) and "O" not in never.tag(rows)
    assert only.probability(rows, ["B-LOC"] * len(rows)) == pytest.approx(1)
    assert even().tagger(bias=dict.fromkeys(even().labels, number)).tag(rows) == even().tagger().tag(rows)
    assert never.tag(rows, allowed=["O"] * len(rows)) == ["O"] * len(rows)


def test_a_tagger_keeps_it():
    given = {"O": numpy.float32(-2.5)}
    tagger, rows = even().tagger("bio", given), [[row[:-1] for row in rows] for rows in sentences("ner")]
    given["O"] = 7
    tagger.bias["O"] = 8
    assert tagger.bias == {"O": -2.5} and ", constraints bio, bias {'O': -2.5}>" in repr(tagger)
    expected = tagger.tag_many(rows)
    for again in (pickle.loads(pickle.dumps(tagger)), copy.copy(tagger), copy.deepcopy(tagger)):
        assert again.bias == tagger.bias and again.tag_many(rows) == expected
    for name in ("bias", "constraints"):  # which would do nothing
        with pytest.raises(AttributeError):
            setattr(tagger, name, None)


def test_an_estimator_has_it_as_a_parameter():
    X = [[["a"], ["b"]]] * 3
    crf = CRF(bias={"A": -9}, max_iter=5).fit(X, [["A", "B"]] * 3)
    assert crf.predict_single(X[0]) == ["B", "B"] == crf.predict(X)[0] and crf.predict_marginals_single(X[0])[0]["B"] > 0.9
    assert crf.set_params(bias=None).predict_single(X[0]) == ["A", "B"]
    crf.set_params(bias={"B": -9})
    assert crf.predict_single(X[0]) == ["A", "A"] == pickle.loads(pickle.dumps(crf)).predict_single(X[0])
    crf.bias["B"] = 9
    assert crf.predict_single(X[0]) == ["B", "B"]
    for _ in range(2):  # a label that a fold lacks
        with pytest.warns(CrfkitWarning, match=r"^bias: the model has no label 'C'; it has \['A', 'B'\]$") as warned:
            assert crf.set_params(bias={"C": 1, "B": -9}).fit(X, [["A", "B"]] * 3).predict(X)[0] == ["A", "A"] == crf.predict_single(X[0])
        assert len(warned) == 1 and warned[0].filename == __file__
    with pytest.raises(OptionError, match="bias: found 'A', expected a mapping"):
        CRF(bias="A").fit(None, None)


# Errors


@pytest.mark.parametrize(("bias", "message"), [
    ({"o": 1}, r"^bias: the model has no label 'o'; it has \['B-LOC', 'B-MISC', .*\.\.\.\]$"),
    ({"B-LOK": 1}, r"^bias: the model has no label 'B-LOK'; did you mean 'B-LOC'\?$"),
    ({3: 1}, r"^bias: the model has no label 3; it has \["),
    ([("O", 1)], r"^bias: found \[\('O', 1\)\], expected a mapping from labels to numbers, such as \{'O': -1.0\}$"),
    *(({"O": number}, f"^bias: found {number!r} for the label 'O', expected a number from -1e9 to 1e9$") for number in ("1", None, True)),
    *(({"O": number}, "^bias: found .* for the label 'O', expected a number from -1e9") for number in (float("inf"), float("nan"), -1.1e9, 10**400, [1])),
])
def test_what_is_no_bias(bias, message):
    with pytest.raises(OptionError, match=message):
        Tagger(even(), bias=bias)


@pytest.mark.parametrize(("options", "code", "message"), [
    (["O"], 2, "found 'O', expected LABEL=NUMBER"),
    (["O=x"], 2, "found 'x' for the label 'O', expected a number"),
    (["O="], 2, "found '' for the label 'O', expected a number"),
    (["O=1", "O=2"], 2, "found several numbers for the label 'O', expected one"),
    (["O=nan"], 2, "--bias: found nan for the label 'O', expected a number from -1e9 to 1e9"),
    (["B-LOK=1"], 2, "--bias: the model has no label 'B-LOK'; did you mean 'B-LOC'?"),
])
def test_faults_on_the_command_line(options, code, message, tmp_path):
    even().save(tmp_path / "m")
    assert message in error("tag", *(f"--bias={text}" for text in options), "m", stdin="a NN\n", code=code)


def test_a_label_with_the_sign_in_it(tmp_path):
    crfkit.learn([[["a", "case=1"], ["b", "O"]]], "U:%x[0,0]\n").save(tmp_path / "m")
    assert tag("--bias", "case=1=9", "m", stdin="a\nb\n") == "a case=1\nb case=1\n\n"
    assert "the model has no label 'case'; did you mean 'case=1'?" in error("tag", "--bias", "case=1", "m", code=2)


def test_parsers_take_none(tmp_path):
    words = ("a", "2"), ("b", "0"), ("c", "2")
    trained = crfkit.learn([[[str(n), word, *"____", head, *"___"] for n, (word, head) in enumerate(words, 1)]], "P:%x[s0,form]/%x[q0,form]\n", "lookahead", format="conllu")
    trained.save(tmp_path / "m")
    with pytest.raises(UnsupportedError, match="a parser takes no bias"):
        trained.tagger(bias={"shift": 1})
    assert "a parser takes no bias" in error("tag", "--bias", "shift=1", "m")
