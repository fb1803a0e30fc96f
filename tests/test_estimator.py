"""crfkit.CRF: the estimator, alone and in scikit-learn's hands."""

import copy
import inspect
import pickle
from pathlib import Path

import numpy
import pytest
from commands import forks, limit, python
from liars import Frame
from models import sentences

import crfkit
from crfkit import CRF, Template
from crfkit.compat import sklearn_crfsuite
from crfkit.constants import WITHOUT_PROBABILITIES
from crfkit.errors import CrfkitWarning, DataError, FileError, ModelFileError, NotFittedError, OptionError, UnsupportedError
from crfkit.model import precision_of
from crfkit.options import TRAINERS, declared

TEMPLATE = Template.parse("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nU02:%x[0,1]\nB\n")
DATA = sentences("chunking", "train")[:60]
ROWS = [[row[:-1] for row in sentence] for sentence in DATA]
LABELS = [[row[-1] for row in sentence] for sentence in DATA]
ITEMS = [[{"w": row[0], "pos": row[1], "long": len(row[0]) > 4, "near": [row[0][:1], row[0][-1:]]} for row in sentence] for sentence in ROWS]
FEW = {"passes": 3}


def test_no_number_of_threads_is_the_default():
    crf = CRF("perceptron", TEMPLATE, passes=1, threads=None).fit(ROWS, LABELS)
    assert crf.predict(ROWS[:3]) == crf.set_params(threads=1).predict(ROWS[:3])


# --- What it learns ---------------------------------------------------------------------------------------------------


def test_it_is_learn_with_columns():
    own = CRF("perceptron", TEMPLATE, seed=3, **FEW).fit(ROWS, LABELS)
    assert own.model_.to_bytes() == crfkit.learn(DATA, TEMPLATE, "perceptron", seed=3, **FEW).to_bytes()
    tagger = crfkit.Tagger(own.model_)
    assert own.predict(ROWS) == tagger.tag_many(ROWS) and own.predict_single(ROWS[0]) == tagger.tag(ROWS[0])
    assert own.classes_ == own.model_.labels


def test_it_is_learn_with_items():
    own = CRF("sgd", **FEW).fit(iter(ITEMS), (tuple(labels) for labels in LABELS))
    data = [list(zip(*both, strict=True)) for both in zip(ITEMS, LABELS, strict=True)]
    assert own.model_.to_bytes() == crfkit.learn(data, format="crfsuite", algorithm="sgd", **FEW).to_bytes()
    names = [[[f"w={item['w']}"] for item in sentence] for sentence in ITEMS]
    assert CRF("perceptron", **FEW).fit(names, LABELS).score(names, LABELS) > 0.8


def test_development_data_keep_the_best_pass():
    own = CRF("sgd", TEMPLATE, passes=9, patience=2).fit(ROWS[:40], LABELS[:40], ROWS[40:], LABELS[40:])
    assert own.model_.to_bytes() == crfkit.learn(DATA[:40], TEMPLATE, "sgd", dev=DATA[40:], passes=9, patience=2).to_bytes()
    best = CRF("owlqn", TEMPLATE, path=[10, 1], max_iter=5).fit(ROWS[:40], LABELS[:40], ROWS[40:], LABELS[40:])
    assert best.model_.header["options"]["l1"] in (10, 1)


@pytest.mark.parametrize("algorithm", ["lbfgs", "sgd", "perceptron", "lookahead"])
def test_partial_fit_is_learn_with_init(algorithm):
    crf = CRF(algorithm, TEMPLATE, **limit(algorithm, 3)).partial_fit(ROWS[:30], LABELS[:30])
    first = crf.model_
    assert first.to_bytes() == CRF(algorithm, TEMPLATE, **limit(algorithm, 3)).fit(ROWS[:30], LABELS[:30]).model_.to_bytes()
    crf.partial_fit(ROWS, LABELS)
    assert crf.model_.to_bytes() == crfkit.learn(DATA, TEMPLATE, algorithm, init=first, **limit(algorithm, 3)).to_bytes()
    assert crf.fit(ROWS[:30], LABELS[:30]).model_.to_bytes() == first.to_bytes()  # fit forgets


def test_partial_fit_with_development_data():
    first = CRF("sgd", TEMPLATE, passes=3).fit(ROWS[:30], LABELS[:30])
    before = first.model_
    own = first.set_params(patience=2).partial_fit(ROWS[:40], LABELS[:40], ROWS[40:], LABELS[40:]).model_
    assert own.to_bytes() == crfkit.learn(DATA[:40], TEMPLATE, "sgd", init=before, dev=DATA[40:], passes=3, patience=2).to_bytes()


