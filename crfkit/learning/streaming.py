"""One pass over a stream that is never held in memory: `crfkit learn -a adf --passes 1 TEMPLATE - MODEL`.

The stream is cut into windows of --window sequences; the last one may be shorter. For each window

    new features are added, with a weight of zero;
    ADF makes an update from each sequence, in order;
    rates fall: rate *= alpha - u (alpha - beta), with u the fraction of the window's sequences in which an attribute occurred;
    and the window is dropped.

So the features are the same as after training on all data, but an attribute has no weight for a label before the window
in which it is first seen with it. A rate starts at --rate when its attribute first appears. The number of sequences is not
known in advance, so in the penalty l2 / |S| of an update, |S| is the number up to the end of its window. Memory grows with
distinct features and the strings that identify them, not with tokens.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crfkit.errors import DataError, FileError
from crfkit.text.opening import is_pipe, is_stdin

from .corpus import Corpus
from .divergence import Divergence, value_warning
from .fitting import USUAL
from .log import PassLog
from .reader import Reader

if TYPE_CHECKING:
    from .progress import StopRequest

WINDOW = 200


def _read_once(entry: Any) -> bool:
    """Whether these data can be read only once: standard input, a pipe, an open file."""
    return hasattr(entry, "read") or is_stdin(entry) or (isinstance(entry, (str, os.PathLike)) and is_pipe(entry))


def is_wanted(train: list[Any], algorithm: str, options: Any) -> bool:
    """Whether to train on the data as they arrive: in one pass of adf, if some of them can be read only once."""
    return algorithm == "adf" and options.passes == 1 and any(map(_read_once, train))


class Stream:
    """The state of training between windows."""

    def __init__(self, options: Any, reader: Reader):
        l2 = USUAL if options.l2 is None else options.l2  # the counts needed to choose it are not known yet
        self.options, self.reader = replace(options, window=options.window or WINDOW, l2=l2), reader
        self.found, self.shares = options.rate is None, True  # shares: whether large values have lower rates
        self.growing: Any = None
        self.labels: list[str] = []
        self.tokens, self.weight, self.loss, self.largest_value = 0, 0.0, 0.0, 0.0

    def windows(self, stop: StopRequest) -> Iterator[Any]:
        """The data of one window after the other. After a signal, the sequences read so far are the last window."""
        size, held = self.options.window, 0
        try:
            for rows in self.reader.blocks():
                stop.armed = True
                first, builder = 0, self.reader.builder
                while taken := builder.add(rows, first, size - held):
                    first += taken
                    held += taken
                    if held == size:
                        held = 0
                        yield builder.drain()
                if stop.requested():
                    break
                stop.armed = False
        except KeyboardInterrupt:
            if stop.signal is None or (self.growing is None and not held):  # from a handler of the program's own, or nothing to keep
                raise
        stop.armed = True
        if held:
            yield self.reader.builder.drain()

    def learn(self, data: Any) -> None:
        """Learn from one window."""
        from crfkit.trainers.online.adf import Adf
        from crfkit.weights.growing import Growing

        if self.growing is None:
            self.growing = Growing(self.options, self.reader.builder.plain_rule() > 0)
        self.tokens += data.n_tokens
        self.weight += data.weight
        self.labels, self.largest_value = data.labels, max(self.largest_value, data.largest_value)
        layout, weights, rates = self.growing.borrow(data)
        if self.options.rate is None:  # the first window, all of whose rows are new
            rates = None
        sequences = self.growing.sequences
        seed = self.reader.run.seed + sequences  # no two windows leave out the same (--dropout)
        trainer = Adf(data, layout, self.options, initial=weights, seed=seed, rates=rates, sequences=sequences, found=self.found, shares=self.shares)
        self.shares = self.shares and trainer.has_shares
        self.options = replace(self.options, rate=trainer.rate0)
        self.growing.rate = trainer.rate0
        self.loss += trainer.run_window()
        self.growing.give_back(trainer.weights(), trainer.rates())

    def result(self) -> tuple[Corpus, Any]:
        """The corpus, without data, and the weights of its features."""
        dataset, self.reader.tokens = self.reader.finish(), self.tokens  # those that were learned from
        layout, weights = self.growing.finish(self.labels, dataset.labels)
        if not layout.n_features:
            raise DataError("the template gives no feature", self.reader.path)
        return Corpus(self.reader, dataset, layout, self.growing.sequences), weights


def train_stream(reader: Reader, options: Any, stop: StopRequest) -> tuple[Corpus, Any, dict[str, Any]]:
    """One pass. Returns the corpus without its data, the weights, and the options chosen for these data."""
    from crfkit.trainers.base import summarise

    run, progress = reader.run, reader.progress
    stream, started, cpu = Stream(options, reader), time.perf_counter(), time.process_time()
    for data in stream.windows(stop):
        stream.learn(data)
        if stop.requested():
            break
    progress.close()
    corpus, weights = stream.result()
    seconds = time.perf_counter() - started
    active, total = summarise(weights)
    record = {"pass": 1, "loss": stream.loss, "seconds": seconds, "cpu": time.process_time() - cpu, "elapsed": seconds}
    chosen = {} if options.rate else {"rate": stream.options.rate}
    record.update(chosen, mean_abs_weight=total / corpus.layout.n_features, active=active)
    if run.log is not None:
        try:
            with PassLog(run.log) as log:
                log.write(record)
        except FileError as error:  # no reason to lose the model
            progress.lost(str(error))
    progress.chosen(chosen)
    progress.report(record)
    progress.end(None, stop.requested(), {})
    progress.warn(value_warning(stream.largest_value, "adf", options))
    Divergence(options, stream.weight, len(stream.labels), stream.largest_value).finish(weights, stream.loss, None, run.prune, progress)
    return corpus, weights, chosen
