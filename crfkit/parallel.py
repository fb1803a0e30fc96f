"""Work on several threads, with results in the order of what they were made from."""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from .constants import MOST_THREADS
from .groups import processor_limits
from .values import Expected

THREADS = Expected(int, low=0)

T = TypeVar("T")
R = TypeVar("R")


def available_cpus() -> int:
    """Processors that this process may use, or as many as a container's limit on their time is worth."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([cpus, *processor_limits()])


def threads_of(threads: Any) -> int:
    """The number of threads that was asked for; 0: one for each processor."""
    return THREADS.take("threads", threads) or available_cpus()


def in_order(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """What `work` makes of each item, in the items' order. Several threads work on a few items ahead of what has
    been taken; an error comes after the results before it, as it would with one thread."""
    threads = 1 if sys.is_finalizing() else min(threads, MOST_THREADS)  # an interpreter that ends lets no thread run
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
    if failures:
        raise failures.pop()  # this frame, to which it leads, does not keep it


Result = SimpleQueue[tuple[Any, BaseException | None]]  # what the work gave, once it is done, or its error


def _tried(work: Callable[[T], R], item: T) -> tuple[R | None, BaseException | None]:
    """What the work gives, or its error."""
    try:
        return work(item), None
    except BaseException as error:
        return None, error


def _taken(result: Result) -> Any:
    """What the work gave, once it is done. Its error leads to this frame, which does not keep it: what frames hold, such as a model and open
    files, would wait for the garbage collector."""
    found, error = result.get()
    if error is None:
        return found
    try:
        raise error
    finally:
        del error


def _serve(work: Callable[[Any], Any], jobs: SimpleQueue[Any], at_work: Any) -> None:
    """What each thread does, until there is None, which it leaves for the others."""
    while (job := jobs.get()) is not None:
        item, result = job
        result.put(_tried(work, item))
        del job, item, result
    jobs.put(None)
    at_work.release()


def _in_threads(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """On threads of our own. The handler of a signal may raise an exception anywhere here, and these locks and queues can be left at any
    point; the pools of concurrent.futures may then never end. They also end with the main thread, whoever else is at work."""
    jobs: SimpleQueue[tuple[T, Result] | None] = SimpleQueue()
    waiting: deque[Result] = deque()
    at_work: list[Any] = []
    process = os.getpid()
    try:
        for item in items:
            if len(at_work) < threads:
                _start(work, jobs, at_work)
            waiting.append(SimpleQueue())
            if at_work:
                jobs.put((item, waiting[-1]))
            else:
                waiting[-1].put(_tried(work, item))
            if len(waiting) > 2 * threads:
                yield _taken(waiting.popleft())
        while waiting:
            yield _taken(waiting.popleft())
    finally:
        try:
            with suppress(Empty):  # what is given up
                while True:
                    jobs.get_nowait()
        finally:
            jobs.put(None)
        if sys.is_finalizing() or process != os.getpid():
            at_work = []  # nobody comes back: not where an interpreter ends, nor in a child of the process
        for lock in at_work:
            lock.acquire()


def _start(work: Callable[[Any], Any], jobs: SimpleQueue[Any], at_work: list[Any]) -> None:
    """One more thread; none where the interpreter is about to end."""
    lock = allocate_lock()
    lock.acquire()
    try:
        start_new_thread(_serve, (work, jobs, lock))
    except RuntimeError as error:
        if "shutdown" not in str(error):
            raise
    else:
        at_work.append(lock)
