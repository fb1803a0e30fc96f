"""Where the bytes of a model come from: what is left of open files, which stay as they are."""

import array
import gzip
import io
import mmap
import os
from contextlib import closing

import pytest
from commands import memory_told, plain_build, python

from crfkit.modelbytes import held


class Slow(io.FileIO):
    def readinto(self, room):
        return super().readinto(memoryview(room)[:7])


class Growing(io.FileIO):
    """A byte is added before anything is read."""

    def readinto(self, room):
        with open(self.name, "ab") as file:
            file.write(b"!")
        return super().readinto(room)


class Shrinking(io.FileIO):
    """All but two bytes are lost before anything is read."""

    def readinto(self, room):
        os.truncate(self.name, 2)
        return super().readinto(room)


@pytest.mark.parametrize(
    ("opened", "expected"),
    [(open, b"0123456789"), (Slow, b"0123456789"), (Growing, b"0123456789!"), (Shrinking, b"01"), (gzip.open, b"0" * 10_000)],
)
def test_what_is_left_of_an_open_file(opened, expected, tmp_path):
    path = tmp_path / "file"
    for start in (0, 1, len(expected)):
        path.write_bytes(gzip.compress(b"0" * 10_000) if opened is gzip.open else b"0123456789")
        with opened(path, "rb") as file:
            file.seek(start)
            assert held(file) == (str(path), expected[start:])


class Deciphering(io.BufferedReader):
    """What is on the disk is not what is read."""

    def read(self, size=-1):
        return super().read(size).swapcase()


class Wrapped:
    """The same without being a class of Python's."""

    def __init__(self, file):
        self.file = file

    def read(self, size=-1):
        return self.file.read(size).swapcase()

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.mark.parametrize("wrapped", [lambda path: Deciphering(io.FileIO(path)), lambda path: Wrapped(io.FileIO(path))])
def test_files_are_read_by_their_own_read(wrapped, tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    with closing(wrapped(tmp_path / "file")) as file:
        assert held(file).data == b"ABC"


class Alone:
    """An object that only has the method `read`; `more` are further attributes."""

    def __init__(self, data, **more):
        self.read = io.BytesIO(data).read
        vars(self).update(more)


def test_files_without_a_place_on_the_disk(tmp_path):
    """They lack what would tell it, or have no number, or, as pipes, no place."""
    (tmp_path / "other").write_bytes(b"0123456789")
    with open(tmp_path / "other", "rb") as other:
        for file in (Alone(b"abc"), Alone(b"abc", fileno=other.fileno), Alone(b"abc", fileno=lambda: None, tell=int), io.BytesIO(b"abc")):
            assert held(file).data == b"abc"
    end, begin = os.pipe()
    with open(end, "rb") as file:
        os.write(begin, b"abc")
        os.close(begin)
        assert held(file).data == b"abc"


def test_nobody_changes_what_is_held(tmp_path):
    """Neither with what it was read from nor by what is held itself."""
    (tmp_path / "file").write_bytes(b"abc")
    changed = bytearray(b"abc")
    with open(tmp_path / "file", "rb") as file, mmap.mmap(-1, 3) as mapped:
        mapped[:] = b"abc"
        kept = [held(source) for source in (tmp_path / "file", file, mapped, changed, memoryview(changed)[::-1], array.array("H", b"abcd"))]
        mapped[:] = changed[:] = b"xyz"
    assert [bytes(each.data) for each in kept] == [b"abc", b"abc", b"abc", b"abc", b"cba", b"abcd"]
    assert all(each.data.readonly and each.data.contiguous and held(each) is each for each in kept)


@plain_build
@memory_told
def test_a_file_is_not_in_memory_twice(tmp_path):
    program = """
import resource, sys
from crfkit.modelbytes import held
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 100_000_000, resource.getrlimit(resource.RLIMIT_AS)[1]))
with open(sys.argv[1], "rb") as file:
    print(len(held(file).data))
"""
    with open(tmp_path / "large", "wb") as file:
        file.truncate(80_000_000)
    assert python(program, tmp_path / "large").stdout == "80000000\n"


@plain_build
@memory_told
@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no endless device")
def test_an_endless_file_does_not_fill_the_memory():
    program = """
import resource
from crfkit.decode.constraints import from_file
from crfkit.errors import DataError
from crfkit.modelbytes import held
from crfkit.text.opening import contents
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 500_000_000, resource.getrlimit(resource.RLIMIT_AS)[1]))
with open("/dev/zero", "rb") as file:
    print(set(contents("/dev/zero")[0]), set(held("/dev/zero").data), set(held(file).data), set(contents(file)[0]))
try:
    from_file("/dev/zero", ["A", "B"])
except DataError as error:
    print(error)
"""
    refused = "/dev/zero:1: found 1 label, expected two: the second may follow the first"
    assert python(program).stdout == f"{{0}} {{0}} {{0}} {{0}}\n{refused}\n"
