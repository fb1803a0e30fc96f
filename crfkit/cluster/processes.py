"""Worker processes on this machine."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from crfkit.errors import FileError, UnsupportedError

from .messages import MessageError, receive, send
from .serving import Transport, answer, service

# Modules come from where this process has them, and not from the current folder, where `python -c` looks first.
_START = "import sys; sys.path[:] = sys.argv[2:]; from crfkit.cluster.processes import main; main(sys.argv[1])"


class _Worker:
    """A process with a thread that talks to it, so that no worker ever waits for another one."""

    def __init__(self, name: str, service: str, events: queue.SimpleQueue):
        self.name, self.events = name, events
        self.requests: queue.SimpleQueue = queue.SimpleQueue()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, service, *map(str, sys.path), str(Path(__file__).parents[2])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the driver
                bufsize=0,
            )
        except OSError as error:
            raise FileError(f"a worker process cannot be started: {error.strerror}") from error
        self.thread = threading.Thread(target=self._talk, daemon=True)
        self.thread.start()

    def _talk(self) -> None:
        """Send each request, and hand on its answer: None once the process is gone."""
        assert self.process.stdin is not None and self.process.stdout is not None
        read = self.process.stdout.readinto  # type: ignore[attr-defined]
        with suppress(OSError, ValueError, MessageError):
            while (request := self.requests.get()) is not None:
                send(self.process.stdin.write, request)
                del request  # all weights may be in it
                self.events.put((self.name, receive(read)))
        self.events.put((self.name, None))

    def end(self) -> None:
        """Kill the process, and wait for it."""
        with suppress(OSError), self.process:  # whose pipes are closed in the end
            self.process.kill()
            self.requests.put(None)
            self.process.wait()
            self.thread.join()


class Processes(Transport):
    """N worker processes."""

    def __init__(self, n: int, service: str):
        if getattr(sys, "frozen", False):  # the executable is the program itself: it would start itself without end
            raise UnsupportedError("a program in one file, as of PyInstaller, has no Python that could run workers: leave out --workers, or give --cluster")
        self.service = service
        self.events: queue.SimpleQueue = queue.SimpleQueue()
        self.all: dict[str, _Worker] = {}
        self.started = 0
        try:
            for _ in range(n):
                self.replace()
        except BaseException:
            self.close()
            raise

    def workers(self) -> list[str]:
        return list(self.all)

    def replace(self) -> bool:
        self.started += 1
        name = f"worker {self.started}"
        self.all[name] = _Worker(name, self.service, self.events)
        return True

    def send(self, worker: str, request: Any) -> None:
        self.all[worker].requests.put(request)

    def wait(self, seconds: float) -> tuple[str, Any] | None:
        try:
            found: tuple[str, Any] = self.events.get(timeout=seconds)
        except queue.Empty:
            return None
        return found if found[0] in self.all else None

    def drop(self, worker: str) -> None:
        if worker in self.all:
            self.all.pop(worker).end()

    def close(self) -> None:
        for worker in self.workers():
            self.drop(worker)


# ------------------------------------------------------------------------------------------------ in a worker


def main(name: str) -> None:
    """Answer the requests on standard input, on the original standard output, until the input ends: the driver is gone then."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides when to stop
    source, target = FileIO(os.dup(0)), FileIO(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # prints must not mix with answers
    requests: queue.SimpleQueue = queue.SimpleQueue()

    def listen() -> None:
        with suppress(MessageError, OSError):
            while (request := receive(source.readinto)) is not None:
                requests.put(request)
                del request  # all weights may be in it
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
            send(target.write, found)
        except OSError:
            os._exit(0)
        del found  # before the next one is made
