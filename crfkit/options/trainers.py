"""What each trainer can be told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from crfkit.values import option

DECAY = 0.85
PASSES_OF_DECAY = (30, 800)  # its passes; in more, at most so many, the rate of SGD falls as far


def decay_of(options: Sgd | Sapo) -> float:
    """The factor on the learning rate after each pass, given or not. With three digits, so that the printed value is exact."""
    usual, most = PASSES_OF_DECAY
    return float(f"{DECAY ** (usual / min(most, max(usual, options.passes or usual))):.3g}") if options.decay is None else options.decay


def _l2(default: float | None = None) -> Any:
    fitted = " By default one that fits the data, from 0.03 (attributes with one label each) to 1; less where values are below 1." if default is None else ""
    return option(default, f"Weight of the L2 penalty: l2/2 |w|^2 is added to the objective.{fitted}", low=0.0, kind=float)


def _l1(default: float | None = None) -> Any:
    fitted = " By default one that fits the data, from 0.1 (attributes with one label each) to 0.4; less where values are below 1." if default is None else ""
    return option(default, f"Weight of the L1 penalty: l1 |w|_1 is added to the objective; many weights become zero.{fitted}", low=0.0, kind=float)


# Options of several trainers.
_path = partial(
    option, None, "Falling values of --l1, such as 10,3,1. Each starts from the solution of the value before. Each gives a model, "
    "named after MODEL and the value (m.l1-3 for m). With --dev only the best model is written, as MODEL.",
    low=0.0, kind=tuple, words="falling numbers of at least 0, such as 10,3,1",
)
_passes = partial(
    option,
    help="Passes over the training data. By default sgd makes 30 to 100 and adf 20 to 80, until they have seen 100,000 sequences; "
    "cw makes 20 if an attribute occurs fewer than 4 times on average, else 10; perceptron and mira make 20, and more where a token has one "
    "or two attributes. Where sequences are few and long, sgd makes up to 800, perceptron and mira up to 160.",
    low=1, kind=int,
)
_batch_size = partial(option, 1, "Sequences per update. Their gradients, at the same weights, are added.", low=1)
_crf_loss = partial(option, False, "Report the negative log-likelihood of all training data after each pass.")
_train_accuracy = partial(
    option, False, "In each pass, report the share of right labels, and of sentences without an error, on the training data."
)
_rate = partial(
    option, None, "First learning rate. By default the best of several that are tried on a sample of the data.", above=0.0, kind=float
)
_decay = partial(
    option,
    help="Factor on the learning rate after each pass. 1: constant. 0: the rate falls at every step, as 1/t, unless --l2 is 0. By default 0.85; "
    "with more than 30 passes of sgd, but without --patience, nearer to 1, 0.952 with 100, up to 0.994 with 800, so that the rate falls as far.",
    low=0.0, high=1.0, kind=float,
)
_average = partial(option, True, "Average the weights over all steps, or keep the last ones.")
_dropout = partial(
    option,
    None,
    "Learn each sequence without some of its attributes, left out at random with this probability. By default 0; for parsers 0.1, with which they "
    "leave out lines of TEMPLATE, and rare values, too.",
    low=0.0, high=0.9, kind=float, metavar="P",
)
_epsilon = partial(
    option, help="Stop when the duality gap shows that the objective exceeds the optimum by at most this fraction of it.", low=0.0
)


@dataclass(frozen=True)
class _Batch:
    """When trainers stop that know the objective."""

    max_iter: int = option(1000, "Maximum number of iterations.", low=1)
    epsilon: float = _epsilon(1e-5)
    delta: float = option(
        1e-5, "Stop when the last PERIOD iterations improved the objective by less than this fraction of it.", low=0.0
    )
    period: int = option(10, "Number of iterations that --delta looks back.", low=1)


@dataclass(frozen=True)
class _QuasiNewton(_Batch):
    """What lbfgs and owlqn have in common."""

    l2: float | None = _l2()
    memory: int = option(4, "Number of steps that the quasi-Newton method remembers.", low=1, high=64)
    train_accuracy: bool = _train_accuracy()


@dataclass(frozen=True)
class Lbfgs(_QuasiNewton):
    """Batch quasi-Newton training of a CRF: the reference for accuracy."""

    warm_up: int = option(
        100,
        "Maximum number of passes of dual coordinate ascent before the first iteration, which save many iterations. 0: none. With --l2 0 or --init: none.",
        low=0,
    )


@dataclass(frozen=True)
class Owlqn(_QuasiNewton):
    """Batch quasi-Newton training with an L1 penalty: sparse models, the reference for what minimises it."""

    l1: float | None = _l1()
    l2: float = _l2(0.0)
    epsilon: float = _epsilon(1e-4)
    path: tuple[float, ...] | None = _path()
    warm_up: int = option(
        400,
        "Maximum number of these passes for each value of --l1. 0: none. With fewer than 30000 tokens, --l1 0 or --init: none.",
        low=0,
    )


@dataclass(frozen=True)
class Sbcd(_Batch):
    """Sparse block coordinate descent: an elastic-net CRF, the weights of one attribute at a time."""

    l1: float | None = _l1()
    l2: float = _l2(0.0)
    epsilon: float = option(1e-5, "Stop when the gradient's norm falls below EPSILON times that of the weights, or EPSILON if that is more.", low=0.0)
    path: tuple[float, ...] | None = _path()
    kappa: float = option(
        2.0, "First stability factor: second derivatives of a block are multiplied by it. It adapts.", above=0.0
    )
    recursions: str = option(
        "auto", "Loops over label pairs. sparse: over pairs with a weight; dense: over all pairs; auto: the faster one.",
        choices=("auto", "sparse", "dense"),
    )


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent on a CRF's likelihood: good weights after a few passes."""

    l1: float = _l1(0.0)
    l2: float | None = _l2()
    passes: int | None = _passes(None)
    rate: float | None = _rate()
    decay: float | None = _decay(None)
    batch_size: int = _batch_size()
    crf_loss: bool = _crf_loss()
    dropout: float | None = _dropout()


