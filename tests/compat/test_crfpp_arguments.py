"""What CRF++'s module for Python is called with is refused at once if it has another type: later, it would be an error of another call."""

import pytest

import crfkit
from crfkit.compat import CRFPP


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("crfpp") / "model"
    crfkit.learn([[["w", "X", "B"], ["v", "Y", "O"]]], "U:%x[0,0]\nU1:%x[0,1]\nB\n").save(path)
    return path


@pytest.mark.parametrize(("method", "arguments", "message"), [
    ("x", (0.5, 0), "token: expected a whole number, found 0.5"), ("y2", ("a",), "token: expected a whole number, found 'a'"),
    ("yname", (None,), "label: expected a whole number, found None"), ("alpha", (0, 1.0), "label: expected a whole number, found 1"),
    ("prev_transition_cost", ("1", 0, 0), "token: expected a whole number, found '1'"), ("set_penalty", (0.5, 0, 1.0), "token: expected a whole number, found 0.5"),
    ("set_penalty", (0, 0, "0.5"), "penalty: expected a number, found '0.5'"), ("penalty", (None, 0), "token: expected a whole number, found None"), ("set_cost_factor", (None,), "cost_factor: expected a number, found None"),
    ("set_penalty", (0, 0, 10**400), "penalty: expected a number, found a whole number of 1,329 bits"),
    ("set_vlevel", ("1",), "vlevel: expected a whole number, found '1'"), ("set_nbest", (2.5,), "nbest: expected a whole number, found 2.5"),
    ("add", (3,), "line: expected str or bytes, found 3"), ("parse", (3,), "text: expected str or bytes, found 3"), ("set_model", (3,), "model: expected a Model, found 3"),
])
def test_arguments_of_other_types_are_refused_at_once(model, method, arguments, message):
    tagger = CRFPP.Tagger(f"-m {model}")
    tagger.add("w X")
    with pytest.raises(TypeError, match=f"^{message}$"):
        getattr(tagger, method)(*arguments)
    assert tagger.parse() and tagger.parse("w X\n") == "w\tX\tB\n\n"


@pytest.mark.parametrize("name", ["vlevel", "nbest"])
def test_numbers_without_sign(model, name):
    tagger = CRFPP.Tagger(f"-m {model}")
    with pytest.raises(OverflowError, match=f"^{name}: expected a number of 0 or more, found -1$"):
        getattr(tagger, f"set_{name}")(-1)
    assert getattr(tagger, name)() == 0


def test_programs_and_models_are_named_by_texts(model):
    for call in (CRFPP.Model, CRFPP.Tagger):
        with pytest.raises(TypeError, match=r"^arg: expected str or bytes, found 3$"):
            call(3)
    for program in (CRFPP.crfpp_learn, CRFPP.crfpp_test):
        with pytest.raises(TypeError, match=r"^argv: expected str or bytes, found False$"):
            program(["crf_test", "-m", str(model), False])
    assert CRFPP.crfpp_test([]) == CRFPP.crfpp_test(["crf_test"]) == 2
