"""Models of single lines (--me): each line is a sequence of one token, and what it lists are its features. Reading and labelling them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crfkit.errors import DataError
from crfkit.tagging import Tagger
from crfkit.text.faults import placed_in
from crfkit.text.items import fill_rows
from crfkit.text.opening import input_file, path_of, texts
from crfkit.text.reading import BLOCK_SIZE, BYTE_ORDER_MARK, whole
from crfkit.text.rows import Rows
from crfkit.text.sources import LAST
from crfkit.values import as_bytes, as_text

if TYPE_CHECKING:
    import numpy

AT_ONCE = 1000
Line = tuple[str, list[str], str | None]
"""The line as it came, its observations as a model names them, and its label."""
Labels = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""Of each token the label that was found and the one in its row, -1 if the model lacks it; and where sequences begin."""


def blocks(source: Any, labelled: bool) -> Iterator[list[Line]]:
    """Every line that is not blank, of a path or an open file, as soon as it arrives; if `labelled`, its last cell is the label."""
    with input_file(source) as (file, path):
        for text, line, _ in whole(texts(file, path, BLOCK_SIZE), path, by_lines=True):
            found: list[Line] = []
            for number, raw in enumerate(text.removeprefix(BYTE_ORDER_MARK if line == 1 else b"").split(b"\n")[:-1], line):
                cells = [as_text(cell) for cell in raw.split()]  # as bytes, so that only ASCII blanks separate cells
                if labelled and len(cells) == 1:
                    raise DataError("expected features, and the label last", path, number)
                if cells:
                    found.append((as_text(raw.rstrip(b"\r")), ["u" + cell for cell in (cells[:-1] if labelled else cells)], cells[-1] if labelled else None))
            yield found


def sequences(source: Any) -> list[Rows]:
    """Labelled lines as sequences for crfkit."""
    rows = Rows("crfsuite", LAST)
    rows.loose = True
    with placed_in(path_of(source)):
        fill_rows(rows, ([(observations, label)] for block in blocks(source, True) for _, observations, label in block), labelled=True)
        if not rows.n_tokens:
            raise DataError("no lines: expected features, and the label last, in each line")
    return [rows]


def label(tagger: Tagger, source: str, given: dict[str, Any]) -> Iterator[tuple[bytes, int, Labels | None]]:
    """As LinePrinter.text for other models: the labelled lines, how many there are, and their labels."""
    done = 0
    for some in blocks(source, given["check"] or given["force"]):
        while some:
            n = AT_ONCE - done % AT_ONCE  # up to the next line of the log
            now, some = some[:n], some[n:]
            done += len(now)
            yield _labelled(tagger, now, given)


def _values(tagger: Tagger, some: list[Line], posterior: bool) -> Iterator[numpy.ndarray]:
    """The score of each label for each line, or its probability."""
    if posterior:
        yield from (found[0] for found in tagger.marginals_many([[observations] for _, observations, _ in some]))
        return
    import numpy

    n, scratch = len(tagger.labels), tagger.decoding.new_scratch()
    for _, observations, _ in some:
        scores = numpy.empty((1, n))
        scratch.read([observations])
        scratch.fill_scores(scores, numpy.empty((0, n, n)))
        yield scores[0] + scratch.level


def _labelled(tagger: Tagger, some: list[Line], given: dict[str, Any]) -> tuple[bytes, int, Labels | None]:
    names = tagger.labels
    number = {name: place for place, name in enumerate(names)}
    out, found, in_rows = [], [], []
    for (text, _, wanted), values in zip(some, _values(tagger, some, given["post"]), strict=True):
        order = (-values).argsort(kind="stable").tolist()
        if given["force"] and wanted in number:
            order = [number[wanted]]
        for rank, place in enumerate(order[: given["nbest"]]):
            line = names[place] if given["label"] else f"{text}\t{names[place]}"
            if given["score"]:
                out.append(f"# {rank} {values[place]:f}\n")
                line += f"\t{names[place]}/{values[place]:f}"
            out.append(line + "\n\n")
        found.append(order[0])
        in_rows.append(-1 if wanted is None else number.get(wanted, -1))
    return as_bytes("".join(out)), len(some), (found, in_rows, range(len(some))) if given["check"] else None
