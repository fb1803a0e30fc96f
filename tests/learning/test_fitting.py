"""The penalties, the passes of `sgd`, `adf`, `cw`, `perceptron` and `mira`, and the margin of `lookahead`, where none are given."""

from collections import Counter, defaultdict
from functools import cache
from itertools import chain
from math import sqrt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from trainers.samples import sentences, template

from crfkit import learn, learn_path
from crfkit.learning.fitting import fitting_l1, fitting_l2, fitting_margin, fitting_passes
from crfkit.options.trainers import Adf, Cw, Mira, Perceptron, Sapo, Sgd, decay_of
from crfkit.template.meaning import expand
from crfkit.template.parsing import Template

FITTED = ["lbfgs", "sgd", "adf", "sapo"]
SPARSE = ["owlqn", "sbcd"]  # whose L1 penalty is fitted


def fitted_l2(*given, **of_labels):
    """The penalty, without what it follows from."""
    return fitting_l2(*given, **of_labels)[0]


def test_it_rises_with_the_share_of_attributes_that_have_several_labels():
    found = [fitted_l2(share, 7, 1) for share in (0, 0.05, 0.087, 0.1, 0.2, 0.4, 0.5, 1)]
    assert found == [0.03, 0.03, 0.03, 0.04, 0.16, 0.64, 1, 1]


def test_many_attributes_of_a_token_raise_it():
    assert [fitted_l2(0, of_a_token, 1) for of_a_token in (1, 25, 50, 100, 250, 1000)] == [0.03, 0.1, 0.2, 0.4, 1, 1]


def test_frequent_attributes_raise_it_where_a_token_has_some():
    assert [fitted_l2(0, 20, often) for often in (1, 6, 9, 12, 1000)] == [0.08, 0.08, 0.32, 1, 1]
    assert [fitted_l2(0, of_a_token, 12) for of_a_token in (1, 5, 10, 20, 40)] == [0.03, 0.062, 0.25, 1, 1]


def test_where_labels_depend_on_their_neighbours_few_attributes_keep_it_small():
    assert [fitted_l2(1, of_a_token, 1, of_a_label=2) for of_a_token in (0, 0.5, 1, 3, 9, 10, 40)] == [0.1, 0.1, 0.1, 0.3, 0.9, 1, 1]
    assert [fitted_l2(1, 2, 1, of_a_label=each) for each in (0, 1, 100, 150, 300, 500, 10**6)] == [0.2, 0.2, 0.2, 0.3, 0.6, 1, 1]
    assert [fitted_l2(share, 1, 1, of_a_label=2) for share in (0.1, 0.15, 0.2)] == [0.04, 0.09, 0.1]
    assert fitted_l2(1, 1, 1, many=4, of_a_label=2) == 0.25  # what many attributes of a token ask for stays


@given(st.floats(0, 1), st.floats(0.5, 300), st.floats(1, 30), st.sampled_from([25, 250]), st.sampled_from([0.1, 1.0, 4.0]), st.none() | st.floats(0, 2000))
@example(0.0, 5.0, 1.0, 250, 1.0, None)  # less than the least penalty
def test_the_reason_is_what_it_follows_from(ambiguous, of_a_token, often, many, square, of_a_label):
    given = ambiguous, of_a_token, often, many, square
    found, reason = fitting_l2(*given, of_a_label)
    unbounded, of_tokens = fitted_l2(*given), fitted_l2(0, of_a_token, 0, many, square)
    bounded, by_tokens = "as there are label pairs" in reason, "by how many attributes a token has" in reason
    assert bounded or by_tokens or found == unbounded
    assert not by_tokens or (found == of_tokens and of_a_token / many > 0.03)
    assert not bounded or (of_a_label is not None and unbounded >= found != 1)
    assert ("values" in reason) == (square < 1)


