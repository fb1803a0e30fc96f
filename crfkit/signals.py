"""Signals that end a program, taken for a while: by commands, and by training runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def taken(wanted: Callable[[Any], bool], handle: Callable[[int, Any], Any]) -> Iterator[None]:
    """Ctrl-C, SIGTERM and the end of the terminal call `handle`, in the main thread, if `wanted` lets their handlers go."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    own = {number: handler for number, handler in before.items() if wanted(handler)}
    for number in own:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in own.items():
            signal.signal(number, handler)


class Ended(KeyboardInterrupt):
    """From another signal than Ctrl-C. Where KeyboardInterrupt itself comes within `exec`, as while dataclasses are made, `python -m` ends by
    SIGINT in the end, whatever exit code was chosen."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def interrupt(number: int) -> NoReturn:
    """End what is being done, since this signal came."""
    raise KeyboardInterrupt if number == signal.SIGINT else Ended(number)
