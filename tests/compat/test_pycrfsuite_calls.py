"""Calls of python-crfsuite that programs make now and then, with both libraries."""

import copy
import os
import pickle
import tempfile
from collections import ChainMap
from fractions import Fraction
from pathlib import Path

import pycrfsuite
import pytest
from commands import memory_told, plain_build, python
from compat.kept import appended
from compat.pycrfsuite_runs import BOTH, TWO, given, opened, trained

from crfkit.compat import pycrfsuite as compat


@pytest.fixture
def model(tmp_path):
    trained(pycrfsuite, tmp_path / "m", data=TWO)
    return str(tmp_path / "m")


def test_a_tagger_imports_nothing_that_it_does_not_need(model):
    code = f"""
import sys, crfkit.compat.pycrfsuite
with crfkit.compat.pycrfsuite.Tagger().open({model!r}) as tagger:
    print(tagger.tag([["b"]]), [name for name in ("numpy", "click", "crfkit.learning", "decimal") if name in sys.modules])
"""
    assert python(code).stdout == "['B'] []\n"


@BOTH
def test_names_of_models_may_be_bytes(library, model):
    with library.Tagger().open(os.fsencode(model)) as tagger:
        assert tagger.tag([["b"]]) == ["B"]


@BOTH
def test_descriptors_of_others_are_no_names_of_dumps(library, model, tmp_path):
    tagger = opened(library, model)
    with open(tmp_path / "other", "wb") as other:
        for name in (other.fileno(), True):
            with pytest.raises(TypeError, match=f"not {type(name).__name__}$"):
                tagger.dump(name)
        assert os.fstat(other.fileno()).st_size == 0


@BOTH
def test_a_model_stays_open_when_another_cannot_be_opened(library, model):
    tagger = opened(library, model)
    for refused in (__file__, model + ".not", os.path.dirname(model)):
        with pytest.raises((ValueError, OSError)):
            tagger.open(refused)
    assert tagger.tag([["a"], ["b"]]) == ["A", "B"]


@BOTH
def test_labels_are_texts(library, model):
    tagger = opened(library, model)
    tagger.set([["a"]])
    for wrong in (1, None, 0.5):
        with pytest.raises(TypeError):
            tagger.marginal(wrong, 0)
        with pytest.raises(TypeError):
            tagger.probability([wrong])
    assert tagger.marginal(b"A", 0) == tagger.marginal("A", 0)


STRICT = """
import sys
import crfkit
from crfkit.compat import pycrfsuite

tagger = pycrfsuite.Tagger()
tagger.open(sys.argv[1])
tagger.set([["a"]])
assert tagger.marginal(b"A", 0) == tagger.marginal("A", 0) == tagger.probability([b"A"])
open(sys.argv[1] + ".data", "w").write("a A\\nb B\\n\\n")
assert crfkit.learn(sys.argv[1].encode() + b".data", "U:%x[0,0]", max_iter=2).labels == ["A", "B"]
"""


def test_bytes_and_texts_are_not_compared(model):
    """As test suites of others ask for."""
    python(STRICT, model, flags=["-bb", "-W", "error"])


@BOTH
def test_lists_of_labels_belong_to_the_caller(library, model):
    tagger = opened(library, model)
    tagger.labels().remove("A")
    assert tagger.labels() == ["A", "B"] and tagger.tag([["a"]]) == ["A"]


@BOTH
def test_nothing_is_left_after_clear(library, tmp_path):
    trainer = library.Trainer(verbose=False)
    trainer.append([["a"]], ["A"])
    trainer.clear()
    with pytest.raises(ValueError, match=r"The data is empty\. Call Trainer::append before Trainer::train\."):
        trainer.train(str(tmp_path / "m"))
    assert trainer.logparser.state is None and trainer.logparser.last_iteration is None
    trainer.append([["a"]], ["A"])
    trainer.train(str(tmp_path / "m"))


