"""sklearn-crfsuite's interface, with crfkit behind it. One line changes:

    from crfkit.compat.sklearn_crfsuite import CRF, metrics, scorers

`predict` always gives lists of lists of labels. scikit-learn is needed for what comes from there: metrics, scorers, `clone`.
"""

from types import ModuleType
from typing import TYPE_CHECKING

from .estimator import CRF

if TYPE_CHECKING:
    from . import metrics, scorers

__all__ = ["CRF", "metrics", "scorers"]


def __getattr__(name: str) -> ModuleType:
    """`metrics` and `scorers` need scikit-learn, and come when they are asked for."""
    if name not in ("metrics", "scorers"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
