"""What a training run and each trainer can be told: one frozen dataclass each, with default, range and help of every option.

The command line, the Python API and --config take their options from here; learning/judging.py judges what goes together.
"""

# ruff: noqa: F401 (these names are for others)

from .named import Declared, declared, elsewhere, explained, make, named, show_options, taken, unknown, users
from .run import PROGRESS_MODES, RUN_FIELDS, SPEECH, Run, Speech
from .trainers import ALIASES, TRAINERS
