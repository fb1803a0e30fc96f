"""Each allocation of crfkit's modules fails once, in all kinds of work: python -m starving LIBRARY [WORK ...], with the library preloaded,
which tests/starving.c becomes.

A MemoryError must come of it, or an error that says so. The same objects must then do the same work as if nothing had happened.
"""

from __future__ import annotations

import ctypes
import io
import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from commands import limit
from compat.kept import appended

import crfkit
from crfkit import foreign, options
from crfkit.compat import pycrfsuite
from crfkit.compat.wapiti.layout import LinePrinter
from crfkit.decode.printing import Printer
from crfkit.evaluation.evaluate import Outputs
from crfkit.features.indexing import IndexBuilder
from crfkit.learning.parser import Trees
from crfkit.learning.progress import Progress
from crfkit.parser.statetables import StateTables
from crfkit.parser.trainer import ParserTrainer
from crfkit.template.parsing import Template
from crfkit.text.items import fill_rows
from crfkit.text.reading import Source
from crfkit.text.rows import Rows

MODULES = os.fsencode(Path(crfkit.__file__).parent) + b"/"
ROWS = [[["the", "DT", "B"], ["dog", "NN", "I"]], [["dogs", "NNS", "B"]], [["the", "DT", "B"], ["old", "JJ", "I"], ["dog", "NN", "I"]]] * 3
SENTENCE = [row[:2] for row in ROWS[2]]
LONG = SENTENCE * 40  # so that what was enough for a sentence is not
TEMPLATE = 'U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nU2:%m[0,0,"o+"]%S[0,0]\nB\nB1:%x[0,1]\n'
HISTORY = TEMPLATE + "U3:%y[-1]/%x[0,0]\n"
TREES = """1	the	the	DET	DT	_	2	det	_	_
2	dog	dog	NOUN	NN	_	3	nsubj	_	_
3	barks	bark	VERB	VBZ	_	0	root	_	_

1	dogs	dog	NOUN	NNS	_	2	nsubj	_	_
2	bark	bark	VERB	VBP	_	0	root	_	_

"""
PARSING = "P0:%x[s0,form]/%x[q0,upos]\nP1:%x[s0,upos]/%x[s1,upos]\nP2:%x[s0.l,upos]%d[s0,s1]\n"
ITEMS = [["w=the", "cap"], {"w": "dog", "len": 3, "near": ["the", "old"], "next": {"w": "é"}}, ["w=dog", ("len", 2.0)]]
LABELS = ["B", "I", "I"]


