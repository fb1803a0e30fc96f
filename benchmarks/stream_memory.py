"""Memory of `crfkit tag`, `eval` and one pass of `learn -a adf` over a stream of any length, which this script makes as
it goes.

    python benchmarks/stream_memory.py [--megabytes 2000] [tag|eval|learn ...]

The peak must be that of a stream a tenth as long: with one that is more than a tenth higher the exit code is 1. Peaks are read from /proc, so this
needs Linux.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def peak(command: list[str], text: bytes, size: int) -> int:
    """Kilobytes that a command needs while it reads so many bytes of text, over and over."""
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen([sys.executable, "-m", "crfkit", *command], stdin=subprocess.PIPE, stdout=nowhere, cwd=ROOT)
        assert process.stdin is not None
        for _ in range(size // len(text) + 1):
            process.stdin.write(text)
        process.stdin.flush()
        # Before the input ends the process is there to be asked: it has read all but what the pipe holds.
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        found = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        process.stdin.close()
        if process.wait():
            raise SystemExit(f"crfkit {' '.join(command)} failed")
    return found


def main() -> int:
    """Compare peaks over a short and a long stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("commands", nargs="*", help="tag, eval, learn; default: all")
    given = parser.parse_args()
    size = given.megabytes << 20
    text = (ROOT / "data/chunking.test.txt").read_bytes()
    labelled = b"\n".join(line + b" " + line.split()[-1] if line.strip() else line for line in text.split(b"\n"))
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model")
        options = ["-q", "-a", "perceptron", "--passes", "2"]
        command = ["learn", *options, "templates/chunking.txt", "data/chunking.train.txt", model]
        subprocess.run([sys.executable, "-m", "crfkit", *command], cwd=ROOT, check=True)
        one_pass = ["learn", "-q", "-a", "adf", "--passes", "1", "templates/chunking.txt", "-", os.path.join(folder, "other")]
        for name, arguments, stream in (("tag", ["tag", "-q", model], text), ("eval", ["eval"], labelled), ("learn", one_pass, text)):
            if given.commands and name not in given.commands:
                continue
            short, long = peak(arguments, stream, size // 10), peak(arguments, stream, size)
            print(f"{name}: {short / 1024:.1f} MB over {size / 10 / 2**20:.0f} MB of input, {long / 1024:.1f} MB over {size / 2**20:.0f} MB", flush=True)
            worst = max(worst, long / short)
    return int(worst > 1.1)


if __name__ == "__main__":
    sys.exit(main())
