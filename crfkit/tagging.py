"""Tagging: a model at work on sentences and files."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .core.columns import Rows
from .core.decoder import Decoder, Scratch
from .errors import DataError

if TYPE_CHECKING:
    from .core.index import Index
    from .core.layout import Layout
    from .model import Model
    from .reading import Block

T = TypeVar("T")
R = TypeVar("R")


class Tagger:
    """A model, ready to label sentences. One tagger may serve any number of threads at once."""

    def __init__(self, model: Model):
        self.model: Model | None = model
        self.header: Mapping[str, Any] = model.header
        self._decoder = Decoder(model.index, model.layout, model.weights, model.labels, model.verified)
        self._free: list[Scratch] = []

    @property
    def labels(self) -> list[str]:
        """The labels, in bytewise order."""
        return list(self._decoder.labels)

    def tagged_blocks(self, blocks: Iterable[Block], threads: int, separator: str | None = None) -> Iterator[bytes]:
        """The blocks' text with labels, in order."""
        between = None if separator is None else separator.encode()
        form = self.header["format"]

        def work(block: Block) -> bytes:
            rows = Rows(form)
            rows.parse(block)
            scratch = self._scratch()
            try:
                return scratch.tagged(rows, between)
            finally:
                self._free.append(scratch)

        return in_order(work, blocks, threads)

    def _scratch(self) -> Scratch:
        """A scratch that no other thread uses; given back by appending it to _free."""
        try:
            return self._free.pop()
        except IndexError:
            return Scratch(self._decoder)


def available_cpus() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """What `work` makes of each item, in the items' order. With several threads a few items are worked on ahead."""
    if threads == 1:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        waiting = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
