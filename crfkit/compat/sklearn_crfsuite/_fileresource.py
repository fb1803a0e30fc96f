"""The file of a model, for programs that copy it; and what pickles of sklearn-crfsuite keep a model in."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from typing import Any

__all__ = ["FileResource"]


class FileResource:
    """Where a model is stored: at the user's path, or in memory until `name` is read. Then it is written to a
    temporary file, which is deleted with the estimator unless `keep_tempfiles` is set."""

    def __init__(self, path: str | None = None, content: bytes | None = None, keep_tempfiles: bool = False):
        self.auto = path is None
        self.keep_tempfiles = keep_tempfiles
        self._path, self.content = path, content
        self._deletion: weakref.finalize[[str], FileResource] | None = None
        self._fd: int | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was pickled here, or by sklearn-crfsuite: it has no bytes of a model in the user's own file."""
        vars(self).update({"content": state.get("__FILE_RESOURCE_DATA__"), **state})

    @property
    def name(self) -> str | None:
        """The path; None if there is no model yet."""
        if self._path is None and self.content is not None:
            handle, self._path = tempfile.mkstemp(".crfsuite", "model")
            with open(handle, "wb") as file:
                file.write(self.content)
            if not self.keep_tempfiles:
                self._deletion = weakref.finalize(self, _delete, self._path)
        return self._path

    @property
    def fd(self) -> int:
        """The descriptor of the temporary file, for the caller to close. The file then stays: sklearn-crfsuite does not delete it
        either, once its descriptor is closed."""
        if not self.auto or self.name is None:
            raise AttributeError("only a temporary file has a descriptor")
        if self._fd is None:
            self._fd = os.open(self.name, os.O_RDWR)
            if self._deletion is not None:
                self._deletion.detach()
        return self._fd

    def ensure_name(self) -> None:
        """Write the file now."""
        _ = self.name

    def cleanup(self) -> None:
        """Delete the temporary file. The model stays in memory, and reading `name` writes it again."""
        if self._deletion is not None:
            self._deletion()
            self._path = self._deletion = self._fd = None

    def refresh(self) -> None:
        """Write a temporary file anew, under another name."""
        self.cleanup()
        self.ensure_name()


def _delete(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
