"""Scorers for scikit-learn's model selection."""

from sklearn.metrics import make_scorer

from .metrics import flat_accuracy_score, sequence_accuracy_score

__all__ = ["flat_accuracy", "make_scorer", "sequence_accuracy"]

flat_accuracy = make_scorer(flat_accuracy_score)
sequence_accuracy = make_scorer(sequence_accuracy_score)
