"""What a training run and each trainer can be told: one frozen dataclass each, with default, range and help of every option.

The command line, the Python API and --config all take their options from here. What goes together is judged in learning/judging.py.
"""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from .errors import OptionError
from .values import Expected, flag, interval, selected, shown, size

MOST_THREADS = 1024  # each has scratch of its own
FORMATS = ("columns", "conllu", "crfsuite")
WEIGHTS = ("float32", "float16", "int8")
PROGRESS_MODES = ("auto", "always", "never")


def option(default: Any, help: str, *, short: str | None = None, metavar: str | None = None, kind: Any = None, **expected: Any) -> Any:
    """A field of an options dataclass: its default, its help, and what it takes (crfkit.values). `short` is its other
    flag on the command line, `metavar` what stands for its value there."""
    takes = Expected(kind or (object if default is None else type(default)), **expected)
    return field(default=default, metadata={"help": help, "short": short, "metavar": metavar, "expected": takes})


@dataclass(frozen=True)
class Run:
    """What a training run can be told whatever its trainer."""

    features: str = option("observed", "Features of an attribute: one for each label it was seen with (observed), or for each label (all).", choices=("observed", "all"))
    min_freq: int = option(1, "Drop attributes that occur fewer than N times.", low=1, metavar="N")
    select: str | None = option(
        None, "Before training, keep the N attributes of the highest mutual information with the label.", metavar="mi:N", parse=selected,
        words="mi:N, to keep the N attributes that tell most of the label",
    )  # fmt: skip
    prune: float | None = option(
        None, "After training, drop weights of a smaller absolute value.", kind=float, above=0, high=1e30, metavar="THRESHOLD"
    )
    format: str = option(
        "columns", "Format of the data: CoNLL columns, CoNLL-U, or CRFsuite's attribute lines. The last takes no TEMPLATE.", choices=FORMATS,
    )  # fmt: skip
    comments: bool = option(False, "Lines that begin with # and stand before a sentence are comments, not tokens.")
    label: str | None = option(None, "Name of the column to predict. Without it: the last column.", kind=str, metavar="COLUMN")
    dev: Any = option(
        None, "Score the weights on this file after each pass, and keep the best ones. The score is F1 where labels mark chunks, else "
        "accuracy.", metavar="FILE",
    )  # fmt: skip
    patience: int | None = option(None, "With --dev: stop after N passes without a better score.", kind=int, low=1, metavar="N")
    init: Any = option(None, "Start from the weights of this model. Features that do not exist here are ignored.", metavar="MODEL")
    seed: int = option(0, "Seed of the random order of the sequences.", low=-(2**63), high=2**63 - 1, words="a whole number of 64 bits")
    threads: int = option(
        0, "Threads. 0: one for each processor with lbfgs and owlqn, else one. With 2 or more, sgd, adf and sapo change the weights "
        "without locks: models then differ from run to run. Models of all other trainers do not depend on it.", low=0, high=MOST_THREADS, metavar="N",
    )  # fmt: skip
    log: Any = option(None, "Write one JSON object a pass.", kind=os.PathLike, files=True, metavar="FILE")
    checkpoint: str | None = option(
        None, "After each pass, write to this file what --resume needs.", kind=os.PathLike, metavar="FILE"
    )
    checkpoint_every: str | int | None = option(
        None, "With --checkpoint: write it every N passes, or every N minutes when N ends in m.", parse=interval, metavar="N",
        words="passes as 5 or minutes as 10m",
    )  # fmt: skip
    resume: bool = option(False, "Go on from --checkpoint, if the file exists. The model is that of a run without interruption.")
    workers: int | None = option(
        None, "Have N processes hold the data and work on them. TRAIN are files or patterns.", low=1, high=MOST_THREADS, kind=int, metavar="N",
    )  # fmt: skip
    cluster: str | None = option(
        None, "Have the workers of a dask.distributed scheduler hold the data and work on them. TRAIN are files that they can open, or patterns.",
        kind=str, metavar="tcp://HOST:PORT",
    )  # fmt: skip
    shards: int | None = option(
        None, "With --workers or --cluster: cut the data into about N shards. Online trainers mix the weights of all shards after each pass. "
        "Without it: as the size of the data says.", low=1, high=1 << 20, kind=int, metavar="N",
    )  # fmt: skip
    worker_timeout: int = option(
        600, "With --workers or --cluster: seconds after which a worker that does not answer is given up.", low=1, high=1 << 20, metavar="SECONDS",
    )  # fmt: skip
    max_memory: str | int | None = option(
        None, "Refuse to train if it would take more memory than this, such as 2G.", parse=size, metavar="SIZE",
        words="a size such as 800M or 2G",
    )  # fmt: skip

    weights: str = option(
        "float32", "Numbers in which the model's file keeps its weights: float16 takes half of the room, int8 a quarter. With --dev, what that "
        "costs is printed.", choices=WEIGHTS,
    )  # fmt: skip
    data_dir: str | None = option(
        None, "Keep the data in files in this folder, not in memory. The model is the same to the byte.", kind=os.PathLike, metavar="DIR"
    )  # fmt: skip

    @property
    def n_selected(self) -> int | None:
        """How many attributes --select keeps; None: all."""
        return selected(self.select)

    @property
    def far(self) -> bool:
        """Whether workers hold the data."""
        return self.workers is not None or self.cluster is not None