def test_a_model_that_was_trained_without_data(tmp_path):
    """python-crfsuite opens it, and then crashes."""
    for library in (pycrfsuite, compat):
        library.Trainer(verbose=False).train(str(tmp_path / "m"))
        with pytest.raises(ValueError, match="has no labels: it was trained without data"):
            compat.Tagger().open(str(tmp_path / "m"))


def test_mappings_that_are_no_dict_have_their_values():
    """python-crfsuite takes them for lists."""
    item = ChainMap({"a": 2.0}, {"b": "x"})
    assert compat.ItemSequence([item]).items() == compat.ItemSequence([dict(item)]).items() == pycrfsuite.ItemSequence([dict(item)]).items()
    assert pycrfsuite.ItemSequence([item]).items() == [{"a": 1.0, "b": 1.0}]


def test_taggers_and_items_can_be_pickled(model):
    sequence = compat.ItemSequence([["a", "a"], {"b": 0.1, "c": {"d": "\n"}}])
    for again in (pickle.loads(pickle.dumps(sequence)), copy.deepcopy(sequence)):
        assert again.items() == sequence.items() and again.packed.attributes() == sequence.packed.attributes()
    with compat.Tagger().open(model) as tagger:
        for again in (pickle.loads(pickle.dumps(tagger)), copy.deepcopy(tagger)):
            assert again.tag(sequence) == tagger.tag(sequence) and again.info().header == tagger.info().header
    with pytest.raises(ValueError, match="not opened"):
        pickle.loads(pickle.dumps(tagger)).labels()


@BOTH
def test_trainers_are_not_copied(library):
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copied(library.Trainer(verbose=False))


class Named(compat.Tagger):
    def __init__(self, name):
        super().__init__()
        self.name = name


def test_taggers_of_a_subclass_stay_what_they_are(model):
    tagger = Named("mine")
    with tagger.open(model):
        for again in (pickle.loads(pickle.dumps(tagger)), copy.deepcopy(tagger)):
            assert type(again) is Named and again.name == "mine" and again.tag([["b"]]) == ["B"]


def test_names_in_any_encoding_are_printed_as_they_are(model, tmp_path, capfdbinary):
    changed = Path(model).read_bytes().replace(b"a\0", b"\xe9\0").replace(b"B\0", b"\xc9\0")
    for library in (pycrfsuite, compat):
        tagger = library.Tagger()
        tagger.open_inmemory(changed)
        tagger.dump()
        tagger.dump(str(tmp_path / library.__name__))
        assert capfdbinary.readouterr().out == (tmp_path / library.__name__).read_bytes()
    assert (tmp_path / compat.__name__).read_bytes() == (tmp_path / "pycrfsuite").read_bytes()


def learned(library, path, words, labels):
    trained(library, path, data=[([[word] for word in words], list(labels))] * 3)


@BOTH
@pytest.mark.parametrize("over", [False, True])
def test_an_open_model_is_not_what_its_file_becomes(library, over):
    """python-crfsuite truncates a file and writes over it."""
    trainer = pycrfsuite if over else library
    learned(trainer, "m", "ab", "AB")
    tagger = opened(library, "m")
    learned(trainer, "m", "cd", "PQ")
    assert set(tagger.info().labels) == {"A", "B"} and set(tagger.info().attributes) == {"a", "b"}
    os.unlink("m")
    tagger.dump("dump")
    assert "A" in Path("dump").read_text() and set(tagger.info().labels) == {"A", "B"}


@BOTH
def test_a_temporary_file_that_is_open_gets_the_model(library):
    with tempfile.NamedTemporaryFile() as file:
        learned(library, file.name, "ab", "AB")
        tagger = library.Tagger()
        content = file.read()  # python-crfsuite does not keep it
        tagger.open_inmemory(content)
        assert tagger.labels() == ["A", "B"]


