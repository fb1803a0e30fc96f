"""A command in a process of its own, and what it took: seconds of the clock and of processors, and peak memory.

Between us and the command stands a small process, which is this file run as a script: the peak that the system tells
of a command is never below the size of the process that started it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent


class Used(NamedTuple):
    """What a command took, and what it printed."""

    seconds: float
    processor: float  # seconds of all its threads, in the kernel too
    peak: int  # bytes
    output: bytes


def environment(tree: Path) -> dict[str, str]:
    """The environment of a command that imports the crfkit below that folder, which keeps its bytecode as an installation does."""
    places = [str(tree), os.environ.get("PYTHONPATH", "")]
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**given, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def measured(*arguments: Any, tree: Path) -> Used:
    """Runs `python ARGUMENTS` with the crfkit below that folder; subprocess.CalledProcessError if it fails. Paths among
    the arguments are absolute: the command runs in a folder without a crfkit, as `-m` prefers that of its folder."""
    command = [sys.executable, *map(str, arguments)]
    reading, writing = os.pipe()
    with open(reading, "rb") as report:
        try:
            # -I -S: the process between us is as small as can be, and starts alike whatever is installed
            between = [sys.executable, "-I", "-S", str(HERE / "process.py"), str(writing), *command]
            done = subprocess.run(
                between, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment(tree), pass_fds=[writing], cwd=HERE
            )
        finally:
            os.close(writing)
        return Used(*json.load(report), done.stdout)


def launch(report: int, command: list[str]) -> int:
    """Runs the command, writes what it took to the file descriptor, and returns its exit code."""
    os.set_inheritable(report, False)
    start = perf_counter()
    _, status, usage = os.wait4(os.posix_spawn(command[0], command, os.environ), 0)
    took = perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    os.write(report, json.dumps([took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit]).encode())
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(launch(int(sys.argv[1]), sys.argv[2:]))
