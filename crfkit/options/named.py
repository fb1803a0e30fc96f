"""Options found by their names: those of all together, and those of one trainer from what was given."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from crfkit.errors import OptionError, in_python
from crfkit.values import Expected, bounded, flag, nearest, plain, shown

from .run import Run, Speech
from .trainers import ALIASES, TRAINERS


class Declared(NamedTuple):
    """An option, as the command line has it."""

    name: str
    type: str
    help: str
    short: str | None
    metavar: str | None
    expected: Expected
    defaults: dict[str, Any]  # of each trainer that uses it, or under "" of every run


def declared(first: Any = None) -> dict[str, Declared]:
    """Every option of a run, of any trainer, and of what is said. Where trainers take different values, those of the
    first one are named. Where an option means something else to a trainer, its help says that, too."""
    found: dict[str, Declared] = {}
    of_first = {name: cls for name, cls in TRAINERS.items() if name == ALIASES.get(str(first), first)}
    for user, cls in {"": Run, **of_first, **TRAINERS, " ": Speech}.items():
        for item in fields(cls):
            option = found.setdefault(item.name, Declared(item.name, str(item.type), **item.metadata, defaults={}))
            option.defaults[user.strip()] = item.default
            text = item.metadata["help"]
            if text not in option.help:
                found[item.name] = option._replace(help=f"{option.help} With {user}: {text[0].lower()}{text[1:]}")
    return found


def show_options(function: Callable[..., Any], *without: str) -> list[str]:
    """Every option in the signature of a function, for `help`, except those named; returns their names. None where the default is the
    trainer's own. Type checkers read given.pyi."""
    own = inspect.signature(function)
    others = [parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    for name in own.parameters.keys() - {parameter.name for parameter in others}:
        function.__annotations__[name] = Any  # its type is in given.pyi alone, where typing.get_type_hints does not find it
    options = [
        inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.defaults.get(""), annotation=_typed(option))
        for option in declared().values()
        if option.name not in ("quiet", *own.parameters, *without)
    ]
    function.__signature__ = own.replace(parameters=[*others, *options])  # type: ignore[attr-defined]
    return [option.name for option in options]


def _typed(option: Declared) -> str:
    """The type of an argument, for readers and type checkers."""
    kinds = {os.PathLike: "str | bytes | os.PathLike[Any]", tuple: "str | float | Iterable[float]"}
    found = kinds.get(option.expected.kind, option.type.removesuffix(" | None"))
    if option.expected.choices:
        found = f"Literal[{', '.join(map(repr, option.expected.choices))}]"
    if option.expected.files:
        found += " | IO[Any]"
    return found if found == "Any" or option.defaults.get("") is not None else f"{found} | None"


def users(option: Declared) -> str:
    """Who uses an option, and its default, or that of each trainer where they differ."""
    of = option.defaults
    found = {user: value if isinstance(value, str) else f"{value:g}" for user, value in of.items() if value is not None}
    if option.expected.kind is bool or not found:
        default = ""
    elif len(set(of.values())) == 1:
        default = f"default {next(iter(found.values()))}"
    else:
        default = "default " + ", ".join(f"{value} for {user}" for user, value in found.items())
    words = "; ".join(filter(None, [", ".join(filter(None, of)), default]))
    return f"  [{words}]" if words else ""


def explained(*names: str) -> str:
    """What these options mean, a line each, to one who gives them from Python."""
    found = declared()
    return "\n".join(f"* `{name}`: {in_python(found[name].help)}{users(found[name])}" for name in names)


