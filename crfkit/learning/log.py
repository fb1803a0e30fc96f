"""The log of a training run: one JSON object a line and a pass."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager, suppress
from typing import Any

from crfkit.errors import FileError
from crfkit.replacing import direct, write_all
from crfkit.values import name_of


class PassLog(AbstractContextManager):
    """A log: a new file, or an existing one after its first `keep` bytes; or an open file, which stays open."""

    def __init__(self, target: Any, keep: int = 0):
        self.given = target if hasattr(target, "write") else None
        if self.given is not None:
            self.path, self.file = name_of(target, "<log>"), self.given
            return
        self.path = target
        going_on = keep > 0 and os.path.isfile(self.path)
        try:
            place = self.path if going_on else direct(self.path)
            self.file = open(place, "r+b" if going_on else "wb", closefd=place == self.path)  # noqa: SIM115 (closed by __exit__)
            if going_on:
                size = self.file.seek(0, os.SEEK_END)
                if size < keep:
                    raise FileError(
                        f"{self.path}: the log has {size} bytes, at the checkpoint it had {keep}; give another name to --log"
                    )
                self.file.seek(keep - 1)
                if self.file.read(1) != b"\n":
                    raise FileError(f"{self.path}: is not the log of this run: no record ends where that one ended; give another name to --log")
                os.ftruncate(self.file.fileno(), keep)  # unlike the method of files, it goes on when it is interrupted
                self.file.seek(keep)
        except FileError:
            self.file.close()
            raise
        except OSError as error:
            raise FileError(f"{self.path}: the log cannot be written: {error.strerror}") from None

    def __exit__(self, *_: Any) -> None:
        with suppress(OSError):  # write errors have been reported already
            if self.given is None:
                self.file.close()

    def write(self, record: dict[str, Any]) -> None:
        """Write the record of one pass. FileError if it cannot be written."""
        line = json.dumps(record) + "\n"
        try:
            if hasattr(self.file, "encoding"):
                self.file.write(line)
            else:
                write_all(self.file, line.encode())
            if hasattr(self.file, "flush"):
                self.file.flush()
        except (OSError, TypeError, ValueError) as error:  # the last two: not open any more, or no such file
            raise FileError(f"{self.path}: the log cannot be written: {getattr(error, 'strerror', None) or error}") from None

    def synced(self) -> int:
        """How many bytes there are, on disk if the system can put them there; 0 for a pipe, a device, or an open file."""
        if self.given is not None:
            return 0
        # What may be lost in a power cut is written all the same: with a size of 0 --resume would remove it.
        with suppress(OSError):
            os.fsync(self.file.fileno())
        with suppress(OSError):
            return os.fstat(self.file.fileno()).st_size
        return 0
