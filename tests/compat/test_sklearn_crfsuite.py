"""crfkit.compat.sklearn_crfsuite: the estimator, alone and in scikit-learn's hands."""

import contextlib
import gc
import multiprocessing
import os
import pickle
import re
import sys
from pathlib import Path

import numpy
import pytest
from commands import forks

import crfkit.compat
from crfkit.compat.sklearn_crfsuite import CRF
from crfkit.compat.sklearn_crfsuite._fileresource import FileResource

ITEMS = [
    {"walk": 1, "shop": 0.5}, {"walk": 1}, {"walk": 1, "clean": 0.5}, {"shop": 0.5, "clean": 0.5}, {"walk": 0.5, "clean": 1},
    {"clean": 1, "shop": 0.1}, {"walk": 1, "shop": 0.5}, {}, {"clean": 1}, {"sun": "not at all", "clean": 1},
]
LABELS = ["sunny", "sunny", "sunny", "rainy", "rainy", "rainy", "sunny", "sunny", "rainy", "rainy"]
ALGORITHMS = pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "pa", "ap", "arow"])


@ALGORITHMS
def test_learns_by_heart(algorithm):
    crf = CRF(algorithm).fit([ITEMS, ITEMS], [LABELS, LABELS])
    assert crf.score([ITEMS], [LABELS]) >= (0.8 if algorithm == "ap" else 1.0)  # averages of few passes are cautious
    assert crf.predict([ITEMS, []]) == [crf.predict_single(ITEMS), []]
    (marginals,) = crf.predict_marginals([ITEMS])
    assert [max(chances, key=chances.get) for chances in marginals] == crf.predict_single(ITEMS) or algorithm in ("ap", "pa")
    for chances in marginals:
        assert set(chances) == {"sunny", "rainy"} and sum(chances.values()) == pytest.approx(1)


def test_what_the_model_consists_of():
    crf = CRF(c1=0.01, all_possible_transitions=True).fit([ITEMS], [LABELS])
    assert set(crf.classes_) == {"sunny", "rainy"} and crf.num_attributes_ == len(crf.attributes_)
    assert crf.state_features_["walk", "sunny"] > 0 and crf.transition_features_["sunny", "sunny"] > 0
    assert crf.size_ > 1000 and crf.training_log_.last_iteration["loss"] > 0


def test_before_there_is_a_model():
    crf = CRF()
    assert crf.tagger_ is crf.classes_ is crf.attributes_ is crf.size_ is crf.state_features_ is None
    with pytest.raises(ValueError, match="call fit first"):
        crf.predict([ITEMS])
    with pytest.raises(ValueError, match="both X_dev and y_dev"):
        crf.fit([ITEMS], [LABELS], [ITEMS])
    with pytest.raises(ValueError, match="Parameter not found: c1"):
        CRF("ap", c1=1).fit([ITEMS], [LABELS])
    with pytest.raises(ValueError, match="only y has more than 1 sequence"):
        crf.fit([ITEMS], [LABELS, LABELS])


def test_the_file_of_a_model(tmp_path):
    crf = CRF()
    assert crf.modelfile.name is None and crf.tagger is None
    crf.fit([ITEMS], [LABELS])
    path = crf.modelfile.name
    assert path == crf.modelfile.name
    assert CRF(model_filename=path).predict([ITEMS]) == crf.predict([ITEMS])
    copied = pickle.loads(pickle.dumps(crf))
    assert copied.modelfile.name != path and Path(copied.modelfile.name).read_bytes() == Path(path).read_bytes()
    crf.fit([ITEMS], [LABELS])
    assert not Path(path).exists()  # it went with the old model
    assert CRF(model_filename=str(tmp_path / "m")).fit([ITEMS], [LABELS]).modelfile.name == str(tmp_path / "m")


def test_the_temporary_file_may_go_before_the_model(tmp_path):
    crf = CRF().fit([ITEMS], [LABELS])
    crf.modelfile.ensure_name()
    content = Path(path := crf.modelfile.name).read_bytes()
    crf.modelfile.cleanup()
    assert not Path(path).exists() and crf.predict([ITEMS]) and Path(path := crf.modelfile.name).read_bytes() == content
    crf.modelfile.refresh()
    assert Path(crf.modelfile.name).read_bytes() == content
    own = CRF(model_filename=str(tmp_path / "m")).fit([ITEMS], [LABELS])
    own.modelfile.cleanup()
    own.modelfile.refresh()
    assert Path(own.modelfile.name) == tmp_path / "m" and (tmp_path / "m").exists()
    kept = CRF(keep_tempfiles=True).fit([ITEMS], [LABELS]).modelfile
    path = kept.name
    kept.cleanup()
    assert Path(path).read_bytes() == content and kept.name == path
    Path(path).unlink()
    CRF().modelfile.cleanup()