# What others call it -> what to say to those who do.
ELSEWHERE = {
    "c1": "l1 is CRFsuite's c1",
    "c2": "l2 is twice CRFsuite's c2",
    **dict.fromkeys(("rho1", "1"), "l1 is Wapiti's rho1"),
    **dict.fromkeys(("rho2", "2"), "l2 is Wapiti's rho2"),
    "i": "--max-iter is Wapiti's maxiter",
    **dict.fromkeys(("d", "devel"), "--dev is Wapiti's devel"),
    **dict.fromkeys(("e", "holdout"), "--dev takes the file that CRFsuite would hold out; --delta is CRF++'s eta"),
    "c": "l2 is 1 / c of CRF++",
    "C": "l2 is 1 / C of CRF++ and scikit-learn",
    "-C": "crfkit convert reads CRF++'s text models",
    "cost": "l2 is 1 / cost of CRF++",
    **dict.fromkeys(("f", "freq"), "--min-freq is CRF++'s freq"),
    "m": "--max-iter is CRF++'s maxiter; the model is the last argument",
    "t": "--threads is Wapiti's nthread; crfkit convert --to crfpp-text writes CRF++'s text model",
    "p": "--threads is CRF++'s; CRFsuite's parameters are options such as --l2; Wapiti's pattern is the first argument",
    **dict.fromkeys(("H", "shrinking_size"), "--shrinking is CRF++'s shrinking-size, for mira"),
    **dict.fromkeys(("g", "split", "x", "cross_validate"), "crfkit-crfsuite learn splits data as CRFsuite does"),
    "feature.minfreq": "--min-freq is CRFsuite's feature.minfreq",
    "feature.possible_transitions": "--features all gives every pair of labels a feature",
    "all_possible_transitions": "--features all gives every pair of labels a feature",
    "num_memories": "--memory is CRFsuite's num_memories",
    "n_jobs": "did you mean --threads?",
    "random_state": "did you mean --seed?",
    "sample_weight": "it is an argument of fit",
    "verbose": "did you mean --progress?",
    **dict.fromkeys(("trainer", "algo", "method", "solver", "optimizer"), "did you mean --algorithm?"),
    **dict.fromkeys(
        ("max_iterations", "maxiter", "iterations", "epochs", "n_epochs", "n_iter"),
        "did you mean --passes, or --max-iter of lbfgs, owlqn and sbcd?",
    ),
    **dict.fromkeys(("lr", "learning_rate", "eta", "calibration_eta"), "did you mean --rate?"),
}

# The trainers of other programs that resemble none, or another one, of these names.
TRAINERS_ELSEWHERE = {"crf": "lbfgs", "crf-l2": "lbfgs", "crf-l1": "owlqn", "rprop": "owlqn", "ap": "perceptron", "pa": "mira"}


def elsewhere(name: str) -> str | None:
    """What to say to those who know an option from another program, by its name as a flag or in Python."""
    return ELSEWHERE.get(name) or ELSEWHERE.get(name.lstrip("-").replace("-", "_"))


def unknown(name: str) -> OptionError:
    """The error for an option that does not exist, with a hint."""
    near = nearest(name, [*declared(), "algorithm"])
    hint = elsewhere(name) or (f"did you mean {flag(near)}?" if near else None)
    return OptionError(f"unknown option {bounded(flag(name))}" + (f"; {hint}" if hint else ""))


def named(algorithm: Any) -> str:
    """The name of a trainer, of one of its names."""
    algorithm = plain(algorithm)
    found = ALIASES.get(algorithm, algorithm) if isinstance(algorithm, str) else None
    if found not in TRAINERS:
        low = algorithm.lower() if isinstance(algorithm, str) else ""
        near = TRAINERS_ELSEWHERE.get(low) or nearest(low, [*TRAINERS, *ALIASES])
        hint = f"; did you mean {near}?" if near else ""
        raise OptionError(f"unknown algorithm {shown(algorithm)}; expected one of {', '.join(TRAINERS)}{hint}")
    return found


def taken(cls: type, given: Mapping[str, Any]) -> Any:
    """The options of one dataclass, from values of its fields."""
    own = {item.name: item for item in fields(cls)}
    values = {
        name: None if value is None and own[name].default is None else own[name].metadata["expected"].take(name, value)
        for name, value in given.items()
    }
    return cls(**values)


def make(algorithm: str, given: Mapping[str, Any]) -> Any:
    """The options of a trainer from those that were given; OptionError says what is wrong with which."""
    cls = TRAINERS[named(algorithm)]
    own = {item.name for item in fields(cls)}
    for name in given:
        if name not in own:
            option = declared().get(name)
            if option is None:
                raise unknown(name)
            users = ", ".join(option.defaults) or "the command line"
            raise OptionError(f"{flag(name)} is not used by {algorithm} (it belongs to {users})")
    if given.get("path") is not None and given.get("l1") is not None:
        raise OptionError("--l1 and --path exclude each other: --path names the values of l1")
    return taken(cls, given)