def test_partial_fit_learns_labels_and_says_what_it_forgets():
    crf = CRF("perceptron", **FEW).fit([[["a"], ["b"]]], [["A", "B"]])
    crf.partial_fit([[["a"], ["b"], ["c"]]], [["A", "B", "C"]])
    assert crf.classes_ == ["A", "B", "C"]
    with pytest.warns(CrfkitWarning, match="the new data lack labels of the old ones, which the model forgets: C"):
        crf.partial_fit([[["a"], ["b"]]], [["A", "B"]])
    assert crf.classes_ == ["A", "B"]


def test_sentences_have_weights_where_training_goes_on():
    for weights in ([5, 0], [0, 5]):
        crf = CRF("perceptron", **FEW).fit([[["a"], ["b"]]], [["A", "B"]])
        crf.partial_fit([[["c"], ["d"]], [["c"], ["d"]]], [["A", "B"], ["B", "A"]], sample_weight=weights)
        assert crf.predict_single([["c"], ["d"]]) == (["A", "B"] if weights[0] else ["B", "A"])


# --- What it answers --------------------------------------------------------------------------------------------------


def test_marginals_are_mappings():
    crf = CRF("sgd", TEMPLATE, **FEW).fit(ROWS, LABELS)
    for sentence, chances in zip(ROWS[:5], crf.predict_marginals(ROWS[:5]), strict=True):
        assert chances == crf.predict_marginals_single(sentence) == crf.tagger_.marginals(sentence, named=True)
        assert all(list(row) == crf.classes_ and sum(row.values()) == pytest.approx(1) for row in chances)
    assert crf.predict([]) == crf.predict_marginals([]) == [] and crf.predict([[]]) == [[]]
    with pytest.raises(UnsupportedError):
        CRF("perceptron", TEMPLATE, **FEW).fit(ROWS, LABELS).predict_marginals(ROWS)


@pytest.mark.parametrize(("source", "message"), [
    ("bieso", "bieso: cannot be read: No such file or directory; expected a scheme"),
    (Path("nofile"), "nofile: cannot be read: No such file or directory; expected a scheme"),
    (3, r"constraints: found 3, expected a scheme \(bio, "),
])
def test_what_is_no_constraints_is_refused_before_training(source, message):
    with pytest.raises((DataError, FileError), match=message):
        CRF("perceptron", constraints=source).fit([[["a"], ["b"]]] * 3, [["A", "B"]] * 3)


def test_constraints_may_change():
    crf = CRF("perceptron", constraints=[("A", "A"), ("B", "B")]).fit([[["a"], ["b"]]] * 3, [["A", "B"]] * 3)
    assert crf.predict_single([["a"], ["b"]]) != ["A", "B"]
    assert crf.set_params(constraints=None).predict_single([["a"], ["b"]]) == ["A", "B"]
    crf.constraints = [["A", "A"]]
    assert crf.predict_single([["a"], ["b"]]) == ["A", "A"]
    crf.constraints[0][0] = crf.constraints[0][1] = "B"
    assert crf.predict_single([["a"], ["b"]]) == ["B", "B"]
    for pair in (("A", "B"), numpy.array(["B", "B"]), numpy.array(["A", "B"])):
        crf.constraints[:] = [pair]
        assert crf.predict_single([["a"], ["b"]]) == [*pair]


# --- Parameters -------------------------------------------------------------------------------------------------------


def test_every_option_is_a_parameter():
    names = set(CRF().get_params())
    assert names == set(inspect.signature(CRF).parameters)
    assert names == {"algorithm", "template", "progress", "constraints", "bias", *declared()} - {"format", "label", "dev", "comments", "quiet"}


def test_parameters_are_kept_as_they_are_and_judged_in_fit():
    crf = CRF("sgd", l2=0.5)
    assert crf.algorithm == "sgd" and crf.l2 == 0.5 and crf.passes is None
    assert repr(crf) == "CRF(algorithm='sgd', l2=0.5)" and repr(CRF()) == "CRF()"
    assert repr(CRF(passes=3, l2=0.5, alpha=1)) == "CRF(alpha=1, l2=0.5, passes=3)"
    assert crf.set_params(passes=2, l2=1) is crf and crf.get_params()["passes"] == 2
    with pytest.raises(OptionError, match="unknown option c1; l1 is CRFsuite's c1"):
        CRF(c1=0.1)
    with pytest.raises(OptionError, match="unknown option verbose"):
        crf.set_params(l2=7, verbose=True)
    assert crf.l2 == 1
    with pytest.raises(OptionError, match="dev is no parameter of CRF: pass X_dev and y_dev to fit"):
        CRF(dev="dev.txt")
    with pytest.raises(OptionError, match="depth is not used by sgd"):
        CRF("sgd", depth=2).fit(ITEMS, LABELS)


