"""Drop-in replacements for other libraries: the same names and the same behaviour, implemented by crfkit.

crfpp, CRFPP                    CRF++'s commands, and its module for Python
crfsuite, wapiti                CRFsuite's and Wapiti's command; libwapiti's module for Python
crfsuite_swig                   CRFsuite's own module for Python, crfsuite
pycrfsuite, sklearn_crfsuite    python-crfsuite and sklearn-crfsuite
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["install_aliases"]

# The names that programs import, and crfkit's modules.
_MODULES = {
    **{f"pycrfsuite{name}": f"pycrfsuite{name}" for name in ("", "._pycrfsuite", "._dumpparser", "._logparser")},
    **{f"sklearn_crfsuite{name}": f"sklearn_crfsuite{name}" for name in ("", ".compat", ".estimator", ".trainer", ".utils", "._fileresource")},
    "crfsuite": "crfsuite_swig",
    "CRFPP": "CRFPP",
    "pycrfpp": "CRFPP",
    "wapiti": "wapiti",
    "wapiti.api": "wapiti.api",
}


def install_aliases() -> None:
    """Make `import pycrfsuite`, `sklearn_crfsuite`, `crfsuite`, `CRFPP`, `pycrfpp` and `wapiti` load crfkit's modules from now on. Programs then run
    unchanged, and pickles of sklearn-crfsuite's CRF open as crfkit's."""
    for name in _MODULES:
        sys.modules.pop(name, None)
    if not any(isinstance(finder, _Aliases) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliases())


class _Aliases:
    """Finds crfkit's modules by the names of others, once these are imported: scikit-learn, which one of them loads, takes a second or more."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in _MODULES else None  # type: ignore[arg-type]  # its base class loads as much as all of this

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"{__name__}.{_MODULES[spec.name]}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run already, and stays what it was found as first."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state
