"""What is counted in data that workers hold, as on one machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crfkit.data.tallies import Tallies, Values

from .driver import DistributedCorpus


class SharedTallies(Tallies):
    """Adds the tallies of shards as they arrive: how sums are rounded decides nothing."""

    def __init__(self, corpus: DistributedCorpus):
        super().__init__(corpus.data)
        self.corpus = corpus

    def values(self) -> Values:
        found = Values(self.corpus.layout.n_attributes[0])
        self._ask("values", found.add)
        return found

    def steps(self) -> Any:
        followed, repeated = np.zeros((2, len(self.data.labels)), np.int64)

        def add(more: Any, again: Any) -> None:
            if not len(more) == len(again) == len(followed):
                raise ValueError("steps between other labels")
            followed[:], repeated[:] = np.add((followed, repeated), (more, again))

        self._ask("steps", add)
        return followed.tolist(), repeated.tolist()

    def _ask(self, of: str, add: Callable[..., None]) -> None:
        self.corpus.ask(
            range(len(self.corpus.shards)), "tally", lambda _, own: {"shard": own[0], "of": of}, lambda _, answer: add(*answer)
        )