class Longer(CRF):
    """A subclass as users write it: parameters of its own, all others passed on."""

    def __init__(self, algorithm="perceptron", template=None, *, longest=5, **options):
        super().__init__(algorithm, template, **options)
        self.longest = longest

    def fit(self, X, y):
        return super().fit([rows[: self.longest] for rows in X], [labels[: self.longest] for labels in y])


def test_a_subclass_may_pass_options_on():
    crf = Longer(passes=3, longest=4)
    assert set(crf.get_params()) == {*CRF().get_params(), "longest"} and repr(crf) == "Longer(longest=4, passes=3)"
    assert (crf.passes, crf.longest, crf.set_params(longest=2, l2=1).longest, crf.l2) == (3, 4, 2, 1)
    with pytest.raises(OptionError, match="unknown option epochs"):
        Longer(epochs=3)
    again = pickle.loads(pickle.dumps(crf.set_params(l2=None).fit(ITEMS, LABELS)))
    short = CRF("perceptron", **FEW).fit([rows[:2] for rows in ITEMS], [labels[:2] for labels in LABELS])
    assert type(again) is Longer and again.longest == 2 and again.model_.to_bytes() == short.model_.to_bytes()


class Fixed(CRF):
    """Another one: few parameters, of which some have other names, set before the others."""

    def __init__(self, penalty=1.0, passes=2):
        self.penalty = penalty
        super().__init__("sgd", passes=passes, l2=penalty)


def test_a_subclass_may_take_few_parameters(tmp_path):
    crf = Fixed(0.5)
    assert crf.get_params() == {"penalty": 0.5, "passes": 2} and repr(crf) == "Fixed(penalty=0.5)" and crf.l2 == 0.5
    crf.fit(ITEMS, LABELS).save(tmp_path / "m")
    assert crf.model_.to_bytes() == CRF("sgd", passes=2, l2=0.5).fit(ITEMS, LABELS).model_.to_bytes()
    for again in (pickle.loads(pickle.dumps(crf)), Fixed.load(tmp_path / "m")):
        assert again.predict(ITEMS) == crf.predict(ITEMS) and (again.l2, again.passes, Fixed.load(tmp_path / "m", passes=3).passes) == (0.5, 2, 3)
    with pytest.raises(OptionError, match="Fixed has no parameter 'l2'; it has penalty, passes"):
        crf.set_params(l2=1)
    with pytest.raises(OptionError, match="unknown option epochs"):
        crf.set_params(epochs=1)


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ((ITEMS, LABELS[:-1]), DataError, "found 60 sentences in X, but the labels of 59 in y"),
    (([[["a"], ["b"]]], [["A"]]), DataError, "sentence 1: found 1 label, expected 2"),
    (([[["a"]], 7], [["A"], ["B"]]), DataError, "sentence 2: found 7, expected a list with an entry"),
    (([[["a"]]], ["A"]), DataError, "sentence 1: found 'A', expected a list"),
    (("text", LABELS), DataError, "X: found 'text', expected a list of sentences"),
    ((Frame(["word"]), LABELS), DataError, "X: found a Frame, whose rows are in its .values, expected a list of sentences"),
    ((numpy.array(3), LABELS), DataError, r"X: found array\(3\), expected a list of sentences"),
    (([], []), DataError, "no tokens|expected"),
    (([[["a"]]], [[5]]), DataError, "sentence 1.*5"),
    ((ITEMS, LABELS, ITEMS), OptionError, "only one of X_dev and y_dev"),
    ((ITEMS, LABELS, ITEMS, LABELS[:3]), DataError, "60 sentences in X_dev, but the labels of 3 in y_dev"),
])
def test_faulty_arguments_of_fit_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        CRF("perceptron", **FEW).fit(*arguments)


def test_rows_that_are_none():
    for row in ("b", {"w": "b"}, {"b"}):  # a mapping would be the row of its names
        with pytest.raises(DataError, match=f"sentence 1, token 2: found {row!r}, expected a row of columns"):
            CRF("perceptron", Template.parse("U:%x[0,0]")).fit([[["a"], row]], [["A", "B"]])
    for options in ({"patience": 2}, {"path": [2, 1]}):
        with pytest.raises(OptionError, match=f"{next(iter(options))} needs X_dev and y_dev"):
            CRF("owlqn", **options).fit(ITEMS, LABELS)


