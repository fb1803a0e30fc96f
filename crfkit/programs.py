"""Where each program begins. Where its commands do not take Ctrl-C (cli/common.py), as while modules are imported, it ends the program
at once and without a word: nothing is being done."""

from __future__ import annotations

import signal
from importlib import import_module


def _run(module: str) -> None:
    """Call `main` of a module."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import_module(module).main()


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
