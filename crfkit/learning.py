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
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from . import options as trainer_options
from .errors import DataError, FileError, OptionError, TemplateError
from .model import Model, build, load
from .modelfile import check_writable
from .progress import Progress, StopRequest
from .template import Template

FORMATS = ("columns", "conllu", "crfsuite")
FEATURES = ("observed", "all")

LAST = -1  # the column of the labels, where they have no name


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

    def check(self) -> None:
        """OptionError for what is out of range or makes no sense together."""
        for name, value, allowed in (("features", self.features, FEATURES), ("format", self.format, FORMATS)):
            if value not in allowed:
                raise OptionError(f"--{name}: expected {' or '.join(allowed)}, found {value!r}")
        for name, value, low in (("min_freq", self.min_freq, 1), ("threads", self.threads, 0), ("patience", self.patience, 1)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < low):
                raise OptionError(f"{trainer_options.flag(name)}: expected a whole number of at least {low}, found {value!r}")
            if value is not None and value > trainer_options.LARGEST:
                raise OptionError(f"{trainer_options.flag(name)}: expected at most {trainer_options.LARGEST}, found {value}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not -(2**63) <= self.seed < 2**63:
            raise OptionError(f"--seed: expected a whole number of 64 bits, found {self.seed!r}")
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


@dataclass
class Corpus:
    """Training data as numbers, with all that is needed to make a model of their weights."""

    dataset: Any
    builder: Any
    layout: Any
    template: Template | None
    n_columns: int
    column_names: tuple[str, ...] | None
    label_column: int | None
    summary: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def index(self) -> Any:
        """The index of all attributes, as a tagger searches it."""
        from .core.index import Index
        from .core.packing import pack

        return Index(self.template, pack(self.builder), verify=False)


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
    corpus = read_corpus(train, _template(template, run.format), run)
    progress.summary({**corpus.summary, "memory": expected_memory(corpus, options, run)})
    trainer = make_trainer(algorithm, corpus, options, run)
    header = _header(algorithm, options, run, corpus)
    stop.arm()
    weights = train_passes(trainer, corpus, header, run, progress, stop)
    return build(corpus.layout, weights, corpus.builder, header)


def _template(template: str | os.PathLike[str] | Template | None, form: str) -> Template | None:
    if form == "crfsuite":
        if template is not None:
            raise OptionError("--format crfsuite takes no template: the data name their attributes")
        return None
    if template is None:
        raise OptionError(f"--format {form} needs a template")
    return template if isinstance(template, Template) else Template.load(os.fspath(template))


def _is_rows(train: Any) -> bool:
    """Sentences given as lists of rows, rather than files."""
    return isinstance(train, (list, tuple)) and bool(train) and not isinstance(train[0], (str, bytes, os.PathLike)) and not hasattr(train[0], "read")


def parsed_blocks(data: Any, form: str, label: str | None) -> Iterable[tuple[Any, Any]]:
    """Rows of every block of the data, with the layout of its columns. The Rows are the same object each time."""
    from .core.columns import Rows
    from .reading import Layout, Source

    if _is_rows(data):
        rows = Rows(form, LAST)
        rows.fill(data)
        yield rows, Layout(rows.n_columns)
        return
    rows = None
    for block in Source(data, form):
        if rows is None:
            column = _label_column(label, block.layout, form)
            rows = Rows(form, LAST if column is None else column)
        rows.parse(block)
        yield rows, block.layout


def _label_column(label: str | None, layout: Any, form: str) -> int | None:
    """Where the label stands: None for the last column."""
    if label is None:
        if form == "conllu":
            raise OptionError("--format conllu needs --label: the name of the column to predict, such as upos or xpos")
        return None
    if layout.names is None or label not in layout.names:
        found = "the columns have no names" if layout.names is None else f"the columns are {' '.join(layout.names)}"
        raise DataError(f"there is no column {label!r}: {found}", layout.path, 1)
    return layout.names.index(label)


def read_corpus(train: Any, template: Template | None, run: Run) -> Corpus:
    """Read all training data, number its attributes, and decide which features exist."""
    from .core.indexbuilder import IndexBuilder
    from .core.layout import Layout

    started = time.perf_counter()
    builder, layout = None, None
    for rows, layout in parsed_blocks(train, run.format, run.label):
        if not rows.n_tokens:
            continue
        if builder is None:
            template = _fitted(template, layout, run)
            builder = IndexBuilder(template, crfsuite=run.format == "crfsuite")
        builder.add(rows)
    if builder is None:
        raise DataError("no tokens to learn from")
    dataset = builder.finish(run.min_freq)
    if not dataset.n_tokens:
        raise DataError("no tokens to learn from", layout.path)
    if len(dataset.labels) < 2:
        raise DataError(f"only one label, {dataset.labels[0]!r}: there is nothing to learn", layout.path)

    n_u, n_b = dataset.n_u, dataset.n_b
    every = {"observed": 0, "all": 1}[run.features]
    plain = None if template is None else _plain_bigram(template)
    features, u_new, b_new = Layout.build(
        dataset,
        len(dataset.labels),
        template is None or plain is not None,
        _rules(builder, False, every, n_u),
        array.array("i", [1]) * n_u,
        _rules(builder, True, every, n_b),
        array.array("i", [1]) * n_b,
        {"observed": 0, "all": 1, None: every}[plain.rule if plain else None],
    )
    builder.renumber(u_new, b_new)
    if not features.n_features:
        raise DataError("no feature is left: lower --min-freq", layout.path)
    label_column = _label_column(run.label, layout, run.format)
    summary = {
        "sequences": dataset.n_sequences,
        "tokens": dataset.n_tokens,
        "labels": len(dataset.labels),
        "attributes": sum(features.n_attributes),
        "weights": features.n_features,
        "seconds": time.perf_counter() - started,
    }
    return Corpus(dataset, builder, features, template, layout.n_cols, layout.names, label_column, summary)


def _fitted(template: Template | None, layout: Any, run: Run) -> Template | None:
    """The template with column names resolved, checked against the columns of the data."""
    if template is None:
        return None
    if layout.names is not None:
        template = template.resolve({name: number for number, name in enumerate(layout.names)})
    label = _label_column(run.label, layout, run.format)
    n_features = layout.n_cols - 1 if label is None else layout.n_cols
    if label is None and layout.n_cols < 2:
        raise DataError(f"found {layout.n_cols} column, expected at least two: features, and the label last", layout.path, layout.line)
    template.check(n_features)
    if label is not None and label in template.columns:
        raise TemplateError(f"the template uses column {label}, which holds the label", template.path)
    if template.history_line is not None:
        line = template.history_line
        raise TemplateError("%y macros need a trainer with history, which this version does not have", template.path, line.number)
    return template


def _plain_bigram(template: Template) -> Any:
    """The line that asks for plain label pairs, or None."""
    return next((line for line in template.lines if "B" in line.kinds and not line.macros), None)


def _rules(builder: Any, bigram: bool, every: int, n: int) -> bytes:
    """For each attribute 1 if it goes with every label, 0 if only with those it was seen with."""
    if not builder.has_rules:
        return bytes([every]) * n
    return bytes((0, every, 1)[rule] for rule in builder.rules(bigram))


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
    return used + corpus.layout.n_cells * options.bytes_per_cell(threads(run))


def threads(run: Run) -> int:
    """How many threads to use: those asked for, or one for each processor."""
    return run.threads or os.cpu_count() or 1


def make_trainer(algorithm: str, corpus: Corpus, options: Any, run: Run) -> Any:
    """The trainer of that name, ready for its first pass."""
    from .trainers import trainer_class

    initial = None if run.init is None else initial_weights(run.init, corpus)
    return trainer_class(algorithm)(
        corpus.dataset, corpus.layout, options, initial=initial, seed=run.seed, threads=threads(run)
    )


def initial_weights(model: Model, corpus: Corpus) -> array.array:
    """The weights of another model, for the features that both have; zero for the rest."""
    own_labels = {label: number for number, label in enumerate(corpus.dataset.labels)}
    own_attributes = [
        {name: number for number, name in enumerate(corpus.index.attributes(bigram))} for bigram in (False, True)
    ]
    weights = array.array("f", bytes(4 * corpus.layout.n_cells))
    for attribute, previous, label, weight in model.features():
        j = own_labels.get(label)
        i = None if previous is None else own_labels.get(previous)
        if j is None or (previous is not None and i is None):
            continue
        if attribute is None:
            cell = corpus.layout.pair_cell(i, j)
        elif previous is None:
            cell = corpus.layout.cell(own_attributes[0].get(attribute.encode(), -1), j)
        else:
            cell = corpus.layout.rich_cell(own_attributes[1].get(attribute.encode(), -1), i, j)
        if cell >= 0:
            weights[cell] = weight
    return weights


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


class _Best:
    """The best weights on the development data, and how long they have been the best."""

    def __init__(self, patience: int | None):
        self.patience = patience
        self.score = -math.inf
        self.weights: array.array | None = None
        self.waited = 0

    def offer(self, score: float, weights: array.array) -> bool:
        """Take note of a pass; False when it is time to stop."""
        if score > self.score:
            self.score, self.weights, self.waited = score, weights, 0
        else:
            self.waited += 1
        return self.patience is None or self.waited < self.patience


def train_passes(trainer: Any, corpus: Corpus, header: dict[str, Any], run: Run, progress: Progress, stop: StopRequest) -> array.array:
    """All passes; returns the weights to keep: the last ones, or the best ones on the development data."""
    from .trainers.base import summarise

    limit = getattr(trainer.options, "passes", None) or trainer.options.max_iter
    best = _Best(run.patience)
    dev = None if run.dev is None else DevSet(run.dev, corpus, header, run.threads)
    started = time.perf_counter()
    with ExitStack() as stack:
        log = stack.enter_context(_log(run.log)) if run.log is not None else None
        progress.start(limit)
        for number in range(1, limit + 1):
            begun = time.perf_counter()
            record = {"pass": number, **trainer.run_pass(stop.requested)}
            now = time.perf_counter()
            record.update(seconds=now - begun, elapsed=now - started)
            weights, go_on = None, True
            if dev is not None or log is not None:
                weights = trainer.weights()
                active, total = summarise(weights)
                record.update(mean_abs_weight=total / corpus.layout.n_features, active=active)
            if dev is not None:
                scores = dev.scores(weights)
                go_on = best.offer(scores.pop("score"), weights)
                record.update(scores)
            if log is not None:
                log.write(json.dumps(record) + "\n")
                log.flush()
            progress.report(record)
            if stop.requested() or trainer.converged or not go_on:
                break
    progress.end(trainer.converged or ("stopped by --patience" if not go_on else None), stop.requested())
    return best.weights if best.weights is not None else trainer.weights()


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
