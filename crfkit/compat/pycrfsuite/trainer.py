"""python-crfsuite's Trainer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from crfkit.errors import CrfkitError, DataError
from crfkit.values import digits_of, exactly

from ._logparser import TrainLogParser
from .errors import NoSequence, as_crfsuite_error
from .features import Sequences
from .items import ItemSequence
from .parameters import ALIASES, LINESEARCHES, PARAMETERS, Parameter
from .training import Training


class BaseTrainer:
    """Collects sequences and parameters, and trains a model in CRFsuite's format."""

    # Here and not in __init__, which subclasses may leave out: these are silent, as with python-crfsuite.
    verbose: bool | None = None
    _algorithm = "lbfgs"
    _values: dict[str, Any]
    sequences: Sequences
    _cleared = False

    def __new__(cls, *_: Any, **__: Any) -> BaseTrainer:
        self = super().__new__(cls)
        self._values, self.sequences = {}, Sequences()
        return self

    def __init__(self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True):
        self.verbose = verbose
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} can be neither copied nor pickled")  # a copy would share the sequences

    def append(self, xseq: Iterable[Any] | ItemSequence, yseq: Iterable[str], group: int = 0) -> None:
        """Add a sequence and its labels. One group may be held out when training."""
        if yseq is None:  # which asks Groups for the labels in the rows
            raise NoSequence("expected labels, found None")
        try:  # few calls from here on: each takes as long as several attributes
            self.sequences.add(xseq.packed if isinstance(xseq, ItemSequence) else xseq, yseq, group)
        except DataError as error:
            raise NoSequence(error.reason) from None

    def clear(self) -> None:
        """Remove all sequences."""
        self.sequences, self._cleared = Sequences(), True

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose an algorithm (lbfgs, l2sgd, ap, pa, arow) and reset the parameters to its defaults."""
        name = ALIASES.get(algorithm.lower(), algorithm.lower())
        if name not in PARAMETERS or type != "crf1d":
            raise ValueError(f"Bad arguments: algorithm={name!r}, type={type!r}")
        self._algorithm, self._values = name, {}

    def params(self) -> list[str]:
        """The names of the algorithm's parameters."""
        return list(PARAMETERS[self._algorithm])

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """All parameters with their values."""
        return {name: self.get(name) for name in self.params()}

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        shown = int(value) if isinstance(value, bool) else value  # as CRFsuite is told it
        self._values[name] = _converted(name, self._parameter(name, f"{name} = {shown}"), value)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        return self._values.get(name, self._parameter(name, f"{name} = ").default)

    def help(self, name: str) -> str:
        """What a parameter is for."""
        return self._parameter(name, name).help

    def _parameter(self, name: str, shown: str) -> Parameter:
        if name not in PARAMETERS[self._algorithm]:
            raise ValueError(f"Parameter not found: {shown}")
        return PARAMETERS[self._algorithm][name]

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train on all sequences but those of the group `holdout`, if given, on which the model is scored after each iteration.
        Write the model to a file, unless its name is empty."""
        self._before_train()
        if self._cleared and not self.sequences.groups:
            raise ValueError("The data is empty. Call Trainer::append before Trainer::train.")
        if holdout >= 0:
            self.message(f"Holdout group: {holdout + 1}\n")
            self.message("\n")
        try:
            Training(self._algorithm, self.get_params(), self.sequences, holdout, self.message).run(os.fspath(model))
        except CrfkitError as error:
            raise as_crfsuite_error(error) from error

    def _before_train(self) -> None:
        """Called before training; for subclasses, as in python-crfsuite."""

    def message(self, message: str) -> None:
        """Called with each piece of the log; prints it if `verbose`."""
        if self.verbose:
            print(message, end="")


class Trainer(BaseTrainer):
    """A trainer that parses its own log: it calls the methods `on_...` during training, and `logparser` keeps all results."""

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Parse a piece of the log, and call the method of the event that it completes."""
        assert self.logparser is not None
        event = self.logparser.feed(message)
        if self.verbose and event is not None:
            more: dict[str, list[Any]] = {"featgen_progress": [self.logparser.featgen_percent], "iteration": [self.logparser.last_iteration]}
            getattr(self, f"on_{event}")(self.logparser.last_log, *more.get(event, []))

    def on_start(self, log: str) -> None:
        """Called when training starts; with the names below when all features are generated, before the first iteration, when training cannot
        start, when the weights are final, and when the model is stored."""
        print(log, end="")

    on_featgen_end = on_prepared = on_prepare_error = on_optimization_end = on_end = on_start

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Called as features are generated."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Called after an iteration; `info` has its figures."""
        print(log, end="")


def _converted(name: str, parameter: Parameter, value: Any) -> Any:
    try:
        if parameter.kind is bool:
            return bool(int({"true": "1", "false": "0"}.get(value.lower(), digits_of(value)) if isinstance(value, str) else value))
        converted = parameter.kind(digits_of(value) if parameter.kind is int else value)
        if converted != converted:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: expected {_KINDS[parameter.kind]}, found {exactly(value)}") from None
    if name == "linesearch" and converted not in LINESEARCHES:
        raise ValueError(f"{name}: expected one of {', '.join(LINESEARCHES)}, found {exactly(value)}")
    return converted


_KINDS = {bool: "a truth value", int: "a whole number", float: "a number", str: "a text"}