@BOTH
def test_who_may_read_a_model_stays_when_it_is_trained_anew(library, tmp_path):
    for _ in range(2):
        learned(library, tmp_path / "m", "ab", "AB")
        os.chmod(tmp_path / "m", 0o600)
    learned(library, tmp_path / "m", "ab", "AB")
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("items", [[["b", "a\0b"]], [["b"], ["a\0b"]]])
def test_a_zero_byte_in_a_name_is_an_error_at_once(items):
    trainer = compat.Trainer(verbose=False)
    trainer.append([["a"]], ["A"])
    with pytest.raises(ValueError, match=r"sequence 2: an attribute has a zero byte"):
        trainer.append(items, ["B"] * len(items))


@BOTH
def test_no_factor_to_calibrate_by(library, tmp_path):
    trained(library, tmp_path / "m", "l2sgd", TWO, **{"calibration.rate": 0})
    assert opened(library, tmp_path / "m").labels() == ["A", "B"]


@pytest.mark.parametrize(
    ("algorithm", "name", "value"),
    [("l2sgd", "period", 0), ("l2sgd", "period", -3), ("arow", "variance", -1.0), ("arow", "gamma", -1.0), ("lbfgs", "c2", -1.0), ("pa", "c", float("nan"))],
)
def test_values_without_a_meaning_are_errors(tmp_path, algorithm, name, value):
    """Some crash CRFsuite, others make its weights no numbers."""
    trainer = given(compat.Trainer(algorithm, verbose=False), TWO)
    with pytest.raises(ValueError, match=rf"^{name}: expected [^\n]+, found {value:g}$"):
        trainer.set(name, value)
        trainer.train(str(tmp_path / "m"))
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("samples", [-float("inf"), -1, 0, float("inf")])
def test_any_number_of_samples_calibrates(tmp_path, samples):
    trained(compat, tmp_path / "m", "l2sgd", TWO, **{"calibration.samples": samples, "max_iterations": 50})
    assert opened(compat, tmp_path / "m").tag([["b"], ["a"]]) == ["B", "A"]


@BOTH
def test_no_sequence_has_no_probability(library, model):
    tagger = opened(library, model)
    assert tagger.probability(["A"]) == tagger.marginal("A", 0) == tagger.marginal("unknown", 7) == 0.0
    assert tagger.tag([]) == []
    assert tagger.probability([]) == tagger.marginal("A", 0) == 0.0


@BOTH
def test_of_two_mistakes_the_position_is_told(library, model):
    tagger = opened(library, model)
    tagger.set([["a"]])
    for place in (-1, 1):
        with pytest.raises(ValueError, match="position"):
            tagger.marginal("unknown", place)
    with pytest.raises(RuntimeError, match="unknown"):
        tagger.marginal("unknown", 0)


@BOTH
def test_a_subclass_sets_sequences_its_own_way(library, model):
    class Other(library.Tagger):
        def set(self, xseq):
            super().set([["b"]])

    tagger = Other()
    tagger.open(model)
    assert tagger.tag([["a"]]) == ["B"] and tagger.tag() == ["B"]


@BOTH
def test_a_subclass_without_the_first_call_is_silent(library, tmp_path, capfd):
    class Bare(library.Trainer):
        def __init__(self):
            pass

    trainer = given(Bare(), TWO)
    trainer.train(str(tmp_path / "m"))
    assert capfd.readouterr().out == ""


@BOTH
def test_an_error_at_the_end_of_training_leaves_no_model(library, tmp_path):
    class Failing(library.Trainer):
        def on_optimization_end(self, log):
            raise KeyError("end")

    trainer = given(Failing(), TWO)
    with pytest.raises(KeyError):
        trainer.train(str(tmp_path / "m"))
    assert not (tmp_path / "m").exists()


class Interrupting(str):
    """A label at which Ctrl-C is pressed."""

    __slots__ = ()

    def encode(self, *_):
        raise KeyboardInterrupt


class Late:
    """A group at which Ctrl-C is pressed."""

    def __int__(self):
        raise KeyboardInterrupt


