"""One training run, from files to a model: the page to read first.

    template ─┐
    train ────┴─ read ──> data set ──> layout ──> trainer ── passes ──> model
                          (attributes   (which      (weights)    │
                           and labels)   features)               └─ dev scores, log, stopping
"""

from __future__ import annotations

import array
import io
import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

from . import options as trainer_options
from .checkpoint import Checkpoint, Standing, interval
from .corpus import Corpus, is_rows, read_corpus
from .divergence import Divergence
from .errors import FileError, OptionError, TrainingError
from .model import Model, build, load
from .modelfile import check_writable
from .passlog import PassLog
from .progress import Progress, StopRequest
from .resources import check_memory, expected_memory, size
from .template import Template

FORMATS = ("columns", "conllu", "crfsuite")
FEATURES = ("observed", "all")


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

    def check(self) -> None:
        """OptionError for what is out of range or makes no sense together."""
        for name, chosen, allowed in (("features", self.features, FEATURES), ("format", self.format, FORMATS)):
            if chosen not in allowed:
                raise OptionError(f"--{name}: expected {' or '.join(allowed)}, found {trainer_options.shown(chosen)}")
        for name, value, low in (("min_freq", self.min_freq, 1), ("threads", self.threads, 0), ("patience", self.patience, 1)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < low):
                raise OptionError(f"{trainer_options.flag(name)}: expected a whole number of at least {low}, found {trainer_options.shown(value)}")
            if value is not None and value > trainer_options.LARGEST:
                raise OptionError(f"{trainer_options.flag(name)}: expected at most {trainer_options.LARGEST}, found {trainer_options.shown(value)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not -(2**63) <= self.seed < 2**63:
            raise OptionError(f"--seed: expected a whole number of 64 bits, found {trainer_options.shown(self.seed)}")
        if self.patience is not None and self.dev is None:
            raise OptionError("--patience needs --dev: it counts passes without a better score there")
        if self.label is not None and self.format == "crfsuite":
            raise OptionError("--label is of no use with --format crfsuite, where each line begins with its label")
        if not isinstance(self.resume, bool):
            raise OptionError(f"--resume: expected true or false, found {trainer_options.shown(self.resume)}")
        if self.checkpoint is None and (self.resume or self.checkpoint_every is not None):
            raise OptionError(f"{'--resume' if self.resume else '--checkpoint-every'} needs --checkpoint: the name of the file")
        if self.checkpoint_every is not None:
            interval(self.checkpoint_every)
        if self.max_memory is not None:
            size(self.max_memory)
        if self.dev == "-":
            raise OptionError("--dev cannot be standard input: it is read after every pass")

    def check_files(self) -> None:
        """FileError for what cannot be opened: better said now than after an hour of reading."""
        if self.log is not None:
            check_writable(self.log)
        if isinstance(self.dev, (str, os.PathLike)):
            try:
                open(self.dev, "rb").close()
            except OSError as error:
                raise FileError(f"{os.fspath(self.dev)}: cannot be read: {error.strerror}") from None


RUN_FIELDS = tuple(Run.__dataclass_fields__)


def learn(
    train: Any,
    template: str | os.PathLike[str] | Template | None = None,
    algorithm: str = "lbfgs",
    *,
    progress: Progress | None = None,
    stop: StopRequest | None = None,
    **given: Any,
) -> Model:
    """Train a model.

    `train` is a path, a list of paths, or sentences as lists of rows of columns, the label last. `template` is a
    path, a Template, or None with format="crfsuite". The other options are those of `crfkit learn`, with
    underscores; which of them the algorithm uses is described in crfkit.options.
    """
    algorithm = trainer_options.ALIASES.get(algorithm, algorithm)
    run = Run(**{name: given.pop(name) for name in RUN_FIELDS if name in given})
    run.check()
    options = trainer_options.make(algorithm, given)
    progress = progress or Progress.silent()
    stop = stop or StopRequest()

    run.check_files()
    if run.init is not None and not isinstance(run.init, Model):
        run = replace(run, init=load(run.init))
    checkpoint = None if run.checkpoint is None else Checkpoint(run.checkpoint, run, algorithm, options)
    corpus = read_corpus(train, _template(template, run.format), run, progress)
    expected = expected_memory(corpus, options, threads(run))
    progress.summary({**corpus.summary, "memory": expected})
    check_memory(expected, run.max_memory)
    initial = None if run.init is None else corpus.weights_of(run.init)
    header = _header(algorithm, options, run, corpus)
    dev = None if run.dev is None else DevSet(run.dev, corpus, header, run.threads)
    if checkpoint is not None:
        checkpoint.identify(corpus, initial, None if dev is None else dev.contents())
    trainer = make_trainer(algorithm, corpus, options, run, initial)
    stop.arm()
    weights = train_passes(trainer, corpus, run, dev, checkpoint, progress, stop)
    return build(corpus.layout, weights, corpus.builder, header)


def _template(template: str | os.PathLike[str] | Template | None, form: str) -> Template | None:
    if form == "crfsuite":
        if template is not None:
            raise OptionError("--format crfsuite takes no template: the data name their attributes")
        return None
    if template is None:
        raise OptionError(f"--format {form} needs a template")
    return template if isinstance(template, Template) else Template.load(os.fspath(template))


def threads(run: Run) -> int:
    """How many threads to use: those asked for, or one for each processor."""
    from .tagging import available_cpus

    return run.threads or available_cpus()


def make_trainer(algorithm: str, corpus: Corpus, options: Any, run: Run, initial: array.array | None = None) -> Any:
    """The trainer of that name, ready for its first pass."""
    from .trainers import trainer_class

    return trainer_class(algorithm)(
        corpus.dataset, corpus.layout, options, initial=initial, seed=run.seed, threads=threads(run)
    )


def _header(algorithm: str, options: Any, run: Run, corpus: Corpus) -> dict[str, Any]:
    """What the model file says of itself. Nothing that differs between runs with the same result."""
    return {
        "algorithm": algorithm,
        "columns": corpus.n_columns,
        "column_names": None if corpus.column_names is None else list(corpus.column_names),
        "format": run.format,
        "label_column": corpus.label_column,
        "labels": corpus.dataset.labels,
        "options": {**asdict(options), "features": run.features, "min_freq": run.min_freq, "seed": run.seed},
        "sequences": corpus.summary["sequences"],
        "template": None if corpus.template is None else corpus.template.text,
        "tokens": corpus.summary["tokens"],
    }


def train_passes(
    trainer: Any,
    corpus: Corpus,
    run: Run,
    dev: DevSet | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
    stop: StopRequest | None = None,
) -> array.array:
    """All passes; returns the weights to keep: the last ones, or the best ones on the development data."""
    from .trainers.base import all_finite, summarise

    progress, stop = progress or Progress.silent(), stop or StopRequest()
    limit = getattr(trainer.options, "passes", None) or trainer.options.max_iter
    standing = Standing() if checkpoint is None else checkpoint.resume(trainer)
    divergence = Divergence(trainer.options, corpus.dataset.n_tokens, len(corpus.dataset.labels))
    if run.resume:
        progress.note(f"resuming after pass {standing.passes}" if standing.passes else "no checkpoint to resume from: starting with the first pass")
    started = time.perf_counter() - standing.seconds
    with ExitStack() as stack:
        log = stack.enter_context(PassLog(run.log, standing.log_size)) if run.log is not None else None
        if not standing.passes:
            begun = started
            for number, record in enumerate(trainer.prepare(stop.requested), 1):
                now = time.perf_counter()
                progress.prepared(number, {**record, "seconds": now - begun})
                begun = now
        cut_short = stop.requested()  # then what follows is not what another run would do
        progress.start(limit, standing.passes)
        reason = _reason_to_end(trainer, standing, run)
        while standing.passes < limit and reason is None:
            begun = time.perf_counter()
            standing.passes += 1
            record = {"pass": standing.passes, **trainer.run_pass(stop.requested)}
            now = time.perf_counter()
            standing.seconds = now - started
            record.update(seconds=now - begun, elapsed=standing.seconds)
            if dev is not None or log is not None:
                weights = trainer.weights()
                active, total = summarise(weights)
                record.update(mean_abs_weight=total / corpus.layout.n_features, active=active)
            divergence.check(record, standing.least_loss)
            standing.note_loss(record)
            if dev is not None:
                scores = dev.scores(weights)
                standing.offer(scores.pop("score"), weights)
                record.update(scores)
            if log is not None:
                log = _logged(log, record, progress)
            progress.report(record)
            reason = _reason_to_end(trainer, standing, run)
            over = reason is not None or standing.passes == limit
            if checkpoint is not None and not cut_short and not trainer.interrupted and (over or stop.requested() or checkpoint.due(standing.passes)):
                standing.log_size = 0 if log is None else log.synced()
                try:
                    checkpoint.write(trainer, standing, over)
                except FileError as error:  # what is learned matters more
                    progress.note(f"crfkit: warning: {error}; training goes on")
            if stop.requested():
                break
    progress.end(reason, stop.requested())
    weights = standing.best if standing.best is not None else trainer.weights()
    if not all_finite(weights):
        raise TrainingError(f"training diverges: a weight is not finite; {divergence.advice}")
    if (warning := divergence.warning(standing.last_loss or 0.0)) is not None:
        progress.note(f"crfkit: warning: {warning}")
    return weights


def _reason_to_end(trainer: Any, standing: Standing, run: Run) -> str | None:
    """Why no further pass is to be made, if the trainer or the development data say so."""
    if trainer.converged is None and run.patience is not None and standing.waited >= run.patience:
        return "stopped by --patience"
    return trainer.converged


def _logged(log: PassLog, record: dict[str, Any], progress: Progress) -> PassLog | None:
    """The log with one more pass; None if it cannot be written, which is no reason to lose a model."""
    try:
        log.write(record)
    except FileError as error:
        progress.note(f"crfkit: warning: {error}; training goes on without it")
        return None
    return log


class _Held(io.BytesIO):
    """A file in memory: what happens to it while training goes on changes nothing."""

    def __init__(self, entry: Any):
        self.name = "<stream>"
        if hasattr(entry, "read"):
            super().__init__(entry.read())
            self.name = getattr(entry, "name", self.name)
            return
        self.name = os.fsdecode(entry)
        try:
            with open(entry, "rb") as file:
                super().__init__(file.read())
        except OSError as error:
            raise FileError(f"{self.name}: cannot be read: {error.strerror}") from None


class DevSet:
    """Development data, and the tagger that scores weights on it after each pass."""

    def __init__(self, data: Any, corpus: Corpus, header: dict[str, Any], threads: int):
        self.data = data if is_rows(data) else [_Held(entry) for entry in (data if isinstance(data, (list, tuple)) else [data])]
        self.corpus, self.header, self.threads = corpus, header, threads

    def contents(self) -> Iterator[bytes]:
        """All of it as bytes."""
        for entry in self.data:
            yield entry.getvalue() if isinstance(entry, _Held) else json.dumps(entry).encode()

    def scores(self, weights: array.array) -> dict[str, float]:
        """Scores of the weights, and under "score" the one to go by: the F-measure where labels form chunks."""
        from .evaluation import evaluate
        from .tagging import Tagger

        for entry in self.data:
            if isinstance(entry, _Held):
                entry.seek(0)
        tagger = Tagger.of_parts(self.header, self.corpus.index, self.corpus.layout, weights)
        gold, predicted = tagger.tag_with_gold(self.data, threads=self.threads)
        scores = evaluate(gold, predicted)
        return {
            "dev_accuracy": scores.accuracy,
            "dev_sentence_accuracy": scores.sentence_accuracy,
            "dev_precision": scores.precision,
            "dev_recall": scores.recall,
            "dev_f1": scores.f1,
            "score": scores.accuracy if scores.scheme == "none" else scores.f1,
        }
