"""What macros make of cells, against Python's own strings."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.features.plan import ViewPlan
from crfkit.template.macros import Macro
from crfkit.template.meaning import _PADDING, _value
from crfkit.testing import made_of

# Letters whose case is odd: dotted and dotless i, final sigma, title case, longer or shorter in lower case.
ODD = "İıΣσςǅǄǆßẞKÅȺȾⅧⅷⓐª²½٣日\u0301\U0001d400\U00010400'_-.B+1"
cells = st.text(st.one_of(st.sampled_from(ODD + "abcXYZ019"), st.characters(exclude_categories=["Cs"])))

# Beyond the first two planes no letter has a case and no character is a digit; some of those are here.
CHARACTERS = [*map(chr, range(0xD800)), *map(chr, range(0xE000, 0x20000)), *map(chr, range(0x20000, sys.maxunicode + 1, 255)), chr(sys.maxunicode)]

LOWER, NORMALISED, SHAPE, COLLAPSED = ({"kind": "x", "lower": True}, {"kind": "N"}, {"kind": "S"}, {"kind": "S", "collapse": True})
TRANSFORMS = [LOWER, NORMALISED, SHAPE, COLLAPSED]


def made(cell, **fields):
    """What the compiled macro makes of a cell, str or bytes."""
    found = made_of(cell.encode() if isinstance(cell, str) else cell, ViewPlan.of(Macro(text="", column=0, **fields)))
    return found.decode() if isinstance(cell, str) and found is not None else found


def prefix(cell, length):
    return made(cell, kind="p", length=length)


def suffix(cell, length):
    return made(cell, kind="s", length=length)


def is_padding(cell):
    """Whether it is taken for a cell beyond the sentence: of any other one the empty pattern is a part."""
    return made(cell, kind="t", pattern="") == "false"


def reference(cell, **fields):
    return _value(Macro(text="", column=0, **fields), [[cell]], 0, None)


@pytest.mark.parametrize("macro", TRANSFORMS)
def test_every_character_there_is(macro):
    everything = "".join(CHARACTERS)
    assert made(everything, **macro) == reference(everything, **macro)


@pytest.mark.parametrize("macro", TRANSFORMS)
def test_room_for_the_longest_result(macro):
    # The buffer has n + n // 2 + 1 bytes (View.transform), so that no character may grow by more than half.
    changed = [c for c in CHARACTERS if c.lower() != c]
    assert all(2 * len(made(c, **macro)) <= 3 * len(c) for c in map(str.encode, changed + CHARACTERS[::50]))


def test_lower_case():
    assert made("McDonald's U.S.-BASED", **LOWER) == "mcdonald's u.s.-based"
    assert made("İI", **LOWER) == "ii"  # one character to one character


def test_normalised():
    assert made("Boeing 747-400", **NORMALISED) == "boeing ###-###"


@settings(deadline=None)
@given(cells, st.integers(1, 6))
def test_against_the_reference(cell, length):
    for macro in (*TRANSFORMS, {"kind": "p", "length": length}, {"kind": "s", "length": length}):
        assert made(cell, **macro) == reference(cell, **macro)
    assert is_padding(cell) == bool(_PADDING.fullmatch(cell))


@settings(deadline=None)
@given(st.binary(max_size=12), st.integers(0, 6))
def test_ill_formed_utf8_does_no_harm(cell, length):
    for macro in TRANSFORMS:
        assert len(made(cell, **macro)) <= len(cell) + len(cell) // 2 + 1
    for result in (prefix(cell, length), suffix(cell, length)):
        assert result is None or result in cell


@pytest.mark.parametrize(("cell", "shape", "collapsed"), [
    ("Xerox", "Xxxxx", "Xx"),
    ("U.S.", "X.X.", "X.X."),
    ("1,250.75", "0,000.00", "0,0.0"),
    ("AT&T", "XX&X", "X&X"),
    ("--", "--", "-"),
    ("F16s", "X00x", "X0x"),
    ("日本", "xx", "x"),
    ("", "", ""),
])
def test_the_shapes_of_cells(cell, shape, collapsed):
    assert made(cell, **SHAPE) == shape
    assert made(cell, **COLLAPSED) == collapsed


def test_ends_of_a_cell_count_characters():
    assert prefix("été", 2) == "ét"
    assert suffix("日本語", 2) == "本語"
    assert prefix("ab", 2) == suffix("ab", 2) == "ab"
    assert prefix("ab", 3) is suffix("ab", 3) is None
    assert prefix(b"ab", 1) == b"a"


@pytest.mark.parametrize("cell", ["_B-1", "_B+1", "_B-12", "_B+" + "9" * 30])
def test_paddings(cell):
    assert is_padding(cell)


@pytest.mark.parametrize("cell", ["", "_B", "_B-", "_B-0", "_B1", "_b-1", "_B-1a", "x_B-1", "_B--1", "_B-٣"])
def test_not_paddings(cell):
    assert not is_padding(cell)
