"""Work on several threads, with results in the order of what they were made from."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

from .constants import MOST_THREADS
from .errors import OptionError
from .values import exactly, plain

T = TypeVar("T")
R = TypeVar("R")


def available_cpus() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_of(threads: Any) -> int:
    """The number of threads that was asked for; 0: one for each processor."""
    threads = plain(threads)
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
        raise OptionError(f"threads: expected a whole number of at least 0, found {exactly(threads)}")
    return threads or available_cpus()


def in_order(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """What `work` makes of each item, in the items' order. Several threads work on a few items ahead of what has
    been taken; an error comes after the results before it, as it would with one thread."""
    threads = min(threads, MOST_THREADS)
    if threads <= 1:
        yield from map(work, items)
        return
    failures: list[Exception] = []

    def until_failure() -> Iterator[T]:
        try:
            yield from items
        except Exception as error:
            failures.append(error)

    coming = until_failure()
    first = list(islice(coming, 2))
    if len(first) < 2:  # not worth a thread
        yield from map(work, first)
    else:
        yield from _in_threads(work, chain(first, coming), threads)
    for error in failures:
        raise error


def _in_threads(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    from concurrent.futures import Future, ThreadPoolExecutor

    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(threads) as pool:
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