def interrupted(*values):
    """The values, and then Ctrl-C."""
    yield from values
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "given",
    [lambda: (interrupted(["b"]), ["B"]), lambda: ([interrupted("b")], ["B"]), lambda: ([["b"]], interrupted("B")),
     lambda: ([["b"], ["c"]], ["B", Interrupting("B")]), lambda: ([["b"]], ["B"], Late())],
    ids=["items", "names", "labels", "label", "group"],
)
@pytest.mark.parametrize("converted", [False, True])
def test_an_interrupted_append_shifts_no_groups(tmp_path, given, converted):
    """Ctrl-C wherever an append runs Python's code: nothing is left of the sequence, and each of the others keeps its group."""
    trainer = compat.Trainer(verbose=False)
    trainer.append([["a"]], ["A"], 0)
    with pytest.raises(KeyboardInterrupt):
        items, *rest = given()
        trainer.append(compat.ItemSequence(items) if converted else items, *rest)
    trainer.append([["c"]], ["C"], 2)
    trainer.append([["d"]], ["D"], 0)
    assert list(trainer.sequences.groups) == [0, 2, 0] and [labels for labels, _ in appended(trainer.sequences)] == [[b"A"], [b"C"], [b"D"]]
    trainer.train(str(tmp_path / "m"), holdout=2)
    with compat.Tagger().open(str(tmp_path / "m")) as tagger:
        assert set(tagger.info().attributes) == {"a", "d"}


@pytest.mark.parametrize("group", [1.5, True, -3, None, "1", 2**40, Late, Fraction(3, 2)], ids=repr)
def test_groups_may_be_any_numbers_that_become_whole(group):
    """A column of a data frame may have floats."""
    found = []
    for library in (pycrfsuite, compat):
        trainer = library.Trainer(verbose=False)
        try:
            found.append(trainer.append([["a"]], ["A"], group))
        except (TypeError, OverflowError) as error:
            found.append(type(error))
    assert found[0] is found[1]


@plain_build
@memory_told
def test_nothing_is_left_of_a_sequence_for_which_there_was_no_memory():
    program = """
import resource
from crfkit.compat.pycrfsuite import ItemSequence, Trainer
trainer = Trainer(verbose=False)
trainer.append([["a"], ["b"]], ["A", "B"])
large = ItemSequence([["few"], ["few"], ["x" * 60_000_000]])
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 100_000_000, resource.getrlimit(resource.RLIMIT_AS)[1]))
try:
    trainer.append(large, ["A", "B", "C"])
except MemoryError:
    resource.setrlimit(resource.RLIMIT_AS, resource.getrlimit(resource.RLIMIT_AS)[1:] * 2)
    trainer.append([["c"]], ["D"])
    sequences = trainer.sequences
    print(list(sequences.groups), list(sequences.labels), list(sequences.names), *(list(sequences.data.arrays()[name]) for name in ("seq_ptr", "label", "u_id")))
"""
    found = python(program).stdout
    assert found.strip() == "[0, 0] [b'A', b'B', b'D'] [b'a', b'b', b'c'] [0, 2, 3] [0, 1, 2] [0, 1, 2]"


@plain_build
@memory_told
def test_names_that_come_again_take_no_memory():
    program = """
import resource
from crfkit.compat.pycrfsuite import Trainer
trainer, name = Trainer(verbose=False), "x" * 1_000_000
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 50_000_000, resource.getrlimit(resource.RLIMIT_AS)[1]))
for _ in range(150):
    trainer.append([[name, "y"], [name]], ["A", "B"])
print(len(trainer.sequences.groups))
"""
    assert python(program).stdout == "150\n"


@pytest.mark.parametrize("value, found", [(8e-46, "A"), (6e-46, "B")])
def test_values_are_in_single_precision(value, found, tmp_path):
    """The page names the value from which on one counts as 0; then the first of all labels is as good as any."""
    trained(pycrfsuite, tmp_path / "m", data=[([["x"]], ["B"]), *[([["y"]], ["A"])] * 5])
    with pycrfsuite.Tagger().open(str(tmp_path / "m")) as theirs, compat.Tagger().open(str(tmp_path / "m")) as ours:
        assert theirs.labels() == ours.labels() == ["B", "A"]
        assert theirs.tag([{"y": value}]) == ["A"]
        assert ours.tag([{"y": value}]) == [found]
