"""Doors for programs written for other libraries: the same names, the same behaviour, crfkit behind them.

crfpp                           CRF++'s commands
crfsuite, wapiti                CRFsuite's and Wapiti's command
pycrfsuite, sklearn_crfsuite    python-crfsuite and sklearn-crfsuite
"""

import sys
from importlib import import_module

__all__ = ["install_aliases"]

_MODULES = {
    "pycrfsuite": ("", "._pycrfsuite", "._dumpparser", "._logparser"),
    "sklearn_crfsuite": ("", ".estimator", ".trainer", ".utils", "._fileresource"),
}


def install_aliases() -> None:
    """From now on, `import pycrfsuite` and `import sklearn_crfsuite` get crfkit's modules. Programs then run without a change,
    and pickles of sklearn-crfsuite's CRF are opened as crfkit's."""
    for package, modules in _MODULES.items():
        for name in modules:
            sys.modules[package + name] = import_module(f"{__name__}.{package}{name}")