@dataclass(frozen=True)
class Speech:
    """What the command can be told of what it says."""

    quiet: bool = option(False, "Say nothing but errors.", short="-q")
    progress: str = option("auto", "Show a progress bar: on a terminal, always, never.", choices=PROGRESS_MODES)


RUN_FIELDS, SPEECH = tuple(Run.__dataclass_fields__), tuple(Speech.__dataclass_fields__)


def _l2(default: float) -> Any:
    return option(default, "Weight of the L2 penalty: l2/2 |w|^2 is added to the objective.", low=0.0)


def _l1(default: float) -> Any:
    return option(default, "Weight of the L1 penalty: l1 |w|_1 is added to the objective; many weights become zero.", low=0.0)


def _path() -> Any:
    return option(
        None, "Falling values of --l1, such as 10,3,1. Each starts from the solution of the value before. Each gives a model, "
        "named after MODEL and the value (m.l1-3 for m). With --dev only the best model is written, as MODEL.", low=0.0, kind=tuple, words="falling numbers of at least 0, such as 10,3,1",
    )  # fmt: skip


def _passes(default: int) -> Any:
    return option(default, "Passes over the training data.", low=1)


def _batch_size() -> Any:
    return option(1, "Sequences in an update. Their gradients, at the same weights, are added up.", low=1)


def _crf_loss() -> Any:
    return option(False, "Report the negative log-likelihood of all training data after each pass.")


def _train_accuracy() -> Any:
    return option(False, "Report the share of right labels, and of sentences with no other, on the training data in each pass.")


def _rate() -> Any:
    return option(None, "First learning rate. Without it, several are tried on a sample of the data, and the best one is taken.", above=0.0, kind=float)


def _decay() -> Any:
    return option(
        0.85, "Factor on the rate after each pass. 1: constant. 0: the rate falls at every step, as 1/t.", low=0.0, high=1.0,
    )  # fmt: skip


def _average(default: bool) -> Any:
    return option(default, "Average the weights over all steps; --no-average keeps the last ones.")


def _epsilon(default: float) -> Any:
    return option(default, "Stop when the duality gap shows that the objective is at most EPSILON times the optimum above it.", low=0.0)


@dataclass(frozen=True)
class _Batch:
    """When trainers stop that know the objective."""

    max_iter: int = option(1000, "Iterations at most.", low=1)
    epsilon: float = _epsilon(1e-5)
    delta: float = option(1e-5, "Stop when the last PERIOD iterations improved the objective by a smaller part of it than this.", low=0.0)
    period: int = option(10, "Iterations that --delta looks back.", low=1)


@dataclass(frozen=True)
class _QuasiNewton(_Batch):
    """What lbfgs and owlqn have in common."""

    l2: float = _l2(1.0)
    memory: int = option(4, "Steps that the quasi-Newton method remembers.", low=1, high=64)
    train_accuracy: bool = _train_accuracy()


@dataclass(frozen=True)
class Lbfgs(_QuasiNewton):
    """Batch quasi-Newton training of a CRF: the reference for accuracy."""

    warm_up: int = option(
        200, "Passes of dual coordinate ascent before the first iteration, at most. They save many iterations. 0: none. With --l2 0: none.",
        low=0,
    )  # fmt: skip


@dataclass(frozen=True)
class Owlqn(_QuasiNewton):
    """Batch quasi-Newton training with an L1 penalty: sparse models, the reference for what minimises it."""

    l1: float = _l1(0.3)
    l2: float = _l2(0.0)
    epsilon: float = _epsilon(1e-4)
    path: tuple[float, ...] | None = _path()
    warm_up: int = option(
        400, "Passes of dual coordinate ascent for each value of --l1, at most. They find the optimum many times as fast. 0: none. With fewer than 30000 tokens, or --l1 0: none.",
        low=0,
    )  # fmt: skip


