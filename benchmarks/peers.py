"""The programs we compare with: CRFsuite (python-crfsuite) and Wapiti (libwapiti). Both may be missing."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from process import measured

HERE = Path(__file__).resolve().parent
Sequence = tuple[list[list[str]], list[str]]


@cache
def installed(module: str, package: str) -> bool:
    """Whether there is such a module; says so if not."""
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"{package} is not installed: measured without it")
    return found


def crfsuite() -> bool:
    """Whether CRFsuite can be measured."""
    return installed("pycrfsuite", "python-crfsuite")


def wapiti() -> bool:
    """Whether Wapiti can be measured."""
    return installed("wapiti", "libwapiti")


def read_ready(path: Path) -> Iterator[Sequence]:
    """Sequences of ready-made features: the attributes of each token, and the labels."""
    items: list[list[str]] = []
    labels: list[str] = []
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if line == "\n":
                yield items, labels
                items, labels = [], []
            else:
                label, *attributes = line.rstrip("\n").split("\t")
                items.append(attributes)
                labels.append(label)


def crfsuite_trainer(ready: Path) -> Any:
    """CRFsuite with the training data."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for items, labels in read_ready(ready):
        trainer.append(items, labels)
    return trainer


def crfsuite_log(trainer: Any, folder: Path, algorithm: str, **parameters: Any) -> list[dict[str, Any]]:
    """CRFsuite's own log of a training run, whose model is then `folder / "crfsuite.model"`."""
    trainer.select(algorithm)
    trainer.set_params(parameters)
    trainer.train(str(folder / "crfsuite.model"))
    return trainer.logparser.iterations


def crfsuite_labels(train: Iterable[tuple[Any, list[str]]], test: Iterable[Any], path: str, algorithm: str = "lbfgs", **parameters: Any) -> list[list[str]]:
    """What CRFsuite makes of sequences of attributes, when it has learned from others with their labels. Its model is left in that file."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
    for items, labels in train:
        trainer.append(items, labels)
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return [tagger.tag(items) for items in test]


class CrfsuiteRun(NamedTuple):
    """A training run of CRFsuite in a process of its own."""

    append: float  # seconds for handing it the ready-made features, without reading them from their file
    peak: int


def crfsuite_run(ready: Path, folder: Path, tree: Path) -> CrfsuiteRun:
    """Some iterations of L-BFGS."""
    used = measured(HERE / "crfsuite_child.py", ready, folder / "crfsuite.model", tree=tree)
    return CrfsuiteRun(json.loads(used.output), used.peak)


class WapitiRun(NamedTuple):
    """A training run of Wapiti, and tagging with its model."""

    passes: list[float]  # seconds of each iteration, without the first, which makes several
    peak: int
    rate: float  # tokens a second, without reading and writing


TIME = re.compile(rb"\[ *(\d+)\] obj=\S+ .*time=([0-9.]+)s/")


def wapiti_run(train: Path, test: Path, template: Path, iterations: int, tree: Path) -> WapitiRun:
    """Iterations of L-BFGS on all features, with rho2 = 2 as everywhere here."""
    used = measured(HERE / "wapiti_child.py", train, test, template, iterations, tree=tree)
    passes = [float(seconds) for number, seconds in TIME.findall(used.output) if int(number) > 1]
    rate = next(float(line.split()[1]) for line in used.output.splitlines() if line.startswith(b"rate "))
    return WapitiRun(passes, used.peak, rate)
