"""Transforms of cells against Python's own strings."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.template import transforms as text
from crfkit.template.macros import Macro
from crfkit.template.meaning import _PADDING, _lower, _transform

# Letters whose case is odd: dotted and dotless i, final sigma, title case, longer or shorter in lower case.
ODD = "İıΣσςǅǄǆßẞKÅȺȾⅧⅷⓐª²½٣日\u0301\U0001d400\U00010400'_-.B+1"
cells = st.text(st.one_of(st.sampled_from(ODD + "abcXYZ019"), st.characters(exclude_categories=["Cs"])))

# Beyond the first two planes no letter has a case and no character is a digit; some of those are here.
CHARACTERS = [*map(chr, range(0xD800)), *map(chr, range(0xE000, 0x20000)), *map(chr, range(0x20000, sys.maxunicode + 1, 255)), chr(sys.maxunicode)]


def reference(kind, cell, **fields):
    return _transform(Macro(kind, "", **fields), cell)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (text.lower, _lower),
        (text.normalise, lambda s: reference("N", s)),
        (text.shape, lambda s: reference("S", s)),
    ],
)
def test_every_character_there_is(function, expected):
    everything = "".join(CHARACTERS)
    assert function(everything) == expected(everything)


@pytest.mark.parametrize("function", [text.lower, text.normalise, text.shape])
def test_room_for_the_longest_result(function):
    # text_bound promises n + n // 2 + 1 bytes, so that no character may grow by more than half.
    assert all(2 * len(function(c)) <= 3 * len(c) for c in map(str.encode, CHARACTERS))


def test_lower_case():
    assert text.lower("McDonald's U.S.-BASED") == "mcdonald's u.s.-based"
    assert text.lower("İI") == "ii"  # one character to one character


def test_normalised():
    assert text.normalise("Boeing 747-400") == "boeing ###-###"


@settings(deadline=None)
@given(cells, st.integers(1, 6))
def test_against_the_reference(cell, length):
    assert text.lower(cell) == _lower(cell)
    assert text.normalise(cell) == reference("N", cell)
    assert text.shape(cell) == reference("S", cell)
    assert text.shape(cell, collapse=True) == reference("S", cell, collapse=True)
    assert text.prefix(cell, length) == reference("p", cell, length=length)
    assert text.suffix(cell, length) == reference("s", cell, length=length)
    assert text.is_padding(cell) == bool(_PADDING.fullmatch(cell))


@settings(deadline=None)
@given(st.binary(max_size=12), st.integers(0, 6))
def test_ill_formed_utf8_does_no_harm(cell, length):
    for result in (text.lower(cell), text.normalise(cell), text.shape(cell), text.shape(cell, True)):
        assert len(result) <= len(cell) + len(cell) // 2 + 1
    for result in (text.prefix(cell, length), text.suffix(cell, length)):
        assert result is None or result in cell


@pytest.mark.parametrize(
    ("cell", "shape", "collapsed"),
    [
        ("Xerox", "Xxxxx", "Xx"),
        ("U.S.", "X.X.", "X.X."),
        ("1,250.75", "0,000.00", "0,0.0"),
        ("AT&T", "XX&X", "X&X"),
        ("--", "--", "-"),
        ("F16s", "X00x", "X0x"),
        ("日本", "xx", "x"),
        ("", "", ""),
    ],
)
def test_shapes(cell, shape, collapsed):
    assert text.shape(cell) == shape
    assert text.shape(cell, collapse=True) == collapsed


def test_ends_of_a_cell_count_characters():
    assert text.prefix("été", 2) == "ét"
    assert text.suffix("日本語", 2) == "本語"
    assert text.prefix("ab", 2) == text.suffix("ab", 2) == "ab"
    assert text.prefix("ab", 3) is text.suffix("ab", 3) is None
    assert text.prefix(b"ab", 1) == b"a"


@pytest.mark.parametrize("cell", ["_B-1", "_B+1", "_B-12", "_B+" + "9" * 30])
def test_paddings(cell):
    assert text.is_padding(cell)


@pytest.mark.parametrize("cell", ["", "_B", "_B-", "_B-0", "_B1", "_b-1", "_B-1a", "x_B-1", "_B--1", "_B-٣"])
def test_not_paddings(cell):
    assert not text.is_padding(cell)


def test_only_text_is_taken():
    with pytest.raises(TypeError):
        text.lower(3)
