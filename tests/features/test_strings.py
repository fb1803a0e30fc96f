"""Interned strings, compared with a dict."""

import array
from itertools import chain, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.errors import ModelFileError
from crfkit.features.strings import StringTable

strings = st.lists(st.binary(max_size=20))


def table_of(items):
    table = StringTable()
    return table, [table.intern_bytes(item) for item in items]


def reopened(buffers, verify=True):
    return StringTable.from_buffers(*buffers, verify=verify)


@given(strings)
def test_ids_are_given_in_order_of_first_occurrence(items):
    table, ids = table_of(items)
    order = list(dict.fromkeys(items))
    assert ids == [order.index(item) for item in items]
    assert list(table) == order
    assert len(table) == len(order)


@given(strings, st.binary(max_size=20))
def test_packed_table_answers_alike(items, other):
    table, _ = table_of(items)
    packed = reopened(table.pack())
    assert list(packed) == list(table)
    for item in [*items, other]:
        assert packed.find(item) == table.find(item) == (list(table).index(item) if item in items else -1)


def test_strings_of_one_length_that_differ_in_one_byte():
    items = [bytes(9) + bytes([a]) + bytes(n) for n in range(16) for a in range(256)]
    table, ids = table_of(items)
    assert ids == list(range(len(items)))
    assert all(table.find(item) == i for i, item in enumerate(items))


def test_many_strings():
    items = [b"%d" % (i * i) for i in range(100_000)]
    table, ids = table_of(items)
    assert ids == list(range(len(items)))
    assert [table.find(item) for item in items] == ids
    assert table.find(b"2") == -1


def test_packed_table_does_not_grow():
    packed = reopened(table_of([b"a"])[0].pack())
    assert packed.intern_bytes(b"a") == 0
    with pytest.raises(TypeError, match="cannot grow"):
        packed.intern_bytes(b"b")


def test_a_table_does_not_grow_under_what_was_packed():
    table, _ = table_of([b"a"])
    slots, offsets, arena = table.pack()
    with pytest.raises(TypeError, match="cannot grow"):
        table.intern_bytes(b"b")
    del table
    assert list(reopened((slots, offsets, arena))) == [b"a"]
    assert arena.readonly


def test_chosen_strings_are_numbered_in_the_order_of_their_choice():
    """One that is chosen again keeps its first number."""
    items = [b"c", b"a", b"b"]
    table, _ = table_of(items)
    for keep in chain.from_iterable(product(range(3), repeat=n) for n in range(5)):
        chosen, expected = table.select(array.array("i", keep)), list(dict.fromkeys(items[i] for i in keep))
        assert list(chosen) == expected
        assert [chosen.find(item) for item in items] == [expected.index(item) if item in expected else -1 for item in items]


def test_ids_out_of_range():
    table, _ = table_of([b"a"])
    for i in (-1, 1):
        with pytest.raises(IndexError):
            table[i]


@given(st.sets(st.binary(max_size=6), min_size=1, max_size=30), st.data())
def test_damage_is_refused_or_harmless(items, data):
    buffers = [bytearray(part) for part in table_of(sorted(items))[0].pack()]
    part = buffers[data.draw(st.sampled_from([i for i in range(3) if buffers[i]]))]
    at = data.draw(st.integers(0, len(part) - 1))
    part[at] ^= data.draw(st.integers(1, 255))
    loose = reopened(buffers, verify=False)
    assert all(isinstance(string, bytes) for string in loose)  # wrong perhaps, but nothing is read outside
    assert all(-1 <= loose.find(item) < len(loose) for item in items)
    try:
        checked = reopened(buffers)
    except ModelFileError:
        return
    assert [checked.find(item) for item in checked] == list(range(len(checked)))


@given(st.sets(st.binary(max_size=6), min_size=1, max_size=30), st.data())
def test_other_lengths_are_refused(items, data):
    buffers = [bytes(part) for part in table_of(sorted(items))[0].pack()]
    which = data.draw(st.integers(0, 2))
    cut = data.draw(st.integers(1, max(1, len(buffers[which]))))
    for changed in (buffers[which][:-cut], buffers[which] + bytes(cut)):
        if changed == buffers[which]:
            continue
        try:
            checked = reopened([*buffers[:which], changed, *buffers[which + 1 :]])
        except ModelFileError:
            continue
        # more slots, all of them empty, may make a larger table of the same strings
        assert which == 0 and len(changed) > len(buffers[0])
        assert [checked.find(item) for item in checked] == list(range(len(items)))


def test_full_table_ends_every_search():
    slots, offsets, arena = table_of([b"a", b"b"])[0].pack()
    full = b"\xff\xff\xff\xff\x01\x00\x00\x00" * (len(slots) // 8)
    with pytest.raises(ModelFileError, match="slots in use"):
        reopened((full, offsets, arena))
    assert reopened((full, offsets, arena), verify=False).find(b"c") == -1
