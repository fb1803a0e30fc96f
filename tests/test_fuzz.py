"""A short run of every fuzz target, everything that fuzzing ever found, and a test of the driver itself."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fuzz.__main__ import FINDS, generated
from fuzz.targets import TARGETS, attempt

TESTS = Path(__file__).parent
INPUTS = int(os.environ.get("CRFKIT_FUZZ_INPUTS", "8"))


def target_of(find):
    """The name of a find is TARGET-CHECKSUM."""
    return find.name.rpartition("-")[0]


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_runs(name):
    for number in range(INPUTS):
        assert attempt(name, generated(name, 0, number)) is None, f"input {number}"


@pytest.mark.parametrize("find", sorted(FINDS.iterdir()), ids=lambda find: find.name)
def test_earlier_finds_are_mended(find):
    assert attempt(target_of(find), find.read_bytes()) is None


def python(*arguments):
    """Python as a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(TESTS)])}
    return subprocess.Popen([sys.executable, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start(*arguments):
    """The driver as a process of its own."""
    return python("-m", "fuzz", "--seed", "1", *arguments)


def test_the_folder_goes_without_a_warning():
    process = python("-W", "always::ResourceWarning", "-c", "from fuzz.targets import scratch; print(scratch('a', b'text'))")
    path, said = process.communicate()
    assert (process.returncode, said) == (0, "") and path.endswith("a\n") and not Path(path.strip()).parent.exists()


# How many inputs are tried, and what is said of the faulty ones.
FAULTS = {
    "exception": (12, "KeyError: 'planted'"),
    "crash": (6, "Fatal Python error: Segmentation fault"),
    "memory": (60, " KB of memory for 1 bytes"),
    "loop": (6, "hangs: it is busy for more than --longest seconds"),
    "wait": (2, "hangs: it waits for more than --idle seconds"),
}
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in ("memory", "wait")]


@pytest.fixture
def folders(tmp_path):
    folders = [tmp_path / "finds", tmp_path / "scratch"]
    for folder in folders:
        folder.mkdir()
    return folders


@pytest.mark.long
@pytest.mark.parametrize("name", ["exception", "crash", "loop", *SLOW])
def test_the_driver_finds_faults_and_goes_on(name, folders):
    """Every faulty input is found, and no other. Workers that die leave nothing behind."""
    inputs, words = FAULTS[name]
    limits = {"loop": ("--longest", "0.2"), "wait": ("--idle", "5")}.get(name, ())
    finds, scratch = folders
    with start("--inputs", inputs, *limits, "--finds", finds, "--scratch", scratch, f"faulty-{name}") as driver:
        output, said = driver.communicate()
    assert driver.returncode == 1, said
    found = [int(line.split()[2]) for line in output.splitlines() if "saved as" in line]
    assert found == [number for number in range(inputs) if generated(f"faulty-{name}", 1, number)[0] % 4 == 0] != []
    assert output.count(words) == len(found)
    assert {find.read_bytes() for find in finds.iterdir()} == {generated(f"faulty-{name}", 1, number) for number in found}
    assert not list(scratch.iterdir())


def test_the_driver_says_what_it_tried(folders):
    finds, scratch = folders
    with start("--inputs", 20, "--finds", finds, "--scratch", scratch, "constraints") as driver:
        output, said = driver.communicate()
    assert driver.returncode == 0, output + said
    assert output == f"{'constraints':<18} {20:>10} inputs  0 faults  (seed 1)\n"
    assert not [*finds.iterdir(), *scratch.iterdir()]


@pytest.mark.steady
def test_a_driver_that_is_ended_leaves_nothing(folders):
    finds, scratch = folders
    with start("--finds", finds, "--scratch", scratch, "faulty-wait") as driver:
        while driver.poll() is None and not list(scratch.glob("*/state")):
            time.sleep(0.002)
        driver.terminate()
    assert driver.returncode == 1
    assert not list(scratch.iterdir())
