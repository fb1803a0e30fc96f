"""crfkit: sequence labelling, fast and exact.

    import crfkit

    model = crfkit.learn("train.txt", template="template.txt")
    model.save("chunking.model")
    tagger = crfkit.load("chunking.model")
    tagger.tag([["the", "DT"], ["cat", "NN"]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from crfkit.evaluation.evaluate import evaluate
    from crfkit.learning.learn import learn, learn_path

    from .errors import CrfkitError
    from .model import Model
    from .tagging import Tagger, load

__all__ = ["CrfkitError", "Model", "Tagger", "__version__", "evaluate", "learn", "learn_path", "load"]

# Imported when first asked for: a program that tags need not wait for the trainers.
_PLACES = {
    "CrfkitError": "errors",
    "Model": "model",
    "Tagger": "tagging",
    "evaluate": "evaluation.evaluate",
    "learn": "learning.learn",
    "learn_path": "learning.learn",
    "load": "tagging",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
