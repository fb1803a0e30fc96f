"""scikit-learn's BaseEstimator, or a class in its place: scikit-learn is optional. Programs import it from here, too."""

__all__ = ["BaseEstimator"]

try:
    from sklearn.base import BaseEstimator
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """A base class that offers nothing."""
