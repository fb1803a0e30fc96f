"""What a stranger's type checker says of a program with crfkit: nothing where the program is right, and something where it is not."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import get_type_hints

import pytest
from commands import python

import crfkit

PROGRAM = '''
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

import crfkit
from crfkit import CrfkitError, Explanation, Model, Tagger, Template
from crfkit.evaluation.evaluate import Outputs
from crfkit.parser.model import Parser

rows = [["the", "DT", "O"], ["cat", "NN", "B"]]
model: Model = crfkit.learn([rows], template="U:%x[0,0]", algorithm="sgd", passes=2, comments=True)
crfkit.learn(Path("train"), Path("template"), log=io.BytesIO(), progress=True, stop=lambda: False, init=model)
crfkit.learn([rows], "B", features="all", l2=1, path=numpy.array([3, 1]), rate=None, average=False, log=Path("log"), checkpoint="c")
anything: dict[str, Any] = {"l2": 0.5}
crfkit.learn([rows], **anything)
crfkit.learn([[({"w": 1.0}, "A"), (["x", ("y", 2.0)], "B")]], format="crfsuite")
models: Iterator[Model] = crfkit.learn_path(["a", "b"], Template.parse("B"), path=[3, 1])
tagger: Tagger = crfkit.load("m", constraints="bio")
crfkit.load(b"", constraints=[("B", "I")], bias={"O": -1})
labels: list[str] = tagger.tag(rows)
tagger.tag(numpy.array(rows))
tagger.tag([numpy.array(["a", "b"])], allowed=[None])
tagger.tag((row for row in rows), allowed=["B", ["B", "O"]])
tagger.tag([{"w": 1.0}, {"w": True}])
tagger.tag([("the", "DT")], posterior=True)
several: list[list[str]] = tagger.tag_many(rows for _ in range(3))
best: list[tuple[float, list[str]]] = tagger.nbest(rows, 3, log=True)
why: list[Explanation] = tagger.explain(rows, top=3, allowed=["B", None])
said: list[tuple[int, str | None, float]] = [(reason.place, reason.attribute, reason.says) for reason in why[0].reasons]
rival: str | None = why[0].rival
array: numpy.ndarray = tagger.marginals(rows)
either: Any = tagger.marginals(rows, named=bool(labels))
named: list[dict[str, float]] = tagger.marginals(rows, named=True)
p: float = tagger.log_probability(rows, labels) + tagger.log_z(rows) + tagger.probability(rows, ("O", "B"))
text: str = model.dump(top=3)
model.dump("file")
model.dump(io.StringIO())
size: int = model.save(io.BytesIO()) + model.save(Path("m"))
f1: float = crfkit.evaluate([labels], [labels], "bio").f1
outputs = Outputs(["a"], comments=True)
try:
    model.tagger()
except CrfkitError as error:
    message: str = error.message

parser = Parser(crfkit.learn("train.conllu", "P0:%x[s0,form]", "lookahead", format="conllu"))
heads: list[int | tuple[int, str]] = [*parser.tag(rows), *Parser(crfkit.load("parser")).tag_many([rows], threads=2)[0]]

tagger.tag("a sentence")  # type: ignore[arg-type]
tagger.tag(["a"])  # type: ignore[list-item]
tagger.tag([3])  # type: ignore[list-item]
tagger.tag_many(3)  # type: ignore[arg-type]
tagger.nbest(rows, "3")  # type: ignore[arg-type]
tagger.explain(rows, "3")  # type: ignore[arg-type]
crfkit.learn([rows], 3)  # type: ignore[arg-type]
crfkit.learn([rows], "B", progress=3)  # type: ignore[arg-type]
crfkit.learn([rows], "B", pases=3)  # type: ignore[call-arg]
crfkit.learn([rows], "B", passes="3")  # type: ignore[arg-type]
crfkit.learn([rows], "B", features="some")  # type: ignore[arg-type]
crfkit.learn_path([rows], "B", path=[None])  # type: ignore[list-item]
nothing: str = model.dump("file")  # type: ignore[assignment]
crfkit.evaluate([labels], [labels], 3)  # type: ignore[arg-type]
crfkit.lern  # type: ignore[attr-defined]
'''


ESTIMATORS = '''
import crfkit
import crfkit.compat.pycrfsuite as pycrfsuite
from crfkit.compat.sklearn_crfsuite import CRF

X: list[list[dict[str, str | float]]] = [[{"w": "a", "n": 1.0}, {"w": "b"}]]
y = [["A", "B"]]


def own() -> list[list[str]]:
    crf = crfkit.CRF("sgd", passes=3, l2=0.5).fit(X, y, X_dev=X, y_dev=y)
    chance: float = crf.predict_marginals_single(X[0])[0]["A"]
    print(chance, crf.score(X, y, "f1"), crf.classes_[0].lower(), crf.tagger_.nbest(X[0], 2), crf.model_.labels, crf.l2)
    again: crfkit.CRF = crfkit.CRF.load("m").set_params(l2=1).partial_fit(X, y)
    crfkit.CRF(pases=3)  # type: ignore[call-arg]
    crfkit.CRF(dev="dev.txt")  # type: ignore[call-arg]
    crfkit.CRF(l2="1", constraints="bio", progress=True)  # type: ignore[arg-type]
    return again.predict(X)


def theirs() -> list[list[str]]:
    crf = CRF(algorithm="lbfgs", c1=0.1, all_possible_transitions=True).fit(X, y)
    if crf.transition_features_ is not None:
        print(crf.transition_features_["A", "B"] + 1)
    return crf.predict(X)


class Quiet(pycrfsuite.Trainer):
    def on_iteration(self, log: str, info: dict[str, object]) -> None:
        print(info["num"])


def lower() -> list[str]:
    trainer = Quiet("lbfgs", {"c2": 0.1}, verbose=False)
    trainer.append(pycrfsuite.ItemSequence(X[0]), y[0])
    trainer.train("m.crfsuite", holdout=-1)
    tagger = pycrfsuite.Tagger()
    with tagger.open("m.crfsuite") as opened:
        return opened.tag(X[0])
'''


HOME = Path(crfkit.__file__).parents[1]


def test_what_type_checkers_alone_read_is_not_imported():
    """The sooner Ctrl-C can be taken, too."""
    python("import sys, crfkit; sys.exit('typing' in sys.modules)", flags=["-S"], env={**os.environ, "PYTHONPATH": str(HOME)})


def test_types_of_arguments_are_there_while_a_program_runs():
    for function, returned in ((crfkit.learn, crfkit.Model), (crfkit.learn_path, Iterator[crfkit.Model])):
        hints = get_type_hints(function)
        assert hints["return"] == returned and hints["algorithm"] is str


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
@pytest.mark.long  # without what mypy keeps from run to run
def test_programs_type_check(tmp_path, pytestconfig):
    (tmp_path / "library.py").write_text(PROGRAM)
    (tmp_path / "estimators.py").write_text(ESTIMATORS)
    kept = getattr(pytestconfig, "cache", None)  # what mypy knows of numpy and others, from run to run
    cache = kept.mkdir("mypy") if kept else tmp_path / "cache"
    options = ["--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={cache}", f"--python-executable={sys.executable}"]
    installed = {} if HOME.name == "site-packages" else {"MYPYPATH": str(HOME)}  # mypy knows the former, and must not be told
    command = [sys.executable, "-m", "mypy", *options, "library.py", "estimators.py"]
    checked = subprocess.run(command, cwd=tmp_path, env={**os.environ, **installed}, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
