"""Indexes of sentences that a test makes up, and cells on which templates are tried."""

import io

from crfkit.features.indexing import IndexBuilder
from crfkit.features.walk import Extractor
from crfkit.testing import attributes_of
from crfkit.text.reading import Source
from crfkit.text.rows import Rows

CELLS = [
    "a",
    "b",
    "aa",
    "a/b",
    "b/a",
    "/",
    "a|b",
    "",
    "_B-1",
    "_B+1",
    "é",
    "É/a",
    "U0:a",
    "%x[0,0]",
    "a b",
    "0",
    "true",
]


def blocks(sentences, form="columns"):
    """Parsed blocks of sentences that are lists of rows, or of lines."""
    lines = "".join("".join((r if isinstance(r, str) else "\t".join(r)) + "\n" for r in s) + "\n" for s in sentences)
    for block in Source(io.BytesIO(lines.encode()), form, block_size=64):
        rows = Rows(form)
        rows.parse(block)
        yield rows


def built(template, sentences):
    builder = IndexBuilder(template)
    for rows in blocks(sentences):
        builder.add(rows)
    return builder, builder.finish()


def extracted(index, sentences):
    extractor = Extractor(index)
    return [ids for rows in blocks(sentences) for ids in attributes_of(extractor, rows)]
