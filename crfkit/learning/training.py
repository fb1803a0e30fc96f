"""One training run, from files to a model: read this module first.

    template ─┐
    train ────┴─ read ──> data set ──> layout ──> trainer ── passes ──> model
                          (attributes   (which      (weights)    │
                           and labels)   features)               └─ dev scores, log, stopping
"""

from __future__ import annotations

import array
import os
from collections.abc import Generator, Iterator
from contextlib import closing, nullcontext
from dataclasses import asdict, replace
from typing import Any

from crfkit.errors import OptionError
from crfkit.foreign import load
from crfkit.model import Model, build, ready
from crfkit.modelfile import check_header
from crfkit.options import Run
from crfkit.replacing import check_writable, empty_folders_removed, refuse_overwriting
from crfkit.template.parsing import Template
from crfkit.text.sources import Weighted, listed
from crfkit.trainers import trainer_class

from . import streaming
from .checkpoint import Checkpoint
from .corpus import Corpus
from .development import DevSet
from .divergence import Divergence
from .doubts import doubts
from .fitting import chooses_penalty, fitted
from .judging import check_files, check_stream, not_default
from .local import Local
from .memory import check_data_dir, check_memory
from .passes import Passes
from .progress import Progress, StopRequest
from .reader import Reader

_IN_HEADER = ("features", "min_freq", "partial", "prune", "seed", "select")


