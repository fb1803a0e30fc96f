"""What each trainer can be told: one frozen dataclass a trainer, with default, range and help of every option.

The command line, the Python API and --config all take their options from here, and here alone they are judged.
"""

from __future__ import annotations

import difflib
import math
import numbers
import reprlib
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from itertools import pairwise
from typing import Any, ClassVar

from .errors import OptionError

# Beyond any use as a count, and within the integers of the loops and of model files.
LARGEST = 2**31 - 1
MOST_THREADS = 1024  # each has scratch of its own


def option(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    kind: type | None = None,
    choices: tuple[str, ...] | None = None,
    short: str | None = None,
) -> Any:
    """A field of an options dataclass: `low` and `high` may be reached, `above` must be exceeded; a text is one of
    `choices`. `short` is its other flag on the command line."""
    kind = kind or type(default)
    return field(
        default=default, metadata={"help": help, "low": low, "above": above, "high": high, "kind": kind, "choices": choices, "short": short}
    )


def _l2(default: float) -> Any:
    return option(default, "Weight of the L2 penalty: l2/2 |w|^2 is added to the objective.", low=0.0)


def _l1(default: float) -> Any:
    return option(default, "Weight of the L1 penalty: l1 |w|_1 is added to the objective; many weights become zero.", low=0.0)


def _path() -> Any:
    return option(
        None, "Falling values of --l1, such as 10,3,1: each starts from the solution of the one before. A model for each, "
        "named after MODEL and the value (m.l1-3 for m), or with --dev the best one as MODEL.", low=0.0, kind=tuple,
    )  # fmt: skip


def _passes(default: int) -> Any:
    return option(default, "Passes over the training data.", low=1)


def _batch_size() -> Any:
    return option(1, "Sequences an update is made from: their gradients, at the same weights, are added up.", low=1)


def _crf_loss() -> Any:
    return option(False, "Report the negative log-likelihood of all training data after each pass.")


def _rate() -> Any:
    return option(
        None, "First learning rate. When not given, it is chosen on a sample of the data; with adf it is 0.05, or less where "
        "tokens have more than 64 attributes.", above=0.0, kind=float,
    )  # fmt: skip


def _decay() -> Any:
    return option(
        0.85, "Factor on the rate after each pass; 1: constant, 0: the rate falls as 1/t, at every step.", low=0.0, high=1.0,
    )  # fmt: skip


def _average(default: bool) -> Any:
    return option(default, "Average the weights over all steps; --no-average keeps the last ones.")


@dataclass(frozen=True)
class _Batch:
    """When trainers stop that know the objective."""

    max_iter: int = option(1000, "Iterations at most.", low=1)
    epsilon: float = option(1e-5, "Stop when the gradient's norm falls below EPSILON times that of the weights.", low=0.0)
    delta: float = option(1e-5, "Stop when the last PERIOD iterations improved the objective by less than this part of it.", low=0.0)
    period: int = option(10, "Iterations that --delta looks back.", low=1)


@dataclass(frozen=True)
class _QuasiNewton(_Batch):
    """What lbfgs and owlqn have in common."""

    l2: float = _l2(1.0)
    memory: int = option(4, "Steps that the quasi-Newton method remembers.", low=1, high=64)

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, before and after a step, the history, and a gradient for each thread."""
        return 2 * 4 + 2 * self.memory * 4 + threads * 8


@dataclass(frozen=True)
class Lbfgs(_QuasiNewton):
    """Batch quasi-Newton training of a CRF: the reference for accuracy."""

    warm_up: int = option(
        200, "Passes of dual coordinate ascent, at most, before the first iteration: they save many. 0: none. Without --l2 there are none.",
        low=0,
    )  # fmt: skip


@dataclass(frozen=True)
class Owlqn(_QuasiNewton):
    """Batch quasi-Newton training with an L1 penalty: sparse models, the reference for what minimises it."""

    l1: float = _l1(0.3)
    l2: float = _l2(0.0)
    path: tuple[float, ...] | None = _path()

    def bytes_per_cell(self, threads: int) -> int:
        """As for L-BFGS, and the pseudo-gradient."""
        return super().bytes_per_cell(threads) + 8


@dataclass(frozen=True)
class Sbcd(_Batch):
    """Sparse block coordinate descent: an elastic-net CRF, the weights of one attribute at a time."""

    l1: float = _l1(0.3)
    l2: float = _l2(0.0)
    path: tuple[float, ...] | None = _path()
    kappa: float = option(2.0, "First stability factor: a block's second derivatives are taken as so many times larger; it adapts.", above=0.0)
    recursions: str = option(
        "auto", "Loops over label pairs: auto, those of active pairs where they are faster; sparse, always; dense, never.",
        choices=("auto", "sparse", "dense"),
    )  # fmt: skip

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, what it was before and after the blocks of a pass, how often it was observed,
        and a copy when the model is made."""
        return 3 * 4 + 8 + 1 + 4


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent on a CRF's likelihood: good weights after a few passes."""

    l1: float = _l1(0.0)
    l2: float = _l2(1.0)
    passes: int = _passes(30)
    rate: float | None = _rate()
    decay: float = _decay()
    batch_size: int = _batch_size()
    crf_loss: bool = _crf_loss()

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, what it received of the L1 penalty, copies while the rate is chosen, what the
        model is made of, and its change within a batch."""
        return 14 + 8 * (self.l1 > 0) + 4 * (self.batch_size > 1)


@dataclass(frozen=True)
class Adf:
    """Stochastic gradient descent with rates that fall faster for frequent features: few passes, even one."""

    bytes_per_attribute: ClassVar[int] = 32

    l2: float = _l2(1.0)
    passes: int = _passes(20)
    rate: float | None = _rate()
    alpha: float = option(0.995, "Factor on the rate of a feature after a window without it.", above=0.0, high=1.0)
    beta: float = option(0.6, "Factor on the rate of a feature after a window with it in every sequence.", above=0.0, high=1.0)
    window: int | None = option(
        None, "Sequences after which rates fall; when not given, a tenth of the data, or 1000 of a stream that is trained on as it comes.",
        low=1, kind=int,
    )  # fmt: skip
    batch_size: int = _batch_size()
    crf_loss: bool = _crf_loss()

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, what the model is made of, and its change within a batch."""
        return 14 + 4 * (self.batch_size > 1)


