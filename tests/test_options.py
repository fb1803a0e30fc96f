"""Options of the trainers: defaults, ranges, kinds, who uses what."""

import enum
import os
import pathlib
import re
from dataclasses import FrozenInstanceError, fields
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
from commands import invoked
from hypothesis import given
from hypothesis import strategies as st

import crfkit
from crfkit import constants, options
from crfkit.cli import cli
from crfkit.compat.crfpp.crf_learn import crf_learn
from crfkit.compat.crfpp.crf_test import crf_test
from crfkit.compat.crfsuite import cli as crfsuite
from crfkit.compat.wapiti.commands import cli as wapiti
from crfkit.errors import DataError, FileError, OptionError, in_python
from crfkit.learning.judging import judge
from crfkit.trainers import trainer_class
from crfkit.values import flag, shown

FIELDS = [(name, item) for name, cls in options.TRAINERS.items() for item in fields(cls)]
RUNS = [(None, item) for item in fields(options.Run)]
class Open:
    def __repr__(self):
        return "<open>"

    def write(self, text):
        """Into the void."""


io_like = Open()
anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()), st.sampled_from([0, 1, -1, 1e400])
)


def test_defaults_are_in_range_and_frozen():
    for name, cls in options.TRAINERS.items():
        made = options.make(name, {})
        assert made == cls() == options.make(name, {item.name: getattr(made, item.name) for item in fields(cls)})
        with pytest.raises(FrozenInstanceError):
            made.l2 = 3


def test_every_option_has_help_and_a_kind():
    for _, item in FIELDS + RUNS:
        assert item.metadata["help"].endswith(".")
        assert item.metadata["expected"].kind in (int, float, bool, str, tuple, object, os.PathLike)
    for _, item in FIELDS:
        assert (item.metadata["expected"].kind is str) == (item.metadata["expected"].choices is not None)


def test_numbers_of_other_kinds_are_taken_as_python_s_own():
    own = options.taken(options.TRAINERS["lbfgs"], {"l2": Fraction(1, 4), "max_iter": numpy.int64(7)})
    assert (own.l2, type(own.l2), own.max_iter, type(own.max_iter)) == (0.25, float, 7, int)
    for value in (Fraction(10**400, 3), 10**400, Decimal(1)):
        with pytest.raises(OptionError, match=r"^l2: expected a (finite )?number of at least 0, found "):
            options.taken(options.TRAINERS["lbfgs"], {"l2": value})


@given(st.sampled_from(FIELDS + RUNS), anything)
def test_any_value_is_taken_as_it_is_or_refused(which, value):
    algorithm, item = which
    expected = item.metadata["expected"]
    try:
        made = options.taken(options.Run if algorithm is None else options.TRAINERS[algorithm], {item.name: value})
    except OptionError as error:
        assert str(error).startswith(f"{item.name}: expected ")
        assert error.message.startswith(f"{flag(item.name)}: expected ")
        assert "\n" not in str(error)
    else:
        taken = getattr(made, item.name)
        if expected.kind is tuple and value is not None:
            several = value.split(",") if isinstance(value, str) else [value] if isinstance(value, (int, float)) else value
            assert taken == tuple(map(float, several))
            assert list(taken) == sorted(set(taken), reverse=True) and taken[-1] >= expected.low
            return
        assert taken == value or (taken != taken and expected.kind is object)
        if taken is None:
            assert item.default is None
            return
        assert isinstance(taken, str if expected.kind is os.PathLike else expected.kind)
        assert expected.low is None or taken >= expected.low
        assert expected.above is None or taken > expected.above
        assert expected.high is None or taken <= expected.high
        assert expected.choices is None or taken in expected.choices


@pytest.mark.parametrize(("algorithm", "name", "value", "taken"), [
    ("sapo", "search", "beam", "beam"),
    ("sgd", "l2", 2, 2.0),
    *(("owlqn", "path", value, (10.0, 3.0, 1.0)) for value in ("10,3,1", [10, 3.0, 1], (10.0, 3.0, 1.0), " 10, 3 ,1.0")),
    ("owlqn", "path", range(3, 0, -1), (3.0, 2.0, 1.0)),
    ("owlqn", "path", 3, (3.0,)),
    ("owlqn", "path", "3", (3.0,)),
])
def test_what_values_are_taken_for(algorithm, name, value, taken):
    assert getattr(options.make(algorithm, {name: value}), name) == taken


