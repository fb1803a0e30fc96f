"""CRF++'s calls from Python, against all labellings of short sentences."""

import contextlib
import copy
import io
import itertools
import math
import pickle
import random
import signal
from pathlib import Path

import pytest
from commands import invoked, python, write
from reference import Problem

import crfkit
from crfkit import foreign
from crfkit.compat import CRFPP
from crfkit.errors import UnsupportedError
from crfkit.template.parsing import Template

LABELS = ["A", "日", "C"]
WORDS, TAGS = ["w", "é", "v"], ["X", "Y"]
SENTENCES = [[["w", "X"], ["é", "Y"], ["v", "X"], ["w", "Y"]], [["v", "Y"]], [["new", "X"], ["v", "new"]]]
CASES = pytest.mark.parametrize("rows", SENTENCES, ids=["four", "one", "new"])
COPIES = pytest.mark.parametrize("copied", [lambda tagger: pickle.loads(pickle.dumps(tagger)), copy.deepcopy, copy.copy], ids=["pickle", "deepcopy", "copy"])
WEIGHTS: dict[str, list[float]] = {}
_chance = random.Random(5)
for _name in [*(f"U0:{word}" for word in WORDS), *(f"U1:{word}/{tag}" for word in [*WORDS, "_B-1"] for tag in TAGS)]:
    WEIGHTS[_name] = [_chance.uniform(-1, 1) for _ in LABELS]