@dataclass(frozen=True)
class Sapo:
    """Search-based probabilistic online learning: SGD with the n best paths in place of all paths."""

    l2: float = _l2(1.0)
    passes: int = _passes(30)
    nbest: int = option(5, "Candidates, the best paths, to learn from at each step.", low=1, high=1_000_000, short="-n")
    search: str = option("astar", "How candidates are found: astar, exactly; beam, approximately.", choices=("astar", "beam"))
    beam: int = option(50, "Width of --search beam: partial paths kept at each position.", low=1, high=1_000_000)
    ratio: float = option(0.05, "Leave out candidates less than RATIO times as probable as the best one; 0: keep all.", low=0.0, high=1.0)
    rate: float | None = _rate()
    decay: float = _decay()
    batch_size: int = _batch_size()
    crf_loss: bool = _crf_loss()

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, copies while the rate is chosen, what the model is made of, and its change
        within a batch."""
        return 14 + 4 * (self.batch_size > 1)


@dataclass(frozen=True)
class Perceptron:
    """The averaged structured perceptron: fast to train, no probabilities."""

    passes: int = _passes(20)
    average: bool = _average(True)
    batch_size: int = _batch_size()

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, what it owes its average, a copy when the model is made, and its change within
        a batch."""
        return 2 * 4 + 8 * self.average + 4 * (self.batch_size > 1)


@dataclass(frozen=True)
class Mira:
    """MIRA: the smallest change that gives the true labels a margin over the best others; no probabilities."""

    passes: int = _passes(20)
    nbest: int = option(1, "Candidates, the best paths, to learn from at each step.", low=1, high=1000, short="-n")
    aggressiveness: float = option(1.0, "C: how much of any one path a step may add to the weights or take from them.", above=0.0)
    average: bool = _average(True)

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, what it owes its average, and a copy when the model is made."""
        return 2 * 4 + 8 * self.average


@dataclass(frozen=True)
class Arow:
    """AROW: each weight has a variance, and what is known well moves little; no probabilities."""

    passes: int = _passes(20)
    regularization: float = option(1000.0, "r: the larger, the less a single sequence changes weights and variances.", above=0.0)
    average: bool = _average(True)

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, its variance, what it owes its average, and a copy when the model is made."""
        return 3 * 4 + 8 * self.average


