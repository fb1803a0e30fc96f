"""Where one process reads the data and trains on them."""

from __future__ import annotations

import array
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crfkit.data.tallies import Tallies
from crfkit.parallel import threads_of
from crfkit.trainers import trainer_class

from .corpus import Corpus, read_corpus
from .memory import expected_memory, threads_with_work

if TYPE_CHECKING:
    from crfkit.options import Run

    from .reader import Reader


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

    return run.threads or paying_threads(corpus.dataset, corpus.layout)


def make_trainer(algorithm: str, corpus: Corpus, options: Any, run: Run, initial: array.array | None = None, resumed: bool = False) -> Any:
    """The trainer of that name, ready for its first pass; `resumed`: its state will be restored."""
    threads, shared = at_work(algorithm, run, corpus), corpus.builder.shared()
    return trainer_class(algorithm)(
        corpus.dataset, corpus.layout, options, initial=initial, seed=run.seed, threads=threads, shared=shared, resumed=resumed
    )
