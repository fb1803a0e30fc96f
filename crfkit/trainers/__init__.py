"""The trainers, each in a file of its own. Their classes are imported by name, when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Trainer


def trainer_class(name: str) -> type[Trainer]:
    """The class that trains by this algorithm; it has the name of its options. Batch trainers have iterations, others have passes."""
    from crfkit.options import TRAINERS  # tagging does without

    options = TRAINERS[name]
    folder = "batch" if hasattr(options, "max_iter") else "online"
    return getattr(import_module(f"{__name__}.{folder}.{name}"), options.__name__)
