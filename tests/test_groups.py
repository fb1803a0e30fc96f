"""Limits of control groups, in made-up trees of files."""

import pytest

from crfkit import groups

NONE = f"{(1 << 63) - 4096}\n"  # in version 1


def limits(monkeypatch, folder, own, files):
    """What a system with these files says to a process with this list of groups: (memory, processors)."""
    if own is not None:
        (folder / "own").write_bytes(own)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(groups, "ROOT", str(folder))
    monkeypatch.setattr(groups, "OWN", str(folder / "own"))
    return groups.memory_limits(), groups.processor_limits()


@pytest.mark.parametrize(("own", "files", "memory", "processors"), [
    # Version 2: a container sees its group as the root; a job of a cluster lies in others, each of which may have a limit.
    (b"0::/\n", {"memory.max": "3000\n", "cpu.max": "150000 100000\n"}, [3000], [2]),
    (b"0::/\n", {"memory.max": "max\n", "cpu.max": "max 100000\n"}, [], []),
    (b"0::/\n", {}, [], []),
    (b"0::/a/b c\xff\n", {"a/memory.max": "3000\n", "a/cpu.max": "50000 100000\n", "b/memory.max": "1\n"}, [3000], [1]),
    (b"0::/a:1/b\n", {"a:1/memory.max": "3000\n", "a:1/b/memory.max": "2000\n", "a:1/b/cpu.max": "max 100000\n"}, [2000, 3000], []),
    # Version 1: a tree for each kind of limit; a container has its group mounted at the root, whatever name it has outside.
    (
        b"4:cpuset:/other\n3:cpu,cpuacct:/docker/1\n2:memory:/docker/1\n1:name=systemd:/\n",
        {"cpu/other/cpu.cfs_quota_us": "1\n", "cpu/other/cpu.cfs_period_us": "1\n", "memory/memory.limit_in_bytes": "3000\n", "cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"},
        [3000], [3],
    ),
    (
        b"3:cpu:/\n2:memory:/job/1\n0::/\n",
        {
            "memory/memory.limit_in_bytes": NONE, "memory/job/1/memory.limit_in_bytes": "2000\n", "cpu/cpu.cfs_quota_us": "-1\n",
            "cpu/cpu.cfs_period_us": "100000\n",
        },
        [int(NONE), 2000], [],
    ),
    (b"2:memory:/\n", {"memory/memory.limit_in_bytes": "", "cpu.max": "100000 100000\n"}, [], []),
    (b"0::/\n", {"cpu.max": "100000 0\n", "memory.max": "much\n"}, [], []),
    (b"\nnone\n0:/\n", {"memory.max": "3000\n"}, [], []),
    (None, {"memory.max": "3000\n"}, [], []),  # a system without such groups
])
def test_limits(monkeypatch, tmp_path, own, files, memory, processors):
    assert limits(monkeypatch, tmp_path, own, files) == (memory, processors)
