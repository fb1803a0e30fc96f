"""The log of a training run: one JSON object a line and a pass."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from crfkit.errors import FileError


class PassLog:
    """A log that is written, anew or after the first `keep` bytes of what is there."""

    def __init__(self, path: str | os.PathLike[str], keep: int = 0):
        self.path = os.fspath(path)
        going_on = keep > 0 and os.path.isfile(self.path)
        try:
            self.file = open(self.path, "r+b" if going_on else "wb")  # noqa: SIM115 (closed by __exit__)
            if going_on:
                size = self.file.seek(0, os.SEEK_END)
                if size < keep:
                    raise FileError(
                        f"{self.path}: the log has {size} bytes, at the checkpoint it had {keep}; give another name to --log"
                    )
                self.file.truncate(keep)
                self.file.seek(keep)
        except FileError:
            self.file.close()
            raise
        except OSError as error:
            raise FileError(f"{self.path}: the log cannot be written: {error.strerror}") from None

    def __enter__(self) -> PassLog:
        return self

    def __exit__(self, *_: Any) -> None:
        with suppress(OSError):  # what could not be written was told then
            self.file.close()

    def write(self, record: dict[str, Any]) -> None:
        """One pass. FileError if it cannot be written."""
        try:
            self.file.write(json.dumps(record).encode() + b"\n")
            self.file.flush()
        except OSError as error:
            raise FileError(f"{self.path}: the log cannot be written: {error.strerror}") from None

    def synced(self) -> int:
        """How many bytes there are, all of them on disk; 0 for a pipe or a device."""
        with suppress(OSError):
            os.fsync(self.file.fileno())
            return os.fstat(self.file.fileno()).st_size
        return 0
