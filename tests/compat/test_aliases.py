"""Modules of other libraries, by whose names crfkit's are imported."""

import importlib.util

import pytest
from commands import python


def said_by(code):
    return python(code, flags=("-W", "error")).stdout


def test_only_what_is_imported_is_loaded():
    """NumPy takes a tenth of a second to load, and scikit-learn a second or more, for which programs that need neither would wait."""
    code = """
import sys, crfkit.compat
crfkit.compat.install_aliases()
crfkit.compat.install_aliases()
import pycrfsuite, pycrfsuite._pycrfsuite, crfsuite, CRFPP, wapiti.api
import crfkit.compat.pycrfsuite
print(pycrfsuite is crfkit.compat.pycrfsuite, pycrfsuite.__spec__.name, [name for name in ("numpy", "sklearn", "sklearn_crfsuite", "pycrfpp") if name in sys.modules])
import importlib
print(importlib.reload(pycrfsuite) is crfkit.compat.pycrfsuite)
import pycrfpp, wapiti
print(pycrfpp.Tagger is CRFPP.Tagger, wapiti.Model is wapiti.api.Model)
"""
    assert said_by(code) == "True crfkit.compat.pycrfsuite []\nTrue\nTrue True\n"


def test_modules_are_the_same_by_both_names():
    """Else what crfkit returns would not be of the classes that a program imports."""
    code = """
import importlib, crfkit.compat
crfkit.compat.install_aliases()
names = [f"pycrfsuite.{name}" for name in ("_pycrfsuite", "_dumpparser", "_logparser")]
names += [f"sklearn_crfsuite.{name}" for name in ("estimator", "trainer", "_fileresource", "compat", "utils")]
print(*(name for name in names if importlib.import_module(name) is not importlib.import_module(f"crfkit.compat.{name}")))
"""
    assert said_by(code) == "\n"


@pytest.mark.skipif(importlib.util.find_spec("pycrfsuite") is None, reason="needs python-crfsuite")
def test_what_was_imported_before_is_replaced():
    code = """
import pycrfsuite as before, crfkit.compat
crfkit.compat.install_aliases()
import pycrfsuite
print(before.__spec__.name, pycrfsuite.__spec__.name)
"""
    assert said_by(code) == "pycrfsuite crfkit.compat.pycrfsuite\n"


@pytest.mark.parametrize("library", ["pycrfsuite", "crfkit.compat.pycrfsuite"])
def test_a_package_has_the_module_of_its_classes(library):
    """Where nobody imported that, as in annotations that name `pycrfsuite._pycrfsuite.Tagger`; and of the parsers."""
    pytest.importorskip(library)
    code = "print(module._dumpparser.CRFsuiteDumpParser.__name__, module._logparser.TrainLogParser.__name__)"
    assert said_by(f"import {library} as module; {code}") == "CRFsuiteDumpParser TrainLogParser\n"
    assert said_by(f"import {library} as module; print(module._pycrfsuite.Tagger is module.Tagger)") == "True\n"


def offered(module):
    found = {}
    exec(f"from {module} import *", found)
    return {name: value for name, value in found.items() if name != "__builtins__"}


MODULES = ["CRFPP", "pycrfsuite", "pycrfsuite._pycrfsuite", "pycrfsuite._dumpparser", "pycrfsuite._logparser", "sklearn_crfsuite._fileresource",
           "sklearn_crfsuite.compat", "sklearn_crfsuite.estimator", "sklearn_crfsuite.metrics", "sklearn_crfsuite.scorers", "sklearn_crfsuite.trainer", "sklearn_crfsuite.utils",
           "sklearn_crfsuite", "wapiti.api", "wapiti"]


@pytest.mark.parametrize("module", MODULES)
def test_what_a_star_imports_is_what_the_peer_offers(module):
    """No names of other modules that crfkit's own code needs."""
    pytest.importorskip(module)
    if module.startswith("sklearn_crfsuite"):
        pytest.importorskip("sklearn_crfsuite.metrics")
        pytest.importorskip("sklearn_crfsuite.scorers")
    ours, theirs = offered(f"crfkit.compat.{module}"), offered(module)
    assert ours.keys() <= theirs.keys()
    package = module.partition(".")[0]
    own = {name for name, value in theirs.items() if getattr(value, "__module__", "").partition(".")[0] == package}
    assert own <= ours.keys() or package == "wapiti"  # which also offers structures of C
