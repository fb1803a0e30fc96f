"""Shares of work: all are done when `run` is over, whatever happens meanwhile."""

import signal
import threading
import time

import pytest

from crfkit.threads import Threads


class Alarm(Exception):
    """What the handler of a signal raises."""


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


def test_threads_end_with_what_they_serve():
    before = set(threading.enumerate())
    threads = Threads(2)
    own = set(threading.enumerate()) - before
    assert len(own) == 2
    threads.run(lambda: None, [(), (), ()])
    del threads
    for thread in own:
        thread.join(60)
        assert not thread.is_alive()
