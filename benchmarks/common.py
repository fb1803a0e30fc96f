"""What the benchmarks share: the corpus, the machine, medians, tables.

With CRFKIT_CORPORA naming a folder that holds conll2000/, that corpus is used; else data/chunking, its training part
repeated, which says less: its vocabulary is small. The template is templates/chunking.txt, that of CRF++'s example.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from statistics import fmean, median, stdev
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple, TextIO

import peers
from process import Used, measured

import crfkit
from crfkit import options
from crfkit.learning.corpus import Corpus as Numbers
from crfkit.learning.corpus import read_corpus
from crfkit.learning.local import make_trainer
from crfkit.learning.reader import Reader
from crfkit.loops.kernels import variant
from crfkit.options import Run
from crfkit.template.meaning import expand
from crfkit.template.parsing import Template

ROOT = Path(__file__).resolve().parents[1]
TREE = Path(crfkit.__file__).parents[1]
TEMPLATE = ROOT / "templates" / "chunking.txt"
COPIES = 20  # of data/chunking.train.txt: about as many tokens as CoNLL-2000 has


class Corpus:
    """Sentences for training and for tagging, as files and as rows, and what is made of them when it is asked for."""

    def __init__(self, name: str, train: str, test: str, folder: Path, sentences: int | None):
        self.name, self.folder, self.sentences = name, folder, sentences
        self.train = folder / "train.txt"
        self.test = folder / "test.txt"
        write_sentences(self.train, sentences_of(train)[:sentences])
        write_sentences(self.test, sentences_of(test)[:sentences])

    @cached_property
    def test_rows(self) -> list[list[list[str]]]:
        return rows_of(self.test)

    def repeated(self, tokens: int) -> tuple[Path, int]:
        """The test part so often that it has that many tokens or a few more; and how many they are. Once only where
        but a few sentences are wanted."""
        once = sum(map(len, self.test_rows))
        copies = -(-tokens // once) if self.sentences is None else 1
        path = self.folder / "repeated.txt"
        path.write_bytes(self.test.read_bytes() * copies)
        return path, copies * once

    @cached_property
    def ready(self) -> Path:
        """The training part as ready-made features, in the format of CRFsuite."""
        path = self.folder / "ready.txt"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            write_ready(file, rows_of(self.train), rules(TEMPLATE.name))
        return path

    @cached_property
    def model(self) -> Path:
        """A model after a few iterations of L-BFGS, which has every weight."""
        path = self.folder / "model"
        crfkit.learn(self.train, template=TEMPLATE, l2=2.0, max_iter=5).save(path)
        return path

    @cached_property
    def large_model(self) -> Path:
        """One with the features of all labels, whose weights have all been moved from zero."""
        path = self.folder / "large-model"
        crfkit.learn(self.train, template=TEMPLATE, features="all", warm_up=0, max_iter=1).save(path)
        return path


def sentences_of(text: str) -> list[str]:
    """The sentences of columns, each without its empty line."""
    return text.strip().split("\n\n")


def write_sentences(path: Path, sentences: Sequence[str]) -> None:
    """Columns to a file."""
    path.write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")


def rows_of(path: Path) -> list[list[list[str]]]:
    """The sentences of a file. Columns have tabs between them, or a blank in lines without tabs; a cell may hold other kinds of white space."""
    return [[line.split("\t" if "\t" in line else " ") for line in part.split("\n")] for part in sentences_of(path.read_text(encoding="utf-8"))]


def rules(template: str) -> Template:
    """A file of templates/, or a text."""
    return Template.load(str(ROOT / "templates" / template)) if template.endswith(".txt") else Template.parse(template)


def numbers_of(data: Any, template: Template | None, **how: Any) -> Numbers:
    """Sentences, or files, as trainers have them; `how`: options of reading."""
    return read_corpus(Reader(data, template, Run(**how)))


def trainer_of(algorithm: str, numbers: Numbers, chosen: dict[str, Any], threads: int = 1, initial: Any = None) -> Any:
    """One that has not begun."""
    return make_trainer(algorithm, numbers, options.make(algorithm, chosen), Run(threads=threads), initial)


def attributes(rows: list[Any], template: Template | None) -> list[Any]:
    """The feature strings of every token, for programs that take them ready-made and know no rich edges: B lines are left out. Without a
    template the rows have them, and a label."""
    if template is None:
        return [row[0] for row in rows]
    lines = [line for line in template.lines if "U" in line.kinds]
    found = ([expand(line, rows, t) for line in lines] for t in range(len(rows)))
    return [[string for string in token if string is not None] for token in found]


def write_ready(file: TextIO, sentences: list[list[list[str]]], template: Template) -> None:
    """Labels and feature strings, in the format of CRFsuite."""
    for rows in sentences:
        file.writelines("\t".join([row[-1], *strings]) + "\n" for row, strings in zip(rows, attributes(rows, template), strict=True))
        file.write("\n")


def tagged(train: list[Any], template: Template | None, parts: list[list[Any]], trainer: str, **options: Any) -> tuple[crfkit.Model, list[list[list[str]]]]:
    """A model of one thread, and the labels of the sentences of each part by it. The trainer's name may be followed by its -n."""
    trainer, _, nbest = trainer.partition(" -n ")
    form = {"format": "crfsuite"} if template is None else {}
    model = crfkit.learn(train, template, trainer, threads=1, **form, **({"nbest": int(nbest)} if nbest else {}), **options)
    tagger = crfkit.Tagger(model)
    inputs = [[[row[0] if template is None else row[:-1] for row in rows] for rows in part] for part in parts]
    return model, [tagger.tag_many(part, threads=1) for part in inputs]