def test_before_there_is_a_model(tmp_path):
    crf = CRF()
    for call in (crf.predict, crf.predict_single, crf.predict_marginals, crf.predict_marginals_single, lambda _: crf.save(tmp_path / "m")):
        with pytest.raises(NotFittedError, match="call fit first"):
            call(ITEMS)
    assert not any(hasattr(crf, name) for name in ("model_", "tagger_", "classes_"))
    assert not crf.__sklearn_is_fitted__()


# --- Models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", TRAINERS)
def test_pickles_of_every_kind(algorithm):
    crf = CRF(algorithm, TEMPLATE, **limit(algorithm, 3)).fit(ROWS[:20], LABELS[:20])
    crf.own = "mine"
    for again in (pickle.loads(pickle.dumps(crf)), copy.deepcopy(crf)):
        assert again.model_.to_bytes() == crf.model_.to_bytes() and again.own == "mine"
        assert again.predict(ROWS[:20]) == crf.predict(ROWS[:20]) and repr(again) == repr(crf)
        if algorithm not in WITHOUT_PROBABILITIES:
            assert again.predict_marginals(ROWS[:2]) == crf.predict_marginals(ROWS[:2])
    assert repr(pickle.loads(pickle.dumps(CRF(l2=3)))) == "CRF(l2=3)"


def test_pickles_of_a_version_with_fewer_parameters():
    """The others are as if they were not given."""
    state = CRF("sgd", l2=3).__getstate__()
    del state["passes"], state["bias"]
    again = CRF.__new__(CRF)
    again.__setstate__(state)
    assert again.get_params() == CRF("sgd", l2=3).get_params()


def test_pickles_that_are_damaged():
    state = CRF("perceptron", **FEW).fit(ITEMS, LABELS).__getstate__()
    for place in range(0, len(state["model_"]), 97):
        data = bytearray(state["model_"])
        data[place] ^= 1
        with pytest.raises(ModelFileError):
            CRF().__setstate__({**state, "model_": bytes(data)})
    for bad in ([], {"model_": "text"}, {"model_": b""}, {"model_": state["model_"][:-1]}):
        with pytest.raises(ModelFileError):
            CRF().__setstate__(bad)


def test_a_loaded_estimator_goes_on_in_the_same_precision(tmp_path):
    for weights in ("float32", "int8"):
        CRF("perceptron", passes=2, weights=weights).fit(ITEMS, LABELS).save(tmp_path / "m")
        again = CRF.load(tmp_path / "m")
        assert again.weights == weights == precision_of(again.fit(ITEMS, LABELS).model_)


def test_save_and_load(tmp_path):
    crf = CRF("sgd", TEMPLATE, seed=5, decay=0.9, **FEW).fit(ROWS, LABELS)
    assert crf.save(tmp_path / "m") == (tmp_path / "m").stat().st_size
    again = CRF.load(tmp_path / "m", threads=1)
    assert again.predict(ROWS) == crf.predict(ROWS) == crfkit.load(tmp_path / "m").tag_many(ROWS)
    assert (again.algorithm, again.seed, again.decay, again.threads, again.template.text) == ("sgd", 5, 0.9, 1, TEMPLATE.text)
    assert again.fit(ROWS, LABELS).model_.to_bytes() == crf.model_.to_bytes()
    with pytest.raises(ModelFileError):
        CRF.load(b"no model")


def test_a_model_on_a_path_is_trained_on_with_its_own_l1():
    for model, l1 in zip(crfkit.learn_path(DATA, TEMPLATE, path=[3, 1], max_iter=3), (3.0, 1.0), strict=True):
        opened = CRF.load(model.to_bytes())
        assert (opened.algorithm, opened.l1, opened.path) == ("owlqn", l1, None)
        assert opened.partial_fit(ROWS, LABELS).model_.header["options"]["l1"] == l1


