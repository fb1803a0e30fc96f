"""scikit-learn's metrics for label sequences, over all items or over whole sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from sklearn import metrics

from .utils import flatten

__all__ = [
    "flat_accuracy_score", "flat_classification_report", "flat_f1_score", "flat_fbeta_score", "flat_precision_score", "flat_recall_score",
    "flatten", "sequence_accuracy_score",
]

Labels = Sequence[Sequence[Any]]


def _flattens_y(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a metric of lists of labels into one of sequences. Programs use it for metrics of their own, by this name."""

    @wraps(metric)
    def of_sequences(y_true: Labels, y_pred: Labels, *args: Any, **kwargs: Any) -> Any:
        return metric(flatten(y_true), flatten(y_pred), *args, **kwargs)

    return of_sequences


def _flat(metric: Callable[..., Any]) -> Callable[..., Any]:
    of_sequences = _flattens_y(metric)
    of_sequences.__name__ = of_sequences.__qualname__ = f"flat_{metric.__name__}"
    of_sequences.__module__ = __name__  # where pickle looks for it
    of_sequences.__doc__ = f"sklearn.metrics.{metric.__name__} of all items."
    return of_sequences


flat_accuracy_score = _flat(metrics.accuracy_score)
flat_precision_score = _flat(metrics.precision_score)
flat_recall_score = _flat(metrics.recall_score)
flat_f1_score = _flat(metrics.f1_score)


@_flattens_y
def flat_fbeta_score(y_true: Sequence[Any], y_pred: Sequence[Any], beta: float, **kwargs: Any) -> Any:
    """sklearn.metrics.fbeta_score of all items."""
    return metrics.fbeta_score(y_true, y_pred, beta=beta, **kwargs)


@_flattens_y
def flat_classification_report(y_true: Sequence[Any], y_pred: Sequence[Any], labels: Any = None, **kwargs: Any) -> Any:
    """sklearn.metrics.classification_report of all items."""
    return metrics.classification_report(y_true, y_pred, labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of sequences whose labels are all right; 0 if there are no sequences."""
    right = sum(list(wanted) == list(given) for wanted, given in zip(y_true, y_pred, strict=True))
    return right / len(y_true) if len(y_true) else 0
