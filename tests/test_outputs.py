"""Outputs that no file replaces: open files by their names, and what does not block."""

import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from commands import named_pipes

from crfkit import replacing
from crfkit.errors import FileError, OptionError
from crfkit.learning.log import PassLog


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="open files have no names")
def test_an_open_file_keeps_what_it_has(tmp_path):
    """By its name, as /dev/stdout with `>>`: opened once more it would begin anew, and another one would take its place."""
    with open(tmp_path / "out", "wb", buffering=0) as file:
        name = f"/dev/fd/{file.fileno()}"
        file.write(b"first ")
        replacing.check_writable(name)
        with replacing.replacing(name) as target:
            target.write(b"second ")
        with PassLog(name) as log:
            log.write({})
        file.write(b"third")
    assert (tmp_path / "out").read_bytes() == b"first second {}\nthird" and [*tmp_path.iterdir()] == [tmp_path / "out"]
    with pytest.raises(FileError, match=f"^{name}: cannot create a file in "):  # any more
        replacing.check_writable(name)


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_standard_output_by_its_name(tmp_path, name):
    with open(tmp_path / "out", "wb") as file:
        for text in ("one", "two"):
            program = f"from crfkit.replacing import *\nwith replacing('/dev/{name}') as file: file.write(b'{text}')"
            subprocess.run([sys.executable, "-c", program], **{name: file}, check=True)
    assert (tmp_path / "out").read_bytes() == b"onetwo"


@named_pipes
def test_a_pipe_is_not_opened_before_there_is_something_to_write():
    """Its reader would take that for the end."""
    os.mkfifo("pipe")
    reader, ended = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK), select.poll()
    ended.register(reader, select.POLLIN)
    try:
        replacing.check_writable("pipe")
        assert ended.poll(0) == []
    finally:
        os.close(reader)


def test_a_second_name_of_a_file_that_is_read():
    Path("data").touch()
    os.link("data", "twin")
    with pytest.raises(OptionError, match="output: twin has another use here"):
        replacing.refuse_overwriting("--output", ["data"], "twin")


@pytest.mark.skipif(not hasattr(select, "poll"), reason="elsewhere it is an error")
@pytest.mark.parametrize("buffering", [-1, 0])
def test_an_output_that_does_not_block_is_waited_for(buffering):
    """Its reader begins when it is full."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    room = os.write(writing, bytes(1 << 24))
    data, found = bytes(range(251)) * 4000, []

    def read():
        with open(reading, "rb") as file:
            found.append(file.read())

    thread = threading.Thread(target=read)
    try:
        with open(writing, "wb", buffering=buffering) as file:
            thread.start()
            replacing.write_all(file, data)
            replacing.write_all(file, b"end")
            replacing.flush_all(file)
    finally:
        thread.join()
    assert found == [bytes(room) + data + b"end"]