@dataclass(frozen=True)
class Adf:
    """Stochastic gradient descent with rates that fall faster for frequent features: few passes, even one."""

    l2: float | None = _l2()
    passes: int | None = _passes(None)
    rate: float | None = _rate()
    alpha: float = option(0.995, "Factor on the learning rate of a feature after a window without it.", above=0.0, high=1.0)
    beta: float = option(0.6, "Factor on the learning rate of a feature after a window with it in every sequence.", above=0.0, high=1.0)
    window: int | None = option(
        None, "Number of sequences after which learning rates fall. By default a tenth of the data; without --rate at least 100, and more where nearly all sequences have the same features or passes are many; 200 on a stream.",
        low=1, kind=int,
    )
    batch_size: int = _batch_size()
    crf_loss: bool = _crf_loss()
    dropout: float | None = _dropout()


@dataclass(frozen=True)
class Sapo:
    """Search-based probabilistic online learning: SGD with the n best paths in place of all paths."""

    l2: float | None = _l2()
    passes: int = _passes(30)
    nbest: int = option(5, "Candidates, the best paths, to learn from at each step.", low=1, high=1_000_000, short="-n")
    search: str = option("astar", "How to find candidates: astar, exactly; beam, approximately.", choices=("astar", "beam"))
    beam: int = option(50, "Width of --search beam: partial paths kept at each position.", low=1, high=1_000_000)
    ratio: float = option(
        0.05,
        "Leave out candidates that are less than RATIO times as probable as the best one. 0: keep all, as in the papers.",
        low=0.0,
        high=1.0,
    )
    rate: float | None = _rate()
    decay: float = _decay(DECAY)
    batch_size: int = _batch_size()
    crf_loss: bool = _crf_loss()
    dropout: float | None = _dropout()


@dataclass(frozen=True)
class Perceptron:
    """The averaged structured perceptron: fast to train, no probabilities."""

    passes: int | None = _passes(None)
    average: bool = _average()
    batch_size: int = _batch_size()
    dropout: float | None = _dropout()


@dataclass(frozen=True)
class Mira:
    """MIRA: the smallest change that gives the true labels a margin over the best others; no probabilities."""

    passes: int | None = _passes(None)
    nbest: int = option(1, "Candidates, the best paths, to learn from at each step.", low=1, high=1000, short="-n")
    aggressiveness: float = option(
        1.0, "C: the largest multiple of one path that a step adds to the weights or takes from them.", above=0.0
    )
    average: bool = _average()
    shrinking: int = option(
        0,
        "Work as CRF++ does: take the sequences in the order of the data, subtract the lead of a wrong path from its number of wrong labels, "
        "let C bound all that a sequence adds in all passes, leave out sequences that were right in N passes, and end when none is left. 0: no.",
        low=0, metavar="N",
    )
    train_accuracy: bool = _train_accuracy()
    dropout: float | None = _dropout()


@dataclass(frozen=True)
class Arow:
    """AROW: each weight has a variance; certain weights change least. No probabilities."""

    passes: int = _passes(20)
    regularization: float | None = option(
        None,
        "r: the larger it is, the less one sequence changes weights and variances. By default the best of 3, 30, 300 and 3000 on a "
        "sample of the data.",
        above=0.0,
        kind=float,
    )
    average: bool = _average()
    dropout: float | None = _dropout()


@dataclass(frozen=True)
class Cw:
    """Confidence-weighted learning: each weight has a variance; every sequence must be right with confidence."""

    passes: int | None = _passes(None)
    confidence: float = option(0.52, "Probability of being right that each step aims for.", above=0.5, high=0.9999)
    average: bool = _average()
    dropout: float | None = _dropout()


@dataclass(frozen=True)
class Lookahead:
    """History-based tagging that looks some labels ahead before it decides: label trigrams, no probabilities."""

    passes: int = _passes(20)
    depth: int = option(1, "Labels to look ahead before each decision; 0: only at the label itself.", low=0, high=100)
    margin: float | None = option(
        None,
        "By how much the correct label, or the correct action of a parser, must score above all others. By default 3 for each attribute of a "
        "token, from 3 to 100, less where values are below 1; for a parser 100.",
        kind=float,
        low=0.0,
    )
    direction: str = option(
        "forward",
        "Label from left to right (forward) or from right to left (backward).",
        choices=("forward", "backward"),
    )
    average: bool = _average()
    labels: bool = option(False, "For parsers (P lines): also learn the relations of arcs, from the column deprel.")
    oracle: str = option(
        "either",
        "For parsers: where both left and shift are correct, learn the one that scores higher (either), or always left (first). "
        "Both are correct while the head of a left arc has children in the queue: the arc can wait.",
        choices=("either", "first"),
    )
    dropout: float | None = _dropout()


TRAINERS: dict[str, type] = {
    "lbfgs": Lbfgs, "owlqn": Owlqn, "sbcd": Sbcd, "sgd": Sgd, "adf": Adf, "sapo": Sapo, "perceptron": Perceptron, "mira": Mira, "arow": Arow,
    "cw": Cw, "lookahead": Lookahead,
}

ALIASES: dict[str, str] = {"dbl-crf": "sapo"}
