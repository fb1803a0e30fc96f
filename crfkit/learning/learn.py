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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any

from crfkit import options as trainer_options
from crfkit.errors import DataError, FileError, OptionError
from crfkit.evaluation.schemes import marks_chunks
from crfkit.learning import streaming
from crfkit.model import Model, build, load
from crfkit.template.parsing import Template
from crfkit.text.reading import open_file
from crfkit.text.sources import is_rows, listed

from .checkpoint import Checkpoint, Standing
from .corpus import Corpus, read_corpus
from .divergence import Divergence, value_warning
from .passlog import PassLog
from .progress import Progress, StopRequest
from .resources import check_memory, expected_memory
from .run import RUN_FIELDS, Run

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
    path, a Template, or None with format="crfsuite", where rows are pairs (attributes, label), see crfkit.items. The other options are those of `crfkit learn`, with
    underscores; which of them the algorithm uses is described in crfkit.options. With adf and passes=1 standard input,
    pipes and open files are trained on as they come, and not held in memory (crfkit.streaming).
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
    algorithm = trainer_options.ALIASES.get(algorithm, algorithm) if isinstance(algorithm, str) else algorithm
    given = {name: trainer_options.plain(value) for name, value in given.items()}
    run = Run(**{name: given.pop(name) for name in RUN_FIELDS if name in given})
    run.check()
    options = trainer_options.make(algorithm, given)
    train = listed(train)
    progress = progress or Progress.silent()
    stop = stop or StopRequest()

    if run.threads > 1 and getattr(options, "batch_size", 1) > 1:
        raise OptionError("--batch-size needs --threads 1: threads make an update from every sequence")
    if run.threads > 1 and isinstance(options, trainer_options.Sgd) and options.l1:
        raise OptionError("sgd with --l1 needs --threads 1")
    run.check_files()
    if run.init is not None and not isinstance(run.init, Model):
        run = replace(run, init=load(run.init))
    if run.checkpoint is not None and getattr(options, "path", None) is not None:
        raise OptionError("--checkpoint does not go with --path: train one value at a time, each with --init from the one before")
    if streaming.is_wanted(train, algorithm, options):
        corpus, weights = streaming.train_stream(train, _template(template, run.format), options, run, progress, stop)
        if run.prune is not None:
            _prune(weights, run.prune)
        yield build(corpus.layout, weights, corpus.builder, _header(algorithm, options, run, corpus))
        return
    checkpoint = None if run.checkpoint is None else Checkpoint(run.checkpoint, run, algorithm, options)
    corpus = read_corpus(train, _template(template, run.format), run, progress, getattr(options, "direction", None))
    taggers = 0 if run.dev is None else threads(run)
    expected = expected_memory(corpus, options, at_work(algorithm, run), taggers)
    progress.summary({**corpus.summary, "memory": expected})
    progress.warn(value_warning(corpus.dataset.largest_value))
    check_memory(expected, run.max_memory)
    initial = None if run.init is None else _taken_over(run.init, corpus, progress)
    header = _header(algorithm, options, run, corpus)
    dev = None if run.dev is None else DevSet(run.dev, corpus, header, run.threads)
    if checkpoint is not None:
        checkpoint.identify(corpus, initial, None if dev is None else dev.contents())
    passes = _Passes(make_trainer(algorithm, corpus, options, run, initial), corpus, run, dev, checkpoint, progress, stop)
    stop.arm()
    for l1, weights in passes.all(getattr(options, "path", None)):
        if run.prune is not None:
            _prune(weights, run.prune)
        chosen = options if l1 is None else replace(options, l1=l1)
        yield build(corpus.layout, weights, corpus.builder, _header(algorithm, chosen, run, corpus))


def _taken_over(model: Model, corpus: Corpus, progress: Progress) -> array.array:
    """The weights to start from, and a word on how many these are."""
    from crfkit.trainers.base import summarise

    weights = corpus.weights_of(model)
    taken = summarise(weights)[0]
    progress.note(f"{taken:,} of the {model.header['features']:,} weights of {model.name} are taken over")
    if not taken:
        progress.warn(f"no feature of {model.name} exists here: training starts from zero")
    elif corpus.backward != (model.search is not None and model.search.backward):
        progress.warn(f"{model.name} has the other --direction: its weights of pairs of labels mean something else here")
    return weights


def _prune(weights: array.array, threshold: float) -> None:
    from crfkit.trainers.base import prune

    prune(weights, threshold)


