"""What the control groups of this process let it take, as in a container or a job of a cluster: on Linux, of version 1 and of version 2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

ROOT, OWN = "/sys/fs/cgroup", "/proc/self/cgroup"


def memory_limits() -> list[int]:
    """Bytes of memory, in each group that has a limit; version 1 has a number beyond all memory where there is none."""
    return [n for folder in _folders("memory") for name in ("memory.max", "memory.limit_in_bytes") for n in _numbers(folder, name)]


def processor_limits() -> list[int]:
    """As many processors as the limit on their time is worth, rounded up, in each group that has one."""
    found = []
    for folder in _folders("cpu"):
        quota, period, *_ = *(_numbers(folder, "cpu.max") or _numbers(folder, "cpu.cfs_quota_us") + _numbers(folder, "cpu.cfs_period_us")), 0, 0
        if quota > 0 and period > 0:  # microseconds of processor time in so many of the clock; -1 where there is no limit
            found.append(-(-quota // period))
    return found


def _folders(kind: str) -> Iterator[str]:
    """The folders of the groups of this process that limit this: its own, and all around it. In a container, only the last one may be there."""
    groups = []
    with suppress(OSError), open(OWN, encoding="utf-8", errors="surrogateescape") as file:
        groups = [line.rstrip("\n").split(":", 2) for line in file if line.count(":") > 1]
    for _, kinds, path in groups:
        if not kinds or kind in kinds.split(","):  # version 2 has no kinds, as one tree is for all
            root = os.path.join(ROOT, kinds and kind)
            yield root
            while path.strip("/"):
                yield root + path
                path = os.path.dirname(path)


def _numbers(folder: str, name: str) -> list[int]:
    """The numbers in a file; none if it is not there, or says "max", as version 2 does where there is no limit."""
    with suppress(OSError, ValueError), open(os.path.join(folder, name), encoding="utf-8") as file:
        return [int(number) for number in file.read().split()]
    return []
