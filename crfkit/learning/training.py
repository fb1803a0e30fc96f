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

from crfkit.data.tallies import Tallies
from crfkit.errors import OptionError
from crfkit.foreign import load
from crfkit.model import Model, build, ready
from crfkit.modelfile import check_header
from crfkit.options import Run
from crfkit.parallel import threads_of
from crfkit.replacing import check_writable, empty_folders_removed, refuse_overwriting
from crfkit.template.parsing import Template
from crfkit.text.sources import Weighted, listed
from crfkit.trainers import trainer_class
from crfkit.values import shown

from . import streaming
from .checkpoint import Checkpoint
from .corpus import Corpus, no_attribute, read_corpus
from .development import DevSet
from .divergence import Divergence, value_warning
from .fitting import chooses_penalty, fitted
from .judging import check_files, check_stream, not_default
from .memory import check_data_dir, check_memory, expected_memory, threads_with_work
from .passes import Passes
from .progress import Progress, StopRequest
from .reader import Reader

_LONG, _LONGER = 500, 30  # tokens of a sequence from which on it is long: as such, and for each sequence that there is
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
            yield self._model(corpus, weights, None, chosen=chosen)
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
        trainer, tallies = trainer_class(self.algorithm), place.tallies(corpus)
        if self._alone(corpus):
            progress.note("labels do not depend on their neighbours: the template has no line B")
        else:
            progress.warn(trainer.weakness(tallies))
        if run.partial:
            progress.note(f"{corpus.dataset.n_given:,} tokens have one label, {corpus.dataset.n_tokens - corpus.dataset.n_given:,} a choice")
        progress.warn(no_attribute(corpus, reader.template, run))
        progress.warn(trainer.weakness_of_values(tallies) or value_warning(corpus.dataset.largest_value, self.algorithm, options))
        progress.warn(_labels_warning(corpus, run))
        progress.warn(_blanks_warning(corpus.dataset.labels))
        progress.warn(_unknown_warning(corpus, run))
        progress.warn(trainer.slowness(corpus.dataset, options, run.features == "all"))
        progress.warn(_few_steps_warning(self.algorithm, corpus.summary["sequences"], corpus.summary["tokens"], run.format))
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

    def _model(
        self, corpus: Corpus, weights: array.array, l1: float | None, dev: DevSet | None = None, chosen: dict[str, Any] | None = None
    ) -> Model:
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


def _labels_warning(corpus: Corpus, run: Run) -> str | None:
    """A warning if the labels seem to be words: if they are many, and few of their tokens share one. In more text there are more words, about
    as the square root of its length: their number squared is 1,000 to 3,000 times that, and of labels such as rules for lemmas a few times."""
    labels, tokens = corpus.dataset.labels, corpus.summary["tokens"]
    if len(labels) <= 200 or (8 * len(labels) <= tokens and len(labels) ** 2 <= 500 * tokens):
        return None
    place = "the first field of a line" if run.format == "crfsuite" else "the last column" if run.label is None else f"column {run.label}"
    return f"{len(labels):,} labels for {tokens:,} tokens, such as {', '.join(map(shown, labels[-3:]))}: is {place} the label?"


def _blanks_warning(labels: list[str]) -> str | None:
    """A warning of blanks beside labels, which are part of them in columns that end at tabs; if there are any, of two labels that are the same
    without them."""
    seen: dict[str, str] = {}
    for label in labels:
        twin = seen.setdefault(label.strip(), label)
        if twin != label:
            return f"the labels {shown(twin)} and {shown(label)} differ in blanks alone"
    padded = next((label for label in labels if label != label.strip()), None)
    return None if padded is None else f"the blanks beside the label {shown(padded)} are part of it"


def _unknown_warning(corpus: Corpus, run: Run) -> str | None:
    """A warning if a tenth of the tokens have the sign of any label, but are to be learned with it as their label."""
    labels = corpus.dataset.labels
    if run.partial or "?" not in labels or 10 * corpus.dataset.label_counts()[labels.index("?")] < corpus.summary["tokens"]:
        return None
    return "many tokens have the label '?', which is learned like any other: with --partial it means that the label is unknown"


def _few_steps_warning(algorithm: str, sequences: int, tokens: int, form: str) -> str | None:
    """A warning if a trainer that makes a step for each sequence makes few (docs/defaults.md, "A few long texts"), or if a
    text is one sequence; attributes may be those of a recording."""
    by_sequence = trainer_class(algorithm).by_sequence
    if tokens < sequences * max(_LONG, _LONGER * sequences) or not (by_sequence or (sequences == 1 and form != "crfsuite")):
        return None
    there = f"there are {sequences} of {tokens // sequences:,} tokens" if sequences > 1 else f"all {tokens:,} tokens are one sequence"
    if not by_sequence:
        return f"{there}: if it has several sentences, put an empty line after each"
    return (
        f"{algorithm} makes one step for each sequence, and {there}: "
        "put an empty line after each sentence, or use lbfgs or lookahead, which learn more from so few"
    )


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


class Local:
    """This process reads the data and trains on them."""

    def __init__(self, algorithm: str, run: Run, ambiguity: bool, resumed: bool):
        self.algorithm, self.run, self.ambiguity, self.resumed = algorithm, run, ambiguity, resumed

    def corpus(self, reader: Reader) -> Corpus:
        """The data."""
        return read_corpus(reader, ambiguity=self.ambiguity)

    def tallies(self, corpus: Corpus) -> Tallies:
        """What is counted in the data."""
        return Tallies(corpus.dataset)

    def expected_memory(self, corpus: Corpus, options: Any) -> int:
        """Estimated peak memory of training; 0 if it is not known."""
        taggers = 0 if self.run.dev is None else threads_of(self.run.threads)
        return expected_memory(corpus, self.algorithm, options, at_work(self.algorithm, self.run, corpus), taggers)

    def savings(self, corpus: Corpus, options: Any) -> list[str]:
        """What would take less memory."""
        ways = ["raise --min-freq", "keep fewer attributes with --select"]
        if getattr(options, "warm_up", 0):
            threads, cls = threads_with_work(corpus, options, at_work(self.algorithm, self.run, corpus)), trainer_class(self.algorithm)
            more, less = (cls.expected_bytes(corpus.dataset, corpus.layout, chosen, threads) for chosen in (options, replace(options, warm_up=0)))
            ways = ["take --warm-up 0"] * (less < more) + ways
        return ways

    def trainer(self, corpus: Corpus, options: Any, initial: array.array | None) -> Any:
        """The trainer, ready for its first pass, or for the state of the run that is resumed."""
        return make_trainer(self.algorithm, corpus, options, self.run, initial, self.resumed)


def at_work(algorithm: str, run: Run, corpus: Corpus) -> int:
    """How many threads a trainer may use: a lock-free one, whose weights differ with more than one, only those that are requested."""
    cls = trainer_class(algorithm)
    if cls.lock_free:
        return max(run.threads, 1)
    if not cls.threaded:
        return 1
    from crfkit.trainers.batch.objective import paying_threads

    return run.threads or min(threads_of(0), paying_threads(corpus.dataset, corpus.layout))


def make_trainer(algorithm: str, corpus: Corpus, options: Any, run: Run, initial: array.array | None = None, resumed: bool = False) -> Any:
    """The trainer of that name, ready for its first pass; `resumed`: its state will be restored."""
    threads, shared = at_work(algorithm, run, corpus), corpus.builder.shared()
    return trainer_class(algorithm)(
        corpus.dataset, corpus.layout, options, initial=initial, seed=run.seed, threads=threads, shared=shared, resumed=resumed
    )
