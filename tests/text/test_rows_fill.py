"""Rows that come from Python's lists."""

from collections import UserDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import filled
from liars import liar

from crfkit.errors import DataError
from crfkit.testing import tagged
from crfkit.text.items import fill_rows
from crfkit.text.rows import Rows

cells = st.text(st.characters(blacklist_categories=["Cs"]), max_size=3)


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(st.lists(cells, min_size=n, max_size=n)))))
def test_lists_become_rows_as_they_are(sentences):
    assert filled(sentences).sentences() == [[[cell.encode() for cell in row] for row in s] for s in sentences]


def test_filled_rows_can_be_written():
    rows = filled([[["a", "b"], ("c", "d")], [["e", "f"]]])
    assert tagged(rows, [b"1", b"2", b"3"]) == b"a\tb\t1\nc\td\t2\n\ne\tf\t3\n\n"


@pytest.mark.parametrize("sentences, message", [
    ([[["a", "b"], ["c"]]], "sentence 1, token 2: found 1 column, expected 2"),
    ([[["a"]], ["bc"]], "sentence 2, token 1: found str 'bc', expected a list of columns"),
    ([[[]]], "sentence 1, token 1: found 0 columns, expected one or more"),
    ([[[1]]], "sentence 1, token 1: found int 1, expected a str"),
    ([[["\ud800"]]], "sentence 1, token 1: found '\\ud800', expected text that UTF-8 can encode"),
])
def test_lists_that_are_no_rows(sentences, message):
    rows = Rows()
    with pytest.raises(DataError) as caught:
        fill_rows(rows, sentences)
    assert str(caught.value) == message
    assert rows.sentences() == []


@pytest.mark.parametrize(("row", "found"), [(["a"], "1 column"), (["a", "b"], "2 columns")])
def test_rows_that_end_before_the_label(row, found):
    rows = Rows("columns", 2)
    with pytest.raises(DataError, match=f"^sentence 1, token 1: found {found}, expected at least 3, of which this is the label$"):
        fill_rows(rows, [[row]])
    fill_rows(rows, [[["a", "b", "c"]]])
    assert rows.sentences() == [[[b"a", b"b", b"c"]]]


@pytest.mark.parametrize("told", [0, 1, 1000])
def test_what_tells_another_length_than_it_has_is_counted(told):
    """Rows and cells are counted by iterating: len() is not trusted."""
    rows = filled(liar(told, [liar(told, [liar(told, ["a", "X"]), ["b", "Y"]]), [liar(told, ["c", "Z"])]]), label=-1)
    assert rows.n_columns == 2
    assert rows.sentences() == [[[b"a", b"X"], [b"b", b"Y"]], [[b"c", b"Z"]]]
    with pytest.raises(DataError, match=r"^sentence 1, token 2: found 500 columns, expected 2$"):
        fill_rows(rows, [[["a", "X"], liar(2, ["b"] * 500)]])
    with pytest.raises(DataError, match=r"^sentence 1, token 2: found 1 column, expected 2$"):
        fill_rows(rows, [[["a", "X"], liar(2, ["b"])]])


def test_rows_of_any_ordered_kind():
    rows = filled([[("a", "b"), iter(["c", "d"]), {1: "e", 2: "f"}.values()]])
    assert rows.sentences() == [[[b"a", b"b"], [b"c", b"d"], [b"e", b"f"]]]


class Table(list):
    """Like a DataFrame: iteration gives the names of its columns."""

    ndim = 2


@pytest.mark.parametrize("row", [{"a": 1}, {"a"}, {"a": 1}.keys(), UserDict(a=1), Table(["a"]), 3, None])
def test_rows_without_an_order_and_tables_are_refused(row):
    with pytest.raises(DataError, match=r"^sentence 1, token 1: found .*, expected a list of columns$"):
        fill_rows(Rows(), [[row]])


def test_pieces_have_as_few_sequences_as_have_so_many_tokens():
    rows = filled([[["a"]] * n for n in (1, 1, 2, 3, 1)])
    assert [rows.pieces(tokens) for tokens in (1, 2, 3, 9)] == [[(k, k + 1) for k in range(5)], [(0, 2), (2, 3), (3, 4), (4, 5)], [(0, 3), (3, 4), (4, 5)], [(0, 5)]]
