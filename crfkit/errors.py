"""Every exception that bad input can raise. The message is one line and says what to do."""

from __future__ import annotations


class CrfkitError(Exception):
    """Base of all of crfkit's own exceptions."""


class DataError(CrfkitError, ValueError):
    """A data file does not have the expected form."""

    def __init__(self, message: str, path: str | None = None, line: int | None = None):
        self.reason, self.path, self.line = message, path, line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)

    def __reduce__(self):
        return type(self), (self.reason, self.path, self.line)


class TemplateError(DataError):
    """A template cannot be read, or does not fit the data."""


class OptionError(CrfkitError, ValueError):
    """An option is unknown, out of range, or of no use to the chosen algorithm."""


class ModelFileError(CrfkitError, ValueError):
    """A model file is damaged, foreign, or of a newer version."""


class FileError(CrfkitError, OSError):
    """A file cannot be opened, read or written."""


class TrainingError(CrfkitError, ArithmeticError):
    """Training cannot go on: the numbers diverged or the data allow no solution."""


class ImpossibleError(TrainingError):
    """No sequence of labels has a finite score."""


class UnsupportedError(CrfkitError, ValueError):
    """The model cannot answer this kind of question."""
