"""A worker process: requests come on standard input, answers go to what was standard output.

It ends when its input does, whatever it is doing: the driver is gone.
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
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides when to stop
    source, target = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what is printed is no answer
    requests: queue.SimpleQueue = queue.SimpleQueue()

    def listen() -> None:
        try:
            while (request := receive(lambda room: os.readv(source, [room]))) is not None:
                requests.put(request)
        except (MessageError, OSError):
            pass
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    try:
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


if __name__ == "__main__":
    main(sys.argv[1])
