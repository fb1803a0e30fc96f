"""Each system call that a command makes on its files fails once, or is done in part: python -m refusing LIBRARY FOLDER MOST
[WORK ...], with the library preloaded, which tests/refusing.c becomes.

What is interrupted or done in part does not matter. What fails is told in one line that names the file, or in a warning, and what
was there before stays. Nothing is left behind, and no damaged output goes without an error.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import gzip
import json
import mmap
import os
import re
import shutil
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import crfkit.estimator
import crfkit.foreign  # noqa: F401
from crfkit import modelfile
from crfkit.cli import COMMANDS, cli

TEMPLATE = 'U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB\nB1:%x[0,1]\n'
ROWS = "the DT B\nold JJ I\ndog NN I\nbarks VB O\n\ndogs NN B\nbark VB O\n\n"
TREES = "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
PARSING = "P0:%x[s0,form]/%x[q0,upos]\nP1:%x[s0,upos]/%x[s1,upos]\n"
ITEMS = "B\tw=the\tcap:2\nI\tw=dog\n\nB\tw=dogs\n\n"
INPUTS = {
    "template": TEMPLATE, "plain": "U0:%x[0,0]\nB\n", "patterns": "u0:%x[0,0]\nb\n", "parsing": PARSING, "train": ROWS * 3, "dev": ROWS,
    "items": ITEMS * 2, "trees": TREES * 4, "pairs": "<start> B\nB I\nB O\nI I\nI O\nO O\n", "options": "max-iter: 3\nl2: 0.5\n",
    "answers": ROWS.replace("\n", " O\n").replace("\n O\n", "\n\n") + "the DT B B\n", "words": "a B B\nb M E\nc E O\n", "lexicon": "a\n",
}
# A call of this kind fails for this reason, once, or from then on. The kinds are numbered as in refusing.c.
REFUSALS: dict[str, list[tuple[str | None, bool]]] = {
    "write": [("ENOSPC", True), ("EIO", False), ("EINTR", False), (None, False)],
    "read": [("EIO", True), ("EIO", False), ("EINTR", False), (None, False), (None, True)],
    "open": [("EIO", False), ("EMFILE", True), ("EACCES", False), ("EINTR", False)],
    "mmap": [("ENOMEM", False), ("ENODEV", True)],
    "fsync": [("EIO", False), ("ENOSPC", True), ("EINTR", False)],
    "rename": [("EIO", False), ("ENOSPC", True)],
    "ftruncate": [("EIO", False), ("ENOSPC", True), ("EINTR", False)],
    "fallocate": [("ENOSPC", True), ("EIO", False), ("EINTR", False), ("EOPNOTSUPP", True)],
}
HARMLESS = ("EINTR", "EOPNOTSUPP", None)
OLD = b"what was there before\n"
CLOCK = ("seconds", "cpu", "elapsed")
CLOCKS = ("compat.crfpp.crf_learn", "compat.crfsuite:cli learn")  # print how long everything takes
NAMES = {"stdout": {"standard output", "the output"}, "stdin": {"<stdin>"}}


@dataclass
class Work:
    """A command, the files that it writes, and what it reads as standard input."""

    command: str
    arguments: str
    writes: tuple[str, ...] = ()
    stdin: str = ""
    begins: dict[str, bytes] = field(default_factory=dict)  # what some of its files hold before, in place of OLD

    def __str__(self) -> str:
        return f"{self.command} {self.arguments}" + f" < {self.stdin}" * bool(self.stdin)


@dataclass
class Found:
    """What a command left."""

    code: int
    output: bytes
    said: str
    files: dict[str, Any]
    others: list[str]  # files that are not its own
    refused: str  # the file of the call that failed; empty if none did
    calls: dict[str, int]  # of each kind


LEARN = "-q --threads 1"
RUN = "--threads 1 --progress never -a adf --rate 0.1 --passes 3 --checkpoint state --log log template train model"
WORKS = [
    Work("learn", f"{LEARN} --max-iter 3 template train model", ("model",)),
    Work("learn", RUN, ("model", "state", "log"), begins={"state": b""}),
    Work("learn", f"{LEARN} --max-iter 3 --data-dir data template train zipped.gz model", ("model",)),
    Work("learn", f"{LEARN} --config options --dev dev --init known --format columns template - model", ("model",), "train"),
    Work("learn", f"{LEARN} -a owlqn --path 3,1 --max-iter 3 template train model", ("model.l1-3", "model.l1-1")),
    Work("learn", f"{LEARN} -a lookahead --passes 2 --format conllu parsing trees model", ("model",)),
    Work("learn", f"{LEARN} -a perceptron --passes 1 --format crfsuite --weights int8 items model", ("model",)),
    Work("tag", "-q --threads 1 -o out known train dev", ("out",)),
    Work("tag", "-q --threads 1 --constraints pairs -v 2 known", (), "train"),
    Work("tag", "-q --threads 1 --unbuffered -n 2 known train"),
    Work("tag", "-q --threads 1 --output-dir . known dev.gz zipped.gz", ("zipped", "dev")),
    Work("eval", "answers answers"),
    Work("eval", "--json --compare --shuffles 9 answers answers"),
    Work("eval", "--segments --lexicon lexicon", (), "words"),
    *(Work("convert", f"--to {to} known target", ("target",)) for to in ("crfkit", "crfpp", "crfpp-text", "wapiti")),
    Work("convert", "--to crfsuite known.items target", ("target",)),
    *(Work("convert", f"known.{form} target", ("target",)) for form in ("crfpp", "wapiti", "crfsuite")),
    Work("dump", "known"),
    Work("dump", "--header known"),
    Work("dump", "known.crfpp"),
    Work("templates", "chunking"),
    Work("compat.crfpp.crf_learn:crf_learn", "-m 3 -t plain train model", ("model", "model.txt")),
    Work("compat.crfpp.crf_test:crf_test", "-m known.crfpp -o out train", ("out",)),
    Work("compat.crfsuite:cli", "learn -p max_iterations=3 -m model items", ("model",)),
    Work("compat.crfsuite:cli", "tag -m known.crfsuite items"),
    Work("compat.crfsuite:cli", "dump known.crfsuite"),
    Work("compat.wapiti.commands:cli", "train -i 3 -p patterns train model", ("model",)),
    Work("compat.wapiti.commands:cli", "label -m known.wapiti train out", ("out",)),
]


def do(work: Work) -> None:
    """Run the command; this process then ends."""
    module, _, name = work.command.partition(":")
    if name:
        getattr(import_module(f"crfkit.{module}"), name)(work.arguments.split(), prog_name=name)
    else:
        cli([work.command, *work.arguments.split()], prog_name="crfkit")


class Refuser:
    """The library, and the folder where works are done."""

    def __init__(self, path: str, folder: Path):
        self.call = ctypes.CDLL(path).refuse_call
        self.call.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
        self.told = mmap.mmap(-1, 1 << 16)  # by the processes that do the works
        self.folder, self.said = folder / "here", folder / "said"
        (self.folder / "data").mkdir(parents=True)
        for name, text in INPUTS.items():
            (self.folder / name).write_text(text)
        for name in ("dev.gz", "zipped.gz"):
            (self.folder / name).write_bytes(gzip.compress(ROWS.encode()))
        os.chdir(self.folder)
        self.own = {*INPUTS, "dev.gz", "zipped.gz", "data", "stdout", "stdin"}

    def keep(self, work: Work, target: str) -> None:
        """Do a work whose file the others read."""
        found = self.run(work)
        assert found.code == 0, found.said
        os.rename(work.writes[0], target)
        self.own.add(target)

    def run(self, work: Work, kind: str = "write", number: int = 0, reason: str | None = None, lasting: bool = False) -> Found:
        """What a work leaves where the call of this number fails."""
        for name in set(os.listdir(".")) - self.own:
            os.unlink(name)
        for name in os.listdir("data"):
            os.unlink(f"data/{name}")
        for name in work.writes:
            if before := work.begins.get(name, OLD):
                Path(name).write_bytes(before)
        shutil.copy(work.stdin or os.devnull, "stdin") if work.stdin else Path("stdin").write_bytes(b"")
        self.told[:] = bytes(len(self.told))
        process = os.fork()
        if not process:
            for number_of, name, how in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), (2, str(self.said), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)):
                os.dup2(os.open(name, how), number_of)
            where = ctypes.addressof(ctypes.c_char.from_buffer(self.told))
            folder = os.fsencode(self.folder)  # the library does not copy it
            self.call(folder, [*REFUSALS].index(kind), number, getattr(errno, reason) if reason else 0, lasting, where)
            do(work)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        files = {name: contents(name) for name in work.writes if os.path.exists(name)}
        others = sorted({*os.listdir("."), *(f"data/{name}" for name in os.listdir("data"))} - self.own - {*work.writes})
        told = struct.Struct(f"{len(REFUSALS)}l")
        calls = dict(zip(REFUSALS, told.unpack_from(self.told), strict=True))
        refused = os.fsdecode(self.told[told.size :].partition(b"\0")[0])
        output = b"" if str(work).startswith(CLOCKS) else Path("stdout").read_bytes()
        return Found(code, output, self.said.read_text(), files, others, refused, calls)


def contents(name: str) -> Any:
    """What a file holds; of a log and a checkpoint, all but the clock."""
    data = Path(name).read_bytes()
    if data in (OLD, b""):
        return data
    if name == "log":
        return [{key: value for key, value in json.loads(line).items() if key not in CLOCK} for line in data.splitlines()]
    if name == "state":
        file = modelfile.read(data)
        standing = {**file.header["standing"], "log_size": file.header["standing"]["log_size"] > 0, "seconds": 0}
        return {**file.header, "standing": standing}, [tuple(entry) for entry in file.sections.values()]
    return data


def judge(work: Work, harmless: bool, lasting: bool, expected: Found, found: Found) -> str:
    """What came of it, in a word; AssertionError if it may not."""
    said = re.sub(r"\S*/here/", "", found.said)
    assert not found.others, f"left behind: {found.others}"
    assert not re.search(r"Traceback|Exception|unexpected|Error:", said), said
    if found.code == 0:
        wrong = {name for name in work.writes if found.files.get(name) != expected.files[name]}
        told = {name for name in work.writes if f"warning: {name}: " in said}
        depends = {"state"} if "log" in told else set()  # how long the log was
        assert wrong <= told | depends, f"another {wrong} without an error: {said!r}"
        assert found.output == expected.output, f"other output without an error: {said!r}"
        return "told" if told else "as usual"
    assert not harmless, f"{found.code}: {said}"
    lines = said.splitlines()
    assert lines and lines[-1].startswith("crfkit: error: ") and said.count("error: ") == 1, f"ends with {found.code}: {said!r}"
    name = os.path.relpath(found.refused, os.getcwd()).removesuffix(" (deleted)") if found.refused.startswith("/") else found.refused
    names = NAMES.get(name, {name})
    if name.startswith(".crfkit-") or name == ".":
        names = {*work.writes}
    if name.startswith("data"):
        names = {"data"}
    if lasting or name == "log":  # what could not be synchronised is no error; those that follow may be
        names |= {*work.writes}
    assert any(some in line for some in names for line in lines if line.startswith("crfkit: ")), f"names none of {names}: {said!r}"
    for name in work.writes:
        there = found.files.get(name, work.begins.get(name))
        earlier = name == "log" or isinstance(there, tuple)  # or a checkpoint that could be read: of the passes until then
        assert earlier or there in (work.begins.get(name, OLD), expected.files[name]), f"{name} is neither old nor new"
    assert expected.output.startswith(found.output), "the output is not the beginning of what it should be"
    return "error"


def refuse(refuser: Refuser, work: Work, most: int) -> Counter[str]:
    """Let the calls of a work fail in each way, at most so many of a kind; what came of it."""
    expected, count = refuser.run(work), Counter[str]()
    assert expected.code == 0 and not expected.others, f"{work}: {expected}"
    for kind, ways in REFUSALS.items():
        for reason, lasting in ways:
            for number in spread(expected.calls[kind], most):
                found = refuser.run(work, kind, number, reason, lasting)
                assert found.refused, f"{work}: {kind} {number} was not refused"
                try:
                    count[judge(work, reason in HARMLESS, lasting, expected, found)] += 1
                except AssertionError as error:
                    if "-k" not in sys.argv:
                        raise AssertionError(f"{work}: {kind} {number}, {reason}, of {found.refused}: {error}") from None
                    print(f"\n{work}: {kind} {number}, {reason}{' lasting' * lasting}, of {found.refused}: {error}", flush=True)
    return count


def spread(n: int, most: int) -> list[int]:
    """Numbers from 1 to n: all, or so many of them, the first and the last too."""
    return [*range(1, n + 1)] if n <= most else sorted({1 + k * (n - 1) // (most - 1) for k in range(most)})


def works(refuser: Refuser) -> Iterator[Work]:
    """All works, and what some of them need."""
    refuser.keep(Work("learn", f"{LEARN} --max-iter 3 plain train model", ("model",)), "known")
    refuser.keep(Work("learn", f"{LEARN} --max-iter 3 --format crfsuite items model", ("model",)), "known.items")
    for form in ("crfpp", "wapiti"):
        refuser.keep(Work("convert", f"--to {form} known target", ("target",)), f"known.{form}")
    refuser.keep(Work("convert", "--to crfsuite known.items target", ("target",)), "known.crfsuite")
    yield from WORKS
    first = WORKS[1]
    found = refuser.run(first, "rename", 2, "EIO", True)  # only the first checkpoint is written
    assert found.code == 1 and found.files["state"], found.said
    yield Work("learn", f"--resume {RUN}", first.writes, begins={name: Path(name).read_bytes() for name in ("state", "log")})


def main() -> None:
    for name in COMMANDS:
        import_module(f"crfkit.cli.{name}")
    most = int(sys.argv[3])
    wanted = [text for text in sys.argv[4:] if text != "-k"]
    refuser = Refuser(sys.argv[1], Path(sys.argv[2]).resolve())
    gc.collect()
    gc.freeze()  # it need not be looked at again in each process
    for work in works(refuser):
        if not wanted or any(text in str(work) for text in wanted):
            print(f"{work}: ", end="", flush=True)
            print(", ".join(f"{n} {what}" for what, n in sorted(refuse(refuser, work, most).items())), flush=True)


if __name__ == "__main__":
    main()