def tagged_by_peer(train: list[Any], template: Template | None, held_out: list[Any], trainer: str = "lbfgs", **parameters: Any) -> list[list[str]]:
    """The labels by CRFsuite, which learns from the same attributes."""
    known = ((attributes(rows, template), [row[-1] for row in rows]) for rows in train)
    with TemporaryDirectory() as folder:
        return peers.crfsuite_labels(known, (attributes(rows, template) for rows in held_out), f"{folder}/model", trainer, **parameters)


def mean(scores: Sequence[float]) -> str:
    """With the standard deviation, if there are several."""
    return f"{fmean(scores):.2f}" + (f" ± {stdev(scores):.2f}" if len(scores) > 1 else "")


def gain(differences: Sequence[float]) -> str:
    """Their mean with its sign, and the standard deviation, if there are several."""
    return ("+" if fmean(differences) >= 0 else "") + mean(differences)


def score(scheme: str, found: list[list[str]], held_out: list[list[Any]]) -> float:
    """In per cent: F1 where labels mark chunks, else the share of right ones."""
    scores = crfkit.evaluate([[row[-1] for row in rows] for rows in held_out], found, scheme=scheme)
    return 100 * (scores.accuracy if scheme == "none" else scores.f1)


def corpora(name: str) -> Path | None:
    """The folder of that real corpus, if CRFKIT_CORPORA leads to one."""
    folder = Path(os.environ.get("CRFKIT_CORPORA", "")) / name
    return folder if "CRFKIT_CORPORA" in os.environ and folder.is_dir() else None


def the_corpus(folder: Path, sentences: int | None) -> Corpus:
    """The one that is measured, its files in a folder; the first so many sentences, or all."""
    real = corpora("conll2000")
    parts = [((real or ROOT / "data") / f"{'' if real else 'chunking.'}{part}.txt").read_text(encoding="utf-8") for part in ("train", "test")]
    if real is not None:
        return Corpus("CoNLL-2000", *parts, folder, sentences)
    name = f"data/chunking, {COPIES} times (CRFKIT_CORPORA does not name a folder with conll2000)"
    return Corpus(name, (parts[0].strip() + "\n\n") * COPIES, parts[1], folder, sentences)


class Arguments(NamedTuple):
    corpus: Corpus
    rounds: int
    given: argparse.Namespace


@contextmanager
def arguments(description: str, rounds: int = 3, **flags: str) -> Iterator[Arguments]:
    """The corpus and the options of a benchmark; `flags` are switches of its own with their help."""
    parser = parser_for(description, rounds)
    for name, text in flags.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        corpus = the_corpus(Path(folder), given.sentences)
        print(f"\n{description}\n{machine()}\ncorpus: {corpus.name}")
        yield Arguments(corpus, given.rounds, given)


def parser_for(description: str, rounds: int) -> argparse.ArgumentParser:
    """The options that all benchmarks have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, metavar="N", help="measurements of each figure (default %(default)s)")
    parser.add_argument("--sentences", type=int, metavar="N", help="use the first N sentences only")
    return parser


def parser_of_tasks(description: str, rounds: int, sizes: str = "", trainers: Iterable[str] = ()) -> argparse.ArgumentParser:
    """The options of benchmarks of several tasks: which of them, and of what sizes and with which trainers, where that can be chosen."""
    parser = parser_for(description, rounds)
    parser.add_argument("--only", default="", metavar="WORDS", help="tasks with one of these words in their name, divided by semicolons; =NAME: that task")
    if sizes:
        parser.add_argument("--sizes", default=sizes, metavar="N,N", help="sequences to learn from (default %(default)s)")
    if trainers:
        parser.add_argument("--trainers", default=",".join(trainers), metavar="NAMES", help="default %(default)s")
    return parser


def is_wanted(name: str, only: str) -> bool:
    """Whether the task of this name is one of those of `--only`."""
    return any(name == word[1:] if word[:1] == "=" else word in name for word in only.split(";"))


def held_out(whole: list[Any], most: int = 1000, part: float = 1 / 4) -> tuple[list[Any], list[Any]]:
    """Sequences without their end, and the end, which is held out: this part of them, but no more than so many."""
    start = len(whole) - min(most, int(part * len(whole)))
    return whole[:start], whole[start:]


def sizes_of(sizes: str, pool: list[Any]) -> list[int]:
    """The numbers of `--sizes`; all that there are in place of more."""
    return sorted({min(int(n), len(pool)) for n in sizes.split(",")})


def drawn(pool: list[Any], size: int, draw: int) -> list[Any]:
    """So many sequences at random, the same ones for all who ask for this draw."""
    return random.Random(f"{size} {draw}").sample(pool, size)


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


def seconds(work: Callable[[], Any], clock: Callable[[], float] = perf_counter) -> float:
    """Of one call."""
    start = clock()
    work()
    return clock() - start


def clock(work: Callable[[], Any]) -> Callable[[], float]:
    """A work for `in_turn`: the seconds of a call."""
    return lambda: seconds(work)


def in_turn(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median of the figures, one or a list of them, that each work returns. All are run once a round, so that what
    else the machine does meets all of them."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            figures = work()
            found[name] += figures if isinstance(figures, list) else [figures]
    return {name: median(figures) for name, figures in found.items()}


def per_second(count: int, seconds: float) -> str:
    """A rate, empty where the time is too short to be measured."""
    return f"{count / seconds:,.0f}" if seconds > 0 else ""


def command(*arguments: Any) -> Used:
    """Runs `python ARGUMENTS` with the crfkit that was imported here."""
    return measured(*arguments, tree=TREE)


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Columns under their heads, the first one flush left."""
    cells = [[f"{cell:,.3f}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in (heads, *cells):
        print("  ".join(cell.rjust(width) if k else cell.ljust(width) for k, (cell, width) in enumerate(zip(row, widths, strict=True))))
