"""scikit-learn hands more than X and y on to `fit`: its metadata routing."""

import pickle

import pytest
from models import sentences

from crfkit import CRF
from crfkit.errors import OptionError

sklearn = pytest.importorskip("sklearn")
pytest.importorskip("sklearn.utils.metadata_routing")

from sklearn.base import BaseEstimator, clone  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402

DATA = sentences("chunking", "train")[:60]
ITEMS = [[{"w": row[0], "pos": row[1]} for row in sentence] for sentence in DATA]
LABELS = [[row[-1] for row in sentence] for sentence in DATA]


@pytest.mark.parametrize("bases", ["CRF", "CRF BaseEstimator", "BaseEstimator CRF"])
def test_metadata_are_handed_on_where_they_are_wanted(bases):
    routed = type("Routed", tuple({"CRF": CRF, "BaseEstimator": BaseEstimator}[name] for name in bases.split()), {})
    with sklearn.config_context(enable_metadata_routing=True):
        crf = clone(routed("perceptron", passes=3).set_fit_request(X_dev=True, y_dev=True))
        Pipeline([("crf", crf)]).fit(ITEMS, LABELS, X_dev=ITEMS[:1], y_dev=LABELS[:1])
    want = CRF("perceptron", passes=3).fit(ITEMS, LABELS, ITEMS[:1], LABELS[:1]).model_
    assert crf.model_.to_bytes() == want.to_bytes() and crf.l2 is None


def test_weights_of_sentences_in_model_selection():
    weights = [float(k % 4) for k in range(60)]
    crf, options = CRF("sgd", passes=2), {"l2": [1.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match="sample_weight"):
            GridSearchCV(crf, options, cv=2).fit(ITEMS, LABELS, sample_weight=weights)
        asked = pickle.loads(pickle.dumps(CRF("sgd", passes=2).set_fit_request(sample_weight="times")))
        search = GridSearchCV(asked, options, cv=2).fit(ITEMS, LABELS, times=weights)
        crf.set_partial_fit_request(sample_weight=True)
        assert crf.get_metadata_routing().partial_fit.requests == {"X_dev": None, "y_dev": None, "sample_weight": True}
        assert set(crf.get_metadata_routing().fit.requests.values()) == {None}
    crf.set_params(l2=1.0)
    assert search.best_estimator_.model_.to_bytes() == crf.fit(ITEMS, LABELS, sample_weight=weights).model_.to_bytes()
    assert crf.model_.to_bytes() != crf.fit(ITEMS, LABELS).model_.to_bytes()
    for fold, test in enumerate((range(30), range(30, 60))):
        rows, labels, times = ([given[k] for k in range(60) if k not in test] for given in (ITEMS, LABELS, weights))
        crf.fit(rows, labels, sample_weight=times)
        assert search.cv_results_[f"split{fold}_test_score"][0] == crf.score(ITEMS[test.start : test.stop], LABELS[test.start : test.stop])
    with pytest.raises(OptionError, match="fit has no argument weights to hand on; it has X_dev, y_dev, sample_weight"):
        crf.set_fit_request(weights=True)
