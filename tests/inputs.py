"""A text as inputs of several kinds, and what is read of them."""

import io

import pytest

from crfkit.errors import DataError, FileError
from crfkit.text.items import fill_rows
from crfkit.text.reading import Source
from crfkit.text.rows import Rows

TEXT = b"The DT B\ncat NN I\n\nsat VBD O\n\n\r\n \t\nCaf\xc3\xa9 NN B\r\n\r\nend . O\n"
SENTENCES = [[[b"The", b"DT", b"B"], [b"cat", b"NN", b"I"]], [[b"sat", b"VBD", b"O"]],
             [[b"Caf\xc3\xa9", b"NN", b"B"]], [[b"end", b".", b"O"]]]


class OneByOne:
    """A stream that gives a few bytes at a time, as a slow pipe does."""

    def __init__(self, data, size):
        self.file, self.size = io.BytesIO(data), size

    def read(self, n):
        return self.file.read(min(self.size, n))


def filled(sentences, form="columns", label=None, **how):
    """Rows of sentences from Python."""
    rows = Rows(form, label)
    fill_rows(rows, sentences, **how)
    return rows


def read(inputs, form="columns", label=None, **options):
    sentences, rows = [], Rows(form, label)
    for block in Source(inputs, form, **options):
        rows.parse(block)
        sentences += rows.sentences()
    return sentences


def fault(inputs, *arguments, **options):
    with pytest.raises((DataError, FileError)) as caught:
        read(inputs, *arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