@pytest.mark.parametrize(("algorithm", "given", "message"), [
    ("sapo", {"search": "viterbi"}, "search: expected astar or beam, found 'viterbi'"),
    ("sapo", {"search": 1}, "search: expected astar or beam, found 1"),
    *(("lbfgs", {"max_iter": value}, "max_iter: expected a whole number of at least 1, found .*") for value in ("1", True, None, 0.5, [1], float("nan"))),
    *(("lbfgs", {"l2": value}, "l2: expected a finite number.*") for value in (float("nan"), float("inf"), 10**400)),
    *(("owlqn", {"path": value}, "path: expected falling numbers of at least 0, such as 10,3,1, found.*") for value in (
        "", "a", "1,3", "1,1", "1,-1", "3,,1", "3,nan", "inf,1", [], [[3], 1], [True, False], numpy.array([True, False]), True, -3, [10**400, 1], {3: 1}
    )),
    ("owlqn", {"path": [3, 1], "l1": 2.0}, "l1 and path exclude each other.*"),
    ("lbfg", {}, "unknown algorithm 'lbfg'; expected one of lbfgs, .*"),
    ("sgd", {"pases": 1}, "unknown option pases; did you mean passes[?]"),
    ("sgd", {"alg": 1}, "unknown option alg; did you mean algorithm[?]"),
    *(("sgd", {name: 1}, f"unknown option {name}") for name in ("qqqq", "K", "lambda_", "crf__c1")),
    ("sgd", {"memory": 3}, r"memory is not used by sgd \(it belongs to lbfgs.*\)"),
    ("perceptron", {"l2": 1.0}, r"l2 is not used by perceptron \(it belongs to lbfgs, .*\)"),
])
def test_what_is_refused(algorithm, given, message):
    with pytest.raises(OptionError, match=f"^{message}$"):
        options.make(algorithm, given)


def test_unknown_trainers():
    last = list(options.TRAINERS)[-1]
    for wrong, meant in {"lbfg": "lbfgs", "L-BFGS": "lbfgs", "l2sgd": "sgd", "perceptorn": "perceptron", "dblcrf": "dbl-crf", "CRF-L1": "owlqn", "ap": "perceptron", "pa": "mira", "crf": "lbfgs"}.items():
        with pytest.raises(OptionError, match=rf", {last}; did you mean {meant}[?]$"):
            options.make(wrong, {})
    with pytest.raises(OptionError, match=rf", {last}$"):
        options.make("unknwon", {})


def test_messages_are_short_however_long_the_names_are():
    from crfkit import foreign
    from crfkit.compat import pycrfsuite, wapiti

    long = "x" * 100_000
    for call in (
        lambda: options.make("sgd", {long: 1}),
        lambda: crfkit.CRF().set_params(**{long: 1}),
        lambda: foreign.model_bytes(None, long),
        lambda: crfkit.learn([[["a", "X"]]], template="U:%x[0,0]\n", data_dir=long + "\0"),
        lambda: pycrfsuite.Trainer("lbfgs", {"epsilon": long}, verbose=False).train("model"),
        lambda: pycrfsuite.Trainer("lbfgs", {"linesearch": long}, verbose=False).train("model"),
        lambda: wapiti.Model(encoding=long),
        lambda: wapiti.Model(**{long: 1}),
        lambda: wapiti.Model(algo=long).train(["a X"]),
    ):
        with pytest.raises((ValueError, FileError), match="xxx") as caught:
            call()
        assert len(str(caught.value)) < 1000


def test_options_of_the_command_are_refused():
    with pytest.raises(OptionError, match=r"^quiet is not used by lbfgs \(it belongs to the command line\)$"):
        crfkit.learn("train", template="U", quiet=True)


