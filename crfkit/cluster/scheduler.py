"""Workers of a dask.distributed scheduler.

Messages have the format of messages.py, so crfkit itself unpickles no input. dask does: use it in trusted networks only, as anyone who
reaches its scheduler can run arbitrary code.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from asyncio import CancelledError
from contextlib import suppress
from typing import Any

from crfkit.errors import FileError, OptionError
from crfkit.values import named
from crfkit.version import __version__

from .messages import HEAD, MessageError, decode, encode
from .serving import Transport, answer, service

PATIENCE = 10  # timeout in seconds for the scheduler
LARGE = 1 << 16  # larger messages, in bytes, go to a worker directly, not via the scheduler
IDLE = 3600  # seconds after which a worker that another run asks forgets one that did not end properly
_LOGS = ("asyncio", "distributed", "tornado")


class Scheduler(Transport):
    """The workers of a scheduler."""

    def __init__(self, address: str, service: str):
        try:
            import distributed
        except ImportError:
            raise OptionError("--cluster needs dask.distributed, which is not installed: pip install 'crfkit[cluster]'") from None
        self.address, self.service, self.run = address, service, uuid.uuid4().hex
        logs = [logging.getLogger(name) for name in [*_LOGS, *logging.root.manager.loggerDict] if name.partition(".")[0] in _LOGS]
        self.levels = [(log, log.level) for log in logs]
        for log, _ in self.levels:
            log.setLevel(logging.CRITICAL)  # errors are reported in one line
        try:
            self.client: Any = distributed.Client(address, timeout=PATIENCE, set_as_default=False, direct_to_workers=True)
        except Exception as error:
            self._restore_logs()
            raise FileError(f"{named(address)}: no scheduler answers there ({_line(error)})") from None
        self.events: queue.SimpleQueue = queue.SimpleQueue()
        self.asked: dict[str, Any] = {}  # the pending future of each worker
        self.without: set[str] = set()
        self.known: list[str] = []
        self.looked = 0.0

    def workers(self) -> list[str]:
        if self.client.status != "running":
            raise self._lost()
        if time.monotonic() - self.looked > 1:  # else those are known
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
        self.looked = 0.0
        return False

    def send(self, worker: str, request: Any) -> None:
        payload: Any = b"".join(encode(request))
        own = {"workers": [worker], "allow_other_workers": False}
        try:
            if len(payload) > LARGE:
                payload = self.client.scatter(payload, workers=[worker], direct=True, hash=False, timeout=PATIENCE)
            # Several workers may be in one process.
            future = self.client.submit(serve, f"{self.run} {worker}", self.service, __version__, payload, pure=False, retries=0, **own)
        except Exception:
            self.asked[worker] = None  # the worker is gone, or the scheduler, which the next call of `workers` notices
            self.events.put((worker, None))
            return
        self.asked[worker] = future
        future.add_done_callback(lambda done: self.events.put((worker, done)))

    def wait(self, seconds: float) -> tuple[str, Any] | None:
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
            return worker, {}  # not a valid answer

    def drop(self, worker: str) -> None:
        self.without.add(worker)
        with suppress(Exception):  # it may not have been asked
            self.asked.pop(worker).cancel()

    def close(self) -> None:
        try:
            if self.client.status == "running":
                thread = threading.Thread(target=self._forget, daemon=True)
                thread.start()
                thread.join(PATIENCE)  # a worker that stalls would never answer
            with suppress(Exception):
                self.client.close(timeout=PATIENCE)
        finally:
            self._restore_logs()

    def _forget(self) -> None:
        with suppress(Exception, CancelledError):
            there = [worker for worker in self.known if worker not in self.without]
            self.client.run(forget, self.run, workers=there, wait=True, on_error="ignore")

    def _restore_logs(self) -> None:
        for log, level in self.levels:
            log.setLevel(level)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


# ------------------------------------------------------------------------------------------------ on a worker

_services: dict[str, tuple[Any, threading.Lock, float]] = {}
_changes = threading.Lock()


def serve(run: str, name: str, version: str, request: bytes) -> bytes:
    """Answer a request of a run to one worker; called there."""
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
    """Free what the worker holds for a run that is over."""
    with _changes:
        for one in [one for one in _services if one.startswith(run)]:
            del _services[one]
