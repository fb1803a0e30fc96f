"""Where each program begins. Where its commands do not take Ctrl-C (cli/common.py), as while modules are imported, it ends the program
at once and without a word: nothing is being done."""

from __future__ import annotations

import gc
import os
import signal
import sys
from functools import partial
from importlib import import_module


def _run(module: str) -> None:
    gc.set_threshold(100_000)  # more than what a command imports: none of that is garbage
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stderr is None:  # closed: click would say on standard output what is wrong with the options
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        program = import_module(module)
    except Exception as error:  # there is no memory for it, or no such processor as CRFKIT_SIMD says
        sys.exit(f"crfkit: error: {' '.join(str(error).split()) or type(error).__name__}")
    try:
        program.main()
    finally:
        gc.freeze()  # the process ends sooner if nobody searches all that was imported for garbage


crfkit = partial(_run, "crfkit.cli")
crf_learn = partial(_run, "crfkit.compat.crfpp.crf_learn")
crf_test = partial(_run, "crfkit.compat.crfpp.crf_test")
crfsuite = partial(_run, "crfkit.compat.crfsuite")
wapiti = partial(_run, "crfkit.compat.wapiti.commands")
