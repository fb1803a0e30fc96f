"""One training run, from files to a model: the page to read first.

    template ─┐
    train ────┴─ read ──> data set ──> layout ──> trainer ── passes ──> model
                          (attributes   (which      (weights)    │
                           and labels)   features)               └─ dev scores, log, stopping
"""

from __future__ import annotations

import array
import json
import math
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

from . import options as trainer_options
from .corpus import Corpus, read_corpus
from .errors import FileError, OptionError
from .model import Model, build, load
from .modelfile import check_writable
from .progress import Progress, StopRequest
from .template import Template

FORMATS = ("columns", "conllu", "crfsuite")
FEATURES = ("observed", "all")
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
    select: str | None = None
    prune: float | None = None

    @property
    def n_selected(self) -> int | None:
        """How many attributes --select keeps; None: all."""
        return None if self.select is None else int(self.select.removeprefix("mi:"))

    def check(self) -> None:
        """OptionError for what is out of range or makes no sense together."""
        for name, chosen, allowed in (("features", self.features, FEATURES), ("format", self.format, FORMATS)):
            if chosen not in allowed:
                raise OptionError(f"--{name}: expected {' or '.join(allowed)}, found {chosen!r}")
        for name, value, low in (("min_freq", self.min_freq, 1), ("threads", self.threads, 0), ("patience", self.patience, 1)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < low):
                raise OptionError(f"{trainer_options.flag(name)}: expected a whole number of at least {low}, found {value!r}")
            if value is not None and value > trainer_options.LARGEST:
                raise OptionError(f"{trainer_options.flag(name)}: expected at most {trainer_options.LARGEST}, found {value}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not -(2**63) <= self.seed < 2**63:
            raise OptionError(f"--seed: expected a whole number of 64 bits, found {self.seed!r}")
        if self.select is not None and not (isinstance(self.select, str) and _SELECT.fullmatch(self.select)):
            raise OptionError(f"--select: expected mi:N, to keep the N attributes that tell most of the label, found {self.select!r}")
        if self.prune is not None and (isinstance(self.prune, bool) or not isinstance(self.prune, (int, float)) or not 0 < self.prune <= 1e30):
            raise OptionError(f"--prune: expected a number above 0 and at most 1e30, found {self.prune!r}")
        if self.patience is not None and self.dev is None:
            raise OptionError("--patience needs --dev: it counts passes without a better score there")
        if self.label is not None and self.format == "crfsuite":
            raise OptionError("--label is of no use with --format crfsuite, where each line begins with its label")
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
_IN_HEADER = ("features", "min_freq", "prune", "seed", "select")


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
    if given.get("path") is not None and given.get("dev") is None:
        raise OptionError("--path without --dev gives a model for each of its values: learn_path yields them")
    (model,) = learn_path(train, template, algorithm, progress=progress, stop=stop, **given)
    return model


def learn_path(
    train: Any,
    template: str | os.PathLike[str] | Template | None = None,
    algorithm: str = "owlqn",
    *,
    progress: Progress | None = None,
    stop: StopRequest | None = None,
    **given: Any,
) -> Iterator[Model]:
    """Train a model for each value of the option `path`, a list of falling values of l1.

    Each starts from the weights of the one before, and comes as soon as it is trained; its value is
    `model.header["options"]["l1"]`. With `dev` there is one model, the best on the development data. All other
    arguments are those of `learn`.
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
    corpus = read_corpus(train, _template(template, run.format), run, progress)
    progress.summary({**corpus.summary, "memory": expected_memory(corpus, options, run)})
    trainer = make_trainer(algorithm, corpus, options, run)
    stop.arm()
    passes = _Passes(trainer, corpus, _header(algorithm, options, run, corpus), run, progress, stop)
    for l1, weights in passes.all(getattr(options, "path", None)):
        if run.prune is not None:
            _prune(weights, run.prune)
        chosen = options if l1 is None else replace(options, l1=l1)
        yield build(corpus.layout, weights, corpus.builder, _header(algorithm, chosen, run, corpus))


def _prune(weights: array.array, threshold: float) -> None:
    from .trainers.base import prune

    prune(weights, threshold)


def _template(template: str | os.PathLike[str] | Template | None, form: str) -> Template | None:
    if form == "crfsuite":
        if template is not None:
            raise OptionError("--format crfsuite takes no template: the data name their attributes")
        return None
    if template is None:
        raise OptionError(f"--format {form} needs a template")
    return template if isinstance(template, Template) else Template.load(os.fspath(template))


def expected_memory(corpus: Corpus, options: Any, run: Run) -> int:
    """Bytes at the peak of training: what is in use now, and what the trainer keeps for each cell of the layout.

    0 where the system does not tell what is in use.
    """
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    own = corpus.layout.n_cells * options.bytes_per_cell(threads(run))
    if isinstance(options, trainer_options.Lbfgs):
        from .trainers.lbfgs import warm_up_bytes

        # Its history is not in use before the warm-up is over.
        own = max(own, corpus.layout.n_cells * 6 * 8 + warm_up_bytes(corpus.dataset, corpus.layout, options))
    return used + own


def threads(run: Run) -> int:
    """How many threads to use: those asked for, or one for each processor."""
    from .tagging import available_cpus

    return run.threads or available_cpus()


def make_trainer(algorithm: str, corpus: Corpus, options: Any, run: Run) -> Any:
    """The trainer of that name, ready for its first pass."""
    from .trainers import trainer_class

    initial = None if run.init is None else corpus.weights_of(run.init)
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
        "options": {**asdict(options), **{name: getattr(run, name) for name in _IN_HEADER}},
        "sequences": corpus.summary["sequences"],
        "template": None if corpus.template is None else corpus.template.text,
        "tokens": corpus.summary["tokens"],
    }


class _Best:
    """The best weights on the development data, and how long they have been the best."""

    def __init__(self, patience: int | None):
        self.patience = patience
        self.score = -math.inf
        self.weights: array.array | None = None
        self.l1: float | None = None
        self.waited = 0

    def offer(self, score: float, weights: array.array, l1: float | None) -> bool:
        """Take note of a pass; False when it is time to stop."""
        if score > self.score:
            self.score, self.weights, self.l1, self.waited = score, weights, l1, 0
        else:
            self.waited += 1
        return self.patience is None or self.waited < self.patience


class _Passes:
    """The passes of a run: scored on the development data, logged and reported one by one."""

    def __init__(self, trainer: Any, corpus: Corpus, header: dict[str, Any], run: Run, progress: Progress, stop: StopRequest):
        self.trainer, self.corpus, self.progress, self.stop = trainer, corpus, progress, stop
        self.limit = getattr(trainer.options, "passes", None) or trainer.options.max_iter
        self.best = _Best(run.patience)
        self.dev = None if run.dev is None else DevSet(run.dev, corpus, header, run.threads)
        self.log = run.log
        self.number = 0
        self.started = time.perf_counter()

    def all(self, path: Sequence[float] | None) -> Iterator[tuple[float | None, array.array]]:
        """The weights to keep: the last ones for each value of l1 on the path, or the best on the development data."""
        with ExitStack() as stack:
            log = stack.enter_context(_log(self.log)) if self.log is not None else None
            self._prepare()
            for l1 in path or (None,):
                if l1 is not None:
                    self.trainer.set_l1(l1)
                    self.progress.note(f"l1 {l1:g}")
                self._until_done(l1, log)
                if self.dev is None:
                    yield l1, self.trainer.weights()
                if self.stop.requested():
                    break
        if self.best.weights is not None:
            yield self.best.l1, self.best.weights

    def _prepare(self) -> None:
        begun = self.started
        for number, record in enumerate(self.trainer.prepare(self.stop.requested), 1):
            now = time.perf_counter()
            self.progress.prepared(number, {**record, "seconds": now - begun})
            begun = now

    def _until_done(self, l1: float | None, log: Any) -> None:
        go_on, self.best.waited = True, 0
        self.progress.start(self.limit)
        for _ in range(self.limit):
            go_on = self._one(l1, log)
            if self.stop.requested() or self.trainer.converged or not go_on:
                break
        self.progress.end(self.trainer.converged or (None if go_on else "stopped by --patience"), self.stop.requested())

    def _one(self, l1: float | None, log: Any) -> bool:
        """One pass; False when --patience ends."""
        from .trainers.base import summarise

        begun, go_on = time.perf_counter(), True
        self.number += 1
        record = {"pass": self.number, **({} if l1 is None else {"l1": l1}), **self.trainer.run_pass(self.stop.requested)}
        now = time.perf_counter()
        record.update(seconds=now - begun, elapsed=now - self.started)
        if self.dev is not None or log is not None:
            weights = self.trainer.weights()
            active, total = summarise(weights)
            record.update(mean_abs_weight=total / self.corpus.layout.n_features, active=active)
        if self.dev is not None:
            scores = self.dev.scores(weights)
            go_on = self.best.offer(scores.pop("score"), weights, l1)
            record.update(scores)
        if log is not None:
            log.write(json.dumps(record) + "\n")
            log.flush()
        self.progress.report(record)
        return go_on


def _log(path: str | os.PathLike[str]) -> Any:
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise FileError(f"{os.fspath(path)}: the log cannot be written: {error.strerror}") from None


class DevSet:
    """Development data, and the tagger that scores weights on it after each pass."""

    def __init__(self, data: Any, corpus: Corpus, header: dict[str, Any], threads: int):
        self.data, self.corpus, self.header, self.threads = data, corpus, header, threads

    def scores(self, weights: array.array) -> dict[str, float]:
        """Scores of the weights, and under "score" the one to go by: the F-measure where labels form chunks."""
        from .evaluation import evaluate
        from .tagging import Tagger

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