def _template(template: str | os.PathLike[str] | Template | None, form: str) -> Template | None:
    if form == "crfsuite":
        if template is not None:
            raise OptionError("--format crfsuite takes no template: the data name their attributes")
        return None
    if template is None:
        raise OptionError(f"--format {form} needs a template")
    if not isinstance(template, (str, os.PathLike, Template)):
        raise OptionError(f"template: expected a path or a Template, found {trainer_options.shown(template)}")
    return template if isinstance(template, Template) else Template.load(os.fspath(template))


def threads(run: Run) -> int:
    """How many threads to use: those asked for, or one for each processor."""
    from crfkit.tagging import available_cpus

    return run.threads or available_cpus()


def at_work(algorithm: str, run: Run) -> int:
    """How many of them a trainer may use. Without locks the weights depend on their number, so nobody gets more than one
    of those unasked."""
    from crfkit.trainers import trainer_class

    cls = trainer_class(algorithm)
    if cls.lock_free:
        return max(run.threads, 1)
    return threads(run) if cls.threaded else 1


def make_trainer(algorithm: str, corpus: Corpus, options: Any, run: Run, initial: array.array | None = None) -> Any:
    """The trainer of that name, ready for its first pass."""
    from crfkit.trainers import trainer_class

    cls, number = trainer_class(algorithm), at_work(algorithm, run)
    return cls(corpus.dataset, corpus.layout, options, initial=initial, seed=run.seed, threads=number, shared=corpus.builder.shared())


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


class _Passes:
    """The passes of a run: scored on the development data, logged, reported and kept in checkpoints one by one."""

    def __init__(
        self, trainer: Any, corpus: Corpus, run: Run, dev: DevSet | None, checkpoint: Checkpoint | None, progress: Progress, stop: StopRequest
    ):
        self.trainer, self.corpus, self.run, self.dev, self.checkpoint = trainer, corpus, run, dev, checkpoint
        self.progress, self.stop = progress, stop
        self.options = trainer.options
        self.limit = getattr(self.options, "passes", None) or self.options.max_iter
        self.standing = Standing() if checkpoint is None else checkpoint.resume(trainer)
        self.divergence = Divergence(self.options, corpus.dataset.n_tokens, len(corpus.dataset.labels))
        self.log: PassLog | None = None
        self.whole = True  # nothing was cut short so far: a resumed run would do the same
        self.started = time.perf_counter() - self.standing.seconds

    def all(self, path: Sequence[float] | None) -> Iterator[tuple[float | None, array.array]]:
        """The weights to keep: the last ones for each value of l1 on the path, or the best on the development data.

        The trainer is gone before the last of them: its memory is wanted for building a model.
        """
        values = path or (None,)
        done = self.standing.passes
        if self.run.resume:
            self.progress.note(f"resuming after pass {done}" if done else "no checkpoint to resume from: starting with the first pass")
        with ExitStack() as stack:
            if self.run.log is not None:
                self.log = stack.enter_context(PassLog(self.run.log, self.standing.log_size))
            if not done:
                self._prepare()
            self.whole = not self.stop.requested()
            for l1 in values:
                if l1 is not None:
                    self.trainer.set_l1(l1)
                    self.progress.note(f"l1 {l1:g}")
                self._until_done(l1)
                over = l1 == values[-1] or self.stop.requested()
                if over:
                    self.trainer.finish()
                weights = None if self.dev is not None else self._checked(self.trainer.weights(), l1)
                if over:
                    del self.trainer
                if weights is not None:
                    yield l1, weights
                if over:
                    break
        if self.standing.best is not None:
            self.progress.note(f"the weights of pass {self.standing.best_pass} are kept, the best on the development data")
            yield self.standing.best_l1, self._checked(self.standing.best, self.standing.best_l1)

    def _checked(self, weights: array.array, l1: float | None) -> array.array:
        own = getattr(self.options, "l1", None) if l1 is None else l1
        self.divergence.finish(weights, self.standing.last_loss, own, self.progress)
        return weights

    def _prepare(self) -> None:
        begun = self.started
        for number, record in enumerate(self.trainer.prepare(self.stop.requested), 1):
            now = time.perf_counter()
            self.progress.prepared(number, {**record, "seconds": now - begun})
            begun = now

    def _until_done(self, l1: float | None) -> None:
        standing = self.standing
        if l1 is not None:
            standing.waited = 0
        before = 0 if l1 is None else standing.passes
        self.progress.start(self.limit, standing.passes - before)
        reason = self._reason_to_end()
        while standing.passes - before < self.limit and reason is None:
            self._one(l1)
            reason = self._reason_to_end()
            self._keep(reason is not None or standing.passes - before == self.limit)
            if self.stop.requested():
                break
        self.progress.end(reason, self.stop.requested())

    def _reason_to_end(self) -> str | None:
        """Why no further pass is to be made, if the trainer or the development data say so."""
        if self.trainer.converged is None and self.run.patience is not None and self.standing.waited >= self.run.patience:
            return "stopped by --patience"
        return self.trainer.converged

    def _one(self, l1: float | None) -> None:
        """One pass."""
        from crfkit.trainers.base import summarise

        standing, begun, cpu = self.standing, time.perf_counter(), time.process_time()
        standing.passes += 1
        record = {"pass": standing.passes, **({} if l1 is None else {"l1": l1}), **self.trainer.run_pass(self.stop.requested)}
        now = time.perf_counter()
        standing.seconds = now - self.started
        record.update(seconds=now - begun, cpu=time.process_time() - cpu, elapsed=standing.seconds, **self.trainer.measures())
        if self.dev is not None or self.log is not None:
            weights = self.trainer.weights()
            active, total = summarise(weights)
            record.update(mean_abs_weight=total / self.corpus.layout.n_features, active=active)
        self.divergence.check(record, standing.least_loss)
        standing.note_loss(record)
        if self.dev is not None:
            scores = self.dev.scores(weights)
            standing.offer(scores.pop("score"), weights, l1)
            record.update(scores)
        if self.log is not None:
            try:
                self.log.write(record)
            except FileError as error:  # no reason to lose a model
                self.progress.warn(f"{error}; training goes on without it")
                self.log = None
        self.progress.report(record)

    def _keep(self, over: bool) -> None:
        """Write the checkpoint if it is time to."""
        if self.checkpoint is None or not self.whole or self.trainer.interrupted:
            return
        if over or self.stop.requested() or self.checkpoint.due(self.standing.passes):
            self.standing.log_size = 0 if self.log is None else self.log.synced()
            try:
                self.checkpoint.write(self.trainer, self.standing, over)
            except FileError as error:  # what is learned matters more
                self.progress.warn(f"{error}; training goes on")