def test_the_reason_is_told(capsys):
    """Four letters, each with both labels."""
    rows, few = [[letter, label] for label in "xxy" for letter in "abcd"], {"max_iter": 1, "warm_up": 0}
    for rules, reason in (
        ("U:%x[0,0]\n", "l2 1, by how often attributes occur, and with how many labels"),
        ("U:%x[0,0]\nB\n", "l2 0.1, by how many attributes there are for a token and for a label, as there are label pairs"),
        ("".join(f"U{k:02}:%x[0,0]\n" for k in range(50)) + "B\n", "l2 1, by how often attributes occur, and with how many labels"),
    ):
        learn([rows], rules, progress=True, **few)
        assert reason in capsys.readouterr().err.splitlines()
    words = [[*(f"{k}{t}" for k in "abcde"), "xy"[t % 2]] for t in range(6)]
    learn([words], "".join(f"U{k}:%x[0,{k}]\n" for k in range(5)), "sapo", passes=1, progress=True)
    assert "l2 0.2, by how many attributes a token has" in capsys.readouterr().err.splitlines()
    items = [[({letter: 0.5}, label) for letter, label in rows]]
    learn(items, None, "owlqn", format="crfsuite", progress=True, **few)
    assert "l1 0.2, by how often attributes occur, and with how many labels; lower for values below 1" in capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("algorithm", FITTED)
def test_features_with_label_pairs_are_what_makes_it_small(algorithm):
    """Four letters, each with both labels. Sequences of one token have no neighbours, whatever the template says."""
    rows = [[letter, label] for label in "xxy" for letter in "abcd"]
    limits = {"max_iter": 1, "warm_up": 0} if algorithm == "lbfgs" else {"passes": 1, "rate": 0.1}

    def chosen(rules, data):
        return learn(data, rules, algorithm, **limits).header["chosen"]["l2"]

    alone, plain, rich = "U:%x[0,0]\n", "U:%x[0,0]\nB\n", "*:%x[0,0]\n"
    with_pairs = 1 if algorithm == "sapo" else 0.1
    assert [chosen(rules, [rows]) for rules in (alone, plain, rich)] == [1, with_pairs, with_pairs]
    assert [chosen(rules, [[row] for row in rows]) for rules in (alone, plain)] == [1, 1]


@pytest.mark.filterwarnings("ignore::crfkit.errors.CrfkitWarning")
@pytest.mark.parametrize("algorithm", FITTED)
def test_it_falls_with_the_square_of_small_values(algorithm):
    """Attributes whose values are a quarter need weights four times as large to tell the same."""
    limits = {"max_iter": 1, "warm_up": 0} if algorithm == "lbfgs" else {"passes": 1, "rate": 0.1}

    def chosen(*values):
        rows = [[({f"{k}-{t % 3}": value for k, value in enumerate(values)}, "xy"[t % 2]) for t in range(6)] for _ in range(3)]
        return learn(rows, None, algorithm, format="crfsuite", **limits).header["chosen"]["l2"]

    usual = chosen(1, 1)
    assert usual == (1 if algorithm == "sapo" else 0.2)  # a tenth for each of two attributes
    assert chosen(0.25, -0.25) == pytest.approx(usual / 16, rel=0.05)
    assert chosen(1, 0.5) == pytest.approx(usual * (1 + 0.25) / 2, rel=0.05)
    assert chosen(2, 2000) == chosen(2, 0) == usual
    assert 0 < chosen(0, 0) < 1e-9


def test_that_of_l1_rises_less():
    assert [fitting_l1(share, 7, 1) for share in (0, 0.1, 0.16, 0.2, 0.3, 0.4, 1)] == [0.1, 0.1, 0.1, 0.16, 0.36, 0.4, 0.4]
    assert [fitting_l1(0, of_a_token, often) for of_a_token, often in ((5, 12), (10, 12), (20, 9), (20, 12), (20, 1), (1000, 1))] == [0.1, 0.25, 0.32, 0.4, 0.1, 0.1]


