"""Writing model files: they appear whole or not at all, whatever happens, and the old one is safe until then."""

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import models
import pytest
from commands import crfkit as run
from liars import Sips

import crfkit
from crfkit import modelfile, replacing
from crfkit.errors import FileError, OptionError, UnsupportedError


@pytest.fixture
def model(tmp_path):
    """A folder that holds an old model and nothing else."""
    path = tmp_path / "model"
    modelfile.write(path, {"model": "old"}, {"w": b"old"})
    return path


def assert_only(path, which):
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert modelfile.read(path).header == {"model": which}


def test_replacing_keeps_the_old_one_readable_through_its_mapping(model):
    old = modelfile.read(model)
    view = old.section("w", "uint8")
    modelfile.write(model, {"model": "new"}, {"w": b"new"})
    assert bytes(view) == b"old"
    assert bytes(modelfile.read(model).section("w", "uint8")) == b"new"
    assert_only(model, "new")


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs a list of mappings")
def test_a_path_is_mapped_and_unmapped(model):
    def is_mapped():
        return str(model) in Path("/proc/self/maps").read_text()

    opened = modelfile.read(model)
    assert is_mapped()
    view = opened.section("w", "uint8")
    del opened
    assert is_mapped()
    del view
    assert not is_mapped()


@pytest.mark.parametrize("exception", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_failures_keep_the_old_model(model, monkeypatch, function, exception):
    def fail(*_):
        raise exception

    monkeypatch.setattr(os, function, fail)
    with pytest.raises((KeyboardInterrupt, FileError)) as caught:
        modelfile.write(model, {"model": "new"}, {})
    if isinstance(exception, OSError):
        assert str(caught.value) == f"{model}: cannot be written: No space left on device"
    assert_only(model, "old")


def test_a_full_disk_keeps_the_old_model(model):
    script = f"""
import resource
from crfkit import errors, modelfile
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    modelfile.write({str(model)!r}, {{"model": "new"}}, {{"w": bytes(200_000)}})
except errors.FileError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{model}: cannot be written: File too large\n"
    assert done.stderr == ""
    assert_only(model, "old")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
def test_devices_are_written_to_and_not_replaced():
    replacing.check_writable("/dev/null")
    modelfile.write("/dev/null", {}, {"w": b"abc"})
    with pytest.raises(FileError, match="/dev/full: cannot be written: No space left on device"):
        modelfile.write("/dev/full", {}, {"w": b"abc"})
    assert not os.path.isfile("/dev/null")
    assert not os.path.isfile("/dev/full")


WRITER = """
import sys
from crfkit import modelfile
print("ready", flush=True)
while True:
    for which in "old", "new":
        modelfile.write(sys.argv[1], {"model": which}, {"w": which.encode() * 500_000})
"""


@pytest.mark.steady
def test_killed_while_writing(model):
    """Whenever the writer dies, one of the two models is there, whole."""
    for kill in range(6):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, model], stdout=subprocess.PIPE)
        with writer:
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(0.006 * kill)
            writer.send_signal(signal.SIGKILL)
        read = modelfile.read(model)
        which = read.header["model"]
        assert which in ("old", "new")
        assert set(bytes(read.section("w", "uint8"))) == set(which.encode())
    replacing.check_writable(model)
    modelfile.write(model, {"model": "last"}, {})  # whatever was left behind is in nobody's way
    assert modelfile.read(model).header == {"model": "last"}


@pytest.mark.steady
def test_concurrent_writers_and_readers(model):
    faults = []
    started = threading.Barrier(4)

    def write_often(number):
        started.wait()
        for _ in range(30):
            modelfile.write(model, {"model": number}, {"w": bytes([number]) * 20_000})

    def read_often():
        started.wait()
        for _ in range(200):
            read = modelfile.read(model)
            if len(set(bytes(read.section("w", "uint8")))) > 1 and read.header["model"] != "old":
                faults.append(read.header)

    threads = [threading.Thread(target=write_often, args=(number,)) for number in range(3)]
    threads.append(threading.Thread(target=read_often))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert_only(model, modelfile.read(model).header["model"])


def test_symbolic_links_are_kept(tmp_path):
    (tmp_path / "models").mkdir()
    real, link = tmp_path / "models" / "real", tmp_path / "link"
    link.symlink_to(os.path.join("models", "real"))
    for which in "first", "second":  # the link dangles before the first
        replacing.check_writable(link)
        modelfile.write(link, {"model": which}, {})
        assert link.is_symlink()
        assert_only(real, which)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_mode_follows_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        modelfile.write(tmp_path / "model", {}, {})
    finally:
        os.umask(before)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o666 & ~umask


def unwritable_places(folder):
    """Paths no model can be written to, with what the message says; `folder` holds the file `model`."""
    (folder / "circle").symlink_to("circle")
    (folder / "astray").symlink_to(os.path.join("nowhere", "m"))
    return [
        ("", "the path to write to is empty; give the name of a file"),
        (f"{folder}", "names a folder; give the name of a file to write"),
        (f"{folder}/new/", "names a folder"),
        (
            f"{folder}/absent/m",
            f"no usable folder {folder}/absent: No such file or directory; create it first",
        ),
        (
            f"{folder}/astray",
            f"no usable folder {folder}/nowhere: No such file or directory; create it first",
        ),
        (f"{folder}/model/m", f"no usable folder {folder}/model: Not a directory; create it first"),
        (f"{folder}/circle", "a symbolic link that leads to itself"),
        (f"{folder}/{'n' * 300}", "File name too long"),
        (f"{folder}/nul\0byte", "not a file name"),
    ]


@pytest.mark.parametrize("function", [replacing.check_writable, lambda path: modelfile.write(path, {}, {})])
def test_places_that_cannot_be_written(model, function):
    for path, message in unwritable_places(model.parent):
        with pytest.raises(FileError) as caught:
            function(path)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
    assert sorted(entry.name for entry in model.parent.iterdir()) == ["astray", "circle", "model"]


def test_check_writable_leaves_no_trace(model):
    replacing.check_writable(model)
    replacing.check_writable(model.parent / "other")
    assert_only(model, "old")


def test_write_protection_is_respected(model):
    model.chmod(0o444)
    model.parent.chmod(0o555)
    try:
        if os.access(model, os.W_OK):
            pytest.skip("the superuser may write anywhere")
        with pytest.raises(FileError, match="is write-protected"):
            replacing.check_writable(model)
        with pytest.raises(FileError, match=r"cannot create a file in .*: Permission denied; choose another"):
            replacing.check_writable(model.parent / "other")
    finally:
        model.parent.chmod(0o755)


def test_leftovers_of_killed_processes_are_removed(model):
    """A file that is being written stays, and so does what is not ours."""
    folder = model.parent
    stale, strange = folder / ".crfkit-0123456789abcdef.tmp", folder / ".crfkit-mine.tmp"
    stale.write_bytes(b"half a model")
    strange.write_bytes(b"something else")
    with replacing.replacing(folder / "new") as file:
        file.write(b"being written")
        (writing,) = (entry for entry in folder.glob(".crfkit-*.tmp") if entry not in (stale, strange))
        replacing.check_writable(model)
        assert sorted(folder.glob(".crfkit-*.tmp")) == sorted([writing, strange])
    assert (folder / "new").read_bytes() == b"being written"
    strange.unlink()


def test_folders_that_come_and_go_leave_nothing(tmp_path):
    """A service that trains for ever, in temporary folders, must not remember all of them."""
    for number in range(300):
        (tmp_path / str(number)).mkdir()
        with replacing.replacing(tmp_path / str(number) / "model"):
            pass
    assert replacing._seen_to.cache_info().currsize < 300


@pytest.mark.parametrize("how", ["learn", "tag", "convert"])
def test_every_command_removes_leftovers(tmp_path, how):
    Path("train").write_text("a X\nb Y\n\n")
    Path("template").write_text("U:%x[0,0]\n")
    run("learn", "-q", "template", "train", "model")
    stale = tmp_path / "out" / ".crfkit-0123456789abcdef.tmp"
    stale.parent.mkdir()
    stale.write_bytes(b"half a file")
    run(*{
        "learn": ("learn", "-q", "template", "train", "out/new"),
        "tag": ("tag", "-o", "out/new", "model", "train"),
        "convert": ("convert", "model", "out/new"),
    }[how])  # fmt: skip
    assert [path.name for path in stale.parent.iterdir()] == ["new"]


def test_a_new_file_that_was_taken_for_a_leftover(model, monkeypatch):
    """Between its creation and its lock: then another one is made."""
    locked, removed = replacing._locked, []

    def late(file):
        if not removed:
            removed.append(file.name)
            replacing.remove_leftovers(str(model.parent))
            assert not os.path.exists(file.name)
        return locked(file)

    monkeypatch.setattr(replacing, "_locked", late)
    modelfile.write(model, {"model": "new"}, {})
    assert removed
    assert_only(model, "new")


def test_paths_that_are_empty(tmp_path):
    for task in (lambda: crfkit.load(""), lambda: crfkit.load("", verify=False), lambda: crfkit.learn("", "U:%x[0,0]")):
        with pytest.raises(FileError, match=r"^the path to read from is empty; give the name of a file$"):
            task()


# Files that are open


def test_into_and_from_open_files(tmp_path):
    trained = crfkit.learn([[["a", "X"], ["b", "Y"]]], template=crfkit.Template.parse("U:%x[0,0]"), max_iter=2)
    held = io.BytesIO()
    assert trained.save(held) == len(trained.to_bytes())
    assert held.getvalue() == trained.to_bytes()
    trained.save(os.fsencode(tmp_path / "m"))
    assert (tmp_path / "m").read_bytes() == trained.to_bytes()
    held.seek(0)
    assert crfkit.load(held).model.to_bytes() == trained.to_bytes()
    with open(tmp_path / "m", "rb") as file:
        assert crfkit.load(file).model.name == str(tmp_path / "m")
    with pytest.raises(FileError, match="open as text: open it in binary mode"):
        trained.save(io.StringIO())
    with pytest.raises(FileError, match="open as text: open it in binary mode"):
        crfkit.load(io.StringIO("x"))
    with open(tmp_path / "m", encoding="utf-8") as file, pytest.raises(FileError, match="m: the file is open as text: open it in binary mode"):
        crfkit.load(file)
    with open(tmp_path / "m", "rb") as file, pytest.raises(FileError, match="m: cannot be written: the file is open for something else"):
        trained.save(file)
    with open(tmp_path / "other", "wb") as file, pytest.raises(FileError, match="other: cannot be read: the file is open for something else"):
        crfkit.load(file)
    held.close()
    with pytest.raises(FileError, match="closed file"):
        trained.save(held)
    for path in (None, 3, ["m"]):
        with pytest.raises(OptionError, match="expected a path or an open file"):
            trained.save(path)


def test_dumps_into_files_that_are_not_for_writing(tmp_path):
    trained = crfkit.learn([[["a", "X"], ["b", "Y"]]], template="U:%x[0,0]", max_iter=2)
    (tmp_path / "m").write_text("")
    for mode in ("r", "rb"):
        with open(tmp_path / "m", mode) as file, pytest.raises(FileError, match="m: cannot be written: the file is open for something else"):
            trained.dump(file)
    with open(tmp_path / "m", "w") as file:
        pass
    with pytest.raises(FileError, match="closed file"):
        trained.dump(file)


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_names_that_no_file_can_have(name):
    trained = crfkit.learn([[["a", "X"], ["b", "Y"]]], template="U:%x[0,0]", max_iter=2)
    for write in (trained.save, trained.dump):
        with pytest.raises(FileError, match=f"^{re.escape(repr(name))}: not a file name$"):
            write(name)
    for option in ("checkpoint", "log"):
        with pytest.raises(FileError, match="not a file name"):
            crfkit.learn([[["a", "X"], ["b", "Y"]]], template="U:%x[0,0]", max_iter=2, **{option: name})


def test_what_no_model_has_room_for_is_refused_before_training():
    passes = []
    rows = [[["a", "X"], ["b", "Y" * modelfile.MAX_HEADER]]]
    with pytest.raises(UnsupportedError, match=r"^a model has room for 16,711,680 bytes of labels, .* is the last column the label"):
        crfkit.learn(rows, template="U:%x[0,0]", max_iter=2, progress=passes.append)
    assert not passes


def test_what_is_reserved_for_the_table_of_sections_is_enough():
    """Of models of any kind, and of those that are told of many options."""
    for kind in ("chunking", "reals"):
        for trainer in ("lbfgs", "lookahead"):
            saved = modelfile.read(models.model(kind, trainer).to_bytes())
            table = [section._asdict() for section in saved.sections.values()]
            assert len(modelfile.canonical.dumps(table)) < modelfile.MAX_TABLE / 8


class Plain:
    """An object that can be written to, and no more."""

    def __init__(self):
        self.held = b""

    def write(self, data):
        if isinstance(data, str):
            raise TypeError("bytes")
        self.held += data


def test_files_that_take_a_part_of_what_is_written():
    trained = crfkit.learn([[["a", "X"], ["b", "Y"]]], template="U:%x[0,0]", max_iter=2)
    wanted = {trained.save: trained.to_bytes(), trained.dump: trained.dump().encode()}
    for write, expected in wanted.items():
        for file in (Sips(7), Plain()):
            write(file)
            assert file.held == expected
        with pytest.raises(FileError, match="cannot be written: takes no bytes yet: open it in blocking mode"):
            write(Sips(7, len(expected) // 2))


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_a_disk_that_is_full_at_the_last_bytes(tmp_path):
    """The system takes what there is room for, and says so by a number alone."""
    trained = crfkit.learn([[["a", "X"], ["b", "Y"]]], template="U:%x[0,0]", max_iter=2)
    trained.save(tmp_path / "m")
    program = f"""
import crfkit, resource
model = crfkit.load({str(tmp_path / "m")!r}).model
size = len(model.to_bytes()) - 1
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
with open({str(tmp_path / "other")!r}, "wb", buffering=0) as file:
    model.save(file)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1 and "FileError" in done.stderr and "cannot be written: File too large" in done.stderr


def test_a_model_saved_into_its_own_file_that_was_just_emptied(tmp_path):
    """What is mapped is gone then, and would end the program when it is looked at."""
    trained = crfkit.learn([[["a", "X"], ["b", "Y"]]], template="U:%x[0,0]", max_iter=2)
    trained.save(tmp_path / "m")
    program = f"""
import crfkit
model = crfkit.load({str(tmp_path / "m")!r}).model
model.save({str(tmp_path / "m")!r})
model = crfkit.load({str(tmp_path / "m")!r}).model
with open({str(tmp_path / "m")!r}, "wb") as file:
    model.save(file)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1 and "FileError: the file of the model was emptied or cut short while it was in use" in done.stderr