@dataclass(frozen=True)
class Sbcd(_Batch):
    """Sparse block coordinate descent: an elastic-net CRF, the weights of one attribute at a time."""

    l1: float = _l1(0.3)
    l2: float = _l2(0.0)
    epsilon: float = option(1e-5, "Stop when the gradient's norm falls below EPSILON times that of the weights.", low=0.0)
    path: tuple[float, ...] | None = _path()
    kappa: float = option(2.0, "First stability factor: second derivatives of a block are multiplied by it. It adapts.", above=0.0)
    recursions: str = option(
        "auto", "Loops over label pairs. sparse: over pairs with a weight; dense: over all pairs; auto: the faster one.",
        choices=("auto", "sparse", "dense"),
    )  # fmt: skip


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


@dataclass(frozen=True)
class Adf:
    """Stochastic gradient descent with rates that fall faster for frequent features: few passes, even one."""

    l2: float = _l2(1.0)
    passes: int = _passes(20)
    rate: float | None = _rate()
    alpha: float = option(0.995, "Factor on the rate of a feature after a window without it.", above=0.0, high=1.0)
    beta: float = option(0.6, "Factor on the rate of a feature after a window with it in every sequence.", above=0.0, high=1.0)
    window: int | None = option(
        None, "Sequences after which rates fall. Without it: a tenth of the data; 1000 on a stream.",
        low=1, kind=int,
    )  # fmt: skip
    batch_size: int = _batch_size()
    crf_loss: bool = _crf_loss()


@dataclass(frozen=True)
class Sapo:
    """Search-based probabilistic online learning: SGD with the n best paths in place of all paths."""

    l2: float = _l2(1.0)
    passes: int = _passes(30)
    nbest: int = option(5, "Candidates, the best paths, to learn from at each step.", low=1, high=1_000_000, short="-n")
    search: str = option("astar", "How candidates are found: astar, exactly; beam, approximately.", choices=("astar", "beam"))
    beam: int = option(50, "Width of --search beam: partial paths kept at each position.", low=1, high=1_000_000)
    ratio: float = option(0.05, "Leave out candidates that are less than RATIO times as probable as the best one. 0: keep all, as in the papers.", low=0.0, high=1.0)
    rate: float | None = _rate()
    decay: float = _decay()
    batch_size: int = _batch_size()
    crf_loss: bool = _crf_loss()


@dataclass(frozen=True)
class Perceptron:
    """The averaged structured perceptron: fast to train, no probabilities."""

    passes: int = _passes(20)
    average: bool = _average(True)
    batch_size: int = _batch_size()


@dataclass(frozen=True)
class Mira:
    """MIRA: the smallest change that gives the true labels a margin over the best others; no probabilities."""

    passes: int = _passes(20)
    nbest: int = option(1, "Candidates, the best paths, to learn from at each step.", low=1, high=1000, short="-n")
    aggressiveness: float = option(1.0, "C: how much of one path, at most, a step adds to the weights or takes from them.", above=0.0)
    average: bool = _average(True)
    shrinking: int = option(
        0, "As CRF++ does: take the sequences in the order of the data, let C bound all that one adds in all passes, and leave out those that "
        "were right in N passes; end when nothing is left to do. 0: no.", low=0, metavar="N",
    )  # fmt: skip
    train_accuracy: bool = _train_accuracy()


@dataclass(frozen=True)
class Arow:
    """AROW: each weight has a variance; certain weights change least. No probabilities."""

    passes: int = _passes(20)
    regularization: float = option(30.0, "r. The larger it is, the less one sequence changes weights and variances.", above=0.0)
    average: bool = _average(True)


@dataclass(frozen=True)
class Cw:
    """Confidence-weighted learning: each weight has a variance; every sequence must be right with confidence."""

    passes: int = _passes(10)
    confidence: float = option(0.55, "Probability of being right that each step asks for.", above=0.5, high=0.9999)
    average: bool = _average(True)


@dataclass(frozen=True)
class Lookahead:
    """History-based tagging that looks some labels ahead before it decides: label trigrams, no probabilities."""

    passes: int = _passes(20)
    depth: int = option(1, "Labels to look ahead before each decision; 0: only at the label itself.", low=0, high=100)
    margin: float | None = option(
        None, "By how much the correct label, or action of a parser, has to score above all others. Without it: 30, of a parser 100.", kind=float, low=0.0
    )
    direction: str = option("forward", "Label from left to right (forward) or from right to left (backward).", choices=("forward", "backward"))
    average: bool = _average(True)
    labels: bool = option(False, "Of a parser (P lines): an arc has a relation, too, that of the column deprel.")


