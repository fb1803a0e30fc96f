"""The trainers, each in a file of its own; here their names are turned into classes, when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Trainer

# What crfkit.options.TRAINERS names -> (module, class).
_CLASSES = {
    "adf": ("online.adf", "Adf"),
    "arow": ("online.arow", "Arow"),
    "cw": ("online.cw", "Cw"),
    "lbfgs": ("batch.lbfgs", "Lbfgs"),
    "lookahead": ("online.lookahead", "Lookahead"),
    "mira": ("online.mira", "Mira"),
    "owlqn": ("batch.owlqn", "Owlqn"),
    "perceptron": ("online.perceptron", "Perceptron"),
    "sapo": ("online.sapo", "Sapo"),
    "sbcd": ("batch.sbcd", "Sbcd"),
    "sgd": ("online.sgd", "Sgd"),
}


def trainer_class(name: str) -> type[Trainer]:
    """The class that trains by this algorithm."""
    module, cls = _CLASSES[name]
    return getattr(import_module(f"{__name__}.{module}"), cls)
