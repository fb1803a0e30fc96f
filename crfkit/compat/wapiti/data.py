"""Data of --me, as `wapiti` reads them: each line is a sequence of one token, and what it lists are its features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crfkit.errors import DataError
from crfkit.text.items import fill_items
from crfkit.text.reading import Source
from crfkit.text.rows import Rows
from crfkit.text.sources import LAST
from crfkit.values import as_text

Line = tuple[str, list[str], str | None]
"""The line as it came, its observations as a model names them, and its label."""


def lines(source: Any, labelled: bool) -> Iterator[Line]:
    """Every line that is not blank, of a path or an open file; if `labelled`, its last cell is the label."""
    for block in Source(source, "columns", allow_empty=True, loose=True):
        for number, raw in enumerate(block.data.split(b"\n"), block.first_line):
            cells = [as_text(cell) for cell in raw.split()]  # as bytes, so that only ASCII blanks separate cells
            if labelled and len(cells) == 1:
                raise DataError("expected features, and the label last", block.path, number)
            if cells:
                yield as_text(raw.rstrip(b"\r")), ["u" + cell for cell in (cells[:-1] if labelled else cells)], cells[-1] if labelled else None


def sequences(source: Any) -> list[Rows]:
    """Labelled lines as sequences for crfkit."""
    rows = Rows("crfsuite", LAST)
    rows.loose = True
    fill_items(rows, ([(observations, label)] for _, observations, label in lines(source, True)), labelled=True)
    return [rows]