def test_every_option_is_listed_once():
    listed = options.declared()
    of_trainers = {(user, name) for name, option in listed.items() for user in option.defaults if user}
    assert of_trainers == {(a, item.name) for a, item in FIELDS}
    assert {name for name, option in listed.items() if "" in option.defaults} == {*options.RUN_FIELDS, *options.SPEECH}
    for algorithm, item in FIELDS:  # one flag stands for all of them: they must agree on what it takes
        assert item.metadata["expected"].kind == listed[item.name].expected.kind
        assert options.declared(algorithm)[item.name].expected == item.metadata["expected"]
        assert listed[item.name].help.lower().count(item.metadata["help"].lower()) == 1
    assert options.declared("mira")["nbest"].expected.high != options.declared("dbl-crf")["nbest"].expected.high


@pytest.mark.parametrize(("given", "message"), [
    ({"threads": 2.0}, "--threads: expected a whole number from 0 to 1024, found 2.0"),
    ({"min_freq": 0}, "--min-freq: expected a whole number of at least 1, found 0"),
    ({"memory": 65}, "--memory: expected a whole number from 1 to 64, found 65"),
    ({"max_iter": 2**31}, "--max-iter: expected a whole number from 1 to 2147483647, found 2147483648"),
    ({"l2": -1}, "--l2: expected a number of at least 0, found -1"),
    ({"log": 3}, "--log: expected a path or an open file, found 3"),
    ({"checkpoint": io_like}, "--checkpoint: expected a path, found <open>"),
    ({"resume": 1}, "--resume: expected true or false, found 1"),
    ({"patience": 2}, "--patience needs --dev: it counts passes without a better score there"),
    ({"outside": "_"}, "--outside needs --dev: it is of use where chunks are counted"),
    ({"outside": "", "dev": "d"}, "--outside needs a label"),
    ({"label": "a", "format": "crfsuite"}, "--label is of no use with --format crfsuite, where each line begins with its label"),
    ({"checkpoint_every": 2}, "--checkpoint-every needs --checkpoint: the name of the file"),
    ({"c1": 1}, "unknown option --c1; l1 is CRFsuite's c1"),
    ({"c2": 1}, "unknown option --c2; l2 is twice CRFsuite's c2"),
    ({"C": 1}, "unknown option --C; l2 is 1 / C of CRF++ and scikit-learn"),
    ({"cost": 4.0}, "unknown option --cost; l2 is 1 / cost of CRF++"),
    ({"iterations": 1}, "unknown option --iterations; did you mean --passes, or --max-iter of lbfgs, owlqn and sbcd?"),
    ({"max_iterations": 1}, "unknown option --max-iterations; did you mean --passes, or --max-iter of lbfgs, owlqn and sbcd?"),
    ({"n_jobs": 2}, "unknown option --n-jobs; did you mean --threads?"),
    ({"trainer": "sgd"}, "unknown option --trainer; did you mean --algorithm?"),
    ({"all_possible_transitions": True}, "unknown option --all-possible-transitions; --features all gives every pair of labels a feature"),
])
def test_each_fault_has_one_sentence(given, message):
    """On the command line with flags, in Python with the names of arguments."""
    with pytest.raises(OptionError) as caught:
        judge("lbfgs", given)
    assert caught.value.message == message
    assert "--" not in str(caught.value)


def test_batches_go_with_threads_where_these_change_nothing():
    assert judge("perceptron", {"batch_size": 2, "threads": 2})[2].threads == 2
    for algorithm in ("sgd", "adf", "sapo"):
        with pytest.raises(OptionError, match="batch_size needs threads=1"):
            judge(algorithm, {"batch_size": 2, "threads": 2})


def test_options_in_sentences_of_python():
    told = {
        "--format crfsuite takes no template": "format='crfsuite' takes no template",
        "--batch-size needs --threads 1: threads": "batch_size needs threads=1: threads",
        "raise --min-freq, or take --features observed": "raise min_freq, or take features='observed'",
        "'--l1': x--y; crfkit learn --resume goes on": "'--l1': x--y; crfkit learn --resume goes on",
        "crfkit convert --to crfpp, crfkit tag --fill or --l1 2": "crfkit convert --to crfpp, crfkit tag --fill or l1=2",
        "a -- b --- c": "a -- b --- c",
        "no label 'B --min-freq 3', \"B's --l1 3\": lower --l1": "no label 'B --min-freq 3', \"B's --l1 3\": lower l1",
        "train it with --type crf, not --l1 2": "train it with --type crf, not l1=2",
        "unknown option --n-jobs": "unknown option n_jobs",
    }
    assert {text: in_python(text) for text in told} == told