BOTH = pytest.mark.parametrize("library", ["crfkit.compat.sklearn_crfsuite", "sklearn_crfsuite"])


@BOTH
def test_a_file_whose_descriptor_was_closed_stays(library):
    """Programs close it, as each model of sklearn-crfsuite keeps one open, and go on with the file."""
    module = pytest.importorskip(library)
    crf = module.CRF().fit([ITEMS], [LABELS])
    path, descriptor = crf.modelfile.name, crf.modelfile.fd
    assert crf.modelfile.fd == descriptor  # there is one
    os.close(descriptor)
    del crf
    gc.collect()
    assert list(module.CRF(model_filename=path).predict([ITEMS])[0]) == LABELS
    Path(path).unlink()


@BOTH
def test_only_a_temporary_file_has_a_descriptor(library, tmp_path):
    module = pytest.importorskip(library)
    for crf in (module.CRF(), module.CRF(model_filename=str(tmp_path / "m")).fit([ITEMS], [LABELS])):
        with pytest.raises(AttributeError):
            _ = crf.modelfile.fd


def test_pickles_that_are_damaged():
    state = CRF().fit([ITEMS], [LABELS]).__getstate__()
    for bad in (b"", b"lCRF", state["_model"][:-30]):
        with pytest.raises(ValueError, match="Invalid model"):
            CRF().__setstate__({**state, "_model": bad})


def test_parameters_are_those_of_the_peer():
    peer = pytest.importorskip("sklearn_crfsuite")
    assert list(CRF().get_params().items()) == list(peer.CRF().get_params().items())
    for params in ({}, {"algorithm": "pa", "c": 0.5}, {"c1": 0.1, "verbose": True}, {"algorithm": "lbfgs", "c1": 0.1, "min_freq": 0}):
        assert repr(CRF(**params)) == repr(peer.CRF(**params))
    with pytest.raises(ValueError, match="'nothing'"):
        CRF().set_params(nothing=1)


def test_it_is_shown_as_scikit_learn_shows_its_own():
    sklearn = pytest.importorskip("sklearn")
    assert repr(CRF(algorithm="lbfgs", min_freq=0, c1=0.1)) == "CRF(algorithm='lbfgs', c1=0.1, min_freq=0)"
    with sklearn.config_context(print_changed_only=False):
        assert "verbose=False" in repr(CRF())


def test_chunks_are_scored_as_chunks():
    X, y = [[["a"], ["b"], ["c"]], [["a"], ["c"], ["a"]]], [["B-X", "I-X", "O"], ["B-X", "O", "B-X"]]
    crf, other = CRF().fit(X, y), [["B-X", "I-X", "O"], ["B-X", "I-X", "B-Y"]]
    assert crf.predict(X) == y
    for metric in ("f1", "precision", "recall", "accuracy", "sentence_accuracy"):
        assert crf.score(X, other, metric) == getattr(crfkit.evaluate(other, y), metric) not in (0, 1)


@pytest.mark.parametrize("labels", [["A", ""], "AB", ["A b", "\t"], [b"A", "B"]], ids=repr)
def test_score_takes_the_labels_that_fit_takes(labels):
    X, y = [[["a"], ["b"]]] * 4, [labels] * 4
    crf = CRF().fit(X, y)
    assert crf.score(X, y) == crf.score(X, y, "sentence_accuracy") == 1
    assert crf.score(X, [labels, ["", "O"], [labels[0], "O"], labels]) == 5 / 8
    assert crf.score(X, y, "f1") == 0
    for wrong, message in ((3, "gold: found 3"), ([[1, 2]] * 4, "the label 1 is not"), (["A"] * 4, "1 gold label, but 2 predicted")):
        with pytest.raises(crfkit.CrfkitError, match=message):
            crf.score(X, wrong)


