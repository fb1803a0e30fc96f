"""Byte order marks within files, and lines that end with carriage returns alone."""

import io

import pytest
from inputs import fault, read

from crfkit.text.opening import Stretch
from crfkit.text.reading import Source


@pytest.mark.parametrize("form", ["columns", "conllu", "crfsuite"])
def test_byte_order_marks_where_files_were_joined(form):
    """Byte order marks are not part of the first cell, but are kept in the line."""
    sentence = {"columns": "a A\n\n", "conllu": "# one\n1\ta\ta\tA\t_\t_\t0\t_\t_\t_\n\n", "crfsuite": "@weight:2\nA\ta\n\n"}[form]
    found = []
    for between in ("", "\ufeff"):
        (block,) = Source(io.BytesIO((sentence + between + sentence).encode()), form)
        found.append((read(io.BytesIO(block.data), form), block.data.replace(between.encode(), b"")))
    assert found[0] == found[1]


def test_a_cell_that_is_a_byte_order_mark():
    assert read(io.BytesIO("\ufeff\ufeff A\n\n\ufeff B\n\n".encode())) == [[["\ufeff".encode(), b"A"]], [["\ufeff".encode(), b"B"]]]


@pytest.mark.parametrize(("form", "text", "columns"), [
    ("columns", "# a\n\n\ufeff# b\nA B C\n\n", 3),
    ("conllu", "# a\n\n\ufeff# b\n1" + "\tA" * 9 + "\n\n", 10),
    ("columns", "\n\ufeffA B C\n\n", 3),
])
def test_marks_before_the_first_row(form, text, columns):
    """As where a file that has only comments was joined with one that begins with a mark."""
    ((row,),) = read(io.BytesIO(text.encode()), form, comments=form == "columns")
    assert len(row) == columns


@pytest.mark.parametrize("data", ["a A\rb B\r\ra A\r", "a\tA\rb\tB"])
def test_lines_that_end_with_carriage_returns_alone(data):
    assert fault(io.BytesIO(data.encode())) == r"<stream>: lines that end with carriage returns alone: expected \n or \r\n"


def test_the_last_line_of_a_file_may_be_a_part_of_it(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(b"a A\n\nb\rc B")
    for parts in ([str(path)], [Stretch(str(path), 0, 2), Stretch(str(path), 2)]):
        assert read(parts) == [[[b"a", b"A"]], [[b"b\rc", b"B"]]]


def test_a_carriage_return_within_a_cell():
    assert read(io.BytesIO(b"a\rb A\nb B\n\n")) == [[[b"a\rb", b"A"], [b"b", b"B"]]]


def test_a_carriage_return_within_a_line_is_named():
    assert "2: found 3 columns, expected 2 as in <stream>:1 (a carriage return is within the line" in fault(io.BytesIO(b"a A\nb B\ra A\r\n\n"))
