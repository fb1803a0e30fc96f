"""Estimators as scikit-learn knows them. It is not needed, and never imported: what it asks of an estimator is here.

    crf = crfkit.CRF("sgd", template="templates/ner.txt", passes=5)
    crf.fit(X, y).predict(X)
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, cast

from .decode.bias import Bias, bias_of, of_labels
from .errors import CrfkitWarning, DataError, ModelFileError, OptionError, not_fitted
from .options import TRAINERS, show_options, unknown
from .values import lists, plural, shown

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from .decode.constraints import ConstraintSource
    from .learning.progress import Progress
    from .model import Model
    from .options.given import OfEstimator
    from .tagging import Tagger
    from .template.parsing import Template

Sentences = Iterable[Iterable[Any]]
Labels = Iterable[Iterable[str]]

_OF_TAGGERS = ("constraints", "bias")  # parameters that are not of training
METRICS = ("accuracy", "sentence_accuracy", "f1", "precision", "recall")


class Estimator:
    """What estimators have in common. Each argument of __init__ is an attribute of the same name."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The parameters and their defaults; also those of its base class where a subclass passes **options on."""
        found: dict[str, Any] = {}
        for base in cls.__mro__:
            if "__init__" in vars(base):
                own = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
                for parameter in own:
                    if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                        found.setdefault(parameter.name, parameter.default)
                if all(parameter.kind != parameter.VAR_KEYWORD for parameter in own):
                    break
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters with their values."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters. Those of training count from the next call of `fit`."""
        for name in params:
            if name not in self._defaults():
                raise self._unknown(name)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _unknown(self, name: str) -> OptionError:
        return OptionError(f"{type(self).__name__} has no parameter {shown(name)}; it has {', '.join(self._defaults())}")

    def __repr__(self) -> str:
        """What was set, in the order of names, as scikit-learn shows it."""
        defaults = self._defaults()
        changed = [
            f"{name}={value!r}"
            for name, value in sorted(self.get_params().items())
            if value is not defaults[name] and repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    if TYPE_CHECKING:

        def predict(self, X: Sentences) -> list[list[str]]: ...

    def score(self, X: Sentences, y: Iterable[Sequence[str]], metric: str = "accuracy", outside: str | None = None) -> float:
        """The quality of the predictions for X: accuracy, the share of tokens with the right label; sentence_accuracy; or
        f1, precision or recall of chunks, where labels mark chunks. `outside`: the label of tokens in no chunk. By default the
        parameter of that name; without one, O."""
        from .evaluation.evaluate import evaluate

        if not isinstance(metric, str) or metric not in METRICS:
            raise OptionError(f"metric: expected one of {', '.join(METRICS)}, found {shown(metric)}")
        scheme = "none" if metric.endswith("accuracy") else "auto"
        outside = outside or getattr(self, "outside", None) or "O"
        scores = evaluate(self._scored(y, metric), self._scored(self.predict(X), metric), scheme, outside=outside)
        return float(getattr(scores, metric))

    def _scored(self, y: Any, metric: str) -> Any:
        """Labels as `evaluate` takes them."""
        return y

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn 1.6 and newer asks. It counts as no classifier, since those have one label for each element of X."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True), no_validation=True)


# Options of `learn` that are of no use where sentences come from Python.
_OF_FILES = {
    "format": "with a template rows have columns, without one attributes", "label": "the labels are y", "comments": "X has no comments",
    "dev": "pass X_dev and y_dev to fit",
}


class Labellings(list):
    """A list with an entry for each sentence. NumPy takes an entry for one element, however long: cross_val_predict needs that."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        return numpy.fromiter(self, object, len(self)).astype(dtype or object, copy=False)


class CRF(Estimator):
    """An estimator with the interface of scikit-learn, for its model selection and pipelines.

    X is a list of sentences, y the list of their labels. With a `template`, a sentence is a list of rows of columns.
    Without one, it is a list of items: lists of attributes, or mappings from names to values.

    The parameters are those of `learn`; `constraints` and `bias` are those of a Tagger. `threads` also applies to predictions.
    A label in `bias` or in pairs of `constraints` that the model lacks is a CrfkitWarning, not an error: a part of the data may not have it.

    After `fit` there are: `model_`, a Model; `tagger_`, a Tagger of it; `classes_`, its labels.

    A subclass may have parameters of its own. Its `__init__` passes those of CRF on: all of them, as `**options`, or some of
    them, by name.
    """

    model_: Model
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the parameters

    def __init__(
        self,
        algorithm: str = "lbfgs",
        template: str | os.PathLike[str] | Template | None = None,
        *,
        progress: bool | str | Callable[[dict[str, Any]], Any] | Progress | None = None,
        constraints: ConstraintSource | None = None,
        bias: Bias | None = None,
        **given: Unpack[OfEstimator],
    ):
        own = {"algorithm": algorithm, "template": template, "progress": progress, "constraints": constraints, "bias": bias}
        of_all = CRF._defaults()  # a subclass need not take all of them, and may have set its own before
        added = {name: value for name, value in self._defaults().items() if name not in of_all}
        for name in given:
            if name not in of_all and name not in added:
                raise self._unknown(name)
        self.__dict__.update({**added, **self.__dict__, **of_all, **own, **given})

    def _unknown(self, name: str) -> OptionError:
        if name in CRF._defaults():  # which a subclass does not take
            return super()._unknown(name)
        if name in _OF_FILES:
            return OptionError(f"{name} is no parameter of {type(self).__name__}: {_OF_FILES[name]}")
        return unknown(name)

    def fit(
        self, X: Sentences, y: Labels, X_dev: Sentences | None = None, y_dev: Labels | None = None, sample_weight: Iterable[float] | None = None
    ) -> Self:
        """Train a new model. With development data the weights after the best pass are kept.

        `sample_weight`: how many times each sentence of X counts, see `learn`.
        """
        return self._learn(X, y, X_dev, y_dev, sample_weight=sample_weight)

    def partial_fit(
        self, X: Sentences, y: Labels, X_dev: Sentences | None = None, y_dev: Labels | None = None, sample_weight: Iterable[float] | None = None
    ) -> Self:
        """Continue training from the current model, as `learn` does with `init`. Without a model it is `fit`.

        The new model has the labels and attributes of the new data. Those that the new data lack are forgotten, so pass
        the old data together with the new. A forgotten label is a CrfkitWarning.
        """
        before = self.__dict__.get("model_")
        if before is None:
            return self._learn(X, y, X_dev, y_dev, sample_weight=sample_weight)
        self._learn(X, y, X_dev, y_dev, sample_weight=sample_weight, init=before)
        lost = [label for label in before.labels if label not in self.model_.labels]
        if lost:
            warnings.warn(f"the new data lack labels of the old ones, which the model forgets: {', '.join(lost)}", CrfkitWarning, stacklevel=2)
        return self

    def _learn(self, X: Any, y: Any, X_dev: Any, y_dev: Any, **more: Any) -> Self:
        from .decode.constraints import check_source
        from .learning.learn import learn

        if self.constraints is not None:
            check_source(self.constraints)
        bias_of(self.bias)
        if (X_dev is None) != (y_dev is None):
            raise OptionError("found only one of X_dev and y_dev, expected both or none")
        # a subclass may have more parameters, which mean something only to it, and take fewer
        given = {name: value for name in CRF._defaults() if name not in _OF_TAGGERS and (value := getattr(self, name)) is not None}
        if X_dev is not None:
            given["dev"] = _labelled(X_dev, y_dev, "X_dev", "y_dev", self.template is None)
        elif "patience" in given or "path" in given:
            raise OptionError(f"{'patience' if 'patience' in given else 'path'} needs X_dev and y_dev, the development data")
        else:
            given.pop("outside", None)  # it is for `score`
        data = _labelled(X, map(_choices, y) if self.partial and lists(y) else y, "X", "y", self.template is None)
        self.model_ = learn(data, format="crfsuite" if self.template is None else "columns", **{**given, **more})
        self.__dict__.pop("_tagger", None)
        return self

    @property
    def tagger_(self) -> Tagger:
        """The model at work: n-best lists, probabilities and more."""
        if "model_" not in self.__dict__:
            raise not_fitted("there is no model yet: call fit first")
        limits, bias = _unchanging(self.constraints), bias_of(self.bias)
        given, before, tagger = self.__dict__.get("_tagger", (None, None, None))
        same = limits == given if isinstance(limits, list) else limits is given
        if tagger is None or not same or bias != before:
            from .decode.constraints import constraints_of

            labels = self.model_.labels
            table = None if limits is None else constraints_of(limits, labels, of_part=True)
            tagger = self.model_.tagger(table, bias and of_labels(bias, labels))
            self._tagger = limits, bias, tagger
        return tagger

    @property
    def classes_(self) -> list[str]:
        """The labels that the model knows."""
        return self.tagger_.labels

    @property
    def _threads(self) -> int:
        return 0 if self.threads is None else self.threads

    def predict(self, X: Sentences) -> list[list[str]]:
        """The labels of each sentence."""
        return Labellings(self.tagger_.tag_many(_sentences(X, "X"), self._threads))

    def predict_single(self, xseq: Iterable[Any]) -> list[str]:
        """The labels of one sentence."""
        return self.tagger_.tag(cast(Any, xseq))

    def predict_marginals(self, X: Sentences) -> list[list[dict[str, float]]]:
        """The probability of each label, for each token of each sentence."""
        return Labellings(self.tagger_.marginals_many(_sentences(X, "X"), self._threads, named=True))

    def predict_marginals_single(self, xseq: Iterable[Any]) -> list[dict[str, float]]:
        """The probability of each label, for each token of one sentence."""
        return self.tagger_.marginals(cast(Any, xseq), named=True)

    def save(self, file: Any) -> int:
        """Write the model to a path or an open file, for `crfkit tag`, `crfkit.load` and `CRF.load`."""
        return self.tagger_.model.save(file)

    @classmethod
    def load(cls, file: Any, **given: Any) -> Self:
        """An estimator from a model file: its path, an open file, or its bytes. The parameters are those that the model was trained with,
        and those given. A model from a path of l1 has one of its values, as `l1`."""
        from .foreign import load
        from .model import precision_of

        model = load(file)
        header = model.header
        options = {"algorithm": header["algorithm"], **header["options"]} if header["algorithm"] in TRAINERS else {}
        options.pop("path", None)  # of which the model is one step: its l1 says which
        options |= {"template": model.template, "weights": precision_of(model)}
        kept = {name: value for name, value in options.items() if name in CRF._defaults() and value is not None}
        self = cls(**{**{name: value for name, value in kept.items() if name in cls._defaults()}, **given})
        self.__dict__.update({name: value for name, value in kept.items() if name not in cls._defaults()})
        self.model_ = model
        return self

    def set_fit_request(self, **wanted: bool | str | None) -> Self:
        """Which arguments of `fit` scikit-learn hands on where metadata routing is enabled, such as `sample_weight=True`."""
        return self._request("fit", wanted)

    def set_partial_fit_request(self, **wanted: bool | str | None) -> Self:
        """The same for `partial_fit`."""
        return self._request("partial_fit", wanted)

    def _request(self, method: str, wanted: dict[str, bool | str | None]) -> Self:
        routing = self.get_metadata_routing()
        of_method = getattr(routing, method)
        for name, alias in wanted.items():
            if name not in of_method.requests:
                raise OptionError(f"{method} has no argument {name} to hand on; it has {', '.join(of_method.requests)}")
            of_method.add_request(param=name, alias=alias)
        self._metadata_request = routing  # sklearn.base.clone copies what has this name
        return self

    def get_metadata_routing(self) -> Any:
        """What scikit-learn asks: which arguments there are, and which were requested."""
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if "_metadata_request" in self.__dict__:
            return get_routing_for_object(self._metadata_request)
        found = MetadataRequest(owner=type(self).__name__)
        for method in ("fit", "partial_fit"):
            for name, parameter in inspect.signature(getattr(self, method)).parameters.items():
                if name not in ("X", "y") and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                    getattr(found, method).add_request(param=name, alias=None)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def __getstate__(self) -> dict[str, Any]:
        """The parameters, and the model as the bytes of its file."""
        state = {name: value for name, value in self.__dict__.copy().items() if name != "_tagger"}
        if "model_" in state:
            state["model_"] = state["model_"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was pickled; the model is checked as one from a file is."""
        from .model import load

        if not isinstance(state, dict) or not isinstance(state.get("model_", b""), bytes):
            raise ModelFileError("this is not a pickle of an estimator")
        opened = {"model_": load(state["model_"])} if "model_" in state else {}
        self.__dict__.update({**CRF._defaults(), **self._defaults(), **state, **opened})


show_options(CRF.__init__, *_OF_FILES)  # those of `learn`, except those of files


def _unchanging(constraints: Any) -> Any:
    """The same, and a copy of pairs in a list, which may be changed. Arrays of NumPy could not be compared."""
    if not isinstance(constraints, list):
        return constraints
    return [[*pair] if isinstance(pair, list) or hasattr(pair, "tolist") else pair for pair in constraints]


def _sentences(given: Any, name: str) -> list[Any]:
    if not lists(given):
        raise DataError(f"{name}: found {shown(given)}, expected a list of sentences")
    return list(given)


def _choices(labels: Any) -> Any:
    """The labels of a sentence as files have them."""
    return [_choice(label) for label in labels] if lists(labels) else labels


def _choice(label: Any) -> Any:
    """Several labels with | between, and ? for None or NaN, which are any label. What are no labels stays as it is, for the message."""
    if label is None or (isinstance(label, float) and label != label):
        return "?"
    names = list(label) if lists(label) else []
    return "|".join(sorted(names)) if names and all(isinstance(name, str) for name in names) else label


def _labelled(X: Any, y: Any, of_x: str, of_y: str, pairs: bool) -> list[Iterator[Any]]:
    """Sentences with their labels, as `learn` takes them: pairs of an item and its label, or rows with the label last. They are made when
    they are read: Python's collector of garbage is slow with all of them at once."""
    sentences, labels = _sentences(X, of_x), _sentences(y, of_y)
    if len(sentences) != len(labels):
        raise DataError(f"found {len(sentences)} sentences in {of_x}, but the labels of {len(labels)} in {of_y}")
    return [_tokens(*both, number, pairs) for number, both in enumerate(zip(sentences, labels, strict=True), 1)]


def _tokens(sentence: Any, labels: Any, number: int, pairs: bool) -> Iterator[Any]:
    for found in (sentence, labels):
        if not lists(found):
            raise DataError(f"sentence {number}: found {shown(found)}, expected a list with an entry for each token")
    tokens, names = list(sentence), list(labels)
    if len(tokens) != len(names):
        raise DataError(f"sentence {number}: found {plural(len(names), 'label')}, expected {len(tokens)}: one for each token")
    for place, (token, label) in enumerate(zip(tokens, names, strict=True), 1):
        if pairs:
            yield token, label
        elif type(token) is not list and (not lists(token) or isinstance(token, (Mapping, Set))):
            raise DataError(f"sentence {number}, token {place}: found {shown(token)}, expected a row of columns")
        else:
            yield [*token, label]
