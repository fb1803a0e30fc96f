"""Shares of work: all are done when `run` is over, whatever happens meanwhile."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from commands import forks, python

from crfkit import parallel
from crfkit.parallel import in_order
from crfkit.threads import Threads

pytestmark = pytest.mark.steady


class Alarm(Exception):
    """What the handler of a signal raises."""


def wait_for_the_end_of(threads):
    """These and no others: those of a test before may be about to end. Naps are counted, because the clock of a machine that was stopped
    for a while goes ahead all at once."""
    for _ in range(6000):
        if not alive(threads):
            break
        time.sleep(0.01)
    assert not list(filter(None, map(doing, alive(threads))))


def doing(thread):
    """What the system knows of a thread: its state, and the system call in which it waits."""
    with contextlib.suppress(OSError):
        return [Path(f"/proc/self/task/{thread}/{name}").read_text(errors="replace") for name in ("stat", "wchan", "syscall", "schedstat")]


def alive(threads):
    """Those of these threads that live, by the numbers that the system gives them. Each is asked for: a list of all threads of a process
    breaks off where one ends meanwhile."""
    return {thread for thread in threads if os.path.isdir(f"/proc/self/task/{thread}")}


by_their_numbers = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="looks for threads in /proc")


def test_every_share_is_done_and_threads_serve_again():
    threads, found = Threads(3), []
    for n in (1, 2, 4, 3, 4):
        found.clear()
        threads.run(lambda k, by: found.append((k, threading.get_ident() == by)), [(k, threading.get_ident()) for k in range(n)])
        assert sorted(found) == [(k, k == 0) for k in range(n)]  # the first one is the caller's own


@pytest.mark.parametrize("failing", [[0], [1], [2], [1, 2], [0, 2], [0, 1, 2]])
def test_the_first_error_comes_when_all_are_done(failing):
    threads, done = Threads(2), []

    def work(k):
        done.append(k)
        if k in failing:
            raise ZeroDivisionError(k)

    for _ in range(2):
        done.clear()
        with pytest.raises(ZeroDivisionError, match=f"^{failing[0]}$"):
            threads.run(work, [(k,) for k in range(3)])
        assert sorted(done) == [0, 1, 2]
    threads.run(done.append, [(k,) for k in range(3)])
    assert sorted(done) == [0, 0, 1, 1, 2, 2]


def test_a_share_that_cannot_be_handed_out_leaves_nobody_at_work():
    threads, done = Threads(2), []

    def work(k):
        time.sleep(0.2)  # the caller would be gone meanwhile
        done.append(k)

    with pytest.raises(TypeError, match="tuple"):
        threads.run(work, [(0,), (1,), 2])
    assert done == [1]
    threads.run(work, [(0,), (1,), (2,)])
    assert sorted(done[1:]) == [0, 1, 2]


@pytest.mark.parametrize("signalled_by", [0, 1])
def test_a_handler_that_raises_leaves_nobody_at_work(signalled_by):
    threads, done = Threads(1), []

    def handler(*_):
        raise Alarm

    def work(k):
        if k == signalled_by == 1:
            signal.raise_signal(signal.SIGUSR1)
        if k == 1:
            time.sleep(0.2)  # the caller waits meanwhile, or has been interrupted
        done.append(k)
        if k == signalled_by == 0:
            signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(Alarm):
            threads.run(work, [(0,), (1,)])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert sorted(done) == [0, 1]


def test_numbers_of_shares():
    threads = Threads(1)
    for n in (0, 3):
        with pytest.raises(ValueError, match=f"^{n} shares for 2 threads$"):
            threads.run(print, [()] * n)


@by_their_numbers
def test_threads_end_with_what_they_serve():
    threads, served = Threads(2), set()
    threads.run(lambda: served.add(threading.get_native_id()), [(), (), ()])
    served.remove(threading.get_native_id())
    assert len(served) == 2 and alive(served) == served
    del threads
    wait_for_the_end_of(served)


def test_no_more_threads_than_asked_for(monkeypatch):
    start, started = parallel.start_new_thread, []
    monkeypatch.setattr(parallel, "start_new_thread", lambda *given: started.append(start(*given)))
    assert list(in_order(abs, range(20), 3)) == list(range(20))
    assert len(started) == 3


def test_where_no_thread_can_be_started(monkeypatch):
    """As when the interpreter is about to end: the caller does it all."""

    def refused(*_):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr("crfkit.threads.start_new_thread", refused)
    monkeypatch.setattr("crfkit.parallel.start_new_thread", refused)
    threads, done = Threads(2), []
    threads.run(lambda k: done.append((k, threading.get_ident())), [(k,) for k in range(3)])
    assert done == [(k, threading.get_ident()) for k in range(3)]
    assert list(in_order(lambda k: (k, threading.get_ident()), range(20), 3)) == [(k, threading.get_ident()) for k in range(20)]


GREENLETS = """
import _thread
_thread.start_new_thread = lambda work, given: None  # has a turn when its caller waits by the means of gevent, and here never
import crfkit
rows = [[["a", "X"], ["b", "Y"]] * 50] * 100
for algorithm, limit in (("lbfgs", {"max_iter": 3}), ("owlqn", {"max_iter": 3}), ("sgd", {"passes": 1})):
    models = [crfkit.learn(rows, "U:%x[0,0]", algorithm, threads=threads, **limit).to_bytes() for threads in (1, 2)]
    assert models[0] == models[1]
