"""sklearn-crfsuite's interface, with crfkit behind it. One line changes:

    from crfkit.compat.sklearn_crfsuite import CRF, metrics, scorers

`predict` always gives lists of lists of labels. Only metrics, scorers and `clone` need scikit-learn.
"""

from types import ModuleType
from typing import TYPE_CHECKING

from .estimator import CRF

if TYPE_CHECKING:
    from . import metrics, scorers

__all__ = ["CRF", "metrics", "scorers"]


def __getattr__(name: str) -> ModuleType:
    """Import `metrics` and `scorers` on first use, as they need scikit-learn."""
    if name not in ("metrics", "scorers"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