@pytest.mark.filterwarnings("ignore::crfkit.errors.CrfkitWarning")
@pytest.mark.parametrize("algorithm", SPARSE)
def test_that_of_l1_falls_with_small_values(algorithm):
    """Attributes whose values are a quarter need weights four times as large to tell the same."""

    def chosen(value):
        rows = [[({f"{t % 3}": value}, "xy"[t % 2]) for t in range(6)] for _ in range(3)]
        return learn(rows, None, algorithm, format="crfsuite", max_iter=1).header["chosen"]["l1"]

    assert [chosen(value) for value in (1, 0.25, -0.25, 2)] == [0.4, 0.1, 0.1, 0.4]
    assert 0 < chosen(0) < 1e-6


@pytest.mark.parametrize("algorithm", SPARSE)
@pytest.mark.parametrize("limit", [20, 60])
def test_that_of_l1_follows_from_what_the_template_finds(algorithm, limit):
    data, rules = sentences("chunking", limit=limit), template("chunking")
    labels, kept, counts = counted("chunking", limit, 1)
    model = learn(data, rules, algorithm, max_iter=1)
    share = sum(len(found) > 1 for found in labels) / sqrt(len(labels) * kept)
    expected = fitting_l1(share, sum(counts) / sum(map(len, data)), sum(counts) / len(counts))
    assert model.header["chosen"] == {"l1": expected} and model.header["options"]["l1"] is None
    assert list(model.weights) == list(learn(data, rules, algorithm, max_iter=1, l1=expected).weights)


@pytest.mark.parametrize("algorithm", SPARSE)
def test_one_of_l1_that_is_given_is_kept(algorithm):
    data, rules = sentences("chunking", limit=5), template("chunking")
    assert "chosen" not in learn(data, rules, algorithm, max_iter=1, l1=0.7).header
    along = list(learn_path(data, rules, algorithm, path=[2, 1], max_iter=1))
    assert [model.header["options"]["l1"] for model in along] == [2, 1] and not any("chosen" in model.header for model in along)


def test_sapo_has_the_usual_one_from_fewer_attributes_on():
    """A tenth of the attributes of the other data."""
    for of_a_token in (1, 2, 5, 10, 20, 25, 100):
        rows = [[*(f"{k}-{t}" for k in range(of_a_token)), "xy"[t % 2]] for t in range(2)]
        rules = "".join(f"U{k:03}:%x[0,{k}]\n" for k in range(of_a_token))
        found = learn([rows], rules, "sapo", passes=1).header["chosen"]["l2"]
        assert found == max(0.03, min(of_a_token / 25, 1)) == fitted_l2(0, 10 * of_a_token, 1)


@pytest.mark.filterwarnings("ignore:no attribute is left")
def test_without_unigram_attributes_it_is_that_of_one():
    for rules, min_freq in (("B:%x[0,1]", 1), ("B", 1), ("U:%x[0,0]\nB", 10**6)):
        model = learn(sentences("chunking", limit=5), Template.parse(rules), max_iter=1, warm_up=0, min_freq=min_freq)
        assert model.header["chosen"]["l2"] == 0.1


@pytest.mark.parametrize("algorithm", FITTED)
@pytest.mark.parametrize(
    ("name", "limit", "min_freq"), [("chunking", 20, 1), pytest.param("chunking", 40, 1, marks=pytest.mark.long), ("chunking", 20, 2), ("letters", 30, 1)]
)
def test_it_follows_from_what_the_template_finds(algorithm, name, limit, min_freq):
    """The mean number of occurrences, counted again from the strings of attributes."""
    data, rules = sentences(name, limit=limit), Template.of(template({"letters": "letter-to-sound"}.get(name, name)))
    labels, kept, counts = counted(name, limit, min_freq)
    model = learn(data, rules, algorithm, min_freq=min_freq, **({"max_iter": 1, "warm_up": 0} if algorithm == "lbfgs" else {"passes": 1}))
    ambiguous = sum(len(found) > 1 for found in labels)
    assert 0 < ambiguous < len(labels)
    of_a_token, often, many = sum(counts) / sum(map(len, data)), sum(counts) / len(counts), 25 if algorithm == "sapo" else 250
    of_a_label = None if algorithm == "sapo" else kept / len({row[-1] for rows in data for row in rows})  # all these templates have label pairs
    assert model.header["chosen"]["l2"] == fitted_l2(ambiguous / sqrt(len(labels) * kept), of_a_token, often, many, of_a_label=of_a_label)
    assert model.header["options"]["l2"] is None


