"""The driver: it watches one worker process per target. python -m fuzz --seconds N [--seed N] [TARGET ...]

A worker writes the number of each input to a mapped file before it tries it. When it dies, hangs, or says that
something is wrong, that number and the seed give the input again.

An input hangs when it takes more than --longest seconds of processor time, or more than --idle seconds by the clock.
The system then ends the worker: each input sets its timers anew. A loaded machine is not taken for a hang.
"""

from __future__ import annotations

import argparse
import hashlib
import mmap
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

FINDS = Path(__file__).parent / "finds"
STATE = struct.Struct("<qqq")  # the input being tried, how many were tried, the largest growth of memory in KB
MEMORY_KB = 64 << 10  # that an input may need, and 64 times its own size
MEMORY = "/dev/shm"  # a folder in memory, where there is one
WARM = 10  # inputs after which modules are loaded and seeds are made


def work(name: str, seed: int, given: argparse.Namespace) -> int:
    """Try inputs until there were enough. A fault ends the process; what it was is then told on standard error."""
    from .targets import attempt

    first = given.first
    with open(given.work, "r+b") as file:
        state = mmap.mmap(file.fileno(), STATE.size)
    number, deadline = first, time.monotonic() + given.seconds
    peak, worst = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
    while number != given.inputs and time.monotonic() < deadline:
        data = generated(name, seed, number)
        STATE.pack_into(state, 0, number, number - first, worst)
        limit(given.longest, given.idle)
        error = attempt(name, data)
        limit(0, 0)
        if error is not None:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return 3
        now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if number > first + WARM:
            worst = max(worst, now - peak)
        if number > first + WARM and now - peak > MEMORY_KB + len(data) // 16:
            print(f"{now - peak} KB of memory for {len(data)} bytes", file=sys.stderr)
            return 3
        peak = max(peak, now)
        number += 1
    STATE.pack_into(state, 0, number, number - first, worst)
    return 0


def limit(longest: float, idle: float) -> None:
    """End this process by a signal after so many seconds of processor time, or by the clock; 0: do not."""
    signal.setitimer(signal.ITIMER_PROF, longest)
    signal.setitimer(signal.ITIMER_REAL, idle)


def generated(name: str, seed: int, number: int) -> bytes:
    """The input of this number."""
    from .targets import TARGETS

    if name.startswith("faulty"):
        from . import faulty  # noqa: F401 (adds targets)
    return TARGETS[name].mutation(random.Random(f"{name} {seed} {number}"))


def watch(name: str, seed: int, given: argparse.Namespace, end: End) -> tuple[int, int]:
    """Inputs tried, and faults; each fault is saved, and the next worker goes on behind it."""
    tried = faults = number = 0
    deadline = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory(prefix="crfkit-fuzz-", dir=given.scratch) as folder:
        shared = Path(folder) / "state"
        environment = {**os.environ, "TMPDIR": folder}  # a worker that dies leaves its files here
        while number != given.inputs and ((left := deadline - time.monotonic()) > 0.2 or not number):
            shared.write_bytes(bytes(STATE.size))
            command = [sys.executable, "-X", "faulthandler", "-m", "fuzz", "--work", str(shared), "--first", str(number), "--seed", str(seed)]
            command += ["--seconds", str(max(left, 0.2)), "--longest", str(given.longest), "--idle", str(given.idle)]
            command += [] if given.inputs is None else ["--inputs", str(given.inputs)]
            with subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True, env=environment) as worker:
                end.watched(worker)
                said = last_words(worker)
            if end.asked:
                break
            number, done, _ = STATE.unpack(shared.read_bytes())
            tried += done
            if worker.returncode == 0:
                break
            faults += 1
            tried += 1
            data = generated(name, seed, number)
            path = given.finds / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            print(f"{name}: input {number} of seed {seed}, {len(data)} bytes, saved as {path}:\n    {fault(worker.returncode, said)}", flush=True)
            number += 1
    return tried, faults


def last_words(worker: subprocess.Popen[str]) -> str:
    """What it said until it ended. It is waited for a second at a time, because Python runs handlers between waits: that of a signal which
    came just before a wait has its turn at the end of it."""
    while True:
        with suppress(subprocess.TimeoutExpired):
            return worker.communicate(timeout=1)[1]


def fault(code: int, said: str) -> str:
    """What a worker ended of."""
    if code == -signal.SIGPROF:
        return "hangs: it is busy for more than --longest seconds"
    if code == -signal.SIGALRM:
        return "hangs: it waits for more than --idle seconds"
    return said.strip()[-2000:] or f"died of signal {-code}"


class End:
    """SIGTERM ends the worker, and then the driver. An exception of the handler's could be lost where Python ignores exceptions."""

    def __init__(self) -> None:
        self.asked = False
        self.worker: subprocess.Popen[str] | None = None

    def watched(self, worker: subprocess.Popen[str]) -> None:
        """This worker is running now."""
        self.worker = worker
        if self.asked:
            worker.kill()

    def ask(self, *_: object) -> None:
        """The handler."""
        self.asked = True
        if self.worker is not None:
            self.worker.kill()


def main() -> int:
    """Run targets one after the other; the exit code says whether there were faults."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--inputs", type=int, default=None, help="so many for each target at most")
    parser.add_argument("--seed", type=int, default=None, help="another one tries other inputs; default: by the clock")
    parser.add_argument("--longest", type=float, default=30, help="seconds of processor time that one input may take")
    parser.add_argument("--idle", type=float, default=600, help="seconds by the clock that one input may take")
    parser.add_argument("--finds", type=Path, default=FINDS, help="folder for inputs that were not survived")
    parser.add_argument("--scratch", type=Path, default=MEMORY if os.path.isdir(MEMORY) else None, help="folder for what workers write")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    if given.work:
        return work(given.targets[0], seed, given)
    end = End()
    signal.signal(signal.SIGTERM, end.ask)
    from .targets import TARGETS

    total = 0
    for name in given.targets or TARGETS:
        tried, faults = watch(name, seed, given, end)
        if end.asked:
            return 1
        total += faults
        print(f"{name:<18} {tried:>10,} inputs  {faults} faults  (seed {seed})", flush=True)
    return min(total, 1)


if __name__ == "__main__":
    sys.exit(main())
