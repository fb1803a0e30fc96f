"""The trainers, each in a file of its own; here their names are turned into classes, when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Trainer

# What crfkit.options.TRAINERS names -> (module, class).
_CLASSES = {
    "adf": ("adf", "Adf"),
    "arow": ("arow", "Arow"),
    "cw": ("cw", "Cw"),
    "lbfgs": ("lbfgs", "Lbfgs"),
    "lookahead": ("lookahead", "Lookahead"),
    "mira": ("mira", "Mira"),
    "owlqn": ("owlqn", "Owlqn"),
    "perceptron": ("perceptron", "Perceptron"),
    "sapo": ("sapo", "Sapo"),
    "sbcd": ("sbcd", "Sbcd"),
    "sgd": ("sgd", "Sgd"),
}


def trainer_class(name: str) -> type[Trainer]:
    """The class that trains by this algorithm."""
    module, cls = _CLASSES[name]
    return getattr(import_module(f"{__name__}.{module}"), cls)
