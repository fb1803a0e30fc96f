"""More of something than 32 bits can count."""

import array
import mmap
import resource
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import memory_promised, plain_build

from crfkit.data.dataset import Dataset
from crfkit.errors import TrainingError
from crfkit.features.index import Index
from crfkit.features.packing import pack
from crfkit.features.strings import StringTable
from crfkit.template.parsing import Template
from crfkit.trainers.batch.blocks import blocks_of
from crfkit.trainers.batch.visits import bytes_of_visits
from crfkit.trainers.online.paths import Paths
from crfkit.weights.layout import Layout

pytestmark = [plain_build, memory_promised, pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit what is asked for")]

NUMBERS = 1 << 31  # of 32 bits, none of them negative


def zeros(size, form="B"):
    """So many numbers, which take no memory."""
    room = mmap.mmap(-1, size * array.array(form).itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    return memoryview(room).cast(form)


def without_features(attributes, of_pairs=0):
    """A layout of so many attributes, and so many of label pairs."""
    none = array.array("H")
    return Layout(2, False, 0, zeros(attributes + 1, "q"), none, zeros(of_pairs + 1, "q"), none, none, verify=False)


@contextmanager
def little_memory():
    """Beside what is in use, half of what the tables of these tests take: to ask for it is an error, and nothing is touched. Where a size overflows,
    less is asked for, or nothing that can be."""
    taken = next(int(line.split()[1]) << 10 for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData"))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (taken + NUMBERS // 2, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def test_attributes_whose_counts_take_two_gigabytes():
    data = Dataset(u_ptr=[0, 1], u_id=[0], label=[0], seq_ptr=[0, 1], n_u=NUMBERS // 8)
    with little_memory(), pytest.raises(MemoryError):
        data.counts(False)


def test_attributes_whose_visits_are_counted_in_two_gigabytes():
    data, layout = Dataset(u_ptr=[0, 1], u_id=[0], label=[0], seq_ptr=[0, 1], n_u=1), without_features(NUMBERS // 4)
    with little_memory(), pytest.raises(MemoryError):
        bytes_of_visits(data, layout, 1)


def test_more_attributes_than_sbcd_numbers_blocks():
    half = NUMBERS // 2
    assert blocks_of(without_features(half, half - 1)) == NUMBERS - 1
    with pytest.raises(TrainingError, match=r"^sbcd takes at most 2,147,483,647 attributes"):
        blocks_of(without_features(half, half))


def test_rows_of_the_index_whose_numbers_take_eight_gigabytes():
    lines = 1 << 13
    words = [b"%d" % word for word in range(NUMBERS // lines)]
    tables = {"column.0": words, "literal.u": [], "literal.b": []}
    sections = {f"{name}.{part}": made for name, strings in tables.items() for part, made in zip(("slots", "offsets", "strings"), StringTable(strings).pack(), strict=True)}
    sections |= {"literal.u.attributes": b"", "literal.b.attributes": b"", "plan": array.array("q", [1, 1, 1, 1, 0])}
    sections |= {"view.0.flags": bytes(len(words)), "node.0.rows": zeros(len(words) * lines, "i")}
    index = Index(Template.of("".join(f"U{k}:%x[0,0]\n" for k in range(lines))), sections, verify=False)
    with little_memory(), pytest.raises(MemoryError):
        pack(index)


def test_labels_whose_pairs_are_no_features_take_no_tables_of_pairs():
    """A table of bytes, which is the smallest, would take four gigabytes."""
    data = Dataset(u_ptr=[0, 1], u_id=[0], label=[65534], seq_ptr=[0, 1], n_u=1)
    with little_memory():
        layout, *_ = Layout.build(data, 65535, 0, b"\1", b"")
        Paths(layout)
    assert layout.n_features == 1
