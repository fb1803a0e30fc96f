"""crfkit: sequence labelling, fast and exact.

    import crfkit

    model = crfkit.learn("train.txt", template="template.txt")
    model.save("chunking.model")
    tagger = crfkit.load("chunking.model")
    tagger.tag([["the", "DT"], ["cat", "NN"]])
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder

if PathFinder.find_spec(f"{__name__}._cyutility", __path__) is None:
    from ._uncompiled import installed

    installed(__name__, __path__[0])

# A free-threaded interpreter turns its lock on for the first of the compiled modules (docs/design.md, Builds), and would warn of that
# in every run of a command.
if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The global interpreter lock", RuntimeWarning)
        import_module(f"{__name__}.threads")

from .version import __version__

TYPE_CHECKING = False  # that of typing, which takes half of the time that this import does

if TYPE_CHECKING:
    from typing import Any

    from crfkit.evaluation.evaluate import evaluate
    from crfkit.evaluation.scores import Scores
    from crfkit.learning.learn import learn, learn_path

    from . import errors
    from .decode.bias import Bias
    from .decode.constraints import ConstraintSource
    from .errors import CrfkitError, CrfkitWarning, Interrupted
    from .estimator import CRF
    from .explaining import Explanation, Reason
    from .model import Model
    from .tagging import Tagger
    from .template.parsing import Template

__all__ = [
    "CRF",
    "CrfkitError",
    "CrfkitWarning",
    "Explanation",
    "Interrupted",
    "Model",
    "Reason",
    "Scores",
    "Tagger",
    "Template",
    "__version__",
    "errors",
    "evaluate",
    "learn",
    "learn_path",
    "load",
]

# Imported when first asked for: a program that tags need not wait for the trainers.
_PLACES = {
    "CRF": "estimator",
    "CrfkitError": "errors",
    "CrfkitWarning": "errors",
    "Explanation": "explaining",
    "Interrupted": "errors",
    "Model": "model",
    "Reason": "explaining",
    "Scores": "evaluation.scores",
    "Tagger": "tagging",
    "evaluate": "evaluation.evaluate",
    "learn": "learning.learn",
    "learn_path": "learning.learn",
    "Template": "template.parsing",
}


def load(path_or_bytes: Any, *, constraints: ConstraintSource | None = None, bias: Bias | None = None, verify: bool = True) -> Tagger:
    """Open a model file (its path, an open file, or its bytes) for tagging; `load(path).model` is the model itself.
    It also opens models of CRFsuite, CRF++ and Wapiti.

    A model that was trained with P lines gives a crfkit.parser.model.Parser: `tag` and `tag_many` then return heads.

    `constraints` forbids sequences of labels, and `bias` is added to the scores of labels; see Tagger. With verify=False,
    the time to open does not depend on the size, and each part is checked when it is used.
    """
    from . import foreign

    tagger: Any = foreign.load_any(path_or_bytes, verify).tagger(constraints, bias)
    return tagger


if not TYPE_CHECKING:  # type checkers know all names, and find those that are none

    def __getattr__(name):
        if name == "errors":
            return import_module(f"{__name__}.errors")
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return __all__
