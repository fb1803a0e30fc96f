"""One training run, from files to a model: the page to read first.

    template ─┐
    train ────┴─ read ──> data set ──> layout ──> trainer ── passes ──> model
                          (attributes   (which      (weights)    │
                           and labels)   features)               └─ dev scores, log, stopping
"""

from __future__ import annotations

import array
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from crfkit import options as trainer_options
from crfkit.errors import OptionError
from crfkit.foreign import load
from crfkit.learning import streaming
from crfkit.model import Model, build
from crfkit.template.parsing import Template
from crfkit.text.sources import listed

from .checkpoint import Checkpoint
from .corpus import Corpus, read_corpus
from .development import DevSet
from .divergence import value_warning
from .memory import check_memory, expected_memory
from .passes import Passes
from .progress import Progress, StopRequest
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

    `train` is a path, a list of paths, or sentences: lists of rows of columns, the label last. `template` is a path or a
    Template. With format="crfsuite" there is none, and rows are pairs (attributes, label): see crfkit.text.items. All other
    options are those of `crfkit learn`, with underscores.

    With adf and passes=1, standard input, pipes and open files are trained on as they come, and not held in memory.
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
    passes = Passes(make_trainer(algorithm, corpus, options, run, initial), corpus, run, dev, checkpoint, progress, stop)
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
    from crfkit.parallel import available_cpus

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
