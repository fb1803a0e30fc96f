"""The loops compiled by other compilers and for other processors, outside of any Python: the same bits everywhere.

cross/driver.c runs every loop and prints hashes of what they leave behind. The native build by cc, without an instruction set
of its own, says what is right; test_variants.py and the tests of the lattice say that this is right indeed.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "cross"
SIMD = Path(__file__).parents[2] / "crfkit/loops/simd"
FLAGS = ["-std=gnu11", "-O3", "-ffp-contract=off", "-Wno-psabi", f"-I{SIMD}"]
# Target of the compiler -> emulator and flags. setup.py gives those of i686, too.
PROCESSORS = {
    "aarch64-linux-gnu": ("qemu-aarch64",),
    "arm-linux-gnueabihf": ("qemu-arm",),
    "i686-linux-gnu": ("qemu-i386", "-msse2", "-mfpmath=sse"),
    "powerpc64le-linux-gnu": ("qemu-ppc64le",),
    "riscv64-linux-gnu": ("qemu-riscv64",),
}

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


def emulated(folder, target, *flags):
    emulator, *own = PROCESSORS[target]
    tool(emulator, f"{target}-gcc")
    return lines(emulator, build(folder, f"{target}-gcc", "-static", *own, *flags), "base")


def test_the_driver_calls_every_loop():
    table = set(re.findall(r"\(\*(\w+)\)\(", (SIMD / "kernels.h").read_text()))
    assert len(table) > 30
    calls = "".join((HERE / name).read_text() for name in ("driver.c", "vectors.h"))
    assert set(re.findall(r"K->(\w+)\(", calls)) == table


@pytest.mark.parametrize("variant", ["avx2", "avx512"])
def test_instruction_sets(native, expected, variant):
    assert_same(lines(native, variant), expected)


@pytest.mark.parametrize("variant", ["base", "avx2", "avx512"])
def test_clang_gives_the_same_bits(tmp_path, expected, variant):
    assert_same(lines(build(tmp_path, tool("clang")), variant), expected)


@pytest.mark.parametrize("target", PROCESSORS)
def test_other_processors_give_the_same_bits(tmp_path, expected, target):
    assert_same(emulated(tmp_path, target), expected)


@pytest.mark.parametrize(("target", "flags"), [("aarch64-linux-gnu", "-ffp-contract=fast"), ("i686-linux-gnu", "-mfpmath=387")])
def test_what_the_flags_are_for(tmp_path, expected, target, flags):
    """Products and sums that are fused, and numbers with more digits than they have; and that the driver can tell."""
    found = emulated(tmp_path, target, flags)
    assert len(found) == len(expected)
    assert found != expected
