"""A short run of every fuzz target, everything that fuzzing ever found, and a test of the driver itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.__main__ import FINDS, generated
from fuzz.targets import TARGETS, attempt

TESTS = Path(__file__).parent
INPUTS = int(os.environ.get("CRFKIT_FUZZ_INPUTS", "150"))


def target_of(find):
    """The name of a find is TARGET-CHECKSUM."""
    return find.name.rpartition("-")[0]


@pytest.mark.parametrize("name", TARGETS)
def test_target(name):
    for number in range(INPUTS):
        error = attempt(name, generated(name, 0, number))
        assert error is None, f"input {number}"


@pytest.mark.parametrize("find", sorted(FINDS.iterdir()), ids=lambda find: find.name)
def test_finds(find):
    error = attempt(target_of(find), find.read_bytes())
    assert error is None


def driver(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(TESTS)])}
    return subprocess.run([sys.executable, "-m", "fuzz", *arguments], env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["exception", "crash", "memory", "hang"])
def test_the_driver_finds_faults_and_goes_on(name, tmp_path):
    done = driver("--seconds", "4", "--seed", "1", "--longest", "1.5", "--finds", str(tmp_path), f"faulty-{name}")
    assert done.returncode == 1, done.stderr
    words = {"exception": "KeyError: 'planted'", "crash": "Segmentation fault", "memory": " KB of memory for 1 bytes", "hang": "more than 1.5 s"}
    assert words[name] in done.stdout
    finds = list(tmp_path.iterdir())
    assert finds and all(find.read_bytes()[0] % 4 == 0 for find in finds)
    if name in ("exception", "crash"):
        assert len(finds) > 1


def test_the_driver_says_what_it_tried(tmp_path):
    done = driver("--seconds", "1", "--seed", "1", "--finds", str(tmp_path), "constraints")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("constraints ") and " 0 faults  (seed 1)" in done.stdout
    assert not list(tmp_path.iterdir())
