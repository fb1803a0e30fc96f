"""The trainers. Their classes are imported by name, when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Trainer


FILES = {"arow": "confidence", "cw": "confidence"}  # all others are in a file of their own


def trainer_class(name: str) -> type[Trainer]:
    """The class that trains by this algorithm; it has the name of its options. Batch trainers have iterations, others have passes."""
    from crfkit.options import TRAINERS  # tagging does without

    options = TRAINERS[name]
    folder = "batch" if hasattr(options, "max_iter") else "online"
    return getattr(import_module(f"{__name__}.{folder}.{FILES.get(name, name)}"), options.__name__)
