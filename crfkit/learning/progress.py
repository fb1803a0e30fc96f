"""What a training run tells the user, and how the user stops it.

On a terminal a bar (tqdm), elsewhere a plain line a pass; all of it on standard error.
"""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, TextIO

from crfkit.bars import bar_on
from crfkit.errors import CrfkitWarning, OptionError, in_python, one_line, warn_caller
from crfkit.options import PROGRESS_MODES
from crfkit.signals import interrupt, taken
from crfkit.values import counted, shown

_UNWRITABLE = (OSError, ValueError)  # the latter from a stream that was closed


class StopRequest:
    """Set by a signal, asked by trainers: finish what you are doing and keep what there is.

    The signals are Ctrl-C, SIGTERM, and the end of the terminal. One that is ignored when the program starts, as by
    `nohup` or in the background of a script, stays so. Unless it is `armed` there is nothing to keep, and a signal interrupts at once; so
    does a second signal. `ask` is asked, too, if there is one: once it gives True, that is a request.
    """

    def __init__(self, ask: Callable[[], Any] | None = None) -> None:
        if ask is not None and not callable(ask):
            raise OptionError(f"stop: expected a function that returns True to stop, found {shown(ask)}")
        self.signal: int | None = None
        self._ask, self._asked_for, self.armed = ask, False, False

    def requested(self) -> bool:
        """Whether to stop."""
        if self._ask is not None and not self._asked_for:
            self._asked_for = bool(self._ask())
        return self.signal is not None or self._asked_for

    def on_signals(self) -> AbstractContextManager[None]:
        """Take the signals that end programs."""
        return taken(lambda handler: handler not in (signal.SIG_IGN, None), self._handle)

    def on_ctrl_c(self) -> AbstractContextManager[None]:
        """Take Ctrl-C from Python, unless the program has a handler of its own."""
        return taken(lambda handler: handler is signal.default_int_handler, self._handle)

    def _handle(self, number: int, _frame: Any) -> None:
        again = self.signal is not None
        self.signal = number
        if again or not self.armed:
            interrupt(number)