@cache
def counted(name, limit, min_freq):
    """For all trainers: the labels of each attribute, how many are frequent, and how often these occur."""
    data, rules = sentences(name, limit=limit), Template.of(template({"letters": "letter-to-sound"}.get(name, name)))
    return labels_of_attributes(data, rules, 1), len(labels_of_attributes(data, rules, min_freq)), occurrences(data, rules, min_freq, "U")


def labels_of_attributes(data, rules, min_freq):
    found = defaultdict(Counter)
    for line in rules.lines:
        for rows in data if "U" in line.kinds and line.macros else ():
            for t, row in enumerate(rows):
                found[expand(line, rows, t)][row[-1]] += 1
    return [labels for string, labels in found.items() if string is not None and labels.total() >= min_freq]


def occurrences(data, rules, min_freq=1, kinds="UB"):
    names = {kind: Counter(expand(line, rows, t) for line in rules.lines if kind in line.kinds and line.macros
                           for rows in data for t in range(kind == "B", len(rows))) for kind in kinds}
    return [n for found in names.values() for string, n in found.items() if string is not None and n >= min_freq]


def test_one_that_is_given_is_kept():
    for l2 in (0, 1, 0.1):
        model = learn(sentences("chunking", limit=5), template("chunking"), max_iter=2, l2=l2)
        assert model.header["options"]["l2"] == l2 and "chosen" not in model.header


def test_rare_attributes_take_more_passes():
    assert [fitting_passes(Cw, 1, 1, 1000, 1000 * often, 1) for often in (1, 3, 4, 5, 100)] == [20, 20, 10, 10, 10]
    assert fitting_passes(Cw, 1, 1, 10, 39, 1) == 20 and fitting_passes(Cw, 1, 1, 0, 0, 1) == 10


@pytest.mark.parametrize(("limit", "rules", "passes"), [(20, "U:%x[0,0]/%x[1,0]", 20), (200, "U:%x[0,1]", 10), (20, "U:%x[0,1]\nB:%x[0,0]/%x[1,0]", 20)])
def test_cw_makes_as_many_passes_as_fit(limit, rules, passes):
    data, records = sentences("chunking", limit=limit), []
    counts = occurrences(data, Template.of(rules))
    assert (sum(counts) < 4 * len(counts)) == (passes == 20)
    model = learn(data, rules, "cw", progress=records.append)
    assert len(records) == model.header["chosen"]["passes"] == passes and model.header["options"]["passes"] is None
    assert list(model.weights) == list(learn(data, rules, "cw", passes=passes).weights)


def test_few_sequences_take_more_passes():
    assert [fitting_passes(Sgd, n, n, 1, 1, 1) for n in (0, 1, 1000, 1001, 2000, 3333, 3334, 10**6)] == [100, 100, 100, 100, 50, 31, 30, 30]
    assert [fitting_passes(Adf, n, n, 1, 1, 1) for n in (1, 1250, 2000, 10**6)] == [80, 80, 50, 20]


