"""Runs crfkit from tests: in this process, or in a process of its own, for signals and limits."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from crfkit import options
from crfkit.cli import cli


def limited():
    """Whether there is a limit on what programs may ask for, used or not."""
    if importlib.util.find_spec("resource") is None:
        return False
    import resource

    return any(resource.getrlimit(what)[0] != resource.RLIM_INFINITY for what in (resource.RLIMIT_AS, resource.RLIMIT_DATA))


OVERCOMMIT = "/proc/sys/vm/overcommit_memory"

plain_build = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer needs memory of its own, and stops programs of others for their faults"
)

memory_told = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the system does not tell what memory a program takes")
memory_promised = pytest.mark.skipif(
    limited() or (os.path.exists(OVERCOMMIT) and Path(OVERCOMMIT).read_text().strip() == "2"),
    reason="programs may not ask for more memory than there is (ulimit -v, -d; vm.overcommit_memory = 2)",
)
full_device = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
named_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")

DATA = Path(__file__).parents[1] / "data"
SMALL = "U00:%x[0,0]\nU01:%x[0,1]\nB\n"
BATCH = {name for name, cls in options.TRAINERS.items() if hasattr(cls, "max_iter")}


def invoked(command: Any, *arguments: Any, code: int = 0, stdin: bytes | str | None = None) -> Result:
    """Run a program that must exit with this code; its result."""
    result = CliRunner().invoke(command, [*map(str, arguments)], input=stdin)
    assert result.exit_code == code, f"{arguments}: {result.exit_code}: {result.output}"
    return result


def forks(test):
    """A test that forks beside threads, of which Python 3.12 warns. pytest-xdist has threads of its own."""
    warned = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
    return pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")(warned(test))


def crfkit(*arguments: Any, code: int = 0, stdin: bytes | str | None = None) -> Result:
    """Run a command of crfkit that must exit with this code; its result."""
    return invoked(cli, *arguments, code=code, stdin=stdin)


def tag(*arguments: Any, code: int = 0, stdin: bytes | str = b"") -> Any:
    """The output of `crfkit tag` as text; its result if it must fail."""
    result = crfkit("tag", *arguments, code=code, stdin=stdin)
    return result if code else result.stdout_bytes.decode()


def learn(*arguments: Any, **how: Any) -> Result:
    """Run `crfkit learn` on files with the usual names."""
    return crfkit("learn", *arguments, "template", "train", "model", **how)


def trained(folder: Path, *arguments: Any, files: Sequence[str] = ("train",), target: str = "model", **how: Any) -> bytes:
    """Train a model in this folder; its bytes."""
    crfkit("learn", "-q", *arguments, "template", *files, target, **how)
    return (folder / target).read_bytes()


def error(*arguments: Any, code: int = 1, stdin: bytes | str | None = None) -> str:
    """The one-line error with which a command fails."""
    result = crfkit(*arguments, code=code, stdin=stdin)
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if "rror: " in line]
    prefix = "crfkit: error: " if code == 1 else "Error: "
    assert len(lines) == 1 and lines[0].startswith(prefix) and result.stderr.rstrip().endswith(lines[0]), f"{arguments}: {result.stderr}"
    return lines[0].removeprefix(prefix)


def start(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
    """Start a command as a process with pipes of text."""
    command = [sys.executable, "-m", "crfkit", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, **{"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, **options})


def interrupted(training: subprocess.Popen[str], number: int) -> tuple[str, str]:
    """What a training run writes after a signal, which it gets once two passes are reported."""
    assert any("pass    2" in line for line in training.stderr), "ended too early"
    training.send_signal(number)
    return training.communicate(timeout=600)


def python(program: str, *arguments: Any, flags: Sequence[str] = (), code: int | None = 0, text: bool = True, **how: Any) -> Any:
    """What a program does in an interpreter of its own, which must exit with this code unless it is None."""
    done = subprocess.run([sys.executable, *flags, "-c", program, *map(str, arguments)], capture_output=True, text=text, **how)
    assert code in (done.returncode, None), f"{done.returncode}: {done.stderr}"
    return done


def unheard(program: str, *arguments: str) -> int:
    """The exit code of a program whose standard output and error go to a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-uc", f"from crfkit.programs import {program}; {program}()", *arguments]
        return subprocess.run(command, stdout=writing, stderr=writing).returncode
    finally:
        os.close(writing)


def text_of(sentences: Iterable[Iterable[Iterable[str]]], separator: str = " ") -> str:
    """Sentences of rows as the text of a file."""
    return "".join("".join(separator.join(row) + "\n" for row in rows) + "\n" for rows in sentences)


def log_lines(path: str | Path = "log") -> list[dict[str, Any]]:
    """The records of a log, or of another file with one on each line."""
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def limit(algorithm: str, passes: int, iterations: int = 0) -> dict[str, int]:
    """The option for so many passes, or iterations: as many, if no number is given."""
    return {"max_iter": iterations or passes} if algorithm in BATCH else {"passes": passes}


def limit_flags(algorithm: str, passes: int, iterations: int = 0) -> list[str]:
    """`limit` for a command line."""
    ((option, n),) = limit(algorithm, passes, iterations).items()
    return [f"--{option.replace('_', '-')}", str(n)]


def paper(script: str, *arguments: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a script of benchmarks/papers that finds no corpora, and must exit with this code."""
    environment = {name: value for name, value in os.environ.items() if name != "CRFKIT_CORPORA"} | {"XDG_CACHE_HOME": "cache"}
    command = [sys.executable, Path(__file__).parents[1] / "benchmarks" / "papers" / f"{script}.py", "--out", "out", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == code, done.stderr
    return done


def write(**files: str | bytes) -> None:
    """Files of these names in the current folder: a test has one of its own."""
    for name, content in files.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def write_part(path: Path, name: str, sentences: int, skip: int = 0, part: str = "train") -> Path:
    """Some sentences of data/NAME.PART.txt as a file."""
    paragraphs = (DATA / f"{name}.{part}.txt").read_text().strip().split("\n\n")
    path.write_text("\n\n".join(paragraphs[skip : skip + sentences]) + "\n\n")
    return path