"""


def test_greenlets_in_the_place_of_threads():
    """As after gevent.monkey.patch_all: the caller does it all, and does not wait for what cannot run meanwhile."""
    python(GREENLETS, timeout=600)


@forks
def test_a_child_has_threads_of_its_own():
    threads, done = Threads(1), []
    threads.run(done.append, [(1,), (2,)])
    child = os.fork()
    if child == 0:  # nothing of pytest may run here
        try:
            threads.run(done.append, [(3,), (4,)])
            os._exit(0 if sorted(done) == [1, 2, 3, 4] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


PROGRAM = """
import atexit, signal, sys, threading, time
import crfkit
from crfkit.parallel import in_order

model = crfkit.learn([[["a", "X"], ["b", "Y"]]] * 20, template="U:%x[0,0]", max_iter=3)
tagger = model.tagger()
wanted = [["X", "Y"]] * 3000

def label():
    assert tagger.tag_many([[["a"], ["b"]]] * 3000, threads=2) == wanted
    print("labelled", flush=True)

def later():
    threading.main_thread().join()
    label()

class Last:
    def __del__(self, label=label):
        label()

atexit.register(label)
threading.Thread(target=later).start()
sys.modules["last"] = Last()
"""


def test_labelling_after_the_main_thread_has_ended():
    """Also in a `__del__` that is called when the interpreter ends, and lets no other thread run."""
    done = python(PROGRAM, timeout=600)
    assert (done.stdout, done.stderr) == ("labelled\n" * 3, "")


# Results in order


@pytest.mark.parametrize("end", ["", "results.itself = results", "os.fork() or results.results.close()"], ids=["in time", "as garbage", "in a child"])
def test_results_that_nobody_takes_hold_up_no_program_that_ends(end):
    program = f"""
import itertools, os
from crfkit.parallel import in_order

class Results:
    results = in_order(abs, itertools.count(), 2)

results = Results()
print(next(results.results), flush=True)
{end}
"""
    done = python(program, flags=("-W", "ignore"), timeout=60)
    assert (done.stdout, done.stderr) == ("0\n", "")


@by_their_numbers
@pytest.mark.parametrize("raising", ["work", "items", "handler"])
def test_nobody_is_left_when_an_exception_ends_the_work(raising):
    """From the work, from what gives its items, and from the handler of a signal while results are waited for."""
    at_work = set()

    def handler(*_):
        raise Alarm

    def work(k):
        at_work.add(threading.get_native_id())
        if k == 30:
            if raising == "handler":
                signal.raise_signal(signal.SIGUSR1)
            elif raising == "work":
                raise Alarm
        return k

    def items():
        yield from range(31)
        if raising == "items":
            raise Alarm
        yield from range(31, 1000)

    previous = signal.signal(signal.SIGUSR1, handler)
    found = []
    try:
        with pytest.raises(Alarm):
            found += [k for k in in_order(work, items(), 3)]
            time.sleep(60)  # the signal comes at the latest here
    finally:
        signal.signal(signal.SIGUSR1, previous)
    wait_for_the_end_of(at_work - {threading.get_native_id()})


@pytest.mark.parametrize(("limits", "cpus"), [([5, 3], 3), ([1], 1), ([99], 8), ([], 8)])
def test_no_more_processors_than_a_container_may_use(monkeypatch, limits, cpus):
    monkeypatch.setattr(parallel, "processor_limits", lambda: limits)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(8), raising=False)
    assert parallel.available_cpus() == cpus
