"""The loops compiled by other compilers and for another processor, outside of any Python: the same bits everywhere.

cross/driver.c runs every loop and prints hashes of what they leave behind. The native build by cc, without an instruction set
of its own, says what is right; test_variants.py and the tests of the lattice say that this is right indeed.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "cross"
SIMD = Path(__file__).parents[2] / "crfkit/loops/simd"
FLAGS = ["-std=gnu11", "-O3", "-ffp-contract=off", "-Wno-psabi", f"-I{SIMD}"]
SYSROOT = Path("/usr/aarch64-linux-gnu")

pytestmark = [pytest.mark.long, pytest.mark.skipif(not (SIMD / "kernels.inc").exists(), reason="needs the sources of the loops")]


def tool(*names):
    for name in names:
        if shutil.which(name) is None:
            pytest.skip(f"needs {name}")
    return names[0]


def build(folder, compiler, *flags):
    program = folder / "driver"
    sources = [HERE / "driver.c", *sorted(SIMD.glob("*.c"))]
    subprocess.run([compiler, *FLAGS, *flags, *sources, "-o", program], check=True)
    return program


def lines(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 2:
        pytest.skip(f"{command[-1]}: {done.stdout.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def assert_same(found, expected):
    different = [line for line, other in zip(found, expected, strict=True) if line != other]
    assert not different, f"{len(different)} of {len(expected)} differ, the first is {different[0]}"


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    return build(tmp_path_factory.mktemp("native"), tool("cc"))


@pytest.fixture(scope="module")
def expected(native):
    return lines(native, "base")


@pytest.fixture(scope="module")
def aarch64():
    """How programs for aarch64 are run here."""
    if platform.machine() in ("aarch64", "arm64"):
        pytest.skip("this is aarch64")
    emulator = tool("qemu-aarch64", "aarch64-linux-gnu-gcc")
    return [emulator, "-L", SYSROOT]


def test_the_driver_calls_every_loop():
    table = set(re.findall(r"\(\*(\w+)\)\(", (SIMD / "crf.h").read_text()))
    assert len(table) > 30
    calls = "".join((HERE / name).read_text() for name in ("driver.c", "vectors.h"))
    assert set(re.findall(r"K->(\w+)\(", calls)) == table


@pytest.mark.parametrize("variant", ["avx2", "avx512"])
def test_instruction_sets(native, expected, variant):
    assert_same(lines(native, variant), expected)


@pytest.mark.parametrize("variant", ["base", "avx2", "avx512"])
def test_clang_gives_the_same_bits(tmp_path, expected, variant):
    assert_same(lines(build(tmp_path, tool("clang")), variant), expected)


def test_aarch64_gives_the_same_bits(tmp_path, expected, aarch64):
    assert_same(lines(*aarch64, build(tmp_path, "aarch64-linux-gnu-gcc"), "base"), expected)


def test_fused_products_and_sums_are_noticed(tmp_path, expected, aarch64):
    """What -ffp-contract=off is for; and that the driver can tell."""
    fused = lines(*aarch64, build(tmp_path, "aarch64-linux-gnu-gcc", "-ffp-contract=fast"), "base")
    assert len(fused) == len(expected)
    assert fused != expected
