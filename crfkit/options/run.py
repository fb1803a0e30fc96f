"""What a training run can be told, and what it says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from crfkit.constants import FORMATS, MOST_THREADS, WEIGHTS
from crfkit.values import interval, option, selected, size

PROGRESS_MODES = ("auto", "always", "never")


@dataclass(frozen=True)
class Run:
    """What a training run can be told whatever its trainer."""

    features: str = option(
        "observed",
        "Features of an attribute: one for each label it was seen with (observed), or for each label (all).",
        choices=("observed", "all"),
    )
    min_freq: int = option(1, "Drop attributes that occur fewer than N times.", low=1, metavar="N")
    select: str | None = option(
        None, "Before training, keep the N attributes with the highest mutual information with the label: mi:1000 keeps 1,000.",
        metavar="mi:N", parse=selected,
        words="mi:N, to keep the N attributes that tell most of the label",
    )
    prune: float | None = option(
        None, "After training, drop weights whose absolute value is smaller.", kind=float, above=0, high=1e30, metavar="THRESHOLD"
    )
    format: str = option(
        "columns", "Data format: CoNLL columns, CoNLL-U, or CRFsuite's attribute lines. The last takes no TEMPLATE.",
        choices=FORMATS,
    )
    comments: bool = option(False, "Lines that begin with # and stand before a sentence are comments, not tokens.")
    partial: bool = option(
        False, "The label of a token may be a choice, as in B-PER|I-PER, or ?, which means any: what is not known is left open in training."
    )
    label: str | None = option(None, "Name of the column to predict. By default the last column.", kind=str, metavar="COLUMN")
    dev: Any = option(
        None,
        "After each pass, score the weights on this file, and keep the best ones. The score is F1 if labels mark chunks, else "
        "accuracy.", metavar="FILE",
    )
    outside: str = option("O", "With --dev: the label outside of chunks.", metavar="LABEL")
    patience: int | None = option(None, "With --dev: stop after N passes without a better score.", kind=int, low=1, metavar="N")
    init: Any = option(
        None, "Start from the weights of this model. Its features that do not occur in these data are ignored.", metavar="MODEL"
    )
    seed: int = option(
        0, "Seed of the random order of the sequences.", low=-(2**63), high=2**63 - 1, words="a whole number of 64 bits"
    )
    threads: int = option(
        0,
        "Number of threads. 0: as many as pay with lbfgs and owlqn, at most one per processor; else one. With 2 or more, sgd, adf and sapo "
        "change the weights without locks, so models differ from run to run. Models of all other trainers do not depend on it.",
        low=0, high=MOST_THREADS, metavar="N",
    )
    log: Any = option(None, "Write one JSON object per pass to this file.", kind=os.PathLike, files=True, metavar="FILE")
    checkpoint: str | None = option(
        None, "After each pass, write to this file what --resume needs.", kind=os.PathLike, metavar="FILE"
    )
    checkpoint_every: str | int | None = option(
        None, "With --checkpoint: write it every N passes, or every N minutes when N ends in m.", parse=interval, metavar="N",
        words="passes as 5 or minutes as 10m",
    )
    resume: bool = option(False, "Continue from --checkpoint if the file exists. The model is the same as without the interruption.")
    workers: int | None = option(
        None, "Let N processes hold the data and work on them. TRAIN are files or patterns.",
        low=1, high=MOST_THREADS, kind=int, metavar="N",
    )
    cluster: str | None = option(
        None,
        "Let the workers of a dask.distributed scheduler hold the data and work on them. TRAIN are files that they can open, or patterns.",
        kind=str, metavar="tcp://HOST:PORT",
    )
    shards: int | None = option(
        None,
        "With --workers or --cluster: cut the data into about N shards. Online trainers average the weights of all shards after each pass. "
        "By default the size of the data decides.", low=1, high=1 << 20, kind=int, metavar="N",
    )
    worker_timeout: int = option(
        600, "With --workers or --cluster: give up a worker that has not answered for this many seconds.",
        low=1, high=1 << 20, metavar="SECONDS",
    )
    max_memory: str | int | None = option(
        None, "Refuse to train if it would take more memory than this, such as 2G.", parse=size, metavar="SIZE",
        words="a size such as 800M or 2G",
    )
    weights: str = option(
        "float32",
        "Number format of the weights in the model file: float16 takes half the space, int8 a quarter. With --dev, the loss in score "
        "is printed.", choices=WEIGHTS,
    )
    data_dir: str | None = option(
        None, "Keep the data in files in this folder, not in memory. The model is the same to the byte.",
        kind=os.PathLike, metavar="DIR"
    )

    @property
    def distributed(self) -> bool:
        """Whether workers hold the data."""
        return self.workers is not None or self.cluster is not None


@dataclass(frozen=True)
class Speech:
    """What the command can be told of what it says."""

    quiet: bool = option(False, "Print nothing except errors.", short="-q")
    progress: str = option("auto", "Show a progress bar: on a terminal, always, never.", choices=PROGRESS_MODES)


RUN_FIELDS, SPEECH = tuple(Run.__dataclass_fields__), tuple(Speech.__dataclass_fields__)
