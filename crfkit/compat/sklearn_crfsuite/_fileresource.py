"""The file of a model, for programs that copy it or train into it; and what pickles of sklearn-crfsuite keep a model in."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from pathlib import Path
from typing import Any

__all__ = ["FileResource"]

_DATA = "__FILE_RESOURCE_DATA__"  # its name in pickles


class FileResource:
    """Where a model is stored: at the user's path, or in memory until `name` is read. Then it is written to a
    temporary file, which is deleted with the estimator unless `keep_tempfiles` is set."""

    def __init__(self, filename: str | None = None, keep_tempfiles: bool = False, suffix: str = "", prefix: str = "", content: bytes | None = None):
        self.auto = filename is None
        self.keep_tempfiles, self.suffix, self.prefix = keep_tempfiles, suffix, prefix
        self._path, self._content = filename, content
        self._deletion: weakref.finalize[[str], FileResource] | None = None
        self._fd: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """As sklearn-crfsuite pickles it: with the bytes of a temporary file, or the name of the user's own."""
        kept = {name: getattr(self, name) for name in ("auto", "keep_tempfiles", "suffix", "prefix")}
        return {**kept, "name": None if self.auto else self._path, _DATA: self.content}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was pickled here, or by sklearn-crfsuite: it has no bytes of a model in the user's own file."""
        self.__init__(state["name"], content=state.get(_DATA))  # type: ignore[misc]
        vars(self).update({name: value for name, value in state.items() if name in ("auto", "keep_tempfiles", "suffix", "prefix")})

    @property
    def name(self) -> str | None:
        """The path; None if there is no model yet."""
        if self._content is not None:
            self.ensure_name()
        return self._path

    @property
    def content(self) -> bytes | None:
        """The bytes of the model, which a program may have trained into the temporary file; None if there is none, or in the user's own file."""
        if self.auto and self._path is not None:
            with contextlib.suppress(OSError):
                return Path(self._path).read_bytes() or None
        return self._content

    @property
    def fd(self) -> int:
        """The descriptor of the temporary file, for the caller to close. The file then stays, as with sklearn-crfsuite."""
        if not self.auto or self.name is None:
            raise AttributeError("only a temporary file has a descriptor")
        if self._fd is None:
            self._fd = os.open(self.name, os.O_RDWR)
            if self._deletion is not None:
                self._deletion.detach()
        return self._fd

    def ensure_name(self) -> None:
        """Write the file now: an empty one if there is no model yet."""
        if self._path is not None:
            return
        handle, self._path = tempfile.mkstemp(self.suffix, self.prefix)
        with open(handle, "wb") as file:
            file.write(self._content or b"")
        if not self.keep_tempfiles:
            self._deletion = weakref.finalize(self, _delete, self._path)

    def cleanup(self) -> None:
        """Delete the temporary file. The model stays in memory, and reading `name` writes it again."""
        if self._deletion is not None:
            self._content = self.content
            self._deletion()
            self._path = self._deletion = self._fd = None

    def refresh(self) -> None:
        """Write a temporary file anew, under another name."""
        self.cleanup()
        self.ensure_name()


def _delete(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