@dataclass(frozen=True)
class Cw:
    """Confidence-weighted learning: each weight has a variance; every sequence must be right with confidence."""

    passes: int = _passes(10)
    confidence: float = option(0.52, "Probability of being right that each step asks for.", above=0.5, high=0.9999)
    average: bool = _average(True)

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, its variance, what it owes its average, and a copy when the model is made."""
        return 3 * 4 + 8 * self.average


@dataclass(frozen=True)
class Lookahead:
    """History-based tagging that looks some labels ahead before it decides: label trigrams, no probabilities."""

    passes: int = _passes(20)
    depth: int = option(1, "Labels to look ahead before each decision; 0: only at the label itself.", low=0, high=100)
    margin: float = option(30.0, "How much better than all others the correct label has to be.", low=0.0)
    direction: str = option("forward", "Label from left to right (forward) or from right to left (backward).", choices=("forward", "backward"))
    average: bool = _average(True)

    def bytes_per_cell(self, threads: int) -> int:
        """Memory for a weight: itself, what it owes its average, and a copy when the model is made."""
        return 2 * 4 + 8 * self.average


TRAINERS: dict[str, type] = {
    "lbfgs": Lbfgs, "owlqn": Owlqn, "sbcd": Sbcd, "sgd": Sgd, "adf": Adf, "sapo": Sapo, "perceptron": Perceptron, "mira": Mira, "arow": Arow,
    "cw": Cw, "lookahead": Lookahead,
}  # fmt: skip

ALIASES: dict[str, str] = {"dbl-crf": "sapo"}

# Trainers whose scores are not log-linear likelihoods: probabilities would mean nothing.
WITHOUT_PROBABILITIES = frozenset({"perceptron", "mira", "arow", "cw", "lookahead"})

# Trainers whose models find one label after the other, and may look at those they have given.
WITH_HISTORY = frozenset({"lookahead"})


def all_fields() -> dict[str, tuple[Field, list[str]]]:
    """Every option of any trainer, and the trainers that use it."""
    found: dict[str, tuple[Field, list[str]]] = {}
    for name, cls in TRAINERS.items():
        for item in fields(cls):
            found.setdefault(item.name, (item, []))[1].append(name)
    return found


def flag(name: str) -> str:
    """The option as it is written on the command line."""
    return "--" + name.replace("_", "-")


def shown(value: Any) -> str:
    """A value in a message, of bounded length: a list may hold itself many times over, and a number have any size."""
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a whole number of {value.bit_length():,} bits"
    if isinstance(value, float):
        return f"{value:g}"
    bounded = reprlib.Repr()
    bounded.maxstring = bounded.maxother = 200
    return bounded.repr(value).replace("\n", " ")


def exactly(value: Any) -> str:
    """A value that has the wrong type: 5.0 is not 5."""
    return repr(value) if isinstance(value, float) else shown(value)


def plain(value: Any) -> Any:
    """A number of any kind, such as NumPy's, as Python's own; everything else as it is."""
    if type(value) in (bool, int, float) or not isinstance(value, numbers.Real):
        return value
    try:
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    except OverflowError:
        return value


def _check(item: Field, value: Any) -> Any:
    meta = item.metadata
    kind = meta["kind"]
    if value is None and item.default is None:
        return None
    if kind is tuple:
        return _falling(item, value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            value = float(value)
        except OverflowError:
            value = math.inf if value > 0 else -math.inf
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise OptionError(f"{flag(item.name)}: expected {_KIND_NAMES[kind]}, found {exactly(value)}")
    if meta["choices"] is not None and value not in meta["choices"]:
        raise OptionError(f"{flag(item.name)}: expected {' or '.join(meta['choices'])}, found {shown(value)}")
    if kind is float and not math.isfinite(value):
        raise OptionError(f"{flag(item.name)}: expected a finite number, found {value}")
    if meta["low"] is not None and value < meta["low"]:
        raise OptionError(f"{flag(item.name)}: expected at least {meta['low']:g}, found {shown(value)}")
    if meta["above"] is not None and value <= meta["above"]:
        raise OptionError(f"{flag(item.name)}: expected more than {meta['above']:g}, found {shown(value)}")
    high = LARGEST if kind is int and meta["high"] is None else meta["high"]
    if high is not None and value > high:
        raise OptionError(f"{flag(item.name)}: expected at most {high if kind is int else format(high, 'g')}, found {shown(value)}")
    return value


def _falling(item: Field, value: Any) -> tuple[float, ...]:
    """Falling numbers, from a list or from a text with commas between."""
    found = value.split(",") if isinstance(value, str) else value
    try:
        numbers = [math.nan if isinstance(x, bool) else float(x) for x in (found if isinstance(found, (list, tuple)) else ())]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    falling = all(a > b for a, b in pairwise(numbers))
    if not numbers or not falling or not all(item.metadata["low"] <= x < math.inf for x in numbers):
        raise OptionError(f"{flag(item.name)}: expected falling numbers of at least {item.metadata['low']:g}, such as 10,3,1, found {shown(value)}")
    return tuple(numbers)


_KIND_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def make(algorithm: str, values: Mapping[str, Any]) -> Any:
    """The options of a trainer from those that were given; OptionError says what is wrong with which."""
    cls = TRAINERS.get(algorithm) if isinstance(algorithm, str) else None
    if cls is None:
        raise OptionError(f"unknown algorithm {shown(algorithm)}; expected one of {', '.join(TRAINERS)}")
    own = {item.name: item for item in fields(cls)}
    known = all_fields()
    for name in values:
        if name in own:
            continue
        if name in known:
            raise OptionError(f"{flag(name)} is not used by {algorithm} (it belongs to {', '.join(known[name][1])})")
        near = difflib.get_close_matches(name, known, 1)
        raise OptionError(f"unknown option {flag(name)}" + (f"; did you mean {flag(near[0])}?" if near else ""))
    if values.get("path") is not None and values.get("l1") is not None:
        raise OptionError("--l1 and --path exclude each other: --path names the values of l1")
    return cls(**{name: _check(own[name], value) for name, value in values.items()})
