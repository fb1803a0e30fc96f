"""The exceptions of training, with CRFsuite's codes."""

from __future__ import annotations

from typing import Any, ClassVar

from crfkit.errors import CrfkitError, DataError

UNKNOWN, INCOMPATIBLE, OVERFLOW = -(2**31), -(2**31) + 3, -(2**31) + 5


class CRFSuiteError(CrfkitError):
    """Training has failed; `code` is CRFsuite's error code, the message gives the details."""

    _messages: ClassVar = {
        UNKNOWN: "Unknown error occurred",
        UNKNOWN + 1: "Insufficient memory",
        UNKNOWN + 2: "Unsupported operation",
        INCOMPATIBLE: "Incompatible data",
        UNKNOWN + 4: "Internal error",
        OVERFLOW: "Overflow",
        UNKNOWN + 6: "Not implemented",
    }

    def __init__(self, code: int, message: str | None = None):
        self.code = code
        super().__init__(self._messages.get(code, "Unexpected error") if message is None else message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message)


class BadInput(CRFSuiteError, ValueError):
    """Data or parameters are at fault."""


class NotWritten(CRFSuiteError, OSError):
    """The model cannot be written."""


class NoSequence(DataError, TypeError):
    """What was appended is not a labelled sequence of items; python-crfsuite raises TypeError, too."""


def as_crfsuite_error(error: CrfkitError) -> CRFSuiteError:
    """Convert crfkit's error to python-crfsuite's; a ValueError or an OSError stays one."""
    if isinstance(error, OSError):
        return NotWritten(UNKNOWN, str(error))
    return BadInput(INCOMPATIBLE, str(error)) if isinstance(error, ValueError) else CRFSuiteError(OVERFLOW, str(error))
