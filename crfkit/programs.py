"""Where each program begins. While its modules are imported, Ctrl-C ends it at once and without a word: nothing has been done yet."""

from __future__ import annotations

import signal
from importlib import import_module


def _run(module: str) -> None:
    """Call `main` of a module."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    main = import_module(module).main
    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main()


def crfkit() -> None:
    """crfkit."""
    _run("crfkit.cli")


def crf_learn() -> None:
    """crfkit-crf-learn."""
    _run("crfkit.compat.crfpp.crf_learn")


def crf_test() -> None:
    """crfkit-crf-test."""
    _run("crfkit.compat.crfpp.crf_test")


def crfsuite() -> None:
    """crfkit-crfsuite."""
    _run("crfkit.compat.crfsuite")


def wapiti() -> None:
    """crfkit-wapiti."""
    _run("crfkit.compat.wapiti.commands")
