"""Files that take the place of others: whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import select
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, BinaryIO

from .errors import CrfkitError, FileError, OptionError
from .values import name_of, shown


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise FileError unless a model can be written to this path: to be called before hours of training."""
    target = _target(path)
    if not is_device(target):
        remove_leftovers(os.path.dirname(target))
        with suppress(_OnlyATest), replacing(path):
            raise _OnlyATest


def refuse_overwriting(what: str, others: Iterable[str | None], *outputs: str | None) -> None:
    """OptionError if a file that is to be written, there already or not, is one of the others of this command or call. An output `-` is
    standard output: `tag MODEL FILE >> FILE` would read what it writes, without end. Among the others `-` is standard input."""
    written = {output: "/dev/stdout" if output == "-" else output for output in outputs if output}
    written = {output: path for output, path in written.items() if os.path.isfile(path) or not os.path.exists(path)}  # a device loses nothing
    kept = {mark for other in others if written and other is not None for mark in _marks("/dev/stdin" if other == "-" else other)}
    for output, path in written.items():
        if not kept.isdisjoint(_marks(path)):
            raise OptionError("standard output is one of the files that are read here" if output == "-" else
                              f"{what}: {output} has another use here and would be overwritten")


def _marks(path: str) -> Iterator[Any]:
    """What two names of one file have in common: its number, and the path behind links, which it has before it is there."""
    with suppress(OSError, ValueError):  # not there, or no name of a file
        found = os.stat(path)
        yield found.st_dev, found.st_ino
    with suppress(OSError, ValueError):  # no current folder
        yield os.path.realpath(path)


class _OnlyATest(Exception):
    """Ends the writing of a file that is not to be."""


def _target(path: str | bytes | os.PathLike[Any]) -> str:
    """The path to write to, behind symbolic links; FileError says what is in the way."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise OptionError(f"found {shown(path)}, expected a path or an open file")
    name = os.fsdecode(path)
    if not _nameable(name):
        raise FileError(f"{shown(name)}: not a file name")
    if not name:
        raise FileError("the path to write to is empty; give the name of a file")
    if not os.path.basename(name) or os.path.isdir(name):
        raise FileError(f"{name}: names a folder; give the name of a file to write")
    if is_device(name):
        return name
    try:
        target = os.path.realpath(name)
    except OSError as error:  # the current folder is gone
        raise FileError(f"{name}: cannot be written: {reason_of(error)}") from error
    folder = os.path.dirname(target)
    try:
        os.stat(os.path.join(folder, ""))  # the separator at the end makes a file in its place an error
    except OSError as error:
        raise FileError(f"{name}: no usable folder {folder}: {reason_of(error)}; create it first") from error
    try:
        os.lstat(target)
    except FileNotFoundError:
        return target
    except OSError as error:
        raise FileError(f"{name}: cannot be written: {reason_of(error)}") from error
    if os.path.islink(target):
        raise FileError(f"{name}: a symbolic link that leads to itself")
    if not os.access(target, os.W_OK):
        raise FileError(f"{name}: is write-protected; choose another name or change its permissions")
    return target


def _nameable(name: str) -> bool:
    """Whether the system can have a file of this name."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def is_device(path: str) -> bool:
    """Whether this is /dev/null, a pipe, an open file or the like: written to directly, never replaced by a file."""
    return os.path.exists(path) and (not os.path.isfile(path) or isinstance(direct(path), int))


def direct(path: str) -> str | int:
    """What to open to write to a path directly. If that is a name of an open file of this process, its number: opened once more, it would
    lose what others have written, as with `>>`."""
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d{1,9})", {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}.get(path, path), re.ASCII)
    return path if found is None else int(found[1])


@contextmanager
def replacing(path: str | bytes | os.PathLike[Any]) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when all is written; until then, and on any failure, what was
    there stays. A device is written to directly. FileError if it cannot be created or written."""
    target = _target(path)
    try:
        if is_device(target):
            place = direct(target)
            with open(place, "wb", closefd=place == target) as file:
                yield file
        else:
            yield from _replacing(path, target)
    except (FileError, BrokenPipeError):  # a pipe without a reader is not a fault
        raise
    except OSError as error:
        raise FileError(f"{os.fsdecode(path)}: cannot be written: {reason_of(error)}") from error


def _locked(file: BinaryIO) -> bool:
    """Whether this process now holds the lock of a file, for as long as it is open; True where there are no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def remove_leftovers(folder: str) -> None:
    """Remove the temporary files of killed processes: nobody holds their lock any more."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if re.fullmatch(r"\.crfkit-[0-9a-f]{16}\.tmp", entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), open(entry.path, "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)


# Where this process has not written lately: of many files in a folder only the first pays.
_seen_to = lru_cache(256)(remove_leftovers)


def _created(temporary: str) -> BinaryIO | None:
    """A new temporary file; None where someone took it for a leftover before it was locked."""
    file = open(temporary, "xb")  # noqa: SIM115 (the caller closes it)
    if _locked(file) and os.path.lexists(temporary):
        return file
    file.close()
    return None


def _keep_access(target: str, file: BinaryIO) -> None:
    """Give the new file the owner, the group and the permissions of the file that it replaces, as far as this user may."""
    with suppress(OSError):  # nothing is replaced, or the file system has no such modes
        kept = os.stat(target)
        try:
            os.fchown(file.fileno(), kept.st_uid, kept.st_gid)
        except OSError:  # another user's file; its group may be one of this user's
            with suppress(OSError):
                os.fchown(file.fileno(), -1, kept.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(kept.st_mode))


def _take_the_place(temporary: str, target: str) -> None:
    """Put a finished file in the place of another one. Where the system keeps that one, as it does if it is mounted into a container or
    another user's in a folder like /tmp, it takes the bytes."""
    try:
        os.replace(temporary, target)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EPERM):
            raise
        from shutil import copyfileobj

        with open(temporary, "rb") as whole, open(target, "r+b") as file:
            copyfileobj(whole, file, 1 << 20)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        os.unlink(temporary)