@pytest.mark.parametrize("path", ["/no --min-freq 3", "/no: --l1 3", "no --l1 3"])
def test_paths_in_python_stay_as_they_are(path):
    for error in (FileError(f"{path}: there: add --resume"), DataError("there: add --resume", path), DataError("there: add --resume", path, 3)):
        where = path + ":3" * (getattr(error, "line", None) is not None)
        assert str(error) == f"{where}: there: add resume"
    with pytest.raises(FileError, match=f"^{path}: cannot be read"):
        crfkit.load(path)
    assert str(OptionError("/no --l1 3: was written with --l1 1")) == "/no --l1 3: was written with l1=1"


@pytest.mark.parametrize("kind", [numpy.int64, numpy.int8, numpy.uint32, lambda n: numpy.array(n)])
def test_whole_numbers_of_numpy(kind):
    _, own, run = judge("owlqn", {"max_iter": kind(5), "min_freq": kind(2), "threads": kind(1), "seed": kind(3), "max_memory": kind(100),
                                          "checkpoint": "c", "checkpoint_every": kind(4), "dev": "d", "patience": kind(2)})
    assert (own.max_iter, run.min_freq, run.threads, run.seed, run.max_memory, run.checkpoint_every, run.patience) == (5, 2, 1, 3, 100, 4, 2)
    assert {type(value) for value in (own.max_iter, run.min_freq, run.max_memory, run.checkpoint_every)} == {int}


def test_numbers_of_numpy():
    assert options.make("owlqn", {"path": numpy.array([3, 1], numpy.float32)}).path == (3.0, 1.0)
    assert options.make("perceptron", {"average": numpy.bool_(False)}).average is False
    assert judge("sgd", {"prune": numpy.float32(0.5)})[2].prune == 0.5


class Word(str, enum.Enum):
    """Texts of a program's own: str() and format() say something else of them."""

    SGD = "sgd"
    ALL = "all"
    SIZE = "2G"
    BIO = "bio"
    ONE = "1"


def test_members_of_an_enum_are_the_texts_they_stand_for():
    algorithm, _, run = judge(Word.SGD, {"features": Word.ALL, "max_memory": Word.SIZE})
    assert [type(value) for value in (algorithm, run.features, run.max_memory)] == [str, str, str]
    assert (algorithm, run.features, run.max_memory) == ("sgd", "all", "2G")
    with pytest.raises(OptionError, match=r"^passes: expected a whole number of at least 1, found '1'$"):
        judge(Word.SGD, {"passes": Word.ONE})
    model = crfkit.learn([[["a", "B-X"], ["b", "O"]]], "U:%x[0,0]", Word.SGD, passes=1)
    assert repr(crfkit.Tagger(model, Word.BIO)) == repr(crfkit.Tagger(model, "bio"))
    assert type(crfkit.evaluate([["O"]], [["O"]], Word.BIO).scheme) is str


def test_memory_grows_with_threads_and_history():
    def needed(name, threads=1, **given):
        return trainer_class(name).bytes_per_cell(options.make(name, given), threads)

    assert needed("lbfgs", 4) == needed("lbfgs") + 3 * 8
    assert needed("lbfgs", memory=10) > needed("lbfgs", memory=5)
    assert needed("perceptron") > needed("perceptron", average=False)
    assert needed("sgd", batch_size=2, l1=1.0) == needed("sgd") + 4 + 8
    assert set(constants.WITHOUT_PROBABILITIES) <= set(options.TRAINERS)