def test_models_of_crfsuite_open(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer("ap", verbose=False)
    for items, labels in zip(ITEMS, LABELS, strict=True):
        trainer.append(items, labels)
    trainer.train(str(tmp_path / "m"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    crf = CRF.load(tmp_path / "m", algorithm="sgd", **FEW)
    assert crf.predict(ITEMS) == [tagger.tag(items) for items in ITEMS]
    assert pickle.loads(pickle.dumps(crf)).predict(ITEMS) == crf.predict(ITEMS)
    assert crf.partial_fit(ITEMS, LABELS).score(ITEMS, LABELS) > 0.9


# --- scikit-learn -----------------------------------------------------------------------------------------------------


@forks
def test_scikit_learn_selects_models():
    pytest.importorskip("sklearn")
    import joblib
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_predict, cross_val_score

    crf = CRF("perceptron", TEMPLATE, **FEW)
    copied = clone(crf.fit(ROWS, LABELS))
    assert repr(copied) == repr(crf) and not hasattr(copied, "model_") and not is_classifier(crf)
    expected = []
    for test in (range(30), range(30, 60)):  # what two folds are, without shuffling
        train = [k for k in range(60) if k not in test]
        crf.fit([ROWS[k] for k in train], [LABELS[k] for k in train])
        expected.append(crf.score([ROWS[k] for k in test], [LABELS[k] for k in test]))
    assert list(cross_val_score(crf, ROWS, LABELS, cv=2)) == expected
    with joblib.parallel_config("multiprocessing"):  # forked, so that none has to import scikit-learn again
        assert list(cross_val_score(crf, ROWS, LABELS, cv=2, n_jobs=2)) == expected
    search = GridSearchCV(CRF("sgd", TEMPLATE, passes=2), {"l2": [1.0, 1e6]}, cv=2).fit(ROWS, LABELS)
    assert search.best_params_ == {"l2": 1.0} and search.predict(ROWS) == search.best_estimator_.predict(ROWS)
    assert "l2" in repr(search)
    by_f1 = GridSearchCV(CRF(template=TEMPLATE), [{"algorithm": ["perceptron"], "passes": [1]}, {"algorithm": ["lbfgs"], "max_iter": [3], "l2": [1e6]}],
                         scoring=lambda crf, X, y: crf.score(X, y, "f1"), cv=2).fit(ROWS, LABELS)
    assert by_f1.best_params_ == {"algorithm": "perceptron", "passes": 1}
    drawn = RandomizedSearchCV(CRF("adf", TEMPLATE), {"l2": [0.5, 1], "passes": [1, 2]}, n_iter=2, cv=2, random_state=0).fit(ROWS, LABELS)
    assert drawn.best_score_ > 0.5
    same_length = [sentence[:2] for sentence in ITEMS], [labels[:2] for labels in LABELS]
    assert len(cross_val_predict(CRF("perceptron", **FEW), *same_length, cv=2)) == 60


def test_scikit_learn_knows_its_state():
    pytest.importorskip("sklearn")
    from sklearn.exceptions import NotFittedError as Unfitted
    from sklearn.utils.validation import check_is_fitted

    with pytest.raises(Unfitted):
        check_is_fitted(CRF())
    for crf in CRF(), sklearn_crfsuite.CRF():
        with pytest.raises(Unfitted, match="call fit first") as caught:
            crf.predict(ITEMS)
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), Unfitted)  # as a pool hands it on
    check_is_fitted(CRF("perceptron", **FEW).fit(ITEMS, LABELS))


def test_the_end_of_a_pipeline():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    steps = [("items", FunctionTransformer(lambda X: [[{"w": row[0], "pos": row[1]} for row in rows] for rows in X])), ("crf", CRF("perceptron", **FEW))]
    pipeline = Pipeline(steps).fit(ROWS, LABELS)
    assert pipeline.score(ROWS, LABELS) > 0.9 and pipeline.predict(ROWS)[0] == pipeline["crf"].predict_single([{"w": w, "pos": pos} for w, pos in ROWS[0]])
    assert "CRF(algorithm='perceptron', passes=3)" in repr(pipeline)
    search = GridSearchCV(pipeline, {"crf__passes": [1, 2]}, cv=2).fit(ROWS, LABELS)
    assert set(search.best_params_) == {"crf__passes"}


ALONE = """
import sys
sys.modules["sklearn"] = None  # whoever imports it fails
import crfkit
assert "crfkit.estimator" not in sys.modules
crf = crfkit.CRF("perceptron", passes=3).fit([[["a"], ["b"]]], [["A", "B"]])
import pickle
assert pickle.loads(pickle.dumps(crf)).score([[["a"], ["b"]]], [["A", "B"]]) == 1.0
from crfkit.compat.sklearn_crfsuite import CRF
theirs = CRF(c2=0.1).fit([[["a"], ["b"]]], [["A", "B"]])
assert theirs.score([[["a"], ["b"]]], [["A", "B"]]) == 1.0 and theirs.get_params()["c2"] == 0.1
"""


@pytest.mark.parametrize("program", [ALONE, pytest.param(ALONE.partition("from crfkit.compat")[0].replace(" = None", " = sys"), marks=pytest.mark.long)], ids=["without", "not imported"])
def test_scikit_learn_is_not_needed(program):
    python(program, flags=("-W", "error"))
