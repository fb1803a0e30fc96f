"""Validation of a run's options and of their combinations, before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crfkit.constants import COMMENTS_OF_CONLLU
from crfkit.errors import DataError, OptionError, refuse
from crfkit.options import RUN_FIELDS, Run, declared, make, named, taken
from crfkit.options.trainers import Owlqn
from crfkit.replacing import refuse_overwriting
from crfkit.text.faults import NO_TOKENS
from crfkit.text.opening import beginning, check_readable, is_stdin
from crfkit.text.sources import is_rows
from crfkit.values import flag, name_of

# Trainers that sum over all labellings, and so over those that may be true.
PARTIAL = ("lbfgs", "owlqn", "sgd", "adf")
# Trainers that can work on data held by several workers.
DISTRIBUTED = ("lbfgs", "owlqn", "sgd", "adf", "sapo", "perceptron", "mira", "lookahead")


def judge(algorithm: Any, given: Mapping[str, Any]) -> tuple[str, Any, Run]:
    """The trainer's name, its options, and the run's; OptionError for options that do not fit, alone or together. None means the default."""
    algorithm = named(algorithm)
    given = {name: value for name, value in given.items() if value is not None or name not in declared()}
    run = taken(Run, {name: value for name, value in given.items() if name in RUN_FIELDS})
    own = {name: value for name, value in given.items() if name not in RUN_FIELDS}
    if run.distributed and algorithm == "lbfgs":
        own.setdefault("warm_up", 0)
    if run.distributed and own.get("warm_up") and (algorithm, own["warm_up"]) != ("owlqn", Owlqn.warm_up):  # as a file of --print-config has it
        raise OptionError("--warm-up needs all data in one process: leave it out, or leave out --workers and --cluster")
    options = make(algorithm, own)
    _check_together(algorithm, options, run)
    return algorithm, options, run


def _check_together(algorithm: str, options: Any, run: Run) -> None:
    path, exact = getattr(options, "path", None), getattr(options, "search", "beam") != "beam"
    refuse(
        (run.patience is not None and run.dev is None, "--patience needs --dev: it counts passes without a better score there"),
        (run.outside != Run.outside and run.dev is None, "--outside needs --dev: it is of use where chunks are counted"),
        (not run.outside, "--outside needs a label"),
        (run.label is not None and run.format == "crfsuite", "--label is of no use with --format crfsuite, where each line begins with its label"),
        (run.comments and run.format == "conllu", COMMENTS_OF_CONLLU),
        (run.checkpoint is None and run.resume, "--resume needs --checkpoint: the name of the file"),
        (run.checkpoint is None and run.checkpoint_every is not None, "--checkpoint-every needs --checkpoint: the name of the file"),
        (run.checkpoint is not None and path is not None, "--checkpoint does not go with --path: train one value at a time, each with --init from the one before"),
        (exact and options.beam != type(options).beam, "--beam needs --search beam: an exact search drops no paths"),
    )
    if run.partial:
        _check_partial(algorithm, options, run)
    _check_distributed(algorithm, options, run)
    batches = getattr(options, "batch_size", 1) > 1 and algorithm != "perceptron"  # which takes one thread anyway
    refuse(
        (is_stdin(run.dev), "--dev cannot be standard input: it is read after every pass"),
        (run.threads > 1 and batches, "--batch-size needs --threads 1: with several threads every sequence makes an update"),
        (
            run.data_dir is not None and algorithm == "sbcd",
            "--data-dir does not go with sbcd: it comes back to every sequence hundreds of times a pass, in no order that a disk likes",
        ),
        (run.threads > 1 and algorithm == "sgd" and options.l1, "sgd with --l1 needs --threads 1"),
    )


def _check_partial(algorithm: str, options: Any, run: Run) -> None:
    """OptionError for options that need all labels."""
    used = [*not_default(run, "workers", "cluster"), *["--train-accuracy"] * getattr(options, "train_accuracy", False)]
    refuse(
        (algorithm not in PARTIAL, f"--partial needs a trainer that sums over all labellings, and {algorithm} does not: take one of {', '.join(PARTIAL)}"),
        *((True, f"--partial does not go with {name}") for name in used),
    )


def _check_distributed(algorithm: str, options: Any, run: Run) -> None:
    """OptionError for options that workers do not support."""
    if not run.distributed:
        refuse(
            (run.shards is not None, "--shards needs --workers or --cluster: a single process does not split the data"),
            # a file of --print-config has the default
            (run.worker_timeout != Run.worker_timeout, "--worker-timeout needs --workers or --cluster: there is no other process to wait for"),
        )
        return
    refuse(
        (run.workers is not None and run.cluster is not None, "--workers and --cluster exclude each other: processes of this machine, or those of a scheduler"),
        (algorithm not in DISTRIBUTED, f"{algorithm} needs all data in one process: leave out --workers and --cluster, or take one of {', '.join(DISTRIBUTED)}"),
        (run.select is not None, "--select needs all data in one process: leave it out, or raise --min-freq instead"),
        (getattr(options, "shrinking", 0), "--shrinking needs all data in one process: leave it out"),
        (getattr(options, "crf_loss", False), "--crf-loss cannot be computed where workers hold the data: leave it out, or give --dev"),
        (
            run.threads > 1 and hasattr(options, "passes"),
            f"with --workers or --cluster {algorithm} takes one thread a worker: leave out --threads, and have more workers",
        ),
    )


def not_default(options: Any, *names: str) -> Iterator[str]:
    """Which of some options differ from their defaults, written as on the command line."""
    for name in names:
        value, default = getattr(options, name), getattr(type(options), name)
        if value is not None if default is None else value != default:
            yield f"{flag(name)} {value}" if name in ("direction", "features") else flag(name)


def refuse_losses(run: Run, train: Any, *others: Any, models: Sequence[str] = ()) -> None:
    """OptionError if a run would write over a file that it reads, or writes. `others`: what is read beside the data."""
    data = _names(*_files(train))
    if run.distributed:  # workers open what matches
        from .shards.files import matching

        data = [file for name in data for file in matching(name)]
    read = [*data, *_names(*_files(run.dev), *others)]
    refuse_overwriting("MODEL", read, *models)
    read += [*_names(None if isinstance(run.init, bytes) else run.init), *models]  # bytes are the contents of a model
    log = run.log if isinstance(run.log, str) else None
    refuse_overwriting("--log", read, log)
    refuse_overwriting("--checkpoint", [*read, log], run.checkpoint)
    for what, names in (("MODEL", models), ("--log", [log]), ("--checkpoint", [run.checkpoint])):
        for name in names:
            if name and run.data_dir and _leads_to(name, run.data_dir):
                raise OptionError(f"{what}: {name} is to be a folder, for --data-dir {run.data_dir}: give another name to one of them")


def _leads_to(name: str, folder: str) -> bool:
    """Whether a file of this name would be in the place of the folder, or of one that it is in."""
    file, folder = os.path.realpath(name), os.path.realpath(folder)
    return folder == file or folder.startswith(f"{file}{os.sep}")


def check_files(data: Any) -> None:
    """FileError if one of the files of the data cannot be read; DataError if one is empty."""
    for path in _files(data):
        if isinstance(path, (str, bytes, os.PathLike)) and (name := os.fsdecode(path)) != "-":
            check_readable(name)
            if os.path.isfile(name) and not beginning(name, 1):  # the system does not know the size of every file
                raise DataError(NO_TOKENS, name)


def _files(data: Any) -> Any:
    """The files among which those of the data are; none where the data are sentences."""
    return () if is_rows(data) else data if isinstance(data, (list, tuple)) else (data,)


def _names(*given: Any) -> list[str]:
    """The paths among these, and those of open files and of templates."""
    found = (name_of(one, "-") if hasattr(one, "read") else getattr(one, "path", one) for one in given)
    return [os.fsdecode(path) for path in found if isinstance(path, (str, bytes, os.PathLike))]


def check_stream(options: Any, run: Run, template: Any) -> None:
    """OptionError for options that need all data at once, if training is on a stream."""
    held = "a stream that is read once (adf, --passes 1) is not held in memory: give a file instead of it, or leave out"
    used = ["--threads"] if run.threads > 1 else []
    used += not_default(run, "min_freq", "select", "features", "dev", "init", "checkpoint", "max_memory", "data_dir", "workers", "cluster", "partial")
    used += not_default(options, "batch_size", "crf_loss")
    for name in used:
        raise OptionError(f"{held} {name}")
    for line in template.lines if template is not None else ():
        if line.rule == "all" or line.min_freq is not None:
            raise OptionError("@all and @minfreq in a template need all data at once: a stream that is read once has none")