@pytest.mark.parametrize("value", [10**5000, [10**5000], {"a": (1, -(10**5000))}], ids=["number", "list", "mapping"])
def test_numbers_that_python_does_not_print(value):
    """Not even in a message: it would have to be said how many digits are allowed."""
    assert len(shown(value)) < 100 and "16,610 bits" in shown(value)
    for name in ("max_memory", "checkpoint_every", "l2", "passes", "format", "path"):
        with pytest.raises(OptionError, match="bits"):
            judge("sgd" if name != "path" else "owlqn", {name: value})
    with pytest.raises(OptionError, match=r"unknown algorithm .*bits"):
        judge(value, {})


def test_a_list_that_is_no_name_of_a_trainer():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(OptionError, match="unknown algorithm"):
        judge(deep, {})


@pytest.mark.parametrize("line", ["U @x{}", "U:%x[0,{}]", "U:%x[0,{} ", 'U:%m[0,0,"{}("]', "P:%x[{},0]"])
def test_messages_leave_out_the_middle_of_a_long_quotation(line):
    """A template may have lines of megabytes."""
    with pytest.raises(DataError) as caught:
        crfkit.learn([[["a", "X"]]], template=line.format("x" * 100_000) + "\n")
    assert re.fullmatch(r"template:1: .*x{1000} \.\.\. x{1000}.*", str(caught.value)) and len(str(caught.value)) < 6000


def test_a_path_is_no_option_whatever_follows_it():
    """Options are named as arguments in what is said of a file, not in its name, in long messages as in short ones."""
    for reason in ("wrong: --min-freq 3", "wrong: --min-freq 3 " + "x" * 10_000):
        assert str(DataError(reason, "a --min-freq 3/f", 2)).startswith("a --min-freq 3/f:2: wrong: min_freq=3")


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\x1b[31mb", "a\x9bb", "a\u2028b"])
def test_messages_are_one_line_and_steer_no_terminal(name):
    """Whatever names of files, and labels, hold."""
    within = repr(name)[1:-1]
    assert str(DataError("there: add --resume", name, 3)) == f"{within}:3: there: add resume"
    assert str(DataError(f"no label {name!r}: add --resume", name)) == f"{within}: no label {name!r}: add resume"
    assert str(DataError(f"no label {name}: lower --l1 3", "/x --l1 3")) == f"/x --l1 3: no label {within}: lower l1=3"
    assert str(FileError(f"/{name} --l1 3: there: add --resume")) == f"/{within} --l1 3: there: add resume"
    pathlib.Path(name).write_text("a X\nb c Y\n")
    with pytest.raises(DataError) as caught:
        crfkit.learn(name, template="U:%x[0,0]")
    assert str(caught.value).startswith(f"{within}:2: ")


NUMBERS = [
    (cli, "tag -n x model", "-n' / '--nbest", "integer"),
    (cli, "dump --top x model", "--top", "integer"),
    (cli, "eval --seed x", "--seed", "integer"),
    (cli, "learn -a sgd --passes x template train model", "--passes", "integer"),
    (crf_learn, "-f x template train model", "-f' / '--freq", "integer"),
    (crf_test, "-v x -m model", "-v' / '--verbose", "integer"),
    (crfsuite, "learn -e x", "-e' / '--holdout", "integer"),
    (wapiti, "label -n x", "-n' / '--nbest", "integer"),
    (wapiti, "train -1 x", "-1' / '--rho1", "float"),
]


@pytest.mark.parametrize(("program", "words", "option"), [(program, words, option) for program, words, option, kind in NUMBERS if kind == "integer"])
def test_whole_numbers_beyond_all_use_are_refused(program, words, option):
    said = invoked(program, *words.replace(" x", " 99999999999999999999").split(), code=2).stderr
    assert option.split("'")[0] in said and ("is larger than 2147483647" in said or "in the range" in said or "a whole number from" in said)


@pytest.mark.parametrize(("program", "words", "option", "kind"), NUMBERS, ids=[words for _, words, *_ in NUMBERS])
def test_a_word_in_the_place_of_a_number_is_said_to_be_none(program, words, option, kind):
    """With limits too: click says that it is no integer range."""
    assert f"Invalid value for '{option}': 'x' is not a valid {kind}.\n" in invoked(program, *words.split(), code=2).stderr
