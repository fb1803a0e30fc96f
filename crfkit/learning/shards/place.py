"""Training with data that workers hold: the driver, in this process."""

from __future__ import annotations

import array
import os
from typing import Any

import numpy as np

from crfkit.cluster.crew import Crew, connected, threads_each
from crfkit.data.dataset import Dataset
from crfkit.data.tallies import Tallies
from crfkit.errors import OptionError
from crfkit.options import Run
from crfkit.parallel import available_cpus
from crfkit.trainers import trainer_class

from ..corpus import Corpus
from ..memory import INDEX, in_use
from ..progress import Progress
from ..reader import Reader
from .batch import BYTES_PER_ANSWER, DistributedObjective
from .driver import DistributedCorpus
from .files import cut, files_of
from .mixing import Mixing

SERVICE = "crfkit.learning.shards.service:Service"


class Distributed:
    """As local.Local, with the data held by workers, which are there from now on."""

    def __init__(self, train: list[Any], algorithm: str, run: Run, progress: Progress):
        self.train, self.algorithm, self.run = _names(train), algorithm, run
        self.workers = run.workers and min(run.workers, len(cut(files_of(self.train), run.shards)))
        if self.workers != run.workers:
            progress.note(f"starting {self.workers} of {run.workers} workers, one for each part into which the data are cut (--shards)")
        self.crew = Crew(connected(self.workers, run.cluster, SERVICE), run.worker_timeout, progress.note)

    def close(self) -> None:
        """End the workers."""
        self.crew.transport.close()

    def corpus(self, reader: Reader) -> Corpus:
        """What is to be known of the data."""
        self.distributed = DistributedCorpus(self.crew, reader, self.run.shards)
        return self.distributed.read(self.train)

    def tallies(self, corpus: Corpus) -> Tallies:
        """What is counted in the data."""
        return Tallies(corpus.dataset, self.distributed.tally)

    def expected_memory(self, corpus: Corpus, options: Any) -> int:
        """Bytes that this process will take at its peak, without what workers take; 0 if that is not known."""
        now, peak = in_use()
        attributes = sum(corpus.layout.n_attributes)
        # The answers of all workers may be here at once.
        workers = min(len(self.crew.transport.workers()), len(self.distributed.shards))
        if hasattr(options, "max_iter"):
            met = sum(int((np.asarray(numbers[kind]) >= 0).sum()) for numbers in self.distributed.numbers for kind in "ub")
            cell = trainer_class(self.algorithm).bytes_per_cell(options, 1) + BYTES_PER_ANSWER * min(workers, met / max(attributes, 1))
        else:
            cell = Mixing.bytes_per_cell(options, workers)
        return max(peak, now + int(corpus.layout.n_cells * cell) + attributes * INDEX) if now else 0

    def savings(self, corpus: Corpus, options: Any) -> list[str]:
        """What would take less memory."""
        return ["raise --min-freq"]

    def trainer(self, corpus: Corpus, options: Any, initial: array.array | None) -> Any:
        """The trainer, ready for its first pass."""
        if not hasattr(options, "max_iter"):
            return Mixing(self.distributed, self.algorithm, options, self.run, initial, corpus.builder.shared())
        here, each = self.run.threads or available_cpus(), threads_each(self.run.threads, self.workers)
        objective = DistributedObjective(self.distributed, options.l2, options.train_accuracy, here, each)
        cls = trainer_class(self.algorithm)
        return cls(Dataset(), corpus.layout, options, initial=initial, seed=self.run.seed, threads=here, objective=objective)


def _names(train: list[Any]) -> list[str]:
    """The names of the files; OptionError for data that workers cannot open."""
    if not train or not all(isinstance(name, (str, bytes, os.PathLike)) for name in train) or "-" in train:
        raise OptionError("--workers and --cluster need TRAIN as files that workers can open: write the data to a file first")
    return [os.fsdecode(name) for name in train]
