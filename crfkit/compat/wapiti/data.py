"""Data of --me, as `wapiti` reads them: each line is a sequence of one token, and what it lists are its features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crfkit.errors import DataError
from crfkit.text.items import fill_items
from crfkit.text.opening import input_file, texts
from crfkit.text.reading import BLOCK_SIZE, BYTE_ORDER_MARK, whole
from crfkit.text.rows import Rows
from crfkit.text.sources import LAST
from crfkit.values import as_text

Line = tuple[str, list[str], str | None]
"""The line as it came, its observations as a model names them, and its label."""
Found = tuple[int, int, int, list[tuple[int, int, int]]]
"""What was counted in labelled sentences, as LinePrinter has it."""


def blocks(source: Any, labelled: bool) -> Iterator[list[Line]]:
    """Every line that is not blank, of a path or an open file, as soon as it arrives; if `labelled`, its last cell is the label."""
    with input_file(source) as (file, path):
        line = 1

        def fault(reason: str, behind: int) -> DataError:
            return DataError(reason, path, line + behind)

        for text, _ in whole(texts(file, path, BLOCK_SIZE), fault, by_lines=True):
            found: list[Line] = []
            lines = text.removeprefix(BYTE_ORDER_MARK if line == 1 else b"").split(b"\n")[:-1]
            for number, raw in enumerate(lines, line):
                cells = [as_text(cell) for cell in raw.split()]  # as bytes, so that only ASCII blanks separate cells
                if labelled and len(cells) == 1:
                    raise DataError("expected features, and the label last", path, number)
                if cells:
                    found.append((as_text(raw.rstrip(b"\r")), ["u" + cell for cell in (cells[:-1] if labelled else cells)], cells[-1] if labelled else None))
            yield found
            line += len(lines)


def sequences(source: Any) -> list[Rows]:
    """Labelled lines as sequences for crfkit."""
    rows = Rows("crfsuite", LAST)
    rows.loose = True
    fill_items(rows, ([(observations, label)] for block in blocks(source, True) for _, observations, label in block), labelled=True)
    return [rows]
