"""The parameters of CRFsuite's five algorithms: names, defaults, meaning, and the corresponding options of crfkit."""

from __future__ import annotations

from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """One parameter; `kind` says how its value is parsed, and printed in the log."""

    default: Any
    help: str
    kind: type = float


class Steps(NamedTuple):
    """How ap, pa and arow learn: options of trainers/online/crfsuite. Each parameter is of one of them."""

    rule: str
    average: bool
    type: int = 1
    c: float = 1.0
    error_sensitive: bool = True
    variance: float = 1.0
    gamma: float = 1.0


def printed(value: Any) -> str:
    """A value as CRFsuite prints it."""
    return value if isinstance(value, str) else f"{value:{'f' if isinstance(value, float) else 'd'}}"


FEATURES = {
    "feature.minfreq": Parameter(0.0, "The minimum frequency of features."),
    "feature.possible_states": Parameter(False, "Force to generate possible state features.", bool),
    "feature.possible_transitions": Parameter(False, "Force to generate possible transition features.", bool),
}
_C2 = Parameter(1.0, "Coefficient for L2 regularization.")
_PERIOD = Parameter(10, "The duration of iterations to test the stopping criterion.", int)


def _iterations(most: int, of: str = "iterations.") -> Parameter:
    return Parameter(most, f"The maximum number of {of}", int)


def _delta(value: float, what: str) -> Parameter:
    return Parameter(value, f"The threshold of the stopping criterion: {what} ends when the last ${{period}} iterations improved the log likelihood by no more.")


PARAMETERS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **FEATURES,
        "c1": Parameter(0.0, "Coefficient for L1 regularization."),
        "c2": _C2,
        "max_iterations": _iterations(2**31 - 1, "iterations for L-BFGS optimization."),
        "num_memories": Parameter(6, "The number of steps from which the inverse Hessian matrix is approximated.", int),
        "epsilon": Parameter(1e-5, "Epsilon for testing the convergence of the objective."),
        "period": _PERIOD,
        "delta": _delta(1e-5, "L-BFGS"),
        "linesearch": Parameter("MoreThuente", "The line search: MoreThuente, Backtracking or StrongBacktracking. crfkit has one of its own for all.", str),
        "max_linesearch": Parameter(20, "The maximum number of trials of the line search.", int),
    },
    "l2sgd": {
        **FEATURES,
        "c2": _C2,
        "max_iterations": _iterations(1000, "iterations (epochs) for SGD optimization."),
        "period": _PERIOD,
        "delta": _delta(1e-6, "SGD"),
        "calibration.eta": Parameter(0.1, "The initial value of learning rate (eta) used for calibration."),
        "calibration.rate": Parameter(2.0, "The rate of increase/decrease of learning rate for calibration."),
        "calibration.samples": Parameter(1000.0, "The number of instances used for calibration."),
        "calibration.candidates": Parameter(10, "The number of candidates of learning rate.", int),
        "calibration.max_trials": Parameter(20, "The maximum number of trials of learning rates for calibration.", int),
    },
    "averaged-perceptron": {
        **FEATURES,
        "max_iterations": _iterations(100),
        "epsilon": Parameter(0.0, "The stopping criterion (the ratio of incorrect label predictions)."),
    },
    "passive-aggressive": {
        **FEATURES,
        "type": Parameter(1, "The strategy of updates: 0: PA without slack variables, 1: PA type I, 2: PA type II.", int),
        "c": Parameter(1.0, "The aggressiveness parameter."),
        "error_sensitive": Parameter(True, "Consider the number of incorrect labels to the cost function.", bool),
        "averaging": Parameter(True, "Compute the average of feature weights (similarly to Averaged Perceptron).", bool),
        "max_iterations": _iterations(100),
        "epsilon": Parameter(0.0, "The stopping criterion (the mean loss)."),
    },
    "arow": {
        **FEATURES,
        "variance": Parameter(1.0, "The initial variance of every feature weight."),
        "gamma": Parameter(1.0, "Tradeoff parameter."),
        "max_iterations": _iterations(100),
        "epsilon": Parameter(0.0, "The stopping criterion (the mean loss)."),
    },
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
LINESEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")
