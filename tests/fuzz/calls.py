"""Programs that call CRF++'s and libwapiti's modules for Python, in any order, with anything in the place of arguments. The input is
the seed of a program.

A call answers or raises one of the errors that programs expect, and the model that all taggers share answers as before.
"""

from __future__ import annotations

import atexit
import os
import random
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import crfkit
from crfkit import foreign
from crfkit.compat import CRFPP
from crfkit.compat.wapiti import Model
from crfkit.errors import CrfkitError
from crfkit.template.parsing import Template

EXPECTED = (CrfkitError, ValueError, TypeError, IndexError, RuntimeError, AttributeError, OverflowError)
ANYTHING: list[Any] = [
    None, True, False, 0, 1, 2, -1, 3, 2**31, 2**63, 10**30, 0.5, -2.5, float("nan"), float("inf"), -1e300, 1e39, "", "a", "\0", "\ud800", "\n", " ", "x" * 5000,
    "-v 2", "%x[0,0]", "the DT", "dog NN B", "\u3000", b"", b"\xff", b"a b", [], ["a", "b"], {}, {"a": 1}, (), object(), int, len,
]
LINES: list[Any] = ["the DT", "dog NN", "dog\tNN\tI", "new new", b"the DT", "only"]
TEXTS: list[Any] = ["the DT\ndog NN", "dog NN\n\nthe DT\n", b"the DT B\n", "\n\n", "", "one\ntwo three four\n"]
SMALL: list[Any] = [0, 0, 1, 1, 2, 3]
ROWS = [[["the", "DT", "B"], ["dog", "NN", "I"], ["runs", "VB", "O"]], [["dog", "NN", "B"]]]
_folder = tempfile.TemporaryDirectory(prefix="crfkit-fuzz-")
atexit.register(_folder.cleanup)  # it warns if it is left to be found at the end


def path_of(name: str) -> str:
    """A file of this process alone."""
    return os.path.join(_folder.name, name)


@cache
def model() -> CRFPP.Model:
    """One that all programs share."""
    learnt = crfkit.learn(ROWS, Template.parse("U:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nB\nB1:%x[0,1]\n"), l2=0.5)
    for form in ("crfpp", "wapiti"):
        with open(path_of(form), "wb") as file:
            file.write(foreign.model_bytes(foreign.read(learnt.to_bytes()), form))
    crfkit.learn(ROWS, Template.parse("U:%x[0,0]\nB\n"), "perceptron", passes=2).save(path_of("perceptron"))
    return CRFPP.Model(f"-m {path_of('crfpp')} -n 2")


def answers() -> tuple[Any, ...]:
    """What a new tagger says."""
    tagger = model().createTagger()
    for row in ROWS[0]:
        tagger.add(" ".join(row))
    tagger.parse()
    return tagger.Z(), tagger.prob(), [(tagger.y2(i), tagger.alpha(i, 1), tagger.prob(i, 0)) for i in range(3)]


expected = cache(answers)


def some(source: random.Random, likely: list[Any]) -> Any:
    """An argument, in most cases one that makes sense."""
    return source.choice(likely if source.random() < 0.8 else ANYTHING)


def tried(ask: Callable[..., Any], *given: Any) -> Any:
    """What a call answers, or None."""
    with suppress(*EXPECTED):
        return ask(*given)


def crfpp(data: bytes) -> None:
    """A program with CRF++'s calls."""
    source, before = random.Random(data), expected()
    arguments = {"add": LINES, "parse": TEXTS, "set_model": [model()], "set_cost_factor": [0.5, 2.0, 1.0], "set_penalty": [0, 1, 2, 0.5, -3.0]}
    made = f"-m {path_of(source.choice(('crfpp', 'crfpp', 'perceptron', 'wapiti')))} {source.choice(('', '-v 2', '-n 3 -v1', '-c 2', '-n 2147483647', '-q'))}"
    tagger = source.choice((model().createTagger(), tried(CRFPP.Tagger, some(source, [made])))) or model().createTagger()
    names = [name for name in dir(CRFPP.Tagger) if name[0] != "_"]
    for _ in range(source.randint(1, 40)):
        name = source.choice((*names, "add", "add", "parse", "next"))
        count = {"add": 1, "parse": source.choice((0, 0, 1)), "set_penalty": 3}.get(name, source.randint(0, 3))
        tried(getattr(tagger, name), *(some(source, arguments.get(name, SMALL)) for _ in range(count)))
    assert answers() == before, "the shared model answers otherwise"


def wapiti(data: bytes) -> None:
    """A program with libwapiti's calls."""
    source, before = random.Random(data), expected()
    options: dict[str, Any] = {"maxiter": some(source, [1, 2]), "nthread": some(source, [1, 2]), "rho1": some(source, [0.1, 0])}
    for name in source.sample(["algo", "nbest", "lblpost", "score", "type", "jobsize", "stopeps", "histsz", "eta0", "check", "force", "me", "nothing"], 3):
        options[name] = some(source, ["l-bfgs", "bcd", "sgd-l1", "rprop", 1, 2, True, False, 0.5])
    if source.random() < 0.5:
        options["model"] = some(source, [path_of("wapiti"), path_of("crfpp")])
    made = tried(lambda: Model(some(source, ["*\nu:%x[0,0]\n", "u:%x[0,0]\nb:%X[0,1]\n", "*"]), some(source, ["utf8", "latin1", "cp1252"]), **options))
    if made is not None and isinstance(made.options.maxiter, int):  # without a limit it is trained to the end
        for _ in range(source.randint(1, 12)):
            name = source.choice(("label_sequence", "label_sequence", "add_training_sequence", "train", "save", "options"))
            if name == "options":
                setattr(made.options, source.choice(("nbest", "lblpost", "algo", "rho2", "encoding")), some(source, [1, 2, "bcd", 0.1]))
            elif name == "save":
                tried(made.save, source.choice((path_of("saved"), path_of("none/saved"), None, 3, "", "\0")))
            else:
                texts = [some(source, TEXTS) for _ in range(source.randint(0, 3))]
                tried(getattr(made, name), *([texts] if name == "train" else texts))
    assert answers() == before, "another model answers otherwise"
