"""Kills `crfkit learn` at random moments and looks at what is left. python -m kills --count N [--seed N] [TRAINER ...]

After every kill the model is what it was before (absent, or an old one), or the one that the run should have written,
to the byte; the checkpoint is absent or sound; and whatever the killed run left behind is in nobody's way: every
fourth time the run is resumed, and must end at the very model of a run that was never killed, leaving nothing else.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from commands import limit_flags, write_part

from crfkit import modelfile, options
from crfkit.model import load

TEMPLATE = "U00:%x[-1,0]/%x[0,0]\nU01:%x[0,0]/%x[1,0]\nU02:%x[0,1]\nU03:%s[0,0,3]\nB\nB04:%x[0,1]\n"
# When to kill: after a part of the time that a run takes, or as soon as a file is being written.
MOMENTS = ("any", "any", "writing")


@dataclass
class Scene:
    """A folder with data, and what a run that nobody disturbs makes of them."""

    folder: Path
    algorithm: str
    seconds: float
    expected: bytes
    old: bytes

    def command(self, resume: bool) -> list[str]:
        """The run, with a checkpoint after every pass."""
        own = options.TRAINERS[self.algorithm]
        rate = ["--rate", "0.1"] if getattr(own, "rate", 0) is None else []  # to choose one takes time
        flags = ["-q", "-a", self.algorithm, *limit_flags(self.algorithm, 4, 8), *rate, "--checkpoint", "state", *["--resume"] * resume]
        return [sys.executable, "-m", "crfkit", "learn", *flags, "template", "train", "model"]


def scene(folder: Path, algorithm: str) -> Scene:
    """Measure and keep an undisturbed run."""
    folder.mkdir()
    (folder / "template").write_text(TEMPLATE)
    write_part(folder / "train", "chunking", 300)
    found = Scene(folder, algorithm, 0, b"", b"")
    begun = time.monotonic()
    subprocess.run(found.command(False), cwd=folder, check=True)
    found.seconds = time.monotonic() - begun
    found.expected = (folder / "model").read_bytes()
    model = load(found.expected)
    model.header["options"]["seed"] = 12345  # another model than the one to come
    found.old = model.to_bytes()
    return found


def leftovers(folder: Path) -> list[Path]:
    """The temporary files in a folder."""
    return list(folder.glob(".crfkit-*"))


def wait(chosen: Scene, process: subprocess.Popen[bytes], source: random.Random) -> None:
    """Wait until a random moment of the run."""
    if source.choice(MOMENTS) == "writing":
        wanted = source.randint(1, 6)
        seen: set[str] = set()
        while process.poll() is None and len(seen) < wanted:
            seen.update(path.name for path in leftovers(chosen.folder))
        time.sleep(source.random() * 0.002)
    else:
        time.sleep(source.random() * 1.1 * chosen.seconds)


def kill_once(chosen: Scene, source: random.Random, count: collections.Counter) -> None:
    """One kill, and a look at what is left; AssertionError if it is not as promised."""
    folder = chosen.folder
    model, state = folder / "model", folder / "state"
    state.unlink(missing_ok=True)
    before = chosen.old if source.random() < 0.5 else None
    model.unlink(missing_ok=True) if before is None else model.write_bytes(before)
    process = subprocess.Popen(chosen.command(False), cwd=folder, stderr=subprocess.PIPE)
    wait(chosen, process, source)
    process.kill()
    process.communicate()
    killed = process.returncode < 0
    count["kills" if killed else "ended before"] += 1
    there = model.read_bytes() if model.exists() else None
    assert there in (before, chosen.expected), f"{folder}: the model is neither the old one nor the new one"
    assert killed or there == chosen.expected, f"{folder}: ended with {process.returncode}"
    count["new model" if there == chosen.expected else "no model" if there is None else "old model"] += 1
    if there is not None:
        load(there)
    if state.exists():
        assert modelfile.read(state).header["kind"] == "checkpoint"
        count["with a checkpoint"] += 1
    count["with a temporary file"] += bool(leftovers(folder))
    if source.random() < 0.25:
        subprocess.run(chosen.command(True), cwd=folder, check=True)
        assert model.read_bytes() == chosen.expected, f"{folder}: resumed, the model is another one"
        assert sorted(os.listdir(folder)) == ["model", "state", "template", "train"], os.listdir(folder)
        count["resumed"] += 1


def run(kills: int, seed: int, algorithms: list[str]) -> collections.Counter:
    """So many kills, of the trainers in turn; what was found after them."""
    source, count = random.Random(seed), collections.Counter()
    algorithms = source.sample(algorithms, len(algorithms))
    scenes: dict[str, Scene] = {}
    with tempfile.TemporaryDirectory() as folder:
        while count["kills"] < kills:
            name = algorithms[count["kills"] % len(algorithms)]
            if name not in scenes:
                scenes[name] = scene(Path(folder) / name, name)
            kill_once(scenes[name], source, count)
            count["trainers"] = len(scenes)
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="kills", description=__doc__)
    parser.add_argument("algorithms", nargs="*", metavar="TRAINER", default=list(options.TRAINERS))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="other moments; default: by the clock")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    found = run(given.count, seed, given.algorithms)
    print(", ".join(f"{found[name]} {name}" for name in sorted(found)), f"(seed {seed})")
