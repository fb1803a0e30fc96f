"""Wapiti itself, where libwapiti is installed: the whole program is in it."""

import importlib.util

import pytest
from commands import python

_PROGRAM = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
words = [b"wapiti", *(word.encode() for word in sys.argv[2:])]
code = library.main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))
ctypes.CDLL(None).fflush(None)
sys.exit(code)
"""


def wapiti(*words, stdin=""):
    """What Wapiti prints: standard output, standard error."""
    found = importlib.util.find_spec("libwapiti")
    if found is None or found.origin is None:
        pytest.skip("libwapiti is not installed")
    done = python(_PROGRAM, found.origin, *words, flags=["-I", "-S"], input=stdin, encoding="utf-8", errors="replace")
    return done.stdout, done.stderr