class _Held(io.BytesIO):
    """A file in memory: what happens to it while training goes on changes nothing."""

    def __init__(self, entry: Any):
        self.name = "<stream>"
        if hasattr(entry, "read"):
            super().__init__(entry.read())
            self.name = getattr(entry, "name", self.name)
            return
        self.name = os.fsdecode(entry)
        with open_file(self.name) as file:
            try:
                super().__init__(file.read())
            except OSError as error:
                raise FileError(f"{self.name}: cannot be read: {error.strerror}") from None


def _listed(value: Any) -> Any:
    """What JSON does not know among rows: arrays, and numbers of other kinds."""
    return list(value) if hasattr(value, "__iter__") else float(value)


class DevSet:
    """Development data, and the tagger that scores weights on it after each pass."""

    def __init__(self, data: Any, corpus: Corpus, header: dict[str, Any], threads: int):
        data = listed(data)
        self.data = data if is_rows(data) else [_Held(entry) for entry in (data if isinstance(data, (list, tuple)) else [data])]
        self.corpus, self.header, self.threads = corpus, header, threads
        self.scheme = "auto" if marks_chunks(header["labels"]) else "none"

    def contents(self) -> Iterator[bytes]:
        """All of it as bytes."""
        for entry in self.data:
            yield entry.getvalue() if isinstance(entry, _Held) else json.dumps(entry, default=_listed).encode()

    def scores(self, weights: array.array) -> dict[str, float]:
        """Scores of the weights, and under "score" the one to go by: the F-measure where labels form chunks, the accuracy
        where they do not."""
        from crfkit.evaluation.evaluate import evaluate
        from crfkit.tagging import Tagger

        for entry in self.data:
            if isinstance(entry, _Held):
                entry.seek(0)
        tagger = Tagger.of_parts(self.header, self.corpus.index, self.corpus.layout, weights)
        gold, predicted = tagger.tag_with_gold(self.data, threads=self.threads)
        scores = evaluate(gold, predicted, self.scheme)
        if not scores.tokens:
            raise DataError("no tokens in the development data")
        return {
            "dev_accuracy": scores.accuracy,
            "dev_sentence_accuracy": scores.sentence_accuracy,
            "dev_precision": scores.precision,
            "dev_recall": scores.recall,
            "dev_f1": scores.f1,
            "score": scores.accuracy if self.scheme == "none" else scores.f1,
        }
