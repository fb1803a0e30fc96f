"""The trainers. Their classes are imported by name, when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Trainer

# Where the class of each is, which has the name of its options.
MODULES = {
    "lbfgs": "batch.lbfgs", "owlqn": "batch.owlqn", "sbcd": "batch.sbcd", "sgd": "online.sgd", "adf": "online.adf", "sapo": "online.sapo",
    "perceptron": "online.perceptron", "mira": "online.mira", "arow": "online.confidence", "cw": "online.confidence",
    "lookahead": "online.lookahead",
}


def trainer_class(name: str) -> type[Trainer]:
    """The class that trains by this algorithm."""
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name.capitalize())
