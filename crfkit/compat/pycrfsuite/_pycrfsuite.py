"""The module in which python-crfsuite defines its classes."""

from crfkit.compat.pycrfsuite import *  # noqa: F403
from crfkit.compat.pycrfsuite import __all__ as __all__
