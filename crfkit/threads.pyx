"""Threads that share a piece of work on what belongs to their caller.

A thread that is left behind writes into memory that its owner may have given back. So `run` comes to its end only when all
threads have done their share. The handler of a signal may raise an exception wherever Python's own code runs: Ctrl-C, or the
alarm of a time limit. Here is none of it. Who waits does so for a lock of the system, which no signal interrupts, and the
handlers have their turn when nothing runs any more.
"""

import sys
from _thread import start_new_thread
from types import BuiltinFunctionType

from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)
from posix.unistd cimport getpid

# Not where something else takes their place: the greenlets of gevent run only while others wait by its means.
_THREADS = isinstance(start_new_thread, BuiltinFunctionType)


cdef class _Seat:
    """Where one thread waits for its share."""

    cdef PyThread_type_lock asked, done     # open when there is something to do, and when it is done
    cdef object work, error
    cdef tuple share

    def __cinit__(self):
        self.asked, self.done = PyThread_allocate_lock(), PyThread_allocate_lock()
        if self.asked == NULL or self.done == NULL:
            raise MemoryError
        PyThread_acquire_lock(self.asked, WAIT_LOCK)
        PyThread_acquire_lock(self.done, WAIT_LOCK)

    def __dealloc__(self):
        if self.asked != NULL:
            PyThread_free_lock(self.asked)
        if self.done != NULL:
            PyThread_free_lock(self.done)

    def serve(self):
        """What the thread does, until it is asked for nothing."""
        while True:
            with nogil:
                PyThread_acquire_lock(self.asked, WAIT_LOCK)
            if self.work is None:
                return
            try:
                self.work(*self.share)
            except BaseException as error:
                self.error = error
            self.work = self.share = None
            PyThread_release_lock(self.done)

    cdef int ask(self, object work, tuple share) except -1:
        self.work, self.share, self.error = work, share, None
        PyThread_release_lock(self.asked)


cdef class _Work:
    """Work in shares, for `run`."""

    cdef object owner
    cdef share_t share

    def __call__(self, int what, int64_t first, int64_t last):
        if self.share == NULL:
            raise TypeError("work without an owner")
        self.share(self.owner, what, first, last)


cdef class Threads:
    """The caller and some other threads, which wait for it as long as this lives."""

    def __init__(self, int others):
        self.others = others
        self.start()

    cdef int start(self) except -1:
        """Fewer threads, or none, where the interpreter is about to end, and where there are no threads of the system."""
        cdef _Seat seat
        self.process, self.seats = getpid(), []
        for _ in range(self.others * _THREADS):
            seat = _Seat()
            try:
                start_new_thread(seat.serve, ())
            except RuntimeError as error:
                if "shutdown" not in str(error):
                    raise
                break
            self.seats.append(seat)

    def __del__(self):
        cdef _Seat seat
        if not sys.is_finalizing():     # then nobody may wake up any more
            for seat in self.seats or ():
                seat.ask(None, ())

    cpdef int run(self, work, list shares) except -1:
        """work(*share) for each share, the first one by the caller, as are those for which there is no thread. An error of theirs is
        raised when all are done, the caller's first."""
        cdef _Seat seat
        cdef int asked = 0, k
        if not 1 <= len(shares) <= self.others + 1:
            raise ValueError(f"{len(shares)} shares for {self.others + 1} threads")
        if self.process != getpid():    # a child of the process that started them has none
            self.start()
        error = None
        try:
            for seat, share in zip(self.seats, shares[1:]):
                seat.ask(work, share)
                asked += 1
            for share in shares[:1] + shares[1 + asked:]:
                work(*share)
        except BaseException as found:
            error = found
        for k in range(asked):
            seat = self.seats[k]
            with nogil:
                PyThread_acquire_lock(seat.done, WAIT_LOCK)
            error = error if error is not None else seat.error
            seat.error = None
        if error is not None:
            raise error
        PyErr_CheckSignals()

    cdef int in_shares(self, owner, share_t share, int what, int64_t n, int64_t most=0x7FFFFFFF) except -1:
        """Call share(owner, what, first, last) for equal shares of 0 .. n, a thread each, or `most`. The result must not depend on which does which."""
        cdef int64_t k, size = min(self.others + 1, min(n, most))
        cdef _Work work = _Work()
        work.owner, work.share = owner, share
        return self.run(work, [(what, n * k // size, n * (k + 1) // size) for k in range(size)])
