"""sklearn-crfsuite's estimator."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crfkit.compat.pycrfsuite import Tagger, Trainer
from crfkit.compat.pycrfsuite.tagger import ParsedDump

from .trainer import LinePerIterationTrainer

if TYPE_CHECKING:
    BaseEstimator: type = object
else:
    try:
        from sklearn.base import BaseEstimator
    except ImportError:  # it is optional

        class BaseEstimator:
            """What there is without scikit-learn: no clone, no get_params."""


# Parameters of CRFsuite that have another name here.
_RENAMED = {
    "min_freq": "feature.minfreq", "all_possible_states": "feature.possible_states", "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
}  # fmt: skip
_NO_PARAMETERS = {"algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls"}


class CRF(BaseEstimator):
    """A conditional random field for lists of sequences.

    The parameters are those of python-crfsuite's algorithms (lbfgs, l2sgd, ap, pa, arow), with `_` for `.`; None stands for
    CRFsuite's default, and those that an algorithm does not have are refused. `model_filename` is where the model is
    stored, and taken from if it is there; otherwise it is kept in memory, and pickled with the object. `trainer_cls` is
    the class of the trainer; with `verbose` it prints a line an iteration. `keep_tempfiles` is accepted: there are none.
    """

    def __init__(
        self, algorithm=None, min_freq=None, all_possible_states=None, all_possible_transitions=None, c1=None, c2=None, max_iterations=None,
        num_memories=None, epsilon=None, period=None, delta=None, linesearch=None, max_linesearch=None, calibration_eta=None,
        calibration_rate=None, calibration_samples=None, calibration_candidates=None, calibration_max_trials=None, pa_type=None, c=None,
        error_sensitive=None, averaging=None, variance=None, gamma=None, verbose=False, model_filename=None, keep_tempfiles=False,
        trainer_cls=None,
    ):  # fmt: skip
        # scikit-learn asks for each parameter under its own name.
        self.__dict__.update({name: value for name, value in locals().items() if name not in ("self", "__class__")})
        self.training_log_ = None
        self._model: bytes | None = None
        self._tagger: Tagger | None = None
        self._info_cached: ParsedDump | None = None

    def fit(self, X: Iterable[Any], y: Iterable[Sequence[str]], X_dev: Iterable[Any] | None = None, y_dev: Iterable[Sequence[str]] | None = None) -> CRF:
        """Train on sequences of items and their labels; with development data, score these after each iteration."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        trainer = self._trainer()
        for xseq, yseq in zip(X, y, strict=True):
            trainer.append(xseq, yseq)
        for xseq, yseq in zip(X_dev or (), y_dev or (), strict=True):
            trainer.append(xseq, yseq, 1)
        self._model = self._tagger = self._info_cached = None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(self.model_filename or f"{folder}/model.crfsuite")
            trainer.train(str(path), holdout=-1 if X_dev is None else 1)
            if not self.model_filename:
                self._model = path.read_bytes()
        self.training_log_ = trainer.logparser
        return self

    def _trainer(self) -> Trainer:
        names = [name for name in self._parameters() if name not in _NO_PARAMETERS]
        given = {_RENAMED.get(name, name.replace("calibration_", "calibration.")): getattr(self, name) for name in names}
        given = {name: value for name, value in given.items() if value is not None}
        return (self.trainer_cls or LinePerIterationTrainer)(algorithm=self.algorithm, params=given, verbose=self.verbose)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        code = CRF.__init__.__code__
        return code.co_varnames[1 : code.co_argcount]

    def predict(self, X: Iterable[Any]) -> list[list[str]]:
        """The labels of each sequence."""
        return [self.predict_single(xseq) for xseq in X]

    def predict_single(self, xseq: Any) -> list[str]:
        """The labels of one sequence."""
        return self._opened.tag(xseq)

    def predict_marginals(self, X: Iterable[Any]) -> list[list[dict[str, float]]]:
        """For each item of each sequence, how probable each label is."""
        return [self.predict_marginals_single(xseq) for xseq in X]

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """For each item of one sequence, how probable each label is."""
        tagger = self._opened
        tagger.set(xseq)
        return tagger.marginals()

    def score(self, X: Iterable[Any], y: Sequence[Sequence[str]]) -> float:
        """The share of items with the right label."""
        pairs = [(a, b) for wanted, given in zip(y, self.predict(X), strict=True) for a, b in zip(wanted, given, strict=True)]
        return sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.0

    @property
    def _opened(self) -> Tagger:
        if self.tagger_ is None:
            raise ValueError("this CRF has no model yet: call fit first, or name one as model_filename")
        return self.tagger_

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model, or None before there is one."""
        if self._tagger is None:
            tagger = Tagger()
            if self._model is not None:
                tagger.open_inmemory(self._model)
            elif self.model_filename:
                tagger.open(self.model_filename)
            else:
                return None
            self._tagger = tagger
        return self._tagger

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
        """Bytes of the model."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes the model knows."""
        return None if self._info is None else int(self._info.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that the model knows."""
        return None if self._info is None else sorted(self._info.attributes, key=lambda name: int(self._info.attributes[name]))  # type: ignore[union-attr]

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """(attribute, label) -> weight."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """(label, next label) -> weight."""
        return None if self._info is None else self._info.transitions

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tagger": None, "_info_cached": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
