"""CRFsuite's own module for Python, `import crfsuite`, which SWIG makes from its C++.

Errors are those of crfkit.compat.pycrfsuite.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .pycrfsuite import CRFSUITE_VERSION, BaseTrainer
from .pycrfsuite import Tagger as NamedTagger
from .pycrfsuite.parameters import printed

__all__ = ["Attribute", "Item", "ItemSequence", "StringList", "Tagger", "Trainer", "version"]


class Attribute:
    """The name of an attribute, and its value."""

    def __init__(self, attr: str = "", value: float = 1.0):
        self.attr, self.value = attr, value


class _Vector(list):
    """A list with names of C++."""

    push_back, size = list.append, list.__len__


class Item(_Vector):
    """The attributes of a token."""


class ItemSequence(_Vector):
    """The items of a sequence."""


class StringList(_Vector):
    """Labels, or the names of parameters."""


def _named(xseq: Iterable[Iterable[Attribute]]) -> list[list[tuple[str, float]]]:
    """The items as python-crfsuite has them."""
    return [[(attribute.attr, attribute.value) for attribute in item] for item in xseq]


class Trainer(BaseTrainer):
    """Collects sequences and parameters, and trains a model. A subclass with `message` gets the log."""

    def __init__(self) -> None:
        super().__init__(verbose=False)

    def append(self, xseq: Any, yseq: Iterable[str], group: int = 0) -> None:
        """Add a sequence and its labels. One group may be held out when training."""
        super().append(_named(xseq), yseq, group)

    def select(self, algorithm: str, type: str = "crf1d") -> bool:  # type: ignore[override]
        """Choose an algorithm; False if there is none of this name."""
        try:
            super().select(algorithm, type)
        except ValueError:
            return False
        return True

    def get(self, name: str) -> str:
        """The value of a parameter, as a text."""
        return printed(super().get(name))

    def get_params(self) -> dict[str, Any]:
        """All parameters with their values."""
        return {name: super(Trainer, self).get(name) for name in self.params()}

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> int:  # type: ignore[override]
        """Train on all sequences but those of the group `holdout`. Returns 0; what fails is an exception."""
        super().train(model, holdout)
        return 0


class Tagger(NamedTagger):
    """Labels sequences with a model."""

    def open(self, name: str | os.PathLike[str]) -> bool:  # type: ignore[override]
        """Open a model file; False if it cannot be opened."""
        self.close()
        try:
            super().open(name)
        except (OSError, ValueError):
            return False
        return True

    def set(self, xseq: Any) -> None:
        """Make this the current sequence, which `viterbi`, `probability` and `marginal` use."""
        super().set(_named(xseq))

    def viterbi(self) -> StringList:
        """The best labels of the current sequence."""
        return StringList(super().tag())

    def tag(self, xseq: Any) -> StringList:  # type: ignore[override]
        """The best labels of a sequence."""
        self.set(xseq)
        return self.viterbi()


def version() -> str:
    """The version of CRFsuite whose behaviour this is."""
    return CRFSUITE_VERSION