WEIGHTS["U0:nothing"] = [0.0, 0.0, 0.0]
for _name in ["B", *(f"B1:{tag}" for tag in TAGS)]:
    WEIGHTS[_name] = [_chance.uniform(-1, 1) for _ in range(len(LABELS) ** 2)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path, places = tmp_path_factory.mktemp("crfpp") / "model", list(itertools.accumulate(map(len, WEIGHTS.values()), initial=0))
    head = f"version: 100\ncost-factor: 1\nmaxid: {places[-1]}\nxsize: 2\n"
    blocks = [LABELS, ["U0:%x[0,0]", "U1:%x[-1,0]/%x[0,1]", "B", "B1:%x[0,1]"], [f"{place} {name}" for place, name in zip(places, WEIGHTS, strict=False)]]
    blocks.append([f"{weight:.16f}" for weights in WEIGHTS.values() for weight in weights])
    path.write_text(head + "".join("\n" + "".join(f"{line}\n" for line in block) for block in blocks) + "\n", encoding="utf-8")
    return path


def problem(rows, factor=1.0, penalties=()):
    """All labellings of a sentence, with scores from the file's weights."""
    n, zeros = len(LABELS), [0.0] * 9
    before = ["_B-1", *(row[0] for row in rows)]
    nodes = [[factor * (WEIGHTS.get(f"U0:{word}", zeros)[j] + WEIGHTS.get(f"U1:{before[t]}/{tag}", zeros)[j]) for j in range(n)]
             for t, (word, tag) in enumerate(rows)]
    for i, j, penalty in penalties:
        nodes[i][j] += penalty
    steps = [[[factor * (WEIGHTS["B"][n * i + j] + WEIGHTS.get(f"B1:{tag}", zeros)[n * i + j]) for j in range(n)] for i in range(n)] for _, tag in rows]
    return Problem(nodes, steps[0], dict(enumerate(steps)))


def part_of(whole, first, end):
    """The labellings of some of the tokens."""
    return Problem(whole.nodes[first:end], whole.tau, {t - first: step for t, step in whole.edges.items() if t >= first})


def tagger_of(path, rows, options="-v 2"):
    tagger = CRFPP.Tagger(f"-m {path} {options}")
    for row in rows:
        assert tagger.add("\t".join(row)) is True
    return tagger


def cells(tagger):
    return [(i, j) for i in range(tagger.size()) for j in range(tagger.ysize())]


@CASES
@pytest.mark.parametrize("options, factor", [("-v 2", 1.0), ("-c 1.5", 1.5), ("-n2 -v1 --cost-factor=0.5", 0.5)])
def test_costs_and_probabilities(model, rows, options, factor):
    tagger, expected = tagger_of(model, rows, options), problem(rows, factor)
    assert tagger.parse() is True and tagger.cost_factor() == factor
    best = expected.best()[1]
    assert [*map(tagger.y, range(len(rows)))] == [*map(tagger.result, range(len(rows)))] == best
    assert [tagger.y2(i) for i in range(len(rows))] == [LABELS[j] for j in best]
    assert tagger.Z() == pytest.approx(expected.log_z, abs=1e-6)
    assert tagger.prob() == pytest.approx(expected.probability(best), abs=1e-6)
    marginals = expected.node_marginals()
    for i, j in cells(tagger):
        marginal = marginals[i][j]
        assert tagger.prob(i, j) == pytest.approx(marginal, abs=1e-6)
        if best[i] == j:
            assert tagger.prob(i) == pytest.approx(marginal, abs=1e-6)
        assert tagger.emission_cost(i, j) == pytest.approx(expected.nodes[i][j], abs=1e-6)
        ahead = [score for score, path in part_of(expected, 0, i + 1).paths if path[-1] == j]
        behind = [score for score, path in part_of(expected, i, len(rows)).paths if path[0] == j]
        assert tagger.alpha(i, j) == pytest.approx(math.log(sum(map(math.exp, ahead))), abs=1e-6)
        assert tagger.beta(i, j) == pytest.approx(math.log(sum(map(math.exp, behind))), abs=1e-6)
        assert tagger.best_cost(i, j) == pytest.approx(max(ahead), abs=1e-6)
        for k in range(len(LABELS) * (i + 1 < len(rows))):
            assert tagger.next_transition_cost(i, j, k) == tagger.prev_transition_cost(i + 1, k, j) == pytest.approx(expected.edges[i + 1][j][k], abs=1e-6)


@CASES
def test_next_goes_through_all_labellings(model, rows):
    tagger, expected = tagger_of(model, rows, "-n 2"), problem(rows)
    tagger.parse()
    found = []
    while tagger.next():
        found.append([tagger.y(i) for i in range(len(rows))])
        assert tagger.prob() == pytest.approx(expected.probability(found[-1]), abs=1e-6)
    assert found == [path for _, path in expected.paths] and tagger.next() is False
    tagger.parse()
    assert tagger.next() and [tagger.y(i) for i in range(len(rows))] == found[0]


def test_more_labellings_than_there_are_may_be_asked_for(model):
    tagger = tagger_of(model, [], "-n 2147483647")
    assert tagger.parse("w X\nv Y\n").count("# ") == 9 and tagger.next() is False
    tagger.set_nbest(10**30)
    assert tagger.parse("w X\n").count("# ") == 3


def test_penalties_of_labels_that_another_model_lacks(model, tmp_path):
    tagger = tagger_of(model, SENTENCES[0])
    tagger.set_penalty(0, tagger.ysize() - 1, -5.0)
    tagger.set_penalty(0, 0, 100.0)
    crfkit.learn([[["a", "X", "A"], ["b", "X", "B"]]], template="U:%x[0,0]\n", max_iter=1).save(tmp_path / "two")
    tagger.set_model(CRFPP.Model(f"-m {tmp_path / 'two'}"))
    assert tagger.ysize() == 2 and tagger.add("b X") and tagger.parse() and tagger.y(0) == 0


def test_penalties_add_to_costs_and_stay(model):
    rows, penalties = SENTENCES[0], [(0, 1, 2.5), (2, 0, -3.0)]
    tagger = tagger_of(model, rows, "-c 2")
    for penalty in penalties:
        tagger.set_penalty(*penalty)
    assert tagger.penalty(2, 0) == -3 and tagger.penalty(1, 1) == 0
    for _ in range(2):
        tagger.parse()
        expected = problem(rows, 2.0, penalties)
        best = expected.best()[1]
        assert [*map(tagger.y, range(4))] == best and tagger.Z() == pytest.approx(expected.log_z, abs=1e-6)
        assert tagger.next() and tagger.prob() == pytest.approx(expected.probability(best), abs=1e-6)
        tagger.clear()
        for row in rows:
            tagger.add(" ".join(row))
    tagger.clear()
    tagger.add("w X")  # a sentence that ends before the last of them
    assert tagger.parse() and tagger.Z() == pytest.approx(problem([["w", "X"]], 2.0, penalties[:1]).log_z, abs=1e-6)


def test_a_penalty_may_forbid_a_label(model):
    rows = SENTENCES[0]
    tagger = tagger_of(model, rows)
    for wrong in (math.nan, math.inf):
        with pytest.raises(ValueError, match="penalty: expected a number or -inf"):
            tagger.set_penalty(0, 0, wrong)
    tagger.set_penalty(1, 2, -math.inf)
    expected = problem(rows, 1.0, [(1, 2, -math.inf)])
    assert tagger.parse() and [*map(tagger.y, range(4))] == expected.best()[1]
    assert tagger.Z() == pytest.approx(expected.log_z, abs=1e-6) and tagger.prob(1, 2) == 0
    for j in range(3):
        tagger.set_penalty(1, j, -math.inf)
    assert tagger.parse() is False and "allow no labels" in tagger.what() and tagger.parse("w X\nv Y\n") is None


@pytest.mark.parametrize("options", ["", "-v 1", "-v 2", "-n 3", "-n 20 -v1", "-v 2 -n 2 -c 3"])
def test_texts_are_answered_as_by_crf_test(model, tmp_path, options):
    from crfkit.compat.crfpp.crf_test import crf_test

    for rows in SENTENCES:
        text = "".join("\t".join(row) + "\n" for row in rows)
        (tmp_path / "text").write_text(text, encoding="utf-8")
        expected = invoked(crf_test, "-m", str(model), *options.split(), "text").stdout
        tagger = CRFPP.Tagger(f"-m {model} {options}")
        assert tagger.parse(text) == tagger.parse(f"{text}\nv Y\n") == tagger.parse(text.encode()) == expected
        assert tagger.size() == len(rows)
    assert tagger.parse("one\n") is None and tagger.what()


def test_a_token_of_crfkits_models_has_the_columns_that_the_template_uses(tmp_path):
    """As for crf_test, and as in the same model for CRF++."""
    crfkit.learn([[["a", "p", "q", "X"], ["b", "p", "q", "Y"]]], "U0:%x[0,1]/%x[0,0]\n", "perceptron", passes=2).save(tmp_path / "m")
    foreign.convert(tmp_path / "m", tmp_path / "theirs", "crfpp")
    for name in ("m", "theirs"):
        tagger = CRFPP.Tagger(f"-m {tmp_path / name}")
        assert (tagger.xsize(), tagger.add("a"), tagger.add("b p"), tagger.parse(), tagger.y2(0)) == (2, False, True, True, "Y")


def test_a_line_end_alone_is_a_token(tmp_path):
    """As in CRF++: programs add the characters of a text, and take label i for character i."""
    crfkit.learn([[["a", "A"], ["b", "B"]]], "U:%x[0,0]\n").save(tmp_path / "m")
    tagger, text = CRFPP.Tagger(f"-m {tmp_path / 'm'}"), "a\nb\r\nab\r"
    assert [tagger.add(character) for character in text] == [True] * len(text) and tagger.parse()
    assert [tagger.x(i, 0) for i in range(tagger.size())] == list(text)
    assert {text[i]: tagger.y2(i) for i in (0, 2, 5, 6)} == {"a": "A", "b": "B"}
    assert tagger.clear() and tagger.add(" \n") and tagger.add("\t \r\n") and [tagger.x(i, 0) for i in range(2)] == ["\n", "\r\n"]
    assert not tagger.add(" \t") and tagger.size() == 2
    assert tagger.clear() and tagger.add("a\r\n") and tagger.add(b"b\n") and [tagger.x(i, 0) for i in range(2)] == ["a", "b"]
    with pytest.raises(TypeError):
        tagger.add(["a"])  # type: ignore[arg-type]


def test_a_sentence_is_made_of_tokens(model):
    tagger = CRFPP.Tagger(f"-m {model}")
    assert tagger.empty() and tagger.size() == 0 and tagger.parse() and not tagger.next() and tagger.parse("") == "\n"
    assert (tagger.xsize(), tagger.ysize(), [tagger.yname(j) for j in range(3)]) == (2, 3, LABELS)
    assert tagger.add("w") is False and "xsize=2" in tagger.what() and tagger.empty()
    assert tagger.add(" w \t X  B \r\n") and tagger.add("a\u3000b Y".encode())
    assert [tagger.x(0, j) for j in range(3)] == ["w", "X", "B"] and tagger.x(1, 0) == "a\u3000b"
    assert tagger.y(0) == 0 and tagger.answer(1) == 0
    assert tagger.parse() and tagger.clear() and tagger.empty()


def test_dsize_counts_weights_of_zero_as_well(model, tmp_path):
    weights = sum(map(len, WEIGHTS.values()))
    assert CRFPP.Tagger(f"-m {model}").dsize() == weights
    for to in ("crfpp", "crfpp-text", "crfkit"):
        foreign.convert(model, tmp_path / to, to)
        assert CRFPP.Tagger(f"-m {tmp_path / to}").dsize() == weights
    crfkit.learn([[["w", "X", "A"], ["v", "Y", "B"]]], Template.parse("U:%x[0,0]\n")).save(tmp_path / "own")
    assert CRFPP.Tagger(f"-m {tmp_path / 'own'}").dsize() == 2


@pytest.mark.parametrize(("method", "arguments"), [
    ("x", (4, 0)), ("x", (0, 2)), ("y", (-1,)), ("y2", (4,)), ("yname", (3,)), ("answer", (4,)), ("prob", (4,)), ("prob", (0, 3)), ("prob", (-1, 0)),
    ("alpha", (0, -1)), ("beta", (4, 0)), ("emission_cost", (0, 3)), ("best_cost", (4, 0)), ("set_penalty", (4, 0, 1.0)), ("set_penalty", (0, 3, 1.0)),
    ("next_transition_cost", (3, 0, 0)), ("prev_transition_cost", (0, 0, 0)), ("next_transition_cost", (0, 0, 3)),
    ("penalty", (99, 0)), ("penalty", (0, 3)), ("penalty", (-1, 0)),
])
def test_what_is_not_there_is_an_index_error(model, method, arguments):
    tagger = tagger_of(model, SENTENCES[0])
    tagger.parse()
    with pytest.raises(IndexError, match=r"^there is no (token|column|label|step behind token) -?\d+: there are \d, counted from 0$"):
        getattr(tagger, method)(*arguments)


def test_nothing_is_there_before_the_first_parse(model):
    tagger = CRFPP.Tagger(f"-m {model}")
    with pytest.raises(IndexError, match=r"^there is no token 0: there are 0, counted from 0$"):
        tagger.y(0)
    with pytest.raises(IndexError, match=r"^there is no step behind token 0: there are 0, counted from 0$"):
        tagger.next_transition_cost(0, 0, 0)


def test_options_are_those_of_crf_test(model, tmp_path):
    tagger = CRFPP.Tagger(f"--nbest=3 -v2 -m {model}")
    assert (tagger.nbest(), tagger.vlevel(), tagger.cost_factor()) == (3, 2, 1.0)
    (tmp_path / "no").write_text("no model")
    for wrong in ("", "-m", "-x", f"-m {model}.not", f"-m {tmp_path / 'no'}", f"-m {model} -c 0", f"-m {model} -n x", "--help"):
        with pytest.raises(RuntimeError, match=r"^[^\n]+$"):
            CRFPP.Tagger(wrong)
    with pytest.raises(ValueError, match="cost_factor"):
        tagger.set_cost_factor(math.nan)


def test_names_of_models_may_hold_the_blanks_of_other_scripts(model, tmp_path):
    name = tmp_path / "a\u3000b\xa0c"
    name.write_bytes(model.read_bytes())
    assert CRFPP.Tagger(f"-m\t{name}  -n\n2\r").nbest() == 2


def test_options_may_change(model):
    rows = SENTENCES[0]
    tagger = tagger_of(model, rows, "")
    tagger.parse()
    tagger.set_cost_factor(2.0)
    assert tagger.Z() == pytest.approx(problem(rows).log_z, abs=1e-6)  # all answers are of the last `parse`
    tagger.set_nbest(1)
    tagger.set_vlevel(1)
    assert tagger.parse() and tagger.Z() == pytest.approx(problem(rows, 2.0).log_z, abs=1e-6)
    assert tagger.parse("w X\n").startswith("# 0 0.") and (tagger.nbest(), tagger.vlevel()) == (1, 1)


def test_a_token_more_makes_another_sentence(model):
    rows = SENTENCES[0]
    tagger = tagger_of(model, rows[:3])
    assert tagger.parse() and tagger.next() and tagger.alpha(2, 0)
    tagger.add(" ".join(rows[3]))
    expected = problem(rows)
    best, path = expected.best()
    assert tagger.Z() == pytest.approx(expected.log_z, abs=1e-6) and tagger.prob() == pytest.approx(expected.probability(path), abs=1e-6)
    assert tagger.prob(3, 1) == pytest.approx(expected.node_marginals()[3][1], abs=1e-6)
    assert tagger.best_cost(3, tagger.y(3)) == pytest.approx(best, abs=1e-6)


def test_taggers_share_a_model(model):
    shared = CRFPP.Model(f"-m {model} -v 1 -n 2")
    first, second = shared.createTagger(), shared.createTagger()
    first.add("w X")
    second.add("v Y")
    assert first.parse() and second.parse() and first.Z() == pytest.approx(problem([["w", "X"]]).log_z, abs=1e-6)
    assert second.Z() == pytest.approx(problem([["v", "Y"]]).log_z, abs=1e-6) and (first.vlevel(), first.nbest()) == (1, 2)
    assert shared.getTemplate().split() == ["U0:%x[0,0]", "U1:%x[-1,0]/%x[0,1]", "B", "B1:%x[0,1]"] and shared.what() == ""
    assert first.set_model(shared) and first.empty()


@COPIES
def test_a_copy_holds_the_sentence_and_its_labels(model, copied):
    def seen(tagger):
        return [tagger.y2(i) for i in range(tagger.size())], tagger.prob(), tagger.Z(), tagger.alpha(1, 2), tagger.vlevel()

    tagger = tagger_of(model, SENTENCES[0])
    tagger.set_penalty(1, 1, -2.5)
    tagger.parse()
    assert seen(copied(tagger)) == seen(tagger)
    assert tagger.next() and tagger.next()
    tagger.set_penalty(0, 0, 9.0)  # for the next `parse`
    again = copied(tagger)
    assert seen(again) == seen(tagger)
    assert again.next() and tagger.next() and seen(again) == seen(tagger)
    assert again.parse() and tagger.parse() and seen(again) == seen(tagger) != seen(tagger_of(model, SENTENCES[0]))


@COPIES
def test_what_a_copy_is_told_does_not_change_the_original(model, copied):
    tagger = tagger_of(model, SENTENCES[2])
    before = [tagger.prob(i) for i in range(2)]
    again = copied(tagger)
    assert again.add("w X") and again.set_penalty(0, 0, 9.0) is None
    assert tagger.parse() and again.parse() and (tagger.size(), again.size(), tagger.penalty(0, 0)) == (2, 3, 0)
    assert [tagger.prob(i) for i in range(2)] == before


def test_models_of_crfkit_without_probabilities_label(tmp_path):
    (tmp_path / "t").write_text("U:%x[0,0]\nB\n")
    crfkit.learn([[["a", "A"], ["b", "B"]]] * 3, tmp_path / "t", algorithm="perceptron").save(tmp_path / "m")
    tagger = tagger_of(tmp_path / "m", [["a"], ["b"]], "")
    assert tagger.parse() and [tagger.y2(i) for i in range(2)] == ["A", "B"] and tagger.parse("b\n") == "b\tB\n\n"
    for call in (tagger.prob, tagger.Z, tagger.next, lambda: tagger.alpha(0, 0), lambda: tagger.set_penalty(0, 0, 1.0)):
        with pytest.raises(UnsupportedError):
            call()


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_signals_are_for_the_program_that_calls(number):
    """Ctrl-C after the model so far is saved, as Python hears of it where C's function returns; and SIGTERM."""
    write(template="U:%x[0,0]\nB\n", train="a X\nb Y\n\nb X\n\n")
    program = """
import signal, sys
from crfkit.compat import CRFPP
from crfkit.compat.crfpp import crf_learn

class Signal(crf_learn.Log):
    def report(self, record):
        super().report(record)
        if self.lines == 2:
            signal.raise_signal(int(sys.argv[1]))

crf_learn.Log = Signal
CRFPP.crfpp_learn(["crf_learn", "template", "train", "model"])
print("went on")
"""
    done = python(program, int(number), code=-number)
    assert "went on" not in done.stdout
    assert ("KeyboardInterrupt" in done.stderr) == (number == signal.SIGINT)
    assert Path("model").exists()


def test_the_programs_as_calls(capfd):
    write(t="U:%x[0,0]\nB\n", d="a A\nb B\n\n" * 3)
    assert CRFPP.crfpp_learn(["crf_learn", "-m3", b"t", "d", "m"]) == 0
    assert capfd.readouterr().out.startswith("CRF++: Yet Another CRF Tool Kit\n")
    assert CRFPP.crfpp_test(["crf_test", "-m", "m", "d"]) == 0 and capfd.readouterr().out == "a\tA\tA\nb\tB\tB\n\n" * 3
    assert CRFPP.crfpp_learn(["crf_learn", "t", "none", "m"]) == 1 and "none" in capfd.readouterr().err
    assert CRFPP.crfpp_test(["crf_test"]) == 2
    taken = io.StringIO()  # as in notebooks, where standard output has no bytes
    with contextlib.redirect_stdout(taken):
        assert CRFPP.crfpp_learn(["crf_learn", "-m3", "t", "d", "m"]) == 0
        assert CRFPP.crfpp_test(["crf_test", "-m", "m", "d"]) == 0
    assert taken.getvalue().startswith("CRF++: Yet Another CRF Tool Kit\n") and taken.getvalue().endswith("a\tA\tA\nb\tB\tB\n\n" * 3)
