"""The objective over shards: what workers must know of all data, and one evaluation after the other."""

from __future__ import annotations

import array
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from crfkit.trainers.batch.nests import Survey
from crfkit.trainers.batch.sharded import Sharded

from .driver import DistributedCorpus
from .sums import merge

BYTES_PER_ANSWER = 3 * 8  # of a weight that a worker uses: its gradient and number in the first answer, and the number that is kept


class DistributedObjective(Sharded):
    """Has the workers evaluate the objective. `threads` are those of this process, `each` those of a worker."""

    def __init__(self, corpus: DistributedCorpus, l2: float, counts: bool, threads: int, each: int):
        corpus.in_groups = True
        self.jobs = range(len(corpus.shards))
        self.ask = partial(corpus.ask, self.jobs, grouped=True)
        self.cells: dict[tuple[int, ...], Any] = {}  # which ones groups of shards touch, as far as workers have said
        data, layout = corpus.data, corpus.layout
        survey = None if data.has_values else Survey(layout, corpus.nesting)
        plain = not data.has_values and not data.has_weights
        terms = array.array("d", [0.0]) * (1 + sum(layout.n_attributes))

        def accept(_: list[int], answer: dict[str, Any]) -> None:
            if survey is not None:
                survey.add(*answer["survey"])
            merge(terms, answer["terms"], not plain)

        self.ask("look_around", lambda _, own: {"shards": own, "survey": survey is not None, "sums": plain}, accept)
        sums = terms
        if not plain:
            sums = array.array("d", [0.0]) * len(terms)
            self.ask("sums", lambda _, own: {"shards": own, "largest": terms}, lambda _, answer: merge(sums, answer))
        merged = None if survey is None else list(survey.found())
        corpus.common.append(("share_whole", {"survey": merged, "sums": sums, "threads": each, "counts": counts}))
        super().__init__(layout, l2, threads, data.n_tokens, data.n_sequences, (terms, sums) if data.has_values else None)

    def collect(self, weights: Any, bound: float) -> Any:
        losses: dict[int, Any] = {}
        counted, given_up = [0, 0], False
        met: set[tuple[int, ...]] = set()

        def accept(own: list[int], answer: dict[str, Any] | None) -> None:
            nonlocal given_up
            met.add(tuple(own))
            if answer is None:
                given_up = True
                return
            wrong, flawed = int(answer["wrong"]), int(answer["flawed"])
            losses.update(self._added(own, answer))
            counted[0] += wrong
            counted[1] += flawed

        def arguments(memory: set[Any], own: list[int]) -> dict[str, Any]:
            cells = self.cells.get(tuple(own)) if ("cells", tuple(own)) in memory else None
            memory.add(("cells", tuple(own)))
            sent = weights if cells is None else np.asarray(weights).take(cells).data
            return {"shards": own, "bound": None if bound == float("inf") else bound, "weights": sent, "sparse": cells is not None}

        self.ask("evaluate", arguments, accept)
        self.cells = {own: cells for own, cells in self.cells.items() if own in met}  # whoever died had other groups
        if given_up:
            return None
        return array.array("d", [loss for shard in self.jobs for loss in losses[shard]]), *counted

    def _added(self, own: list[int], answer: dict[str, Any]) -> dict[int, Any]:
        """Add the gradient of a group of shards; returns the losses of their chunks, by shard. ValueError before anything is added if these
        are not of the group."""
        shards, sizes, found = list(answer["shards"]), list(answer["chunks"]), answer["losses"]
        if sorted(shards) != sorted(own) or len(sizes) != len(shards) or sum(sizes) != len(found) or min(sizes) < 0:
            raise ValueError("the objective of other shards")
        cells = self.cells.get(tuple(own)) if answer["cells"] is None else answer["cells"]
        if cells is None:
            raise ValueError("a gradient of unknown cells")
        self.add(answer["gradient"], cells)
        if answer["cells"] is not None:
            self.cells[tuple(own)] = array.array("q", cells)
        return {shard: found[end - size : end] for shard, size, end in zip(shards, sizes, accumulate(sizes), strict=True)}