class Training:
    """One run. Creating it checks all that can be checked without reading the data."""

    def __init__(self, train: Any, template: Any, algorithm: str, options: Any, run: Run, progress: Progress, stop: StopRequest):
        self.train, self.algorithm, self.options, self.run, self.progress, self.stop = listed(train), algorithm, options, run, progress, stop
        if isinstance(run.log, str):
            check_writable(run.log)
        check_files(run.dev)
        self.template = _template(template, run.format)
        self.initial = self._initial()
        if self.initial is not None and isinstance(run.log, str) and os.path.exists(self.initial.name):  # else it is of no file
            refuse_overwriting("--log", [self.initial.name], run.log)
        self.streams = streaming.is_wanted(self.train, algorithm, options)
        if self.streams:
            check_stream(options, run, self.template)
        check_data_dir(run.data_dir)
        self.checkpoint = None if run.checkpoint is None else Checkpoint(run, algorithm, options)
        if not run.distributed:  # workers look for theirs
            check_files(self.train)

    def _initial(self) -> Any:
        """The model or the parser to start from, if there is one; OptionError for what is of no use to the one or the other."""
        options, init = self.options, self.run.init
        if self.template is not None and self.template.parses:
            from .parser import check_options, parser_of

            if isinstance(self.train, Weighted):
                raise OptionError("sample_weight is of no use to a parser, which a template with P lines makes: leave it out")
            check_options(self.template, self.algorithm, options, self.run)
            return None if init is None else parser_of(init)
        for name in not_default(options, "labels", "oracle") if self.algorithm == "lookahead" else ():
            raise OptionError(f"{name} is for parsers: for templates with P lines")
        found = init if isinstance(init, Model) else getattr(init, "model", None)  # of a tagger
        return found if init is None or isinstance(found, Model) else load(init)

    def models(self) -> Generator[Any, None, None]:
        """The models, as they are trained: one, or one for each value of l1 on the path. Closing it ends the run."""
        ready()
        if self.template is not None and self.template.parses:
            from .parser import trained

            yield trained(self.train, self.template, self.options, self.run, self.initial, self.checkpoint, self.progress, self.stop)
            return
        reader = Reader(self.train, self.template, self.run, self.progress, getattr(self.options, "direction", None))
        if self.streams:
            corpus, weights, chosen = streaming.train_stream(reader, self.options, self.stop)
            yield self._model(corpus, weights, None, None, chosen)
            return
        with empty_folders_removed(self.run.data_dir), self._place() as place:
            yield from self._trained(place, reader)

    def _place(self) -> Any:
        """Where the data are held and processed."""
        if not self.run.distributed:
            resumed = self.checkpoint is not None and self.checkpoint.file is not None
            return nullcontext(Local(self.algorithm, self.run, chooses_penalty(self.options), resumed))
        from .shards.place import Distributed

        return closing(Distributed(self.train, self.algorithm, self.run, self.progress))

    def _trained(self, place: Any, reader: Reader) -> Iterator[Model]:
        run, progress = self.run, self.progress
        corpus = place.corpus(reader)
        header = self._header(corpus)
        check_header(header)
        options, chosen, why = fitted(self.options, corpus, run.patience is not None)
        # with weights to start from there is no warm-up
        counting = replace(options, warm_up=0) if self.initial is not None and hasattr(options, "warm_up") else options
        expected = place.expected_memory(corpus, counting)
        progress.summary({**corpus.summary, "memory": expected})
        tallies = place.tallies(corpus)
        if self._alone(corpus):
            progress.note("labels do not depend on their neighbours: the template has no line B")
        else:
            progress.warn(trainer_class(self.algorithm).weakness(tallies))
        if run.partial:
            progress.note(f"{corpus.dataset.n_given:,} tokens have one label, {corpus.dataset.n_tokens - corpus.dataset.n_given:,} a choice")
        for doubt in doubts(corpus, tallies, reader.template, self.algorithm, options, run):
            progress.warn(doubt)
        progress.warn(check_memory(expected, options, run, lambda: place.savings(corpus, counting)))
        progress.chosen(chosen, why)
        initial = None if self.initial is None else _taken_over(self.initial, corpus, progress)
        dev = None if run.dev is None else DevSet(run.dev, corpus, header, run.threads, run.comments, run.outside)
        if dev is not None:
            for doubt in dev.check():
                progress.warn(doubt)
        if self.checkpoint is not None:
            self.checkpoint.identify(corpus.digest(), initial, None if dev is None else dev.contents())
        divergence = Divergence(options, corpus.dataset.weight, len(corpus.dataset.labels), corpus.dataset.largest_value)
        passes = Passes(place.trainer(corpus, options, initial), divergence, run, dev, self.checkpoint, progress, self.stop, chosen)
        for l1, weights in passes.all():
            yield self._model(corpus, weights, l1, dev, passes.chosen)

    def _alone(self, corpus: Corpus) -> bool:
        """Whether there are sequences of several tokens, but the template says nothing of labels beside others."""
        lines = [] if self.template is None or self.template.dialect is not None else self.template.lines
        return bool(lines) and not any("B" in line.kinds or line.reach for line in lines) and corpus.summary["tokens"] > corpus.summary["sequences"]

    def _model(self, corpus: Corpus, weights: array.array, l1: float | None, dev: DevSet | None, chosen: dict[str, Any] | None) -> Model:
        header = {**self._header(corpus, l1), **({"chosen": chosen} if chosen else {})}
        model = build(corpus.layout, weights, corpus.builder, header)
        return model if self.run.weights == "float32" else self._quantised(model, dev)

    def _quantised(self, model: Model, dev: DevSet | None) -> Model:
        """The model with quantised weights, and a report of the loss of accuracy."""
        smaller = model.quantised(self.run.weights)
        if dev is not None:
            before, after = (dev.scores_of(found.tagger())["score"] for found in (model, smaller))
            what = "accuracy" if dev.scheme == "none" else "F1"
            self.progress.note(
                f"weights as {self.run.weights}: {what} {after:.4f} on the development data, {before:.4f} as float32: {after - before:+.4f}"
            )
        return smaller

    def _header(self, corpus: Corpus, l1: float | None = None) -> dict[str, Any]:
        """The header of the model, without anything that differs between runs with the same result."""
        options = self.options if l1 is None else replace(self.options, l1=l1)
        return {
            **corpus.header,
            "algorithm": self.algorithm,
            "options": {**asdict(options), **{name: getattr(self.run, name) for name in _IN_HEADER}},
        }


def _template(template: Any, form: str) -> Template | None:
    if form == "crfsuite":
        if template is not None:
            raise OptionError("--format crfsuite takes no template: the data name their attributes")
        return None
    if template is None:
        raise OptionError(f"--format {form} needs a template; attributes need none with --format crfsuite")
    return Template.of(template)


def _taken_over(model: Model, corpus: Corpus, progress: Progress) -> array.array:
    """The weights to start from; reports how many there are."""
    from crfkit.trainers.base import summarise

    weights = corpus.weights_of(model)
    taken = summarise(weights)[0]
    progress.taken_over(taken, model)
    if taken and corpus.backward != (model.search is not None and model.search.backward):
        progress.warn(f"{model.name} has the other --direction: its weights of pairs of labels mean something else here")
    return weights
