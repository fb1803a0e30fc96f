"""What the benchmarks share: the corpus, the machine, medians, tables.

With CRFKIT_CORPORA naming a folder that holds conll2000/, that corpus is used; else data/chunking, its training part
repeated, which says less: its vocabulary is small. The template is templates/chunking.txt, that of CRF++'s example.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import crfkit
from crfkit.core.kernels import variant
from crfkit.expansion import expand
from crfkit.template import Template

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "templates" / "chunking.txt"
COPIES = 20  # of data/chunking.train.txt: about as many tokens as CoNLL-2000 has


class Corpus:
    """Sentences for training and for tagging, as files and as rows."""

    def __init__(self, name: str, train: str, test: str, folder: Path, sentences: int | None):
        self.name, self.folder = name, folder
        self.train = self._file("train.txt", train, sentences)
        self.test = self._file("test.txt", test, sentences)

    def _file(self, name: str, text: str, sentences: int | None) -> Path:
        path = self.folder / name
        path.write_text("\n\n".join(text.strip().split("\n\n")[:sentences]) + "\n\n", encoding="utf-8")
        return path

    @cached_property
    def test_rows(self) -> list[list[list[str]]]:
        return rows_of(self.test)

    def repeated(self, tokens: int) -> tuple[Path, int]:
        """The test part so often that it has that many tokens or a few more; and how many they are."""
        once = sum(map(len, self.test_rows))
        copies = -(-tokens // once)
        path = self.folder / "repeated.txt"
        path.write_bytes(self.test.read_bytes() * copies)
        return path, copies * once

    @cached_property
    def model(self) -> Path:
        """A model after a few iterations of L-BFGS, which has every weight."""
        path = self.folder / "model"
        crfkit.learn(self.train, template=TEMPLATE, l2=2.0, max_iter=5).save(path)
        return path


def rows_of(path: Path) -> list[list[list[str]]]:
    """The sentences of a file."""
    parts = path.read_text(encoding="utf-8").strip().split("\n\n")
    return [[line.split() for line in part.splitlines()] for part in parts]


def attributes(sentences: list[list[list[str]]]) -> list[list[list[str]]]:
    """The feature strings of every token, for programs that take them ready-made."""
    lines = [line for line in Template.load(str(TEMPLATE)).lines if line.macros]
    return [[[expand(line, rows, t) for line in lines] for t in range(len(rows))] for rows in sentences]


def peer() -> Any:
    """python-crfsuite, or None with a message."""
    try:
        import pycrfsuite
    except ImportError:
        print("python-crfsuite is not installed: measured without it")
        return None
    return pycrfsuite


class Arguments(NamedTuple):
    corpus: Corpus
    rounds: int
    given: argparse.Namespace


@contextmanager
def arguments(description: str, rounds: int = 3, **flags: str) -> Iterator[Arguments]:
    """The corpus and the options of a benchmark; `flags` are switches of its own with their help."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, metavar="N", help="measurements of each figure (default %(default)s)")
    parser.add_argument("--sentences", type=int, metavar="N", help="use the first N sentences only")
    for name, text in flags.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        real = Path(os.environ.get("CRFKIT_CORPORA", "")) / "conll2000"
        if "CRFKIT_CORPORA" in os.environ and real.is_dir():
            name, parts = "CoNLL-2000", [(real / f"{part}.txt").read_text(encoding="utf-8") for part in ("train", "test")]
        else:
            name = f"data/chunking, {COPIES} times (CRFKIT_CORPORA does not name a folder with conll2000)"
            train, test = ((ROOT / f"data/chunking.{part}.txt").read_text(encoding="utf-8") for part in ("train", "test"))
            parts = [(train.strip() + "\n\n") * COPIES, test]
        corpus = Corpus(name, *parts, Path(folder), given.sentences)
        print(f"\n{description}\n{machine()}\ncorpus: {name}")
        yield Arguments(corpus, given.rounds, given)


def machine() -> str:
    """Where and what was measured."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{model}, {os.cpu_count()} processors, loops for {variant()}{load}; Python {platform.python_version()}; "
        f"crfkit {crfkit.__version__}, commit {commit()}"
    )


def commit() -> str:
    """Of the working tree; "unknown" outside a repository."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def seconds(work: Callable[[], Any]) -> float:
    """Of one call."""
    start = perf_counter()
    work()
    return perf_counter() - start


def in_turn(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each; all are run once a round, so that what else the machine does meets all of them."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: median(found) for name, found in times.items()}


def per_second(count: int, seconds: float) -> str:
    """A rate, empty where the time is too short to be measured."""
    return f"{count / seconds:,.0f}" if seconds > 0 else ""


def run(*command: Any, stdin: Path | None = None) -> bytes:
    """What `python ARGUMENTS` prints, with the crfkit that was imported here."""
    places = [str(Path(crfkit.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    with open(stdin or os.devnull, "rb") as file:
        arguments = [sys.executable, *map(str, command)]
        return subprocess.run(arguments, check=True, stdin=file, stdout=subprocess.PIPE, env=environment).stdout


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Columns under their heads, the first one flush left."""
    cells = [[f"{cell:,.3f}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in (heads, *cells):
        print("  ".join(cell.rjust(width) if k else cell.ljust(width) for k, (cell, width) in enumerate(zip(row, widths, strict=True))))
