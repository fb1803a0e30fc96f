"""`wapiti label` for models of single lines (--me)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from crfkit.tagging import Tagger
from crfkit.values import as_bytes

from .data import Found, Line, blocks

AT_ONCE = 1000


def label(tagger: Tagger, source: str, given: dict[str, Any]) -> Iterator[tuple[bytes, int, Found | None]]:
    """As LinePrinter.text for other models: the labelled lines, how many there are, and how many are right."""
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
    n, scratch = len(tagger.labels), tagger.decoders.new_scratch()
    for _, observations, _ in some:
        scores = numpy.empty((1, n))
        scratch.read([observations])
        scratch.fill_scores(scores, numpy.empty((0, n, n)))
        yield scores[0] + scratch.level


def _labelled(tagger: Tagger, some: list[Line], given: dict[str, Any]) -> tuple[bytes, int, Found | None]:
    names, out = tagger.labels, []
    number = {name: place for place, name in enumerate(names)}
    counts, wrong = [[0, 0, 0] for _ in names], 0
    for (text, _, wanted), values in zip(some, _values(tagger, some, given["post"]), strict=True):
        order = numpy.argsort(-values, kind="stable").tolist()
        if given["force"] and wanted in number:
            order = [number[wanted]]
        for rank, place in enumerate(order[: given["nbest"]]):
            line = names[place] if given["label"] else f"{text}\t{names[place]}"
            if given["score"]:
                out.append(f"# {rank} {values[place]:f}\n")
                line += f"\t{names[place]}/{values[place]:f}"
            out.append(line + "\n\n")
        if given["check"] and wanted in number:
            counts[order[0]][1] += 1
            wrong += wanted != names[order[0]]
            counts[number[wanted]][0] += 1
            counts[number[wanted]][2] += wanted == names[order[0]]
    found = (len(some), wrong, wrong, [(a, b, c) for a, b, c in counts]) if given["check"] else None
    return as_bytes("".join(out)), len(some), found
