"""What all commands share: one line for an error, the exit codes, and options that several commands have."""

from __future__ import annotations

import errno
import io
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, BinaryIO, TextIO

import click

from crfkit.errors import CrfkitError, FileError, OptionError, one_line
from crfkit.replacing import flush_all, replacing, write_texts
from crfkit.signals import Ended, interrupt, taken
from crfkit.values import LARGEST

DEBUG = "crfkit.debug"

HELP_FLAGS = {"help_option_names": ["-h", "--help"]}  # context settings of every command
PATH = click.Path(readable=False)  # the name of a file. Whether it can be read is seen when it is opened: that is no error of usage


class Integer(click.IntRange):
    """A whole number within limits, else of 31 bits. Errors call it an integer: click's own are about an "integer range"."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        return found if self.max is not None or found <= LARGEST else self.fail(f"{value} is larger than {LARGEST}.", param, ctx)


def _set_debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[DEBUG] = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_set_debug,
    help="On an error, print the Python traceback too.",
)


class Hinting(click.Command):
    """A command that knows what other programs call its options: `elsewhere` is what to say to those who give one of these."""

    def __init__(self, *args: Any, elsewhere: Callable[[str], str | None], **settings: Any):
        super().__init__(*args, **settings)
        self.elsewhere = elsewhere

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = self.elsewhere(error.option_name)
            if hint is None:
                raise
            raise click.UsageError(f"No such option '{error.option_name}'; {hint}", ctx) from None


class Text(click.ParamType):
    """A text that is compared with data or written between columns: it must be UTF-8, as they are."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return value.encode(errors="surrogateescape").decode()  # what a locale without UTF-8 escaped, too
        except (UnicodeEncodeError, UnicodeDecodeError) as error:
            self.fail(f"expected UTF-8, found {error.object!r}", param, ctx)


def offer(names: Callable[[], Iterable[str]], files: bool = False) -> Callable[..., list[Any]]:
    """What a shell completes a value to: one of the names, or a file if it begins like none of them."""

    def offered(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [name for name in names() if name.startswith(begun)] or [CompletionItem(begun, type="file")] * files

    return offered


@contextmanager
def usage_errors(ctx: click.Context) -> Iterator[None]:
    """An OptionError inside becomes a usage error of the command."""
    try:
        yield
    except OptionError as error:
        raise click.UsageError(error.message, ctx) from None


def is_given(ctx: click.Context, name: str) -> bool:
    """Whether an option was written on the command line."""
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def note(message: str) -> None:
    """Tell the user something on standard error. If that is closed, the work goes on."""
    with suppress(OSError):
        click.echo(f"crfkit: {one_line(message)}", err=True)


def write_output(text: str | Iterable[bytes]) -> None:
    """Write text to standard output: a str as UTF-8, whatever the locale, with what is not UTF-8 in a file name escaped as on standard error."""
    with standard_output() as stream:
        write_texts(stream, [text.encode(errors="backslashreplace")] if isinstance(text, str) else text)


def refuse_dash(what: str, output: str | None) -> None:
    """OptionError if the file to write is `-`, which means standard input elsewhere."""
    if output == "-":
        raise OptionError(f"{what}: expected the name of a file, found -, which stands for standard input or output")


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output for bytes; what cannot be written is a FileError."""
    if sys.stdout is None:
        raise FileError("standard output is closed")
    try:
        getattr(sys.stdout, "flush", bool)()  # programs may have put something there that has only `write`
        stream: Any = getattr(sys.stdout, "buffer", None) or _AsText()
        yield stream
        flush_all(stream)
    except (BrokenPipeError, FileError):
        raise
    except OSError as error:
        raise FileError(f"standard output: cannot be written: {error.strerror or error}") from error


class _AsText(io.RawIOBase):
    """Whole lines in bytes, for a standard output that takes text alone, as in notebooks."""

    def write(self, data: Any) -> int:
        """All of it."""
        sys.stdout.write(bytes(data).decode(errors="replace"))
        return len(data)


def opened(output: str | None) -> AbstractContextManager[BinaryIO]:
    """What to write to: the file of this name, which appears when all is written, or standard output for None and -."""
    return standard_output() if output in (None, "-") else replacing(output)


def is_live(source: str) -> bool:
    """Whether the sender may wait for the answer to a sentence before sending the next one."""
    try:
        return source == "-" and sys.stdin is not None and not stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):  # closed, or none of the system's
        return False


@contextmanager
def errors_as_lines(ctx: click.Context) -> Iterator[None]:
    """Turn what goes wrong inside into one line on standard error and an exit code.

    0: the reader of our output went away; 1: any error; 128 and the number of the signal that ended it, 130 for Ctrl-C. Usage
    errors are left to click, which ends with 2.
    """
    try:
        # as Ctrl-C does, so that no half-written files are left behind
        with taken(lambda handler: handler is signal.SIG_DFL, lambda number, _: interrupt(number)):
            yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except BrokenPipeError:
        _abandon(sys.stdout)
        raise click.exceptions.Exit(0) from None
    except (KeyboardInterrupt, Exception) as error:
        if ctx.meta.get(DEBUG):
            import traceback

            traceback.print_exc()
        interruption = _interruption(error)
        if interruption is not None:
            raise click.exceptions.Exit(128 + (interruption.number if isinstance(interruption, Ended) else signal.SIGINT)) from None
        note(f"error: {_describe(error)}")
        _abandon(sys.stdout)
        raise click.exceptions.Exit(1) from None
    finally:
        _abandon(sys.stderr)


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """What it comes from, if that is a signal: an import or the making of a class that is interrupted may end in another error."""
    if error is None or isinstance(error, KeyboardInterrupt):
        return error
    return _interruption(error.__cause__ or error.__context__)


class ErrorsAsLines:
    """Mixin for click's commands: errors are printed as one line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with errors_as_lines(ctx):  # --help and --version write
            return super().parse_args(ctx, args)  # type: ignore[misc]

    def invoke(self, ctx: click.Context) -> Any:
        with errors_as_lines(ctx):
            return super().invoke(ctx)  # type: ignore[misc]


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _describe(error: BaseException) -> str:
    """One line that says what happened, for our own errors and for those of Python."""
    if isinstance(error, CrfkitError):
        return error.message
    if isinstance(error, MemoryError):
        return f"out of memory: {error}" if str(error) else "out of memory"
    if isinstance(error, ImportError) and "failed to map segment" in str(error):  # numpy's text around it has 30 lines
        return "out of memory: there is none for a compiled module"
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        return "the system has no room for another thread: lower --threads, or --workers"
    if isinstance(error, OSError) and error.strerror:
        # Python does not say where it printed to; files are named where they are written.
        name = error.filename or ("the output" if error.errno in _NO_ROOM else None)
        return f"{name}: {error.strerror}" if name else error.strerror
    return f"unexpected {type(error).__name__}: {error} (--debug shows where)".replace("\n", " ")


def _abandon(stream: TextIO | None) -> None:
    """Let what is still buffered for standard output or error go nowhere if its reader is gone or its disk is full.

    Without this the interpreter tries again when it exits, complains, and ends with another code.
    """
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