def _replacing(path: str | bytes | os.PathLike[Any], target: str) -> Iterator[BinaryIO]:
    _seen_to(os.path.dirname(target))
    temporary, file = "", None
    try:
        try:
            while file is None:
                # A name nobody else has, in the folder of the target so that it can be renamed.
                temporary = os.path.join(os.path.dirname(target), f".crfkit-{os.urandom(8).hex()}.tmp")
                file = _created(temporary)
        except OSError as error:
            raise FileError(
                f"{os.fsdecode(path)}: cannot create a file in {os.path.dirname(target)}: {reason_of(error)};"
                " choose another place or change its permissions"
            ) from error
        with file:
            _keep_access(target, file)
            yield file
            file.flush()
            os.fsync(file.fileno())
            _take_the_place(temporary, target)  # while its lock is held: without it, another process takes it for a leftover
    except BaseException:  # Ctrl-C too must leave nothing behind, and may come only now: Python hears of it in the next function of its own
        try:  # noqa: SIM105 (which has such functions)
            os.unlink(temporary)
        except OSError:
            pass
        raise
    # The new file is in its place. A folder that cannot be synchronised means that a power cut in the next seconds brings the old one back.
    with suppress(OSError):
        folder = os.open(os.path.dirname(target), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def written_to(file: Any) -> Iterator[Any]:
    """The name of an open file; FileError if it turns out not to be for writing, or not to be open any more."""
    name = name_of(file, "<stream>")
    try:
        yield name
    except CrfkitError:
        raise
    except (OSError, ValueError) as error:
        raise FileError(f"{name}: cannot be written: {refusal(error)}") from error


@contextmanager
def empty_folders_removed(path: str | None) -> Iterator[None]:
    """Folders of this path that are missing may be made inside; those that are empty in the end are removed."""
    missing = []
    while path and not os.path.exists(path):
        missing.append(path)
        path = os.path.dirname(path)
    try:
        yield
    finally:
        for folder in missing:
            with suppress(OSError, ValueError):  # something is in it, it was never made, or it is no name of a folder
                os.rmdir(folder)


def write_all(stream: Any, data: bytes | memoryview) -> None:
    """Write all bytes: a file without a buffer may take a part of them only, as standard output with PYTHONUNBUFFERED is one. One that does
    not block, as programs with an event loop leave theirs behind, is waited for."""
    rest = memoryview(data)
    while rest:
        try:
            taken = stream.write(rest)
        except BlockingIOError as error:  # from a buffer
            _wait_for_room(stream)
            rest = rest[error.characters_written :]
            continue
        if taken is None:  # an object of the caller's own that has taken all, or a file that has no room yet
            if not isinstance(stream, io.RawIOBase):
                return
            _wait_for_room(stream)
            continue
        if taken <= 0:
            raise OSError("takes no more bytes")
        rest = rest[taken:]


def write_texts(stream: Any, texts: Iterable[bytes], at_once: bool = False) -> None:
    """Write what comes; at once if the other end may wait for it before it sends what comes next."""
    for text in texts:
        write_all(stream, text)
        if at_once:
            flush_all(stream)


def flush_all(stream: Any) -> None:
    """Flush, in the same way."""
    while True:
        try:
            return stream.flush()
        except BlockingIOError:
            _wait_for_room(stream)


def _wait_for_room(stream: Any) -> None:
    try:
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLOUT)
    except (AttributeError, OSError):  # no file of the system's, or another system
        raise BlockingIOError("takes no bytes yet: open it in blocking mode") from None
    while not poll.poll(500):
        pass


def refusal(error: OSError | ValueError) -> str:
    """Why an open file cannot be used. Python names only the method that it has not."""
    if isinstance(error, io.UnsupportedOperation):
        return "the file is open for something else"
    return reason_of(error) if isinstance(error, OSError) else str(error)


def reason_of(error: OSError) -> str:
    """Why the system refused, in its words."""
    return error.strerror or str(error)
