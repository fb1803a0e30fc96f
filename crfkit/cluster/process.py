"""A worker process: it reads requests from standard input, and writes answers to the original standard output.

It exits at the end of its input, whatever it is doing: the driver is gone.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from functools import partial

from .messages import MessageError, receive, send
from .serving import answer, service


def main(name: str) -> None:
    """Serve requests until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides when to stop
    source, target = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # prints must not mix with answers
    requests: queue.SimpleQueue = queue.SimpleQueue()

    def listen() -> None:
        try:
            while (request := receive(lambda buffer: os.readv(source, [buffer]))) is not None:
                requests.put(request)
                del request  # all weights may be in it
        except (MessageError, OSError):
            pass
        os._exit(0)

    try:
        threading.Thread(target=listen, daemon=True).start()
        own = service(name)
    except Exception as error:
        print(f"crfkit: a worker cannot start: {type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    while True:
        found = answer(own, requests.get())
        try:
            send(partial(os.write, target), found)
        except OSError:
            os._exit(0)
        del found  # before the next one is made
