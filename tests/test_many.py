"""More of something than 32 bits can count."""

import array
import mmap
import resource

import pytest

from crfkit.data.dataset import Dataset
from crfkit.features.index import Index
from crfkit.features.packing import pack
from crfkit.features.strings import StringTable
from crfkit.template.parsing import Template
from crfkit.trainers.batch.visits import bytes_of_visits
from crfkit.weights.layout import Layout

NUMBERS = 1 << 31  # of 32 bits, none of them negative


def zeros(size, form="B"):
    """So many numbers, which take no memory."""
    room = mmap.mmap(-1, size * array.array(form).itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    return memoryview(room).cast(form)


def without_features(attributes):
    """A layout of so many attributes."""
    none, ends = array.array("H"), array.array("q", [0])
    return Layout(2, False, 0, zeros(attributes + 1, "q"), none, ends, none, none, verify=False)


@pytest.mark.long
def test_attributes_whose_counts_take_two_gigabytes():
    n = NUMBERS // 8
    counts = Dataset(u_ptr=[0, 3], u_id=[0, n - 1, n - 1], label=[0], seq_ptr=[0, 1], n_u=n).counts(False)
    assert (len(counts), counts[0], counts[n - 1], counts.count(0)) == (n, 1, 2, n - 2)


@pytest.mark.long
def test_memory_of_visits_for_attributes_whose_counts_take_two_gigabytes():
    data = Dataset(u_ptr=[0, 1], u_id=[0], label=[0], seq_ptr=[0, 1], n_u=1)
    assert bytes_of_visits(data, without_features(NUMBERS // 4), 1) == bytes_of_visits(data, without_features(1), 1)


@pytest.mark.long
def test_memory_of_visits_where_an_attribute_occurs_more_than_two_thousand_million_times(tmp_path):
    """Each of eight tokens and one more has it so often. The data take 9 GB on the disk."""
    often = NUMBERS // 8
    token = Dataset(u_ptr=[0, often], u_id=array.array("i", [0]) * often, label=[0], seq_ptr=[0, 1], n_u=1)
    data = Dataset(label=[], n_u=1, folder=tmp_path)
    for _ in range(9):
        data.extend(token)
    assert data.n_incidences[0] > NUMBERS
    assert bytes_of_visits(data, without_features(1), 1) == 0  # all lies on the disk


def test_rows_of_the_index_whose_numbers_take_eight_gigabytes():
    """With half of that, there is too little memory; and nothing else is wrong."""
    lines = 1 << 13
    words = [b"%d" % word for word in range(NUMBERS // lines)]
    tables = {"column.0": words, "literal.u": [], "literal.b": []}
    sections = {f"{name}.{part}": made for name, strings in tables.items() for part, made in zip(("slots", "offsets", "strings"), StringTable(strings).pack(), strict=True)}
    sections |= {"literal.u.attributes": b"", "literal.b.attributes": b"", "plan": array.array("q", [1, 1, 1, 1, 0])}
    sections |= {"view.0.flags": bytes(len(words)), "node.0.rows": zeros(len(words) * lines, "i")}
    index = Index(Template.of("".join(f"U{k}:%x[0,0]\n" for k in range(lines))), sections, verify=False)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (2 * NUMBERS, before[1]))
        with pytest.raises(MemoryError):
            pack(index)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
