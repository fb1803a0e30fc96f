"""sklearn-crfsuite's estimator."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from crfkit.compat.pycrfsuite import Tagger, Trainer
from crfkit.compat.pycrfsuite._logparser import TrainLogParser
from crfkit.compat.pycrfsuite.errors import NoSequence
from crfkit.compat.pycrfsuite.tagger import ParsedDump
from crfkit.errors import DataError, not_fitted
from crfkit.estimator import Estimator, Labellings
from crfkit.values import as_text, lists, plural, shown

from ._fileresource import FileResource
from .compat import BaseEstimator
from .trainer import LinePerIterationTrainer

__all__ = ["CRF", "FileResource", "LinePerIterationTrainer"]

# CRFsuite's parameters that have another name here.
_RENAMED = {
    "min_freq": "feature.minfreq", "all_possible_states": "feature.possible_states", "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
}
_END: Any = object()  # where X or y ends before the other
_NO_PARAMETERS = {"algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls"}


class CRF(Estimator, BaseEstimator):
    """A conditional random field for lists of sequences.

    The parameters are those of python-crfsuite's algorithms (lbfgs, l2sgd, ap, pa, arow), with `_` for `.`; None means
    CRFsuite's default, and a parameter that the algorithm does not have is an error. `model_filename` is the file to store the
    model in; if it exists, the model is loaded from it. Without it the model is kept in memory, and pickled with the object.
    `trainer_cls` is the class of the trainer; with `verbose` it prints a line per iteration. `keep_tempfiles`: see FileResource.
    """

    def __init__(
        self, algorithm: str | None = None, min_freq: float | None = None, all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None, c1: float | None = None, c2: float | None = None, max_iterations: int | None = None,
        num_memories: int | None = None, epsilon: float | None = None, period: int | None = None, delta: float | None = None,
        linesearch: str | None = None, max_linesearch: int | None = None, calibration_eta: float | None = None,
        calibration_rate: float | None = None, calibration_samples: int | None = None, calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None, pa_type: int | None = None, c: float | None = None, error_sensitive: bool | None = None,
        averaging: bool | None = None, variance: float | None = None, gamma: float | None = None, verbose: bool = False,
        model_filename: str | None = None, keep_tempfiles: bool = False, trainer_cls: type[Trainer] | None = None,
    ):
        # Each is an attribute of its own name: scikit-learn asks for that. Not by assignment, as subclasses written for sklearn-crfsuite 0.3
        # have properties of these names.
        self.__dict__.update({name: value for name, value in locals().items() if name not in ("self", "__class__")})
        self._path = model_filename  # for good, as in sklearn-crfsuite: if it is set later, only clones know it
        self.training_log_: TrainLogParser | None = None
        self._take(None)

    if hasattr(BaseEstimator, "get_params"):
        __repr__ = BaseEstimator.__repr__  # which knows of sklearn.set_config

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters with their values, in the order of names."""
        return dict(sorted(super().get_params(deep).items()))

    def _take(self, model: bytes | None) -> None:
        self._model = model
        self._tagger: Tagger | None = None
        self._info_cached: ParsedDump | None = None
        self._modelfile: FileResource | None = None

    def fit(self, X: Iterable[Any], y: Iterable[Sequence[str]], X_dev: Iterable[Any] | None = None, y_dev: Iterable[Sequence[str]] | None = None) -> CRF:
        """Train on sequences of items and their labels; score the model on development data, if given, after each iteration."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        trainer = self._get_trainer()
        _append(trainer, X, y, "X", "y", 0)
        if self.verbose:
            print()  # as sklearn-crfsuite does behind its bars, which are on standard error
        if X_dev is not None and y_dev is not None:
            _append(trainer, X_dev, y_dev, "X_dev", "y_dev", 1)
            if self.verbose:
                print()
        self._take(None)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(self._path or f"{folder}/model.crfsuite")
            trainer.train(str(path), holdout=-1 if X_dev is None else 1)
            if not self._path:
                self._take(path.read_bytes())
        self.training_log_ = trainer.logparser
        return self

    def _scored(self, y: Any, metric: str) -> Any:
        """Accepts whatever `fit` does: a str as a sequence of characters, and labels that are empty or bytes."""
        if not lists(y):
            return y
        whole = metric.endswith("accuracy")
        return [[_scored(label, whole) for label in labels] if isinstance(labels, str) or lists(labels) else labels for labels in y]

    def _get_trainer(self) -> Trainer:
        given = {
            _RENAMED.get(name, name.replace("calibration_", "calibration.")): getattr(self, name)
            for name in CRF._defaults() if name not in _NO_PARAMETERS and getattr(self, name) is not None
        }
        return (self.trainer_cls or LinePerIterationTrainer)(algorithm=self.algorithm, params=given, verbose=self.verbose)

    def predict(self, X: Iterable[Iterable[Any]]) -> list[list[str]]:
        """The labels of each sequence."""
        return _each(X, self.predict_single)

    def predict_single(self, xseq: Any) -> list[str]:
        """The labels of one sequence."""
        return self._opened().tag(xseq)

    def predict_marginals(self, X: Iterable[Any]) -> list[list[dict[str, float]]]:
        """The marginal probability of each label, for each item of each sequence."""
        return _each(X, self.predict_marginals_single)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """The marginal probability of each label, for each item of one sequence."""
        tagger = self._opened()
        tagger.set(xseq)
        return tagger.marginals()

    def _held(self) -> bytes | None:
        """The model that is in no file of the user's. A subclass may have trained it into the temporary file, as sklearn-crfsuite's `fit` does."""
        return self._model if self._modelfile is None else self._modelfile.content

    def _opened(self) -> Tagger:
        if self._tagger is None:
            tagger = Tagger()
            model = self._held()
            if model is not None:
                tagger.open_inmemory(model)
            elif self._path:
                tagger.open(self._path)
            else:
                raise not_fitted("this CRF has no model yet: call fit first, or name one as model_filename")
            self._tagger = tagger
        return self._tagger

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model, or None if there is no model yet."""
        there = self._tagger is not None or self._held() is not None or (self._path and os.path.exists(self._path))
        return self._opened() if there else None

    tagger = tagger_  # its name in older programs

    @property
    def modelfile(self) -> FileResource:
        """The file of the model: `modelfile.name` is its path."""
        if self._modelfile is None:
            self._modelfile = FileResource(self._path, vars(self).get("keep_tempfiles", False), ".crfsuite", "model", self._model)
        return self._modelfile

    @property
    def _info(self) -> ParsedDump | None:
        if self._info_cached is None and self.tagger_ is not None:
            self._info_cached = self.tagger_.info()
        return self._info_cached

    @property
    def classes_(self) -> list[str] | None:
        """The labels."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """The size of the model in bytes."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes of the model."""
        return None if self._info is None else int(self._info.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes of the model."""
        return None if self._info is None else list(self._info.attributes)  # in the order of their numbers

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """(attribute, label) -> weight."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """(label, next label) -> weight."""
        return None if self._info is None else self._info.transitions

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": self._held(), "_tagger": None, "_info_cached": None, "_modelfile": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "modelfile" in state:  # sklearn-crfsuite's own pickle
            file = (state := {**self._defaults(), **state}).pop("modelfile")
            state |= {"_model": file.content, "_modelfile": None, "model_filename": None if file.auto else file.name}  # 0.3 kept the name there only
        self.__dict__.update({"_path": state.get("model_filename"), **state})
        if self._model is not None:
            self._opened()  # checks all of it


def _scored(label: Any, whole: bool) -> Any:
    """A label as `evaluate` takes it, which knows no empty one: that marks no chunk, as O; whole labels are told apart."""
    text = as_text(label) if isinstance(label, bytes) else label
    if not isinstance(text, str):
        return text
    return "=" + text if whole else text or "O"


def _append(trainer: Trainer, X: Any, y: Any, of_x: str, of_y: str, group: int) -> None:
    """Append sequences with their labels. Errors name the sequence."""
    _refuse_single(X, of_x, "sequences")
    _refuse_single(y, of_y, "sequences of labels")
    for number, (xseq, yseq) in enumerate(zip_longest(X, y, fillvalue=_END), 1):
        if xseq is _END or yseq is _END:
            raise DataError(f"{of_x} and {of_y}: only {of_y if xseq is _END else of_x} has more than {plural(number - 1, 'sequence')}")
        _refuse_single(yseq, f"{of_y}, sequence {number}", "labels")
        try:
            trainer.append(xseq, yseq, group)
        except NoSequence as error:
            raise NoSequence(_numbered(error, f"{of_x} and {of_y}", number)) from None


def _each(X: Any, answer: Callable[[Any], Any]) -> Labellings:
    """The answers for all sequences. Errors name the sequence."""
    _refuse_single(X, "X", "sequences")
    found = Labellings()
    try:
        for xseq in X:
            found.append(answer(xseq))
    except DataError as error:
        raise DataError(_numbered(error, "X", len(found) + 1)) from None
    return found


def _numbered(error: DataError, name: str, number: int) -> str:
    """The message of an error about a sequence, with its number in the argument `name` instead of the number that the tagger or trainer knows."""
    return re.sub(r"^(?:sentence \d+(, token \d+)?: )?", rf"{name}, sequence {number}\1: ", error.reason)


def _refuse_single(value: Any, name: str, of: str) -> None:
    """DataError for a NumPy array without dimensions, which looks like a list and is none."""
    if getattr(value, "ndim", 1) == 0:
        raise DataError(f"{name}: found {shown(value)}, expected a list of {of}")
