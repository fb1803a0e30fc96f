"""Calls of python-crfsuite that programs make now and then, with both libraries."""

import copy
import os
import pickle
from pathlib import Path

import pycrfsuite
import pytest

from crfkit.compat import pycrfsuite as compat

BOTH = pytest.mark.parametrize("library", [pycrfsuite, compat], ids=["python-crfsuite", "crfkit"])


@pytest.fixture
def model(tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["a"], ["b"]], ["A", "B"])
    trainer.train(str(tmp_path / "m"))
    return str(tmp_path / "m")


@BOTH
def test_names_of_models_may_be_bytes(library, model):
    with library.Tagger().open(os.fsencode(model)) as tagger:
        assert tagger.tag([["b"]]) == ["B"]


@BOTH
def test_a_model_stays_open_when_another_cannot_be_opened(library, model):
    tagger = library.Tagger()
    tagger.open(model)
    for refused in (__file__, model + ".not", os.path.dirname(model)):
        with pytest.raises((ValueError, OSError)):
            tagger.open(refused)
    assert tagger.tag([["a"], ["b"]]) == ["A", "B"]


@BOTH
def test_labels_are_texts(library, model):
    tagger = library.Tagger()
    tagger.open(model)
    tagger.set([["a"]])
    for wrong in (1, None, 0.5):
        with pytest.raises(TypeError):
            tagger.marginal(wrong, 0)
        with pytest.raises(TypeError):
            tagger.probability([wrong])
    assert tagger.marginal(b"A", 0) == tagger.marginal("A", 0)


@BOTH
def test_lists_of_labels_belong_to_the_caller(library, model):
    tagger = library.Tagger()
    tagger.open(model)
    tagger.labels().remove("A")
    assert tagger.labels() == ["A", "B"] and tagger.tag([["a"]]) == ["A"]


@BOTH
def test_nothing_is_left_after_clear(library, tmp_path):
    trainer = library.Trainer(verbose=False)
    trainer.append([["a"]], ["A"])
    trainer.clear()
    with pytest.raises(ValueError, match=r"The data is empty\. Call Trainer::append before Trainer::train\."):
        trainer.train(str(tmp_path / "m"))
    trainer.append([["a"]], ["A"])
    trainer.train(str(tmp_path / "m"))


def test_a_model_that_was_trained_without_data(tmp_path):
    """python-crfsuite opens it, and then crashes."""
    for library in (pycrfsuite, compat):
        library.Trainer(verbose=False).train(str(tmp_path / "m"))
        with pytest.raises(ValueError, match="has no labels: it was trained without data"):
            compat.Tagger().open(str(tmp_path / "m"))


def test_taggers_and_items_can_be_pickled(model):
    sequence = compat.ItemSequence([["a", "a"], {"b": 0.1, "c": {"d": "\n"}}])
    for again in (pickle.loads(pickle.dumps(sequence)), copy.deepcopy(sequence)):
        assert again.items() == sequence.items() and again.rows.attributes() == sequence.rows.attributes()
    with compat.Tagger().open(model) as tagger:
        for again in (pickle.loads(pickle.dumps(tagger)), copy.deepcopy(tagger)):
            assert again.tag(sequence) == tagger.tag(sequence) and again.info().header == tagger.info().header
    with pytest.raises(ValueError, match="not opened"):
        pickle.loads(pickle.dumps(tagger)).labels()


def test_names_in_any_encoding_are_printed_as_they_are(model, tmp_path, capfdbinary):
    changed = Path(model).read_bytes().replace(b"a\0", b"\xe9\0").replace(b"B\0", b"\xc9\0")
    for library in (pycrfsuite, compat):
        tagger = library.Tagger()
        tagger.open_inmemory(changed)
        tagger.dump()
        tagger.dump(str(tmp_path / library.__name__))
        assert capfdbinary.readouterr().out == (tmp_path / library.__name__).read_bytes()
    assert (tmp_path / compat.__name__).read_bytes() == (tmp_path / "pycrfsuite").read_bytes()
