"""Compiled modules that Python code imports have stubs, for its type checker; these say what the modules have: names,
parameters and which of them have defaults.
"""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import crfkit

PACKAGE = Path(crfkit.__file__).parent
COMPILED = {
    ".".join(("crfkit", *path.relative_to(PACKAGE).parent.parts, path.name.split(".")[0])): path
    for pattern in ("*.so", "*.pyd")
    for path in sorted(PACKAGE.rglob(pattern))
    if not path.name.startswith("_")  # Cython's runtime, which nobody imports by name
}
STUBS = {
    module: stub
    for module, path in COMPILED.items()
    if (stub := path.with_name(module.rpartition(".")[2] + ".pyi")).exists()
}
Parameters = list[tuple[str, bool]]


def stub_of(module):
    """The parsed stub of a compiled module."""
    return ast.parse(STUBS[module].read_text(encoding="utf-8"))


def imported_by(path):
    """The names of all that a file of the package may import, modules or what is in them."""
    package = ("crfkit", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*above, *filter(None, [node.module])))
            yield from (module, *(f"{module}.{alias.name}" for alias in node.names))


def test_what_checked_code_imports_has_a_stub():
    checked, wanted = list(PACKAGE.rglob("*.py")), set()
    while checked:
        new = COMPILED.keys() & set(imported_by(checked.pop())) - wanted
        wanted |= new
        checked += [STUBS[module] for module in new if module in STUBS]  # which import others
    assert STUBS.keys() == wanted


def declared(body):
    """What a module or a class of a stub declares: name -> statement."""
    found = {}
    for statement in body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            found[statement.name] = statement
        elif isinstance(statement, ast.AnnAssign):
            found[statement.target.id] = statement
    return found


def stub_parameters(function: ast.FunctionDef) -> Parameters:
    """Names and whether there is a default. What comes after a bare * is by keyword only in the stub, at least."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [False] * (len(plain) - len(given.defaults)) + [True] * len(given.defaults)
    found = [(a.arg, d) for a, d in zip(plain, defaults, strict=True)]
    found += [(a.arg, d is not None) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return [(name, default) for name, default in found if name != "self"]


def own_parameters(name, value) -> Parameters:
    """The same of what is compiled, from the first line of its description, where Cython writes the signature."""
    text = re.match(rf"(?:\w+\.)?{name}\((.*)\)(?: -> .*)?$", (value.__doc__ or "").partition("\n")[0])
    assert text, f"the description of {name} does not begin with its signature"
    plain = re.sub(r"\[[^]]*\]|\([^)]*\)", "x", text[1])  # types such as float[::1], defaults such as (0)
    found = [part.partition("=") for part in plain.split(", ") if part and not part.startswith("*")]
    return [(name.split()[-1], bool(equals)) for name, equals, _ in found if name != "self"]


def public(namespace):
    return {name: value for name, value in namespace.items() if not name.startswith("_")}


def home(value):
    return getattr(value, "__module__", None)


@pytest.mark.parametrize("module", STUBS)
def test_stubs_have_all_public_names(module):
    names = declared(stub_of(module).body).keys()
    own = public(vars(importlib.import_module(module)))
    constants = (int, float, str, bytes, tuple, dict)
    expected = {name for name, value in own.items() if home(value) == module or isinstance(value, constants)}
    assert {name for name in names if not name.startswith("_")} == expected


@pytest.mark.parametrize("module", STUBS)
def test_functions(module):
    own = vars(importlib.import_module(module))
    for name, statement in declared(stub_of(module).body).items():
        if isinstance(statement, ast.FunctionDef):
            assert stub_parameters(statement) == own_parameters(name, own[name]), name


@pytest.mark.parametrize("module", STUBS)
def test_stubs_have_all_members_of_classes(module):
    own = vars(importlib.import_module(module))
    for name, statement in declared(stub_of(module).body).items():
        if isinstance(statement, ast.ClassDef) and not name.startswith("_"):
            check_class(own[name], declared(statement.body))


def check_class(cls, members):
    inherited = set().union(*(declared_by(base) for base in cls.__mro__[1:]))
    assert set(public(vars(cls))) - inherited == {name for name in members if not name.startswith("_")} - inherited
    for name, statement in members.items():
        assert hasattr(cls, name)
        if isinstance(statement, ast.FunctionDef) and not name.startswith("__"):
            value = inspect.getattr_static(cls, name)
            property_wanted = any(isinstance(d, ast.Name) and d.id == "property" for d in statement.decorator_list)
            assert property_wanted == inspect.isgetsetdescriptor(value), name
            if not property_wanted:
                function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
                assert stub_parameters(statement) == own_parameters(name, function), name
    if "__init__" in vars(cls):
        # the description puts the bare * elsewhere, so only what is there counts
        assert sorted(stub_parameters(members["__init__"])) == sorted(own_parameters(cls.__name__, cls))


def declared_by(base):
    """Public names that the stub of a base class declares."""
    if base.__module__ not in STUBS:
        return set()
    return set(public(declared(declared(stub_of(base.__module__).body)[base.__name__].body)))