def test_answers_are_those_of_the_peer():
    peer = pytest.importorskip("sklearn_crfsuite")
    params = {"c2": 0.3, "all_possible_transitions": True, "all_possible_states": True, "epsilon": 1e-7, "delta": 1e-9}
    ours, theirs = CRF(**params).fit([ITEMS], [LABELS]), peer.CRF(**params).fit([ITEMS], [LABELS])
    assert ours.predict([ITEMS]) == [list(labels) for labels in theirs.predict([ITEMS])]
    assert set(ours.classes_) == set(theirs.classes_) and set(ours.attributes_) == set(theirs.attributes_)
    for name in ("state_features_", "transition_features_"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-3)
    for chances, wanted in zip(ours.predict_marginals_single(ITEMS), theirs.predict_marginals_single(ITEMS), strict=True):
        assert chances == pytest.approx(wanted, abs=1e-3)
    assert ours.score([ITEMS, ITEMS], [LABELS, LABELS]) == theirs.score([ITEMS, ITEMS], [LABELS, LABELS])


def test_a_line_an_iteration(capsys):
    CRF(verbose=True).fit([ITEMS], [LABELS], X_dev=[ITEMS], y_dev=[LABELS])
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if line.startswith("Iter ")]
    assert told and all("loss=" in line and "F1=" in line and "feature_norm=" in line for line in told)
    assert any(line.split() == ["rainy", "1.000", "1.000", "1.000", "5"] for line in lines)


@ALGORITHMS
@pytest.mark.parametrize("dev", [{}, {"X_dev": [ITEMS], "y_dev": [[*LABELS[:-1], "a long label"]]}], ids=["", "dev"])
def test_what_is_printed_is_what_the_peer_prints(algorithm, dev, capsys):
    """Numbers apart, and the bar over the reading of data."""
    peer = pytest.importorskip("sklearn_crfsuite")
    printed = []
    for library in (CRF, peer.CRF):
        library(algorithm, verbose=True, max_iterations=2).fit([ITEMS] * 3, [LABELS] * 3, **dev)
        lines = capsys.readouterr().out.splitlines()
        printed.append([re.sub(r"[0-9][0-9.]*\.[0-9]+ *", "#", line) for line in lines if not line.startswith("Trial")])
    assert printed[0] == printed[1]


def test_in_the_hands_of_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score

    from crfkit.compat.sklearn_crfsuite import scorers

    crf = CRF(c2=0.1)
    assert clone(crf).get_params() == crf.get_params() and crf.get_params()["c2"] == 0.1
    assert list(cross_val_score(crf, [ITEMS] * 6, [LABELS] * 6, cv=3)) == [1, 1, 1]
    search = GridSearchCV(CRF(), {"c1": [1000.0, 0.0]}, scoring=scorers.sequence_accuracy, cv=3).fit([ITEMS] * 6, [LABELS] * 6)
    assert search.best_params_ == {"c1": 0.0}


def test_metrics_are_those_of_scikit_learn():
    pytest.importorskip("sklearn")
    from crfkit.compat.sklearn_crfsuite import metrics

    gold, found = [["x", "z", "y"], ["x", "x"]], [["y", "z", "y"], ["x", "y"]]
    assert metrics.flat_accuracy_score(gold, found) == 3 / 5
    assert metrics.flat_precision_score(gold, found, average="micro") == metrics.flat_recall_score(gold, found, average="micro") == 3 / 5
    assert metrics.flat_f1_score(gold, found, average="macro") == metrics.flat_fbeta_score(gold, found, beta=1, average="macro") == 2 / 3
    assert "macro avg" in metrics.flat_classification_report(gold, found, digits=3)
    assert metrics.sequence_accuracy_score(gold, found) == metrics.sequence_accuracy_score([], []) == 0
    assert metrics.sequence_accuracy_score([[1, 2], [3], [4]], [[1, 2], [4], [4]]) == 2 / 3


@BOTH
def test_metrics_of_programs(library):
    """They decorate a metric as the module decorates its own."""
    decorator = pytest.importorskip(f"{library}.metrics")._flattens_y

    @decorator
    def right(y_true, y_pred, *, of):
        return sum(gold == found for gold, found in zip(y_true, y_pred, strict=True)) / of

    assert right([["x", "z"], ["y"]], y_pred=[["x", "x"], ["y"]], of=4) == 1 / 2 and right.__name__ == "right"


