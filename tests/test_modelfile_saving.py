"""Writing model files: they appear whole or not at all, whatever happens, and the old one is safe until then."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from functools import partial

import pytest
from commands import crfkit as run
from commands import full_device, write
from test_together import together

import crfkit
from crfkit import modelfile, replacing
from crfkit.errors import FileError


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
    view = old.contents()["w"]
    modelfile.write(model, {"model": "new"}, {"w": b"new"})
    assert bytes(view) == b"old"
    assert bytes(modelfile.read(model).contents()["w"]) == b"new"
    assert_only(model, "new")


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


def test_what_takes_the_place_of_the_old_model_is_on_the_disk(model, monkeypatch):
    """All of it: after a power cut, the name may lead to the new file already. And the folder, once the name leads there."""
    sync, synced = os.fsync, []

    def fsync(number):
        found = os.fstat(number)
        synced.append(("folder" if stat.S_ISDIR(found.st_mode) else found.st_size, modelfile.read(model).header["model"]))
        sync(number)

    monkeypatch.setattr(os, "fsync", fsync)
    size = modelfile.write(model, {"model": "new"}, {"w": b"new"})
    assert synced == [(size, "old"), ("folder", "new")]


@full_device
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
    for kill in range(4):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, model], stdout=subprocess.PIPE)
        with writer:
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(0.01 * kill)
            writer.send_signal(signal.SIGKILL)
        read = modelfile.read(model)
        which = read.header["model"]
        assert which in ("old", "new")
        assert set(bytes(read.contents()["w"])) == set(which.encode())
    replacing.check_writable(model)
    modelfile.write(model, {"model": "last"}, {})  # whatever was left behind is in nobody's way
    assert modelfile.read(model).header == {"model": "last"}


@pytest.mark.steady
def test_concurrent_writers_and_readers(model):
    faults = []

    def write_often(number):
        for _ in range(30):
            modelfile.write(model, {"model": number}, {"w": bytes([number]) * 20_000})

    def read_often():
        for _ in range(200):
            read = modelfile.read(model)
            if len(set(bytes(read.contents()["w"]))) > 1 and read.header["model"] != "old":
                faults.append(read.header)

    together(*(partial(write_often, number) for number in range(3)), read_often)
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


@pytest.mark.parametrize("reason", [errno.EBUSY, errno.EPERM])
@pytest.mark.parametrize("size", [0, 1 << 22])
def test_what_cannot_be_replaced_is_overwritten(model, monkeypatch, reason, size):
    """A file that is mounted into a container, or another user's in a folder like /tmp."""

    def refuse(*_):
        raise OSError(reason, os.strerror(reason))

    modelfile.write(model, {"model": "old"}, {"w": bytes(1 << 20)})
    number, synced = os.stat(model).st_ino, []
    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((os.fstat(file).st_ino, os.fstat(file).st_size)))
    assert modelfile.write(model, {"model": "new"}, {"w": bytes(size)}) == os.stat(model).st_size
    assert os.stat(model).st_ino == number and (number, os.stat(model).st_size) in synced
    assert_only(model, "new")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("free", [True, False])
def test_owner_group_and_mode_are_kept(model, monkeypatch, free):
    """Or the group alone, where the owner is another user."""
    def fchown(file, owner, group, fchown=os.fchown):
        if not free and owner >= 0:
            raise PermissionError
        fchown(file, owner, group)

    monkeypatch.setattr(os, "fchown", fchown)
    os.chown(model, 1234, 5678)
    os.chmod(model, 0o640)
    modelfile.write(model, {"model": "new"}, {})
    found = os.stat(model)
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234 if free else 0, 5678, 0o640)


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
        (f"{folder}/{'n' * 300}", os.strerror(errno.ENAMETOOLONG)),
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


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="no folder in which not even the superuser can create a file")
def test_a_folder_that_takes_no_files_is_found_before_training():
    with pytest.raises(FileError, match=r"^/proc/self/model: cannot create a file in /proc/[0-9]+: .*; choose another place or change its permissions$"):
        replacing.check_writable("/proc/self/model")


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


def test_ctrl_c_while_a_temporary_file_is_being_removed(tmp_path):
    """Python hears of it when it calls the next function that is written in Python: here, of another module."""

    def pressed(frame, event, _):
        if frame.f_code.co_filename != replacing.__file__:
            raise KeyboardInterrupt

    writing = replacing.replacing.__wrapped__(tmp_path / "model")
    next(writing).write(b"half")
    before = sys.gettrace()
    sys.settrace(pressed)
    try:
        writing.throw(ValueError("the other half is missing"))
    except (ValueError, KeyboardInterrupt):
        pass
    finally:
        sys.settrace(before)
    assert os.listdir(tmp_path) == []


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
    write(train="a X\nb Y\n\n", template="U:%x[0,0]\n")
    run("learn", "-q", "template", "train", "model")
    stale = tmp_path / "out" / ".crfkit-0123456789abcdef.tmp"
    stale.parent.mkdir()
    stale.write_bytes(b"half a file")
    run(*{
        "learn": ("learn", "-q", "template", "train", "out/new"),
        "tag": ("tag", "-o", "out/new", "model", "train"),
        "convert": ("convert", "model", "out/new"),
    }[how])
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


def test_a_whole_file_is_not_taken_for_a_leftover(model, monkeypatch):
    """Another process looks for leftovers at the last moment, just before the file gets its name."""
    replace = os.replace

    def late(temporary, target):
        replacing.remove_leftovers(str(model.parent))
        replace(temporary, target)

    monkeypatch.setattr(os, "replace", late)
    modelfile.write(model, {"model": "new"}, {})
    assert_only(model, "new")


def test_paths_that_are_empty():
    for task in (lambda: crfkit.load(""), lambda: crfkit.load("", verify=False), lambda: crfkit.learn("", "U:%x[0,0]")):
        with pytest.raises(FileError, match=r"^the path to read from is empty; give the name of a file$"):
            task()
