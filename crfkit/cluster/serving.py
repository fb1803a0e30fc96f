"""Requests, which a transport carries to workers: a request is a list of steps; the answer is the result of the last one, or an error.

A service is an object whose public methods are the steps; `crfkit.MODULE:CLASS` names its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from crfkit import errors
from crfkit.errors import CrfkitError, DataError

from .messages import MessageError


class Forgotten(CrfkitError, LookupError):
    """A worker was restarted, and no longer holds the data it is asked about."""


class Transport(Protocol):
    """The connection to the workers."""

    def workers(self) -> Sequence[str]:
        """The workers that are available now."""

    def send(self, worker: str, request: Any) -> None:
        """Send a request to a worker, which has answered the previous one."""

    def wait(self, seconds: float) -> tuple[str, Any] | None:
        """The next worker and its answer, None as the answer if the worker died; None after a timeout of so many seconds."""

    def drop(self, worker: str) -> None:
        """End a worker, or ignore it from now on."""

    def replace(self) -> bool:
        """Start a worker to replace one that died; False if that is up to the cluster."""

    def close(self) -> None:
        """Disconnect from the workers, or end them."""


def service(name: str) -> Any:
    """A new service of the named class."""
    module, cls = name.split(":")
    if not module.startswith("crfkit."):
        raise MessageError(f"{name} is not a service")
    return getattr(import_module(module), cls)()


def answer(of: Any, request: Any) -> dict[str, Any]:
    """The answer of a service to a request: {"value": ...} or {"error": ...}."""
    try:
        value = None
        for verb, arguments in request["steps"]:
            if verb.startswith("_"):
                raise MessageError(f"{verb} is not a step")
            value = getattr(of, verb)(**arguments)
        return {"value": value}
    except CrfkitError as error:
        return {"error": type(error).__name__, "arguments": list(error.__reduce__()[1])}
    except MemoryError:
        return {"error": "TrainingError", "arguments": ["a worker has no memory left: give it fewer shards (more workers) or more memory"]}
    except Exception as error:
        return {"error": "TrainingError", "arguments": [f"a worker failed: unexpected {type(error).__name__}: {error}".replace("\n", " ")]}


def value_of(found: Any) -> Any:
    """The value of an answer; raises the error in it, or MessageError if it is malformed."""
    if isinstance(found, dict) and set(found) == {"value"}:
        return found["value"]
    if not isinstance(found, dict) or set(found) != {"error", "arguments"}:
        raise MessageError("this is not an answer")
    kind = Forgotten if found["error"] == "Forgotten" else getattr(errors, str(found["error"]), None)
    arguments = found["arguments"]
    if not (isinstance(kind, type) and issubclass(kind, CrfkitError) and isinstance(arguments, list) and 1 <= len(arguments) <= 3):
        raise MessageError("this is not an answer")
    if not issubclass(kind, DataError):
        arguments = arguments[:1]
    raise kind(*arguments)