@BOTH
def test_metrics_are_pickled(library):
    """As scikit-learn does for other processes."""
    metrics = pytest.importorskip(f"{library}.metrics")
    for name in (name for name in dir(metrics) if name.endswith("_score") or name.endswith("_report")):
        assert pickle.loads(pickle.dumps(getattr(metrics, name))) is getattr(metrics, name)


def test_works_without_scikit_learn(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn" or name.startswith("crfkit.compat.sklearn_crfsuite")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    from crfkit.compat.sklearn_crfsuite import CRF as Plain

    assert Plain(c2=0.1).fit([ITEMS], [LABELS]).score([ITEMS], [LABELS]) == 1


# --- As programs are written ------------------------------------------------------------------------------------------


def test_development_data_may_be_arrays():
    numpy = pytest.importorskip("numpy")
    X, y = (numpy.fromiter([part, part[:4]], object, 2) for part in (ITEMS, LABELS))
    assert CRF().fit(X, y, X, y).training_log_.last_iteration["scores"]["sunny"].ref == 8


def test_arrays_without_dimensions_are_no_lists():
    crf = CRF(max_iterations=1).fit([ITEMS], [LABELS])
    none = numpy.array(3)
    for task, message in (
        (lambda: CRF().fit(none, [LABELS]), "X: found array(3), expected a list of sequences"),
        (lambda: CRF().fit([ITEMS], none), "y: found array(3), expected a list of sequences of labels"),
        (lambda: CRF().fit([ITEMS], [none]), "y, sequence 1: found array(3), expected a list of labels"),
        (lambda: CRF().fit([ITEMS], [LABELS], [ITEMS], none), "y_dev: found array(3), expected a list of sequences of labels"),
        (lambda: crf.predict(none), "X: found array(3), expected a list of sequences"),
        (lambda: crf.predict_marginals(none), "X: found array(3), expected a list of sequences"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            task()


def test_errors_name_the_sequence():
    bad = [{"a": 1}, {"b": None}]
    crf = CRF(max_iterations=1).fit([ITEMS], [LABELS])
    for task, message in (
        (lambda: CRF().fit([[], ITEMS, bad], [[], LABELS, LABELS[:2]]), "X and y, sequence 3, token 2: found None, expected for 'b' a number, "),
        (lambda: CRF().fit([ITEMS], [LABELS], [[], bad], [[], LABELS[:2]]), "X_dev and y_dev, sequence 2, token 2: found None, "),
        (lambda: CRF().fit([ITEMS] * 2, [LABELS, ["a", None]]), "X and y, sequence 2, token 2: found None, expected a label: a str or bytes"),
        (lambda: CRF().fit([ITEMS] * 2, [LABELS, 5]), "X and y, sequence 2: found 5, expected a list of labels"),
        (lambda: CRF().fit([ITEMS] * 2, [LABELS, LABELS[:9]]), "X and y, sequence 2: The numbers of items and labels differ: |x| = 10, |y| = 9"),
        (lambda: CRF().fit([ITEMS] * 2, [LABELS]), "X and y: only X has more than 1 sequence"),
        (lambda: CRF().fit(iter([ITEMS]), iter([LABELS] * 3)), "X and y: only y has more than 1 sequence"),
        (lambda: crf.predict([[], ITEMS, bad]), "X, sequence 3, token 2: found None, "),
        (lambda: crf.predict_marginals([ITEMS, None]), "X, sequence 2: found None, "),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            task()


def test_predictions_of_cross_validation():
    """scikit-learn puts them together with NumPy."""
    pytest.importorskip("sklearn")
    from sklearn.model_selection import cross_val_predict

    X, y = [ITEMS, ITEMS[:4], ITEMS[4:]] * 3, [LABELS, LABELS[:4], LABELS[4:]] * 3
    for estimator in (CRF(), crfkit.CRF()):
        found = cross_val_predict(estimator, X, y, cv=3)
        assert [len(labels) for labels in found] == [10, 4, 6] * 3
        predicted = estimator.fit(X, y).predict(X)
        assert isinstance(predicted, list) and predicted == [estimator.predict_single(sentence) for sentence in X]


def test_classes_with_parameters_of_their_own():
    class Featured(CRF):
        def __init__(self, window=1, c1=None):
            super().__init__(c1=c1, c2=0.1)
            self.window = window

    assert Featured(window=2, c1=0.1).fit([ITEMS], [LABELS]).score([ITEMS], [LABELS]) == 1


def test_classes_whose_parameters_are_properties(tmp_path):
    """Classes written for sklearn-crfsuite 0.3, which kept these two in `modelfile`; spacy-crfsuite has one."""

    class Older(CRF):
        @property
        def model_filename(self):
            return self.modelfile and self.modelfile.name

        @property
        def keep_tempfiles(self):
            return self.modelfile and self.modelfile.keep_tempfiles

    crf = Older("lbfgs", c2=0.1)
    assert crf.model_filename is None and crf.tagger_ is None
    crf.fit([ITEMS], [LABELS])
    assert crf.predict([ITEMS]) == [LABELS] and Path(crf.model_filename).read_bytes() == crf.modelfile.content and not crf.keep_tempfiles
    named = Older("lbfgs", c2=0.1, model_filename=str(tmp_path / "m"), keep_tempfiles=True).fit([ITEMS], [LABELS])
    assert named.model_filename == str(tmp_path / "m") and named.keep_tempfiles
    assert CRF(model_filename=str(tmp_path / "m")).predict([ITEMS]) == [LABELS]


def test_what_predict_raises_before_fit():
    """A program for sklearn-crfsuite may catch its AttributeError."""
    with contextlib.suppress(ImportError):
        import sklearn_crfsuite

        with pytest.raises(AttributeError):
            sklearn_crfsuite.CRF().predict([ITEMS])
    for kind in (ValueError, AttributeError):
        with pytest.raises(kind, match="no model yet"):
            CRF().predict([ITEMS])


def test_a_model_that_is_not_there_yet_can_be_shown(tmp_path):
    for crf in (CRF(), CRF(model_filename=str(tmp_path / "later"))):
        assert {"fit", "tagger_", "classes_"} <= set(dir(crf)) and crf.classes_ is None
        for name in dir(crf):
            getattr(crf, name, None)  # of all errors only an AttributeError may come of it, as a debugger expects
    with pytest.raises(FileNotFoundError):
        crf.predict([ITEMS])


def test_what_pickles_of_the_peer_hold():
    new, file, old = CRF(c1=0.125, c2=0.01).fit([ITEMS], [LABELS]), FileResource(), CRF.__new__(CRF)
    file.__setstate__({"name": "auto", "fd": None, "__FILE_RESOURCE_DATA__": Path(new.modelfile.name).read_bytes()})
    old.__setstate__({"algorithm": "lbfgs", "c1": 0.125, "modelfile": file, "_tagger": None, "_info_cached": None})
    for crf in (old, pickle.loads(pickle.dumps(old))):
        assert crf.c1 == 0.125 and crf.c2 is None and crf.predict([ITEMS]) == [LABELS] and crf.state_features_ == new.state_features_


def read_without_the_peer(pickled):
    """In a fork: a program of its own would import scikit-learn again, which takes a second."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pycrfsuite", "sklearn_crfsuite")]:
        del sys.modules[name]
    crfkit.compat.install_aliases()
    import pycrfsuite  # noqa: F401
    from pycrfsuite._dumpparser import ParsedDump
    from sklearn_crfsuite import CRF
    from sklearn_crfsuite.estimator import CRF as Same

    assert CRF is Same and CRF.__module__.startswith("crfkit.")
    for crf in pickle.loads(pickled):
        assert type(crf) is CRF and crf.c1 == 0.125 and crf.training_log_.last_iteration["num"] > 0
        assert isinstance(crf.tagger_.info(), ParsedDump)
        assert crf.predict([ITEMS])[0] == pickle.loads(pickle.dumps(crf)).predict([ITEMS])[0] == LABELS


@forks
def test_pickles_of_the_peer(tmp_path):
    peer = pytest.importorskip("sklearn_crfsuite")
    old = [peer.CRF(c1=0.125, c2=0.01, model_filename=path).fit([ITEMS], [LABELS]) for path in (None, str(tmp_path / "m"))]
    child = multiprocessing.get_context("fork").Process(target=read_without_the_peer, args=[pickle.dumps(old)])
    child.start()
    child.join()
    assert child.exitcode == 0
