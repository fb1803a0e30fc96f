"""Work on several threads, with results in the order of what they were made from."""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, TypeVar

from .constants import MOST_THREADS
from .values import Expected

QUOTA = "/sys/fs/cgroup/cpu.max"  # microseconds of processor time in so many of the clock

THREADS = Expected(int, low=0)

T = TypeVar("T")
R = TypeVar("R")


def available_cpus() -> int:
    """Processors that this process may use, or as many as a container's limit on their time is worth."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError), open(QUOTA, encoding="ascii") as file:  # "max 100000" where there is no limit
        quota, period = map(int, file.read().split())
        cpus = min(cpus, max(1, -(-quota // period)))
    return cpus


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


class _Job:
    def __init__(self, work: Callable[[Any], Any] | None, item: Any):
        self.work, self.item = work, item
        self.found: Any = None
        self.error: BaseException | None = None
        self.running = allocate_lock()
        self.running.acquire()

    def do(self) -> None:
        """Do the work on the current thread; without a function, which was given up, only finish."""
        try:
            self.found = None if self.work is None else self.work(self.item)
        except BaseException as error:
            self.error = error
        self.running.release()

    def result(self) -> Any:
        """What the work gave, once it is done. An error leads to its frames, and these to the job, which does not keep it: what they hold, such
        as a model and open files, would wait for the garbage collector."""
        self.running.acquire()
        if self.error is None:
            return self.found
        try:
            raise self.error
        finally:
            self.error = None


def _serve(jobs: SimpleQueue[_Job | None], at_work: Any) -> None:
    """What each thread does, until there is None, which it leaves for the others."""
    while (job := jobs.get()) is not None:
        job.do()
        del job
    jobs.put(None)
    at_work.release()


def _in_threads(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """On threads of our own. The handler of a signal may raise an exception anywhere here, and these locks and queues can be left at any
    point; the pools of concurrent.futures may then never end. They also end with the main thread, whoever else is at work."""
    jobs: SimpleQueue[_Job | None] = SimpleQueue()
    waiting: deque[_Job] = deque()
    at_work: list[Any] = []
    process = os.getpid()
    try:
        for item in items:
            if len(at_work) < threads:
                _start(jobs, at_work)
            waiting.append(_Job(work, item))
            if at_work:
                jobs.put(waiting[-1])
            else:
                waiting[-1].do()
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        try:
            for job in waiting:
                job.work = None
        finally:
            jobs.put(None)
        if sys.is_finalizing() or process != os.getpid():
            at_work = []  # nobody comes back: not where an interpreter ends, nor in a child of the process
        for lock in at_work:
            lock.acquire()
        for job in waiting:
            job.error = None


def _start(jobs: SimpleQueue[_Job | None], at_work: list[Any]) -> None:
    """One more thread; none where the interpreter is about to end."""
    lock = allocate_lock()
    lock.acquire()
    try:
        start_new_thread(_serve, (jobs, lock))
    except RuntimeError as error:
        if "shutdown" not in str(error):
            raise
    else:
        at_work.append(lock)