def test_few_long_sequences_take_more_passes_of_sgd():
    """In proportion to their length, and to how few there are. ADF makes no more of them: where windows are few, rare attributes keep high rates."""
    for n, tokens in [(10, 2000), (10, 100), (10, 20), (50, 1000), (50, 300), (50, 100), (200, 2000)]:
        assert fitting_passes(Sgd, n, n * tokens, 1, 1, 3) == min(800, max(100, 40 * tokens // n))
        assert fitting_passes(Adf, n, n * tokens, 1, 1, 3) == 80


@pytest.mark.parametrize(("algorithm", "passes"), [("sgd", 100), ("adf", 80)])
def test_sgd_and_adf_make_as_many_passes_as_give_steps(algorithm, passes):
    data, lines = sentences("chunking", limit=20), []
    rules = "U:%x[0,0]\nB\n"
    model = learn(data, rules, algorithm, progress=lines.append, rate=0.5)
    chosen = model.header["chosen"]
    assert len(lines) == chosen["passes"] == passes and model.header["options"]["passes"] is None
    assert list(model.weights) == list(learn(data, rules, algorithm, passes=passes, rate=0.5).weights)


@pytest.mark.parametrize(("passes", "decay"), [(1, 0.85), (30, 0.85), (31, 0.854), (60, 0.922), (100, 0.952), (800, 0.994), (10**9, 0.994)])
def test_in_more_passes_than_30_the_rate_of_sgd_falls_as_far(passes, decay):
    """Up to 800: in a million passes it would hardly fall."""
    assert decay_of(Sgd(passes=passes)) == decay and decay_of(Sgd(passes=passes, decay=0.5)) == 0.5 and decay_of(Sapo(passes=passes)) == 0.85
    falls = decay ** min(passes, 800)
    assert passes < 30 or falls == pytest.approx(0.85**30, rel=0.1)


def test_the_decay_that_follows_from_passes_is_told():
    data, rules, told = sentences("chunking", limit=20), "U:%x[0,0]\nB\n", []
    model = learn(data, rules, "sgd", rate=0.5, passes=60, progress=told.append)
    assert model.header["chosen"].keys() == {"l2", "decay"} and model.header["options"]["decay"] is None and {each["decay"] for each in told} == {0.922}
    given = learn(data, rules, "sgd", rate=0.5, passes=60, decay=0.922)
    assert given.header["chosen"].keys() == {"l2"} and list(given.weights) == list(model.weights)
    assert "decay" not in learn(data, rules, "sgd", rate=0.5, passes=2).header["chosen"]


def test_whoever_has_patience_gets_a_rate_that_falls_soon():
    data, dev, rules, chosen = sentences("chunking", limit=20), sentences("chunking", "dev", 5), "U:%x[0,0]\nB\n", {"rate": 0.5, "patience": 50}
    model = learn(data, rules, "sgd", **chosen, dev=dev)
    assert model.header["chosen"].keys() == {"l2", "passes"} and model.header["options"]["decay"] is None
    assert [list(learn(data, rules, "sgd", **chosen, dev=dev, decay=decay).weights) == list(model.weights) for decay in (0.85, 0.5)] == [True, False]
    assert "decay" in learn(data, rules, "sgd", rate=0.5, dev=dev).header["chosen"]


def test_few_attributes_of_a_token_take_more_passes():
    assert [fitting_passes(Perceptron, 9, 9, 1, 1, of_a_token) for of_a_token in (0, 1, 1.5, 2, 2.9, 3, 30)] == [60, 60, 40, 30, 21, 20, 20]
    assert [fitting_passes(Mira, 9, 9, 1, 1, of_a_token) for of_a_token in (1, 1.5, 2, 30)] == [40, 27, 20, 20]


@pytest.mark.parametrize("trainer", [Perceptron, Mira])
def test_few_long_sequences_take_more_passes(trainer):
    """In proportion to their length, and to how few there are."""
    assert [fitting_passes(trainer, 50, 50 * tokens, 1, 1, 3) for tokens in (1, 100, 200, 400, 800, 10**6)] == [20, 20, 40, 80, 160, 160]
    assert [fitting_passes(trainer, n, 400 * n, 1, 1, 3) for n in (0, 1, 25, 50, 100, 200, 10**6)] == [20, 160, 160, 80, 40, 20, 20]
    assert fitting_passes(trainer, 100, 40_000, 1, 1, 1) == max(40, {Perceptron: 60, Mira: 40}[trainer])  # not as well as those of one attribute


@pytest.mark.parametrize(("algorithm", "passes"), [("perceptron", 160), ("mira", 160), ("sgd", 800), ("adf", 80)])
def test_a_text_in_one_sequence_takes_more_passes(algorithm, passes):
    data, records = [list(chain.from_iterable(sentences("chunking", limit=10)))], []
    model = learn(data, "U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[1,1]\n", algorithm, progress=records.append)
    assert len(records) == model.header["chosen"]["passes"] == passes and model.header["options"]["passes"] is None


@pytest.mark.parametrize(("algorithm", "of_one"), [("perceptron", 60), ("mira", 40)])
@pytest.mark.parametrize("rules", ["U:%x[0,0]\nB\n", "U1:%x[0,0]\nU2:%x[-1,0]/%x[0,0]\nB:%x[0,1]\n"])
def test_perceptron_and_mira_make_as_many_passes_as_fit(algorithm, of_one, rules):
    data, records = sentences("chunking", limit=20), []
    counts = occurrences(data, Template.parse(rules), kinds="U")
    model = learn(data, rules, algorithm, progress=records.append)
    assert len(records) == model.header["chosen"]["passes"] == max(20, round(of_one * sum(map(len, data)) / sum(counts)))
    assert list(model.weights) == list(learn(data, rules, algorithm, passes=len(records)).weights)


def test_passes_that_are_given_are_kept():
    records = []
    model = learn(sentences("chunking", limit=5), template("chunking"), "cw", passes=3, progress=records.append)
    assert len(records) == model.header["options"]["passes"] == 3 and "chosen" not in model.header


def test_the_margin_grows_with_the_attributes_of_a_token():
    assert [fitting_margin(of_a_token) for of_a_token in (0, 0.5, 1, 2.5, 6.75, 30, 40, 400)] == [3, 3, 3, 7.5, 20, 90, 100, 100]


def test_the_margin_falls_with_the_squares_of_small_values():
    """A step changes the score of a token by their sum. Not below that of one attribute of value 1, which label pairs have."""
    assert [fitting_margin(40, square) for square in (0.5, 0.1, 0.01, 4)] == [60, 12, 3, 100]
    assert [fitting_margin(40, square, pairs=False) for square in (0.5, 0.01, 1e-6, 4)] == [60, 1.2, 0.00012, 100]


@pytest.mark.parametrize(("tokens", "margin"), [(2, 3.0), (1, 0.15)])
def test_lookahead_has_the_margin_that_fits_values(tokens, margin, capsys):
    """Of 0.1 and 0.3, whose mean square is 0.05; a single token has no label pairs."""
    rows = [({"x": value}, label) for value, label in ((0.1, "a"), (-0.1, "b"), (0.3, "a"), (-0.3, "b"))]
    model = learn([rows[k : k + tokens] for k in range(0, 4, tokens)], format="crfsuite", algorithm="lookahead", progress=True)
    assert model.header["chosen"]["margin"] == margin
    assert f"margin {margin:g}, by how many attributes a token has; lower for values below 1" in capsys.readouterr().err


@pytest.mark.parametrize("rules", ["U:%x[0,0]\nB\n", "U1:%x[0,0]\nU2:%x[-1,0]\nU3:%x[0,1]/%x[1,1]\nU:%y[-1]\n", "B:%x[0,0]\n"])
def test_lookahead_has_the_margin_that_fits(rules):
    """That of the unigram attributes, as counted from their strings; features of earlier labels are none of them."""
    data = sentences("chunking", limit=40)
    counts = occurrences(data, Template.parse("".join(line + "\n" for line in rules.split("\n") if "%y" not in line)), kinds="U")
    model = learn(data, rules, "lookahead", passes=2)
    margin = model.header["chosen"]["margin"]
    assert margin == fitting_margin(sum(counts) / sum(map(len, data))) and model.header["options"]["margin"] is None
    assert list(model.weights) == list(learn(data, rules, "lookahead", passes=2, margin=margin).weights)
    assert list(model.weights) != list(learn(data, rules, "lookahead", passes=2, margin=30.0).weights)
