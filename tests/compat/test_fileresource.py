"""Programs that keep a model in sklearn-crfsuite's FileResource themselves: copies of its estimator, and classes whose `fit` trains into `modelfile`."""

import importlib
import os
import pickle
import sys

import pytest

X, Y = [[["a"], ["b"]], [["b"], ["a"]]] * 3, [["A", "B"], ["B", "A"]] * 3
OTHER = [["B", "A"], ["A", "B"]] * 3
BOTH = pytest.mark.parametrize("library", ["crfkit.compat.", ""], ids=["crfkit", "peer"])


def modules(library, *names):
    pytest.importorskip(f"{library}sklearn_crfsuite")
    return [importlib.import_module(f"{library}{name}") for name in names]


def train(trainer, file, labels):
    file.refresh()
    for sequence in zip(X, labels, strict=True):
        trainer.append(*sequence)
    trainer.train(file.name)


@BOTH
@pytest.mark.parametrize("keep", [False, True])
def test_a_program_trains_into_the_file(library, keep):
    pycrfsuite, files = modules(library, "pycrfsuite", "sklearn_crfsuite._fileresource")
    file = files.FileResource(filename=None, keep_tempfiles=keep, suffix=".crfsuite", prefix="model")
    assert file.name is None and file.auto and (file.suffix, file.prefix) == (".crfsuite", "model")
    train(pycrfsuite.Trainer(verbose=False), file, Y)
    path = file.name
    assert os.path.basename(path).startswith("model") and path.endswith(".crfsuite")
    copy = pickle.loads(pickle.dumps(file))
    assert copy.name != path and copy.auto and copy.suffix == ".crfsuite"
    for name in (path, copy.name):
        tagger = pycrfsuite.Tagger()
        with tagger.open(name):
            assert tagger.tag(X[0]) == Y[0]
    train(pycrfsuite.Trainer(verbose=False), file, OTHER)
    assert (file.name == path) is os.path.exists(path) is keep
    last, copied = file.name, copy.name
    del file, copy
    assert os.path.exists(last) is os.path.exists(copied) is keep
    for name in {path, last, copied}:
        if os.path.exists(name):
            os.unlink(name)


@BOTH
def test_a_named_file_is_never_deleted(library, tmp_path):
    (files,) = modules(library, "sklearn_crfsuite._fileresource")
    path = tmp_path / "m"
    path.write_bytes(b"a model")
    file = files.FileResource(str(path))
    file.refresh()
    copy = pickle.loads(pickle.dumps(file))
    file.cleanup()
    del file
    assert not copy.auto and copy.name == str(path) and path.read_bytes() == b"a model"


class Fitted:
    def fit(self, X, y, weights=None):
        if self._tagger is not None:
            self._tagger.close()
            self._tagger = None
            self._info_cached = None
        trainer = self._get_trainer()
        train(trainer, self.modelfile, y)
        self.training_log_ = trainer.logparser
        return self


@BOTH
@pytest.mark.parametrize("named", [False, True])
def test_a_class_whose_fit_trains_into_the_file(library, named, tmp_path, monkeypatch):
    (sklearn_crfsuite,) = modules(library, "sklearn_crfsuite")
    kind = type("Own", (Fitted, sklearn_crfsuite.CRF), {"__module__": __name__})
    monkeypatch.setattr(sys.modules[__name__], "Own", kind, raising=False)  # where pickle looks for it
    crf = kind(c2=0.1, model_filename=str(tmp_path / "m") if named else None)
    for labels in (Y, OTHER):
        crf.fit(X, labels)
        for one in (crf, pickle.loads(pickle.dumps(crf))):
            assert list(map(list, one.predict(X[:2]))) == labels[:2] and set(one.classes_) == {"A", "B"} and one.size_ > 0
    assert crf.training_log_.last_iteration["num"] > 0


@BOTH
def test_the_base_class_of_estimators(library):
    """Programs import it from sklearn_crfsuite.compat."""
    (compat,) = modules(library, "sklearn_crfsuite.compat")

    class Estimator(compat.BaseEstimator):
        def __init__(self, a=1):
            self.a = a

    assert Estimator().a == 1


def test_a_pickle_of_the_peer_that_kept_the_name_of_the_file_there_only(tmp_path):
    """sklearn-crfsuite 0.3 had no attribute `model_filename`."""
    peer = pytest.importorskip("sklearn_crfsuite")
    from crfkit.compat.sklearn_crfsuite import CRF
    from crfkit.compat.sklearn_crfsuite._fileresource import FileResource

    state = peer.CRF(c2=0.1, model_filename=str(tmp_path / "m")).fit(X, Y).__getstate__()
    file, crf = FileResource.__new__(FileResource), CRF.__new__(CRF)
    file.__setstate__(state.pop("modelfile").__getstate__())
    del state["model_filename"]
    crf.__setstate__({**state, "modelfile": file})
    assert crf.predict(X[:2]) == Y[:2]


@BOTH
@pytest.mark.parametrize("asked", [False, True])
def test_a_file_that_is_named_later_is_that_of_clones(library, asked, tmp_path, monkeypatch):
    """Before and after a prediction: `model_filename` counts when the object is made."""
    (sklearn_crfsuite,) = modules(library, "sklearn_crfsuite")
    base = pytest.importorskip("sklearn.base")
    monkeypatch.chdir(tmp_path)

    def found(crf):
        return list(map(list, crf.predict(X)))

    for name, labels in (("one", Y), ("two", OTHER)):
        sklearn_crfsuite.CRF(model_filename=name).fit(X, labels)
    for crf in (sklearn_crfsuite.CRF(model_filename="one"), sklearn_crfsuite.CRF().fit(X, Y)):
        if asked:
            assert found(crf) == Y
        crf.set_params(model_filename="two")
        assert found(crf) == found(pickle.loads(pickle.dumps(crf))) == Y and found(base.clone(crf)) == OTHER
        crf.set_params(model_filename="three").fit(X, Y)
        assert found(crf) == Y and not os.path.exists("three") and crf.modelfile.name != "three"
