"""What a training run is told whatever its trainer: the options of `crfkit learn` that crfkit.options has not."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from crfkit import options
from crfkit.errors import OptionError
from crfkit.modelfile import check_writable
from crfkit.text.reading import FORMATS, open_file

FEATURES = ("observed", "all")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SELECT = re.compile("mi:0*[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class Run:
    """What can be said of a training run whatever the trainer."""

    features: str = "observed"
    min_freq: int = 1
    format: str = "columns"
    label: str | None = None
    dev: Any = None
    patience: int | None = None
    seed: int = 0
    threads: int = 0
    log: str | os.PathLike[str] | None = None
    init: Any = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: str | int | None = None
    resume: bool = False
    max_memory: str | int | None = None
    select: str | None = None
    prune: float | None = None

    def __post_init__(self) -> None:
        if type(self.prune) is int and abs(self.prune) <= 1e30:  # as the header of a model has it
            object.__setattr__(self, "prune", float(self.prune))

    @property
    def n_selected(self) -> int | None:
        """How many attributes --select keeps; None: all."""
        return None if self.select is None else int(self.select.removeprefix("mi:"))

    def check(self) -> None:
        """OptionError for what is out of range or makes no sense together."""
        for name, chosen, allowed in (("features", self.features, FEATURES), ("format", self.format, FORMATS)):
            if chosen not in allowed:
                raise OptionError(f"--{name}: expected {' or '.join(allowed)}, found {options.shown(chosen)}")
        for name, value, low in (("min_freq", self.min_freq, 1), ("threads", self.threads, 0), ("patience", self.patience, 1)):
            if value is None and name == "patience":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise OptionError(f"{options.flag(name)}: expected a whole number of at least {low}, found {options.exactly(value)}")
            most = options.MOST_THREADS if name == "threads" else options.LARGEST
            if value > most:
                raise OptionError(f"{options.flag(name)}: expected at most {most}, found {options.shown(value)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not -(2**63) <= self.seed < 2**63:
            raise OptionError(f"--seed: expected a whole number of 64 bits, found {options.exactly(self.seed)}")
        if self.select is not None and not (isinstance(self.select, str) and _SELECT.fullmatch(self.select)):
            raise OptionError(f"--select: expected mi:N, to keep the N attributes that tell most of the label, found {options.shown(self.select)}")
        if self.prune is not None and (isinstance(self.prune, bool) or not isinstance(self.prune, (int, float)) or not 0 < self.prune <= 1e30):
            raise OptionError(f"--prune: expected a number above 0 and at most 1e30, found {options.shown(self.prune)}")
        if self.patience is not None and self.dev is None:
            raise OptionError("--patience needs --dev: it counts passes without a better score there")
        if self.label is not None and self.format == "crfsuite":
            raise OptionError("--label is of no use with --format crfsuite, where each line begins with its label")
        if not isinstance(self.resume, bool):
            raise OptionError(f"--resume: expected true or false, found {options.shown(self.resume)}")
        if self.checkpoint is None and (self.resume or self.checkpoint_every is not None):
            raise OptionError(f"{'--resume' if self.resume else '--checkpoint-every'} needs --checkpoint: the name of the file")
        if self.checkpoint_every is not None:
            interval(self.checkpoint_every)
        if self.max_memory is not None:
            size(self.max_memory)
        if isinstance(self.dev, str) and self.dev == "-":
            raise OptionError("--dev cannot be standard input: it is read after every pass")

    def check_files(self) -> None:
        """FileError for what cannot be opened: better said now than after an hour of reading."""
        if self.log is not None:
            check_writable(self.log)
        if isinstance(self.dev, (str, os.PathLike)):
            open_file(os.fsdecode(self.dev)).close()


RUN_FIELDS = tuple(Run.__dataclass_fields__)


def interval(every: Any) -> tuple[int, float]:
    """How many passes and how many seconds lie between checkpoints: of N, or Nm for minutes, the other one is 0."""
    text = every if isinstance(every, str) else options.shown(every)
    match = re.fullmatch(r"(\d{1,9})|(\d{1,6}(?:\.\d{1,6})?)m", text, re.ASCII)
    if match is None or isinstance(every, bool) or not float(match[1] or match[2]):
        raise OptionError(f"--checkpoint-every: expected passes as 5 or minutes as 10m, found {options.shown(every)}")
    return int(match[1] or 0), 60 * float(match[2] or 0)


def size(text: Any) -> int:
    """Bytes of a size such as 800M or 2G; OptionError if it is none."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([KMGT]?)B?", str(text) if isinstance(text, (str, int)) else "", re.ASCII)
    found = 0 if match is None or isinstance(text, bool) else int(float(match[1]) * UNITS[match[2]])
    if not found:
        raise OptionError(f"--max-memory: expected a size such as 800M or 2G, found {options.shown(text)}")
    return found
