"""Every exception that bad input can raise. The message is one line and says what to do.

Messages are written for the command line, where options are `--min-freq N`. Who calls from Python reads `min_freq=N`.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MOST = 5000  # characters of a message: the longest path, and what is said of it

# What is quoted stays as it is, and so do commands and options of Wapiti.
_OPTION = (
    r"(?<!\w)(['\"]).*?\1(?!\w)|crfkit [a-z]+ --"
    r"|(?<![\w\"'./-])--(?!(?:type|me)\b)([a-zA-Z][\w-]*)(?: (?:(\d+)(?![\w.,])|(all|columns|conllu|crfsuite|observed)\b))?"
)


def in_python(message: str) -> str:
    """A message with the options in it named as arguments; what is quoted stays as it is."""

    def argument(found: re.Match[str]) -> str:
        _, name, number, word = found.groups()
        if name is None:
            return found[0]
        return name.replace("-", "_") + (f"={number}" if number else f"={word!r}" if word else "")

    return re.sub(_OPTION, argument, message)


def one_line(text: str) -> str:
    """A text without line ends and other characters that steer a terminal: names of files and labels may hold any."""
    if text.isprintable():  # a regular expression takes memory, which may be what is missing
        return text
    return re.sub("[\x00-\x08\n-\x1f\x7f-\x9f\u2028\u2029]", lambda found: repr(found[0])[1:-1], text)


class CrfkitError(Exception):
    """Base of all of crfkit's own exceptions."""

    def __str__(self) -> str:
        message, start = self.message, self._start()
        return message[:start] + in_python(message[start:])

    def _start(self) -> int:
        """Where the message itself begins, behind the path of a file."""
        found = re.match(r"(?:(?!: ).)*/.*?: ", self.message)
        return found.end() if found else 0

    @property
    def message(self) -> str:
        """What the command line prints. Of a long one, which quotes a line or a list of any length, the middle is left out."""
        text = one_line(super().__str__())
        return text if len(text) <= MOST else f"{text[: MOST // 2]} ... {text[-MOST // 2 :]}"


class CrfkitWarning(UserWarning):
    """A warning of crfkit in Python, such as weights that are all zero, too large values, or constraints of another scheme."""


def warn_caller(warning: CrfkitWarning) -> None:
    """By the means of Python, at the line outside crfkit that asked for something."""
    level, frame, own = 1, sys._getframe(), os.path.join(os.path.dirname(__file__), "")
    while frame is not None and frame.f_code.co_filename.startswith(own):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(warning, stacklevel=level)


@contextmanager
def warnings_taken() -> Iterator[list[str]]:
    """A list, which at the end has what crfkit warned of inside by the means of Python."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", CrfkitWarning)
        yield told
    told += [str(warning.message) for warning in heard if issubclass(warning.category, CrfkitWarning)]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while `learn` was training. `model` has the weights as they stood."""

    def __init__(self, model: Any):
        self.model = model
        super().__init__("training was interrupted; the model so far is in the attribute `model`")


class DataError(CrfkitError, ValueError):
    """A data file does not have the expected form."""

    def __init__(self, message: str, path: str | None = None, line: int | None = None):
        self.reason, self.path, self.line = message, path, line
        super().__init__(self._where() + message)

    def _where(self) -> str:
        return "" if self.path is None else f"{self.path}: " if self.line is None else f"{self.path}:{self.line}: "

    def _start(self) -> int:
        return len(one_line(self._where()))

    def __reduce__(self):
        return type(self), (self.reason, self.path, self.line)


class TemplateError(DataError):
    """A template cannot be read, or does not fit the data."""


class OptionError(CrfkitError, ValueError):
    """An option is unknown, out of range, or not used by the chosen algorithm."""


def refuse(*faults: tuple[Any, str]) -> None:
    """OptionError with the message of the first of these that is a fault, if one is."""
    for found, message in faults:
        if found:
            raise OptionError(message)


class ModelFileError(CrfkitError, ValueError):
    """A model file is damaged, foreign, or of a newer version."""

    def _start(self) -> int:
        return self.message.rfind(": ") + 1


class FileError(CrfkitError, OSError):
    """A file cannot be opened, read or written."""

    _start = ModelFileError._start


class MissingFileError(FileError, FileNotFoundError):
    """A file to read is not there."""

    errno = errno.ENOENT


def unreadable(message: str, error: OSError) -> FileError:
    """The error of a file that the system did not open."""
    return (MissingFileError if isinstance(error, FileNotFoundError) else FileError)(message)


class TrainingError(CrfkitError, ArithmeticError):
    """Training cannot go on: the numbers diverged or the data allow no solution."""


class ImpossibleError(TrainingError):
    """No sequence of labels has a finite score."""


class UnsupportedError(CrfkitError, ValueError):
    """The model cannot answer this kind of question."""


class NotFittedError(UnsupportedError, AttributeError):
    """An estimator was asked before it had a model. Where scikit-learn is loaded, it is also scikit-learn's NotFittedError."""

    def __reduce__(self):
        return not_fitted, self.args


def not_fitted(*arguments: str) -> NotFittedError:
    """The error. Who catches scikit-learn's has loaded it: crfkit need not."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    return (NotFittedError if theirs is None else type("NotFittedError", (NotFittedError, theirs), {}))(*arguments)
