"""Targets with faults, by which the driver is tested: it has to find and to survive every one of them."""

from __future__ import annotations

import ctypes
import time
from typing import Any

from .targets import TARGETS, Target

KEPT: list[Any] = []


def _numbered(source: Any) -> bytes:
    return source.randbytes(1)


def _at_fours(fault: Any) -> Any:
    return lambda data: fault() if data[0] % 4 == 0 else None


def _raise() -> None:
    raise KeyError("planted")


def _spin() -> None:
    while True:
        pass


TARGETS.update(
    {
        "faulty-exception": Target(_numbered, _at_fours(_raise)),
        "faulty-crash": Target(_numbered, _at_fours(lambda: ctypes.string_at(0))),
        "faulty-memory": Target(lambda source: b"\0" if source.random() < 0.05 else b"\1", _at_fours(lambda: KEPT.append(b"x" * (200 << 20)))),
        "faulty-loop": Target(_numbered, _at_fours(_spin)),
        "faulty-wait": Target(_numbered, _at_fours(lambda: time.sleep(3600))),
    }
)
