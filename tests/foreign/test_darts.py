"""CRF++'s table of names, looked up as CRF++ does."""

import array
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.errors import ModelFileError
from crfkit.features.strings import StringTable
from crfkit.foreign.darts import read_names, write_names


def written_names(names):
    table = StringTable()
    for name in sorted(names):
        table.intern_bytes(name)
    return write_names(table, array.array("q", (names[name] for name in table)))


@given(st.dictionaries(st.binary(min_size=0, max_size=6).filter(lambda name: 0 not in name), st.integers(0, 2**31 - 2), max_size=60))
def test_the_table_of_names(names):
    table = written_names(names)
    found, values = read_names(table)
    assert dict(zip(found, values, strict=True)) == names
    # As CRF++ looks a name up: without asking where the table ends.
    units = list(struct.iter_unpack("<iI", table))
    for name, value in names.items():
        base = units[0][0]
        for byte in name:
            assert units[base + byte + 1][1] == base
            base = units[base + byte + 1][0]
        assert units[base][1] == base
        assert units[base][0] == -1 - value
    assert all(base + 256 < len(units) for base, check in units if base > 0)


def test_names_of_any_length_come_back():
    names = {b"U:" + bytes([letter]) * n: k for k, (letter, n) in enumerate([(97, 3 << 19), (98, 1), (99, 1 << 20)])}
    found, values = read_names(written_names(names))
    assert dict(zip(found, values, strict=True)) == names


def test_a_name_that_leads_round_in_circles():
    """It ends at unit 100, to which unit 300 leads, to which unit 350 leads, to which unit 300 leads."""
    units = array.array("i", [0]) * 2000
    for unit, base, check in ((0, 1, 0), (100, -1, 100), (300, 100, 250), (350, 250, 100)):
        units[2 * unit : 2 * unit + 2] = array.array("i", [base, check])
    with pytest.raises(ModelFileError, match="name 0 does not lead back to the first node"):
        read_names(units.tobytes())