TRAINERS: dict[str, type] = {
    "lbfgs": Lbfgs, "owlqn": Owlqn, "sbcd": Sbcd, "sgd": Sgd, "adf": Adf, "sapo": Sapo, "perceptron": Perceptron, "mira": Mira, "arow": Arow,
    "cw": Cw, "lookahead": Lookahead,
}  # fmt: skip

ALIASES: dict[str, str] = {"dbl-crf": "sapo"}

# Trainers whose scores are not log-linear likelihoods: probabilities would mean nothing.
WITHOUT_PROBABILITIES = frozenset({"perceptron", "mira", "arow", "cw", "lookahead"})

# Trainers whose models find one label after the other, and may look at those they have given.
WITH_HISTORY = frozenset({"lookahead"})



class Declared(NamedTuple):
    """An option, as the command line has it."""

    name: str
    help: str
    short: str | None
    metavar: str | None
    expected: Expected
    defaults: dict[str, Any]
    """Of each trainer that uses it, or under "" of every run."""


def declared(first: Any = None) -> dict[str, Declared]:
    """Every option of a run, of any trainer, and of what is said. Where trainers take different values, those of the
    first one are named."""
    found: dict[str, Declared] = {}
    of_first = {name: cls for name, cls in TRAINERS.items() if name == ALIASES.get(str(first), first)}
    for user, cls in {"": Run, **of_first, **TRAINERS, " ": Speech}.items():
        for item in fields(cls):
            found.setdefault(item.name, Declared(item.name, **item.metadata, defaults={})).defaults[user.strip()] = item.default
    return found


def arguments(*without: str) -> list[inspect.Parameter]:
    """Every option as an argument of a Python function, except those named; None where the default is the trainer's own."""
    return [
        inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.defaults.get(""))
        for option in declared().values()
        if option.name not in ("quiet", *without)
    ]


# What others call it -> what to say to those who do.
ELSEWHERE = {
    "c1": "l1 is CRFsuite's c1",
    "c2": "l2 is twice CRFsuite's c2",
    "rho1": "l1 is Wapiti's rho1",
    "rho2": "l2 is Wapiti's rho2",
    "c": "l2 is 1 / c of CRF++",
    "freq": "--min-freq is CRF++'s freq",
    "feature.minfreq": "--min-freq is CRFsuite's feature.minfreq",
    "feature.possible_transitions": "--features all gives every pair of labels a feature",
    "all_possible_transitions": "--features all gives every pair of labels a feature",
    "num_memories": "--memory is CRFsuite's num_memories",
    "n_jobs": "did you mean --threads?",
    "random_state": "did you mean --seed?",
    "verbose": "did you mean --progress?",
    **dict.fromkeys(("max_iterations", "maxiter", "epochs", "n_epochs", "n_iter"), "did you mean --passes, or --max-iter of lbfgs, owlqn and sbcd?"),
    **dict.fromkeys(("lr", "learning_rate", "eta", "calibration_eta"), "did you mean --rate?"),
}


def unknown(name: str) -> OptionError:
    """What to raise for an option that nobody has, with a hint."""
    near = difflib.get_close_matches(name, declared(), 1)
    hint = ELSEWHERE.get(name) or (f"did you mean {flag(near[0])}?" if near else None)
    return OptionError(f"unknown option {flag(name)}" + (f"; {hint}" if hint else ""))


def named(algorithm: Any) -> str:
    """The name of a trainer, of one of its names."""
    found = ALIASES.get(algorithm, algorithm) if isinstance(algorithm, str) else None
    if found not in TRAINERS:
        raise OptionError(f"unknown algorithm {shown(algorithm)}; expected one of {', '.join(TRAINERS)}")
    return found


def taken(cls: type, given: Mapping[str, Any]) -> Any:
    """The options of one dataclass, from values of its fields."""
    own = {item.name: item for item in fields(cls)}
    values = {
        name: None if value is None and own[name].default is None else own[name].metadata["expected"].take(name, value)
        for name, value in given.items()
    }  # fmt: skip
    return cls(**values)


def make(algorithm: str, given: Mapping[str, Any]) -> Any:
    """The options of a trainer from those that were given; OptionError says what is wrong with which."""
    cls = TRAINERS[named(algorithm)]
    own = {item.name for item in fields(cls)}
    for name in given:
        if name not in own:
            option = declared().get(name)
            if option is None:
                raise unknown(name)
            raise OptionError(f"{flag(name)} is not used by {algorithm} (it belongs to {', '.join(option.defaults)})")
    if given.get("path") is not None and given.get("l1") is not None:
        raise OptionError("--l1 and --path exclude each other: --path names the values of l1")
    return taken(cls, given)