class Progress:
    """Reports of one run, which goes on where they can no longer be written. `mode`: a bar on a terminal and lines elsewhere (auto), a bar,
    or no bar. What programs put in place of standard error may have nothing but `write`."""

    def __init__(self, mode: str = "auto", quiet: bool = False, stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.closed = getattr(self.stream, "closed", self.stream is None)
        self.quiet = quiet or self.closed
        self.bar_wanted = not self.quiet and (mode == "always" or (mode == "auto" and getattr(self.stream, "isatty", bool)()))
        self.bar: Any = None
        self.warm_up: list[dict[str, Any]] = []  # passes of the preparation, to be reported together

    def note(self, text: str) -> None:
        """One line, unless quiet."""
        if self.quiet:
            return
        with suppress(*_UNWRITABLE):
            if self.bar is not None:
                self.bar.clear()
            print(one_line(text), file=self.stream)
            getattr(self.stream, "flush", bool)()

    def warn(self, text: str | None) -> None:
        """A note that something is not as it should be, if there is anything to say."""
        if text is not None:
            self.note(f"crfkit: warning: {text}")

    def lost(self, text: str) -> None:
        """A warning that a file that was asked for is not written: --quiet does not hide it."""
        quiet, self.quiet = self.quiet, self.closed
        self.warn(text)
        self.quiet = quiet

    def reading(self, tokens: int, sequences: int) -> None:
        """So much more was read."""
        if not self.bar_wanted:
            return
        if self.bar is None:
            self._open(unit=" tokens", unit_scale=True, desc="reading", delay=1)
        self._advance(tokens)

    def _open(self, **options: Any) -> None:
        self.bar = bar_on(self.stream, **options)
        self.bar_wanted = self.bar is not None

    def _advance(self, n: int, line: str = "") -> None:
        if self.bar is not None:
            with suppress(*_UNWRITABLE):
                if line:
                    self.bar.set_postfix_str(line, refresh=False)
                self.bar.update(n)

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            with suppress(*_UNWRITABLE):
                self.bar.close()
            self.bar = None

    def summary(self, counts: dict[str, Any]) -> None:
        """What was read, before training starts."""
        self.close()
        words = ", ".join(counted(counts[f"{noun}s"], noun) for noun in ("sequence", "token", "label", "attribute", "weight"))
        self.note(f"{words}; read in {counts['seconds']:.2f} s")
        if counts["memory"]:
            self.note(f"training will take about {counts['memory'] / 2**20:,.0f} MB of memory")

    def chosen(self, options: dict[str, Any], reasons: Mapping[str, str] | None = None) -> None:
        """What was found for these data where nothing was given, and how: on a sample, if there is no other reason. With all digits: given as
        an option, what is printed makes the same model."""
        for name, value in options.items():
            self.note(f"--{name} {str(value).removesuffix('.0')}, {(reasons or {}).get(name, 'the best one on a sample')}")

    def taken_over(self, n: int, model: Any) -> None:
        """Training starts from so many weights of a model."""
        self.note(f"{n:,} of the {model.header['features']:,} weights of {model.name} are taken over")
        if not n:
            self.warn(f"no feature of {model.name} exists here: training starts from zero")

    def start(self, passes: int, done: int = 0) -> None:
        """Training begins, or goes on after some passes; `passes` at most."""
        self.close()
        if self.warm_up:
            seconds = sum(record["seconds"] for record in self.warm_up)
            self.note(f"warm-up, {len(self.warm_up)} passes  {_pass_line({**self.warm_up[-1], 'seconds': seconds})}")
            self.warm_up = []
        if self.bar_wanted:
            self._open(total=passes, unit="pass", initial=done)

    def prepared(self, record: dict[str, Any]) -> None:
        """One pass of the preparation is done; a record without a loss is of the point where training starts."""
        if "loss" not in record:
            return
        if not self.bar_wanted:
            self.warm_up.append(record)
            return
        if self.bar is None:
            self._open(unit="pass", desc="warming up")
        self._advance(1, _pass_line(record))

    def report(self, record: dict[str, Any]) -> None:
        """One pass is done."""
        line = _pass_line(record)
        self._advance(1, line)
        if self.bar is None or "dev_accuracy" in record:  # which pass was the best shows in all of them
            self.note(f"pass {record['pass']:>4}  {line}")

    def end(self, reason: str | None, stopped: bool, last: dict[str, Any]) -> None:
        """Training is over: it was stopped, there is a `reason`, or all passes are done; `last` is the record of the last one."""
        self.close()
        if "objective" in last:
            self.note(f"objective {last['objective']:,.2f}{certificate(last)}")
        if stopped:
            self.note("stopped; the weights so far are kept")
        elif reason:
            self.note(f"done: {reason}")
        elif "objective" in last:
            self.note("all passes of --max-iter are made: the optimum may lie below")


class Heard(Progress):
    """What a caller from Python hears: warnings, and of each pass what was asked for."""

    def __init__(self, mode: str | None, call: Callable[[dict[str, Any]], Any] | None = None):
        super().__init__(mode or "never", quiet=mode is None)
        self.call = call

    def note(self, text: str) -> None:
        """With options named as arguments."""
        super().note(in_python(text))

    def warn(self, text: str | None) -> None:
        """By the means of Python."""
        if text is not None:
            warn_caller(CrfkitWarning(in_python(text)))

    def report(self, record: dict[str, Any]) -> None:
        super().report(record)
        if self.call is not None:
            self.call(dict(record))


def heard(wanted: Any) -> Progress:
    """What the argument `progress` asks for; OptionError if it is none."""
    if isinstance(wanted, Progress):
        return wanted
    if wanted is None or wanted is False:
        return Heard(None)
    if wanted is True or (isinstance(wanted, str) and wanted in PROGRESS_MODES):
        return Heard("auto" if wanted is True else wanted)
    if not callable(wanted):
        raise OptionError(
            f"progress: expected True, False, {', '.join(PROGRESS_MODES)} or a function that takes a dictionary, found {shown(wanted)}"
        )
    return Heard(None, wanted)


def certificate(record: dict[str, Any]) -> str:
    """How far the objective is from the optimum at most, in words; nothing if little is known. Two digits, rounded up."""
    gap = record.get("gap", math.inf)
    optimum = record["objective"] - gap
    if not gap < optimum:
        return ""
    percent = 100 * max(gap / optimum, 1e-8)
    digits = max(1 - math.floor(math.log10(percent)), 0)
    shown = math.ceil(percent * 10**digits) / 10**digits
    return f", at most {shown:.{digits}f} % above the optimum"


def _pass_line(record: dict[str, Any]) -> str:
    parts = [f"{name.replace('_', ' ')} {record[name]:.2f}" for name in ("objective", "loss", "crf_loss") if name in record]
    if "train_accuracy" in record:
        parts.append(f"train accuracy {100 * record['train_accuracy']:.2f}%")
    if "dev_accuracy" in record:
        parts.append(
            f"dev accuracy {100 * record['dev_accuracy']:.2f}%"
            + (f"  F1 {100 * record['dev_f1']:.2f}" if "dev_f1" in record else "")
        )
    parts.append(f"{record['seconds']:.2f} s")
    return "  ".join(parts)
