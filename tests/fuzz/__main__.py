"""The driver: one worker process a target, watched. python -m fuzz --seconds N [--seed N] [TARGET ...]

A worker writes the number of each input to a mapped file before it tries it. When it dies, stands still, or says that
something is wrong, that number and the seed give the input again.
"""

from __future__ import annotations

import argparse
import hashlib
import mmap
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FINDS = Path(__file__).parent / "finds"
STATE = struct.Struct("<qqq")  # the input being tried, how many were tried, the largest growth of memory in KB
MEMORY_KB = 64 << 10  # that an input may need, and 64 times its own size

WARM = 10  # inputs after which modules are loaded and seeds are made


def work(name: str, seed: int, first: int, seconds: float, shared: str) -> int:
    """Try inputs until the time is over. A fault ends the process; what it was is then told on standard error."""
    from .targets import attempt

    with open(shared, "r+b") as file:
        state = mmap.mmap(file.fileno(), STATE.size)
    number, deadline = first, time.monotonic() + seconds
    peak, worst = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
    while time.monotonic() < deadline:
        data = generated(name, seed, number)
        STATE.pack_into(state, 0, number, number - first, worst)
        error = attempt(name, data)
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


def generated(name: str, seed: int, number: int) -> bytes:
    """The input of this number."""
    from .targets import TARGETS

    if name.startswith("faulty"):
        from . import faulty  # noqa: F401 (adds targets)
    return TARGETS[name].mutation(random.Random(f"{name} {seed} {number}"))


def watch(name: str, seed: int, seconds: float, longest: float, finds: Path) -> tuple[int, int]:
    """Inputs tried, and faults; each fault is saved, and the next worker goes on behind it."""
    tried = faults = number = 0
    deadline = time.monotonic() + seconds
    with tempfile.NamedTemporaryFile() as shared:
        while (left := deadline - time.monotonic()) > 0.2 or not number:
            os.truncate(shared.name, 0)
            os.truncate(shared.name, STATE.size)
            command = [sys.executable, "-X", "faulthandler", "-m", "fuzz", "--work", shared.name, "--first", str(number)]
            worker = subprocess.Popen([*command, "--seed", str(seed), "--seconds", str(max(left, 0.2)), name], stderr=subprocess.PIPE, text=True)
            said, hung = _until_end(worker, shared.name, longest)
            number, done, _ = STATE.unpack(Path(shared.name).read_bytes())
            tried += done
            if worker.returncode == 0 and not hung:
                break
            faults += 1
            tried += 1
            data = generated(name, seed, number)
            path = finds / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            fault = f"more than {longest:g} s" if hung else said[-2000:] or f"died of signal {-worker.returncode}"
            print(f"{name}: input {number} of seed {seed}, {len(data)} bytes, saved as {path}:\n    {fault}", flush=True)
            number += 1
    return tried, faults


def _until_end(worker: subprocess.Popen[str], shared: str, longest: float) -> tuple[str, bool]:
    """What a worker said, and whether it had to be killed because one input took too long."""
    last, since = None, time.monotonic()
    while True:
        try:
            return worker.communicate(timeout=1)[1].strip(), False
        except subprocess.TimeoutExpired:
            state = Path(shared).read_bytes()
            if state != last:
                last, since = state, time.monotonic()
            elif time.monotonic() - since > longest:
                worker.kill()
                return worker.communicate()[1].strip(), True


def main() -> int:
    """Run targets one after the other; the exit code says whether there were faults."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=None, help="another one tries other inputs; default: by the clock")
    parser.add_argument("--longest", type=float, default=30, help="seconds that one input may take")
    parser.add_argument("--finds", type=Path, default=FINDS, help="folder for inputs that were not survived")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    if given.work:
        return work(given.targets[0], seed, given.first, given.seconds, given.work)
    from .targets import TARGETS

    total = 0
    for name in given.targets or TARGETS:
        tried, faults = watch(name, seed, given.seconds, given.longest, given.finds)
        total += faults
        print(f"{name:<18} {tried:>10,} inputs  {faults} faults  (seed {seed})", flush=True)
    return min(total, 1)


if __name__ == "__main__":
    sys.exit(main())
