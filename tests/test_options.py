"""Options of the trainers: defaults, ranges, kinds, who uses what."""

from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import options
from crfkit.errors import OptionError

FIELDS = [(name, item) for name, cls in options.TRAINERS.items() for item in fields(cls)]
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
    for _, item in FIELDS:
        assert item.metadata["help"].endswith(".")
        assert item.metadata["kind"] in (int, float, bool, str, tuple)
        assert (item.metadata["kind"] is str) == (item.metadata["choices"] is not None)


@given(st.sampled_from(FIELDS), anything)
def test_any_value_is_taken_as_it_is_or_refused(which, value):
    algorithm, item = which
    meta = item.metadata
    try:
        taken = getattr(options.make(algorithm, {item.name: value}), item.name)
    except OptionError as error:
        assert str(error).startswith(f"{options.flag(item.name)}: expected ")
        assert "\n" not in str(error)
    else:
        if item.metadata["kind"] is tuple and value is not None:
            assert taken == tuple(map(float, value.split(",") if isinstance(value, str) else value))
            assert list(taken) == sorted(set(taken), reverse=True) and taken[-1] >= meta["low"]
            return
        assert taken == value
        if taken is None:
            assert item.default is None
            return
        assert type(taken) is meta["kind"]
        assert meta["low"] is None or taken >= meta["low"]
        assert meta["above"] is None or taken > meta["above"]
        assert meta["high"] is None or taken <= meta["high"]
        assert meta["choices"] is None or taken in meta["choices"]


def test_a_choice_is_one_of_those_named():
    assert options.make("sapo", {"search": "beam"}).search == "beam"
    with pytest.raises(OptionError, match=r"^--search: expected astar or beam, found 'viterbi'$"):
        options.make("sapo", {"search": "viterbi"})
    with pytest.raises(OptionError, match=r"^--search: expected a text, found 1$"):
        options.make("sapo", {"search": 1})


@pytest.mark.parametrize("value", ["1", True, None, 0.5, [1], float("nan")])
def test_values_of_another_kind_are_refused(value):
    with pytest.raises(OptionError, match=r"^--max-iter: expected a whole number, found "):
        options.make("lbfgs", {"max_iter": value})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_numbers_without_a_value_are_refused(value):
    with pytest.raises(OptionError, match=r"^--l2: expected a finite number"):
        options.make("lbfgs", {"l2": value})


def test_a_whole_number_will_do_for_a_number():
    assert options.make("sgd", {"l2": 2}).l2 == 2.0


@pytest.mark.parametrize("value", ["10,3,1", [10, 3.0, 1], (10.0, 3.0, 1.0), " 10, 3 ,1.0"])
def test_a_path_is_a_list_or_a_text(value):
    assert options.make("owlqn", {"path": value}).path == (10.0, 3.0, 1.0)


@pytest.mark.parametrize("value", ["", "a", "1,3", "1,1", "1,-1", "3,,1", "3,nan", "inf,1", [], [[3], 1], [True, False], 3, [10**400, 1], {3: 1}])
def test_other_paths_are_refused(value):
    with pytest.raises(OptionError, match=r"^--path: expected falling numbers of at least 0, such as 10,3,1, found"):
        options.make("owlqn", {"path": value})


def test_a_path_says_what_l1_is():
    with pytest.raises(OptionError, match=r"^--l1 and --path exclude each other"):
        options.make("owlqn", {"path": [3, 1], "l1": 2.0})


def test_unknown_names():
    with pytest.raises(OptionError, match=r"^unknown algorithm 'lbfg'; expected one of lbfgs, .*$"):
        options.make("lbfg", {})
    with pytest.raises(OptionError, match=r"^unknown option --pases; did you mean --passes[?]$"):
        options.make("sgd", {"pases": 1})
    with pytest.raises(OptionError, match=r"^unknown option --qqqq$"):
        options.make("sgd", {"qqqq": 1})


def test_what_belongs_to_others_is_refused():
    with pytest.raises(OptionError, match=r"^--memory is not used by sgd \(it belongs to lbfgs.*\)$"):
        options.make("sgd", {"memory": 3})
    with pytest.raises(OptionError, match=r"^--l2 is not used by perceptron \(it belongs to lbfgs, .*\)$"):
        options.make("perceptron", {"l2": 1.0})


def test_all_fields_lists_every_option_once():
    listed = options.all_fields()
    assert {(user, name) for name, (_, users) in listed.items() for user in users} == {(a, item.name) for a, item in FIELDS}
    for name, (item, users) in listed.items():  # one flag stands for all of them: they must agree on what it takes
        kinds = {f.metadata["kind"] for user in users for f in fields(options.TRAINERS[user]) if f.name == name}
        assert kinds == {item.metadata["kind"]}


def test_memory_grows_with_threads_and_history():
    lbfgs = options.Lbfgs
    assert lbfgs().bytes_per_cell(4) == lbfgs().bytes_per_cell(1) + 3 * 8
    assert lbfgs(memory=10).bytes_per_cell(1) > lbfgs(memory=5).bytes_per_cell(1)
    assert options.Perceptron().bytes_per_cell(1) > options.Perceptron(average=False).bytes_per_cell(1)
    assert set(options.WITHOUT_PROBABILITIES) <= set(options.TRAINERS)
