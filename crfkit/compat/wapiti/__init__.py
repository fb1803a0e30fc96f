"""Wapiti's command line: `crfkit-wapiti train | label | dump | update`, with its options, its log and its output; and
libwapiti's module for Python."""

from .api import ALGORITHMS, Model, logger

__all__ = ["ALGORITHMS", "Model", "logger"]
