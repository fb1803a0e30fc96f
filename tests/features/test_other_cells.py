"""Strings of known attributes that other cells make, or other lines, than those they were learned from."""

import pytest
from features.indexes import built, extracted
from features.test_index import check, frequent, known, rows_of, sentence

from crfkit.features.index import Index
from crfkit.features.packing import pack
from crfkit.template.parsing import Template


def test_a_string_is_found_however_it_is_split():
    template = Template.parse("U0:%x[0,0]/%x[1,0]")
    builder, _ = built(template, [sentence("a/b,c")])
    index = Index(template, pack(builder))
    wanted = list(index.attributes()).index(b"U0:a/b/c")
    assert extracted(index, [sentence("a,b/c")])[0] == ([wanted], [])
    assert extracted(index, [sentence("a,b")])[0] == ([], [])


def test_a_string_that_other_cells_made_in_one_of_two_lines():
    """The pair of the short sentence stands in the place of one line alone, and the other line has its string from other cells."""
    template = Template.parse("U1:%x[0,0]/%x[1,0]\nU2:%x[-1,0]/%x[0,0]")
    training, other = [sentence("a,b/_B+1"), sentence("a/b")], [sentence("a/b,_B+1")]
    builder, _ = built(template, training)
    index = Index(template, pack(builder))
    check(index, template, training + other, [set(c) for c in known(template, training)])
    assert extracted(builder, training + other) == extracted(index, training + other)


@pytest.mark.parametrize(("lines", "seen", "asked", "found"), [
    ("U0:%x[0,0]%x[1,0]", "ab,cd", "abc,d", "U0:abcd"),  # nothing between the cells
    ("B0:%x[-1,0]/%x[0,0]", "a/b,c", "a,b/c", "B0:a/b/c"),  # no unigrams at all
    ("U0:%x[0,0]/%x[1,0]/%x[2,0]", "a/b,c,d", "a,b/c,d", "U0:a/b/c/d"),
    ("U0:%x[0,0]/%x[1,0]/%x[2,0]", "a,b/c,d", "a,b,c/d", "U0:a/b/c/d"),
    ("U0:%x[0,0]%p[1,0,2]", "ab,cd", "abcd,x", None),  # a prefix that is not there leaves the line out
    ("U0:%p[0,0,2]%x[1,0]", "ab,cd", "x,abcd", None),
])
def test_a_string_of_other_cells(lines, seen, asked, found):
    template, training, other = Template.parse(lines), [sentence(seen)], [sentence(asked)]
    builder, _ = built(template, training)
    index = Index(template, pack(builder))
    check(index, template, training + other, [set(c) for c in known(template, training)])
    attributes = [list(index.attributes(bigram)) for bigram in (False, True)]
    names = {attributes[bigram][i].decode() for ids in extracted(index, other) for bigram in (0, 1) for i in ids[bigram]}
    assert found in names if found else not names
    assert extracted(builder, other) == extracted(index, other)


def test_a_known_cell_whose_value_was_dropped():
    """Other cells made the string that is left, and the dropped value contains the separator. Also where an index is packed again."""
    template = Template.parse("U0:%X[0,0]/%X[1,0] @minfreq=2\nU1:%x[0,0]")
    training, other = [sentence("a,b/c"), sentence("a,b/c"), sentence("a/b,x")], [sentence("a/b,c")]
    builder, _ = frequent(template, training, 1)
    keep = [{s for s, n in known(template, training)[0].items() if n >= 2 or s.startswith(b"U1")}, set()]
    assert b"U0:a/b/c" in keep[0] and b"U0:a/b/x" not in keep[0]
    index = Index(template, pack(builder))
    check(index, template, training + other, keep)
    check(Index(template, pack(index)), template, training + other, keep)


def test_lines_whose_beginnings_collide():
    template = Template.parse("U1:%x[0,0]\nU1%x[0,1]\nU1:5")
    builder, data = built(template, [[["5", ":5", "L"]]])
    assert data.n_u == 1
    assert rows_of(data, "u") == [[0, 0, 0]]
    assert extracted(Index(template, pack(builder)), [[["x", ":5", "L"]]]) == [([0, 0], [])]


@pytest.mark.parametrize("lines", ["U0:%=[0,0,3,0]", "U0:%=[0,0,-3,0]", "U0:%=[2,0,-1,0]"])
def test_cells_that_are_equal_to_what_lies_beyond_the_sentence(lines):
    """Farther away than any cell whose text is asked for."""
    template, training = Template.parse(lines), [sentence("_B+1,_B+1,_B+2,_B+3"), sentence("_B-3,_B-2,_B-1,a")]
    builder, _ = built(template, training)
    expected = [set(c) for c in known(template, training)]
    assert expected[0] == {b"U0:true", b"U0:false"}
    check(Index(template, pack(builder)), template, training, expected)
