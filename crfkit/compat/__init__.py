"""Drop-in replacements for other libraries: the same names and the same behaviour, implemented by crfkit.

crfpp, CRFPP                    CRF++'s commands, and its module for Python
crfsuite, wapiti                CRFsuite's and Wapiti's command; libwapiti's module for Python
crfsuite_swig                   CRFsuite's own module for Python, crfsuite
pycrfsuite, sklearn_crfsuite    python-crfsuite and sklearn-crfsuite
"""

import sys
from importlib import import_module

__all__ = ["install_aliases"]

# The names that programs import, and crfkit's modules.
_MODULES = {
    **{f"pycrfsuite{name}": f"pycrfsuite{name}" for name in ("", "._pycrfsuite", "._dumpparser", "._logparser")},
    **{f"sklearn_crfsuite{name}": f"sklearn_crfsuite{name}" for name in ("", ".estimator", ".trainer", ".utils", "._fileresource")},
    "crfsuite": "crfsuite_swig",
    "CRFPP": "CRFPP",
    "pycrfpp": "CRFPP",
    "wapiti": "wapiti",
    "wapiti.api": "wapiti.api",
}


def install_aliases() -> None:
    """Make `import pycrfsuite`, `sklearn_crfsuite`, `crfsuite`, `CRFPP`, `pycrfpp` and `wapiti` load crfkit's modules from now on. Programs then run
    unchanged, and pickles of sklearn-crfsuite's CRF open as crfkit's."""
    for name, module in _MODULES.items():
        sys.modules[name] = import_module(f"{__name__}.{module}")