def learning(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    for algorithm in options.TRAINERS:
        template = HISTORY if algorithm == "lookahead" else TEMPLATE
        yield f"learn {algorithm}", lambda a=algorithm, t=template: lambda: crfkit.learn(ROWS, t, a, **limit(a, 2, 3)).to_bytes()
    yield "learn all features", lambda: lambda: crfkit.learn(ROWS, TEMPLATE, "sgd", passes=1, features="all", min_freq=2).to_bytes()
    yield "learn on two threads", lambda: lambda: crfkit.learn(ROWS, TEMPLATE, "lbfgs", max_iter=2, threads=2, dev=ROWS).to_bytes()
    some = [*ROWS, [["the", "DT", "?"], ["dog", "NN", "B|I"]]]
    yield "learn from some labels", lambda: lambda: crfkit.learn(some, TEMPLATE, "lbfgs", max_iter=2, partial=True).to_bytes()
    yield "learn in files", lambda: lambda: crfkit.learn(ROWS, TEMPLATE, "lbfgs", max_iter=2, data_dir=folder).to_bytes()
    yield "learn online in files", lambda: lambda: crfkit.learn(ROWS, TEMPLATE, "sgd", passes=2, rate=0.1, data_dir=folder).to_bytes()
    text = "\n".join("\n".join(map(" ".join, rows)) + "\n" for rows in ROWS).encode()
    yield "learn from a stream", lambda: lambda: crfkit.learn(io.BytesIO(text), TEMPLATE, "adf", passes=1, rate=0.1, window=2).to_bytes()
    yield "learn by beam", lambda: lambda: crfkit.learn(ROWS, TEMPLATE, "sapo", passes=1, search="beam").to_bytes()
    yield "learn a parser", lambda: lambda: crfkit.learn(str(folder / "trees"), PARSING, "lookahead", format="conllu", labels=True, passes=2).to_bytes()


def tagging(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    model = crfkit.learn(ROWS, TEMPLATE, "lbfgs", max_iter=3)
    path = folder / "model"
    model.save(path)
    questions: dict[str, Callable[[Any, Any], Any]] = {
        "tag": lambda tagger, rows: tagger.tag(rows),
        "tag many": lambda tagger, rows: tagger.tag_many([rows] * 5, threads=2),
        "n best": lambda tagger, rows: tagger.nbest(rows, 5),
        "explain": lambda tagger, rows: tagger.explain(rows, 5),
        "n best many": lambda tagger, rows: tagger.nbest_many([rows] * 3, 2),
        "marginals": lambda tagger, rows: tagger.marginals(rows).tolist(),
        "probability": lambda tagger, rows: tagger.log_probability(rows, ["B"] * len(rows)),
        "allowed": lambda tagger, rows: tagger.tag(rows, allowed=["B"] + [None] * (len(rows) - 1)),
    }
    for name, ask in questions.items():
        for verify in (True, False):
            yield f"{name}{'' if verify else ', unverified'}", lambda ask=ask, verify=verify: asked(ask, crfkit.load(path, verify=verify))
        yield f"{name}, with constraints", lambda ask=ask: asked(ask, crfkit.load(path, constraints=[("B", "B"), ("B", "I"), ("I", "I")]))
    for name, rows in (("plain.short", SENTENCE), ("plain.long", LONG)):
        (folder / name).write_text("\n".join(map(" ".join, rows)) + "\n")
    printers = {"print": Printer(), "print n best": Printer(verbose=2, nbest=3), "print for wapiti": LinePrinter(scores=True, posterior=True, nbest=2)}
    for name, printer in printers.items():
        def printed(tagger: Any, text: str, printer: Any = printer) -> Any:
            return list(tagger.text(Source([str(folder / text)], "columns"), printer, threads=1))

        yield name, lambda printed=printed: asked(printed, crfkit.load(path), "plain.short", "plain.long")
    ahead = crfkit.learn(ROWS, HISTORY, "lookahead", passes=2)
    yield "look ahead", lambda: asked(questions["tag"], ahead.tagger())
    parser = crfkit.learn(str(folder / "trees"), PARSING, "lookahead", format="conllu", labels=True, passes=2)
    words = [line.split("\t") for line in TREES.split("\n\n")[0].split("\n")]
    many = [[str(k + 1), *words[k % 3][1:]] for k in range(90)]
    yield "parse", lambda: asked(questions["tag"], parser.tagger(), words, many)
    yield "open", lambda: lambda: crfkit.load(path).labels
    yield "open unverified", lambda: lambda: crfkit.load(path, verify=False).tag(SENTENCE)
    yield "dump", lambda: lambda: model.dump()
    yield "quantised", lambda: lambda: model.quantised("int8").to_bytes()
    (folder / "answers").write_text("\n\n".join("\n".join(f"{row[0]} {row[2]} I" for row in rows) for rows in ROWS) + "\n")
    yield "score", lambda: lambda: Outputs(folder / "answers", keep=True).scores[0].chunks
    yield "compare", lambda: lambda: Outputs([folder / "answers"] * 2, keep=True).compare(0, 1, shuffles=10).p
    for to in foreign.FORMATS:
        other = folder / f"model.{to}"
        source = crfkit.learn([[(["w=" + row[0]], row[2]) for row in rows] for rows in ROWS], format="crfsuite", algorithm="lbfgs", max_iter=3)
        plain = source if to == "crfsuite" else crfkit.learn(ROWS, "U0:%x[0,0]\nB\n", "lbfgs", max_iter=3)
        plain.save(folder / f"plain.{to}")
        yield f"convert to {to}", lambda to=to, other=other: lambda: (foreign.convert(folder / f"plain.{to}", other, to), other.read_bytes())[1]
        yield f"open one of {to}", lambda other=other: lambda: crfkit.load(other).labels


def libraries(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    path = str(folder / "model.crfsuite")

    def trainer() -> Any:
        some = pycrfsuite.Trainer(verbose=False)
        some.set_params({"max_iterations": 3})
        some.append(ITEMS, LABELS)
        return some

    def append(some: Any, n: int) -> bytes:
        """Append sequences until there are n, whatever happened before."""
        while len(some.sequences.groups) < n:
            some.append(ITEMS * 9, LABELS * 9)
        some.train(path)
        return Path(path).read_bytes()

    def opened() -> Any:
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return tagger

    def append_new(some: Any, attempts: Iterator[int]) -> list[bool]:
        """Append names and a label that no sequence had before, nor one that could not be appended: whether those of sequences are all that
        there are, and whether each sequence has a group."""
        attempt, kept = next(attempts), some.sequences
        some.append([[f"{attempt} {k}" for k in range(40)]], [f"L{attempt}"])
        found = appended(kept)
        labels = {label for labels, _ in found for label in labels}
        names = {name for _, tokens in found for token in tokens for name, _ in token}
        return [{*kept.labels} == labels, {*kept.names} == names, len(kept.groups) == len(found)]

    class Growing(pycrfsuite.BaseTrainer):
        """A sequence, the first one with values, is appended to those that are trained on, once."""

        def message(self, message: str) -> None:
            if message.startswith("Loss") and len(self.sequences.groups) < 2:
                self.append(ITEMS * 9, LABELS * 9)

    def growing() -> Any:
        some = Growing("ap", {"max_iterations": 2})
        some.append([["w=the", "cap"], ["cap", "w=dog"]], LABELS[:2])
        return some

    def grow(some: Any) -> bytes:
        some.train(path)
        some.train(path)
        return Path(path).read_bytes()

    def hold_out(some: Any) -> Any:
        """Trained on without a group, and appended to."""
        some.train(path, holdout=1)
        some.append(ITEMS, LABELS, 1)
        return Path(path).read_bytes(), appended(some.sequences)[:5]

    def with_groups() -> Any:
        some = trainer()
        for group in (0, 1, 0, 1, 0):
            some.append(ITEMS, LABELS, group)
        return some

    yield "append and train", lambda: partial(append, trainer(), 5)
    yield "hold out a group", lambda: partial(hold_out, with_groups())
    yield "append during training", lambda: partial(grow, growing())
    yield "append new names", lambda: partial(append_new, trainer(), itertools.count())
    append(trainer(), 5)
    yield "tag attributes", lambda: asked(lambda tagger, items: tagger.tag(items), opened(), ITEMS, ITEMS * 40)
    yield "tag what is set", lambda: asked(set_and_tag, opened(), ITEMS, ITEMS * 40)
    yield "marginal of attributes", lambda: asked(lambda tagger, items: (tagger.set(items), tagger.marginal("B", 0))[1], opened(), ITEMS, ITEMS * 40)
    yield "rows of a parser", lambda: partial(rows_of_states, states(str(folder / "trees")))
    yield "items", lambda: lambda: list(map(dict, pycrfsuite.ItemSequence(ITEMS * 40).items()))
    X, y = [[row[:2] for row in rows] for rows in ROWS], [[row[2] for row in rows] for rows in ROWS]
    yield "fit", lambda: partial(lambda estimator: estimator.fit(X, y).predict(X), crfkit.CRF(template=TEMPLATE, max_iter=3))


def states(path: str) -> ParserTrainer:
    """A trainer that has no features yet."""
    trees = Trees(path, Template.parse(PARSING), True, Progress(quiet=True))
    return ParserTrainer(trees.bank, StateTables(trees.template, len(trees.relations)), options.TRAINERS["lookahead"]())


def rows_of_states(some: ParserTrainer) -> list[int]:
    """The numbers of keys in their order, whichever have one already."""
    return [some.row_of(k % 2, [1 + k // 2, 1]) for k in range(300)]


def set_and_tag(tagger: Any, items: Any) -> Any:
    """A sequence that could not be set has no labels."""
    try:
        tagger.set(items)
    finally:
        found = tagger.tag()
    return found


def asked(ask: Callable[[Any, Any], Any], tagger: Any, short: Any = SENTENCE, long: Any = LONG) -> Callable[[], Any]:
    """A tagger that has labelled a short sentence labels a long one."""
    ask(tagger, short)
    return lambda: ask(tagger, long)


def starve(library: Any, name: str, make: Callable[[], Callable[[], Any]]) -> int:
    """Let each allocation of a work fail, one after another; the number of allocations."""
    expected, number, step = make()(), 0, 1
    while True:
        number += step
        step = 1 + number // 40
        work = make()
        library.fail_allocation(MODULES, number)
        try:
            found = work()
        except MemoryError:
            found = None
        except crfkit.CrfkitError as error:
            if "memory" not in str(error):
                raise
            found = None
        finally:
            failed = library.has_failed()
            library.fail_allocation(MODULES, 0)
        if found is not None and found != expected:
            raise AssertionError(f"{name}: another result where allocation {number} fails")
        if work() != expected:
            raise AssertionError(f"{name}: another result after allocation {number} has failed")
        if not failed:
            return number - 1


class Allocated(ctypes.Structure):
    """What mallinfo2 of glibc tells."""

    _fields_ = [(name, ctypes.c_size_t) for name in (*"abcd", "hblkhd", *"fg", "uordblks", *"ij")]


def left_behind(library: Any, mallinfo: Any) -> int:
    """The most bytes that an index leaves behind if one of its allocations fails while it grows."""
    mallinfo.restype = Allocated
    rows, template = Rows(label=-1), Template.parse("U:%x[0,0]/%x[-1,0]")
    fill_rows(rows, [[[str(i * i % 20_011), "L"] for i in range(begin, begin + 1000)] for begin in range(0, 20_000, 1000)])
    most, failed, number = 0, True, 0
    while failed:
        number += 1
        before = mallinfo()
        library.fail_allocation(MODULES, number)
        with suppress(MemoryError):
            IndexBuilder(template).add(rows)
        failed = library.has_failed()
        library.fail_allocation(MODULES, 0)
        now = mallinfo()
        most = max(most, now.uordblks + now.hblkhd - before.uordblks - before.hblkhd)
    return most


def main() -> None:
    library, wanted = ctypes.CDLL(sys.argv[1]), sys.argv[2:]
    library.fail_allocation.argtypes = [ctypes.c_char_p, ctypes.c_long]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "trees").write_text(TREES * 3)
        for works in (learning, tagging, libraries):
            for what, work in works(folder):
                if not wanted or what in wanted:
                    print(f"{what}: ", end="", flush=True)
                    print(f"{starve(library, what, work):,} allocations", flush=True)
        if not wanted and hasattr(ctypes.CDLL(None), "mallinfo2"):
            print(f"an index that fails to grow: {left_behind(library, ctypes.CDLL(None).mallinfo2)} bytes are left behind", flush=True)
        left = sorted(set(os.listdir(folder)) - {"trees", "model", "answers"} - {entry for entry in os.listdir(folder) if entry.startswith(("model.", "plain."))})
        if left:
            raise AssertionError(f"files that were left behind: {left}")


if __name__ == "__main__":
    main()
