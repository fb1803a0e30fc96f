"""Where python-crfsuite has its ParsedDump."""

from crfkit.compat.pycrfsuite.tagger import ParsedDump

__all__ = ["ParsedDump"]
