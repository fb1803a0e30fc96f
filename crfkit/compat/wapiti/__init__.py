"""Wapiti's command line: `crfkit-wapiti train | label | dump | update`, with its options, its log and its output; and
libwapiti's module for Python.

algorithms     its algorithms and options, as crfkit's trainers have them
training       train                                  progress: what it says meanwhile, and when it stops
labelling      label                                  layout: what that prints; singles: --me
editing        update, and --compact                  data: what it reads
commands       the options                            api: Model, of libwapiti
"""

from .api import ALGORITHMS, Model, logger

__all__ = ["ALGORITHMS", "Model", "logger"]
