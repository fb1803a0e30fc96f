"""Workers of a dask.distributed scheduler.

Messages are those of processes (messages.py), so that crfkit itself unpickles nothing that comes. dask does:
whoever reaches its scheduler can run any code. It is for trusted networks only.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from contextlib import suppress
from typing import Any

from crfkit.errors import FileError, OptionError
from crfkit.version import __version__

from .messages import HEAD, MessageError, decode, encode
from .serving import answer, service

PATIENCE = 10  # seconds for the scheduler to answer
LARGE = 1 << 16  # bytes from which messages go to a worker past the scheduler
IDLE = 3600  # seconds after which a worker forgets a run that has not said that it is over
_LOGS = ("asyncio", "distributed", "tornado")


class Scheduler:
    """See crew.Transport."""

    def __init__(self, address: str, service: str):
        try:
            import distributed
        except ImportError:
            raise OptionError("--cluster needs dask.distributed, which is not installed: pip install 'crfkit[cluster]'") from None
        self.address, self.service, self.run = address, service, uuid.uuid4().hex
        logs = [logging.getLogger(name) for name in [*_LOGS, *logging.root.manager.loggerDict] if name.partition(".")[0] in _LOGS]
        self.levels = [(log, log.level) for log in logs]
        for log, _ in self.levels:
            log.setLevel(logging.CRITICAL)  # what goes wrong is said in one line
        try:
            self.client: Any = distributed.Client(address, timeout=PATIENCE, set_as_default=False, direct_to_workers=True)
        except Exception as error:
            self._loud_again()
            raise FileError(f"{address}: no scheduler answers there ({_line(error)})") from None
        self.events: queue.SimpleQueue = queue.SimpleQueue()
        self.asked: dict[str, Any] = {}
        """Of each worker, what it is to answer."""
        self.without: set[str] = set()
        self.known: list[str] = []
        self.looked = 0.0

    def workers(self) -> list[str]:
        """Those that the scheduler knows; asked for at most once a second."""
        if self.client.status != "running":
            raise self._lost()
        if time.monotonic() - self.looked > 1:
            try:
                found = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=PATIENCE)
            except Exception:
                raise self._lost() from None
            self.known = list(found["workers"])
            self.looked = time.monotonic()
        return [worker for worker in self.known if worker not in self.without]

    def _lost(self) -> FileError:
        return FileError(
            f"{self.address}: the scheduler does not answer any more; with --checkpoint, --resume goes on from the last pass, on any scheduler"
        )

    def replace(self) -> bool:
        """The cluster starts workers, or does not."""
        self.looked = 0.0
        return False

    def send(self, worker: str, request: Any) -> None:
        """Ask a worker for something."""
        payload: Any = b"".join(encode(request))
        own = {"workers": [worker], "allow_other_workers": False}
        try:
            if len(payload) > LARGE:
                payload = self.client.scatter(payload, workers=[worker], direct=True, hash=False, timeout=PATIENCE)
            future = self.client.submit(serve, self.run, self.service, __version__, payload, pure=False, retries=0, **own)
        except Exception:
            self.asked[worker] = None  # it is gone, or the scheduler is, which the next look tells
            self.events.put((worker, None))
            return
        self.asked[worker] = future
        future.add_done_callback(lambda done: self.events.put((worker, done)))

    def wait(self, seconds: float) -> tuple[str, Any] | None:
        """The next answer."""
        try:
            worker, future = self.events.get(timeout=seconds)
        except queue.Empty:
            return None
        if self.asked.get(worker) is not future:
            return None
        del self.asked[worker]
        if future is None:
            return worker, None
        try:
            body = future.result(timeout=10 * PATIENCE)
        except ImportError as error:
            raise FileError(f"{worker}: crfkit cannot be imported there ({_line(error)}): workers need the version {__version__}") from None
        except Exception:
            return worker, None
        try:
            return worker, decode(bytes(body[: HEAD.size]), memoryview(body)[HEAD.size :])
        except (MessageError, TypeError):
            return worker, {}  # no answer to anything

    def drop(self, worker: str) -> None:
        """Do without a worker."""
        self.without.add(worker)
        future = self.asked.pop(worker, None)
        if future is not None:
            with suppress(Exception):
                future.cancel()

    def close(self) -> None:
        """Workers forget the run."""
        try:
            if self.client.status == "running":
                with suppress(Exception):
                    self.client.run(forget, self.run, wait=True, on_error="ignore")
            with suppress(Exception):
                self.client.close(timeout=PATIENCE)
        finally:
            self._loud_again()

    def _loud_again(self) -> None:
        for log, level in self.levels:
            log.setLevel(level)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


# ------------------------------------------------------------------------------------------------ on a worker

_services: dict[str, tuple[Any, threading.Lock, float]] = {}
_changes = threading.Lock()


def serve(run: str, name: str, version: str, request: bytes) -> bytes:
    """Answer a request of a run."""
    if version != __version__:
        return b"".join(encode({"error": "FileError", "arguments": [f"a worker has crfkit {__version__}, expected {version}"]}))
    with _changes:
        for other, (_, _, used) in list(_services.items()):
            if other != run and time.monotonic() - used > IDLE:
                del _services[other]
        own, lock, _ = _services.get(run) or (service(name), threading.Lock(), 0.0)
        _services[run] = own, lock, time.monotonic()
    with lock:
        found = answer(own, decode(request[: HEAD.size], memoryview(request)[HEAD.size :]))
        return b"".join(encode(found))


def forget(run: str) -> None:
    """A run is over."""
    with _changes:
        _services.pop(run, None)
