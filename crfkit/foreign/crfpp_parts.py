"""What CRF++'s binary and text models share: conversion of their contents to Parts, and back."""

from __future__ import annotations

import array
from typing import TYPE_CHECKING

from crfkit.errors import ModelFileError, TemplateError, UnsupportedError
from crfkit.template import dialects
from crfkit.template.macros import Line
from crfkit.template.parsing import Template
from crfkit.values import as_bytes, as_text, legible, shown

from .parts import FeatureRows, Parts, Places, labels_of, of_kind
from .translating import translated, written

if TYPE_CHECKING:
    import numpy

MOST_WEIGHTS = (1 << 31) - 1  # places in its tables of names have 32 bits, one of them for the sign


def assembled(
    labels: list[bytes], lines: list[bytes], xsize: int, features: Places, weights: array.array, options: dict
) -> Parts:
    """The parts of a CRF++ model; `features` are in the order of their places."""
    from .placed import initials

    names = labels_of(labels)
    try:
        template = dialects.parse("".join(as_text(line) + "\n" for line in lines), dialects.CRFPP)
    except TemplateError as error:
        raise ModelFileError(f"its template cannot be read: {error}") from None
    kinds = initials(features.names)
    of_u, of_b = of_kind(kinds, b"U"), of_kind(kinds, b"B")
    # CRF++ counts the columns that features were made of, and B lines make none of sentences of one token.
    used = 1 + max((macro.column for line in template.lines if of_b or line.kinds == "U" for macro in line.macros), default=-1)
    if used > xsize:
        raise ModelFileError(f"damaged: the template uses column {used - 1} of {xsize}")
    columns = max(xsize, 1 + max(template.columns, default=-1))
    if len(of_u) + len(of_b) < len(features):
        name, place = next(found for found in features.items() if found[0][:1] not in (b"U", b"B"))
        raise ModelFileError(f"damaged: the feature {shown(legible(name))} has its weights at {place} of {len(weights)}")
    taken = len(of_u) * len(names) + len(of_b) * len(names) ** 2
    if taken > len(weights):
        raise ModelFileError(f"damaged: the features have {taken} weights, the file {len(weights)}")
    plain, lines_of_plain = plain_line(template)
    pairs = None
    if plain is not None and plain in features:
        number = features.names.find(plain)
        pairs = FeatureRows.placed(features, [number], None, weights, len(names), True).weight
        if lines_of_plain == 1 and not _from_cells(template, plain):
            of_b.remove(number)
    unigrams = FeatureRows.placed(features, of_u, None, weights, len(names), False)
    bigrams = FeatureRows.placed(features, of_b, None, weights, len(names), True)
    return Parts("crf++", names, unigrams, bigrams, pairs, template, columns + 1, {**options, "maxid": len(weights)}, features)


def plain_line(template: Template) -> tuple[bytes | None, int]:
    """The feature of plain label pairs, from the first B line without macros; and how many such lines make it."""
    plain = [line.literals[0] for line in template.lines if "B" in line.kinds and not line.macros]
    return (plain[0], plain.count(plain[0])) if plain else (None, 0)


def refuse_shared(template: Template) -> None:
    """UnsupportedError if a line with macros might make the feature of plain label pairs, which have weights of their own here."""
    plain = plain_line(template)[0]
    if plain is not None and _from_cells(template, plain):
        raise UnsupportedError(f"the template's line {as_text(plain)} and a B line with a macro may make the same feature: begin one of them with other characters")


def _from_cells(template: Template, name: bytes) -> bool:
    """Whether a B line with macros might make this feature: it begins and ends as that does, and is not longer, as cells are not empty."""
    return any(
        name.startswith(line.literals[0]) and name.endswith(line.literals[-1]) and sum(map(len, line.literals)) + len(line.macros) <= len(name)
        for line in template.lines if "B" in line.kinds and line.macros
    )


def taken_apart(parts: Parts) -> tuple[Parts, list[bytes], Places, numpy.ndarray]:
    """The contents of a CRF++ file: the model, lines of the template, names by their bytes with the place of the first weight of each, weights."""
    import numpy

    from .names import ascending, joined, numbers_in
    from .placed import initials

    if parts.template is None:
        raise UnsupportedError("a CRF++ model needs a template: give the one that made the attributes with --template")
    of_wapiti = parts.template.dialect in (dialects.WAPITI, dialects.MAXENT)
    if of_wapiti:
        parts = translated(parts, dialects.CRFPP)
    assert parts.template is not None
    lines = sorted((line_of(line, parts.template.dialect) for line in parts.template.lines), key=lambda line: line[:1] == b"B")
    plain, lines_of_plain = plain_line(parts.template)
    if plain is None and parts.pairs is not None and any(parts.pairs):
        raise UnsupportedError("the model has weights of pairs of labels, but its template has no line for them (B without macros)")
    n = len(parts.labels)
    names = joined(parts.unigrams.names, parts.bigrams.names)
    of_plain = -1 if plain is None else names.intern_bytes(plain)
    # In the order of the file that the model was read from; names that it lacks are the last.
    known = numpy.append(numpy.asarray(parts.places.places, numpy.int64), numpy.iinfo(numpy.int64).max)[numbers_in(parts.places.names, names)]
    order = numpy.argsort(known, kind="stable")
    sizes = numpy.where(numpy.frombuffer(initials(names), numpy.uint8) == b"B"[0], n * n, n)
    places = numpy.empty(len(names), numpy.int64)
    places[order] = numpy.cumsum(sizes[order]) - sizes[order]
    total = int(sizes.sum())
    if total > MOST_WEIGHTS:
        raise UnsupportedError(f"{total} weights, one for each label or pair of labels of every attribute: CRF++'s models have room for {MOST_WEIGHTS}")
    weights = numpy.zeros(total)
    for rows in (parts.unigrams, parts.bigrams):
        at = numpy.repeat(places[numbers_in(names, rows.names)], numpy.diff(rows.ptr).astype(numpy.intp)) + numpy.asarray(rows.label)
        if rows is parts.bigrams:
            at += n * numpy.asarray(rows.previous, numpy.int64)
        weights[at] = rows.weight
    if plain is not None and not (of_wapiti and parts.pairs is None):
        # The first line has the plain pairs, the others the feature of that name: all get the mean.
        found = weights[places[of_plain] : places[of_plain] + n * n]
        more = (0 if parts.pairs is None else numpy.asarray(parts.pairs)) - found
        if numpy.any(more) and _from_cells(parts.template, plain):
            raise UnsupportedError(f"lines of the template with and without a macro make the feature {as_text(plain)}: in CRF++ they share weights")
        found += more / lines_of_plain
    order = numpy.asarray(ascending(names))
    return parts, lines, Places(names.select(order), array.array("q", places[order].tobytes())), weights


def columns_in_use(parts: Parts) -> int:
    """How many columns data need: CRF++ counts up to the last one that the template uses."""
    columns = () if parts.template is None else parts.template.columns
    return parts.columns - 1 if parts.program == "crf++" or not columns else max(columns) + 1


def line_of(line: Line, dialect: str | None = None) -> bytes:
    """A line of the template in CRF++'s language; as it is, if that is its dialect."""
    if line.kinds not in ("U", "B") or line.text[0] not in "UB":
        raise UnsupportedError(f"line {line.number} of the template: CRF++ has only U and B lines, found {line.text[:1]}")
    for macro in line.macros:
        if macro.kind != "x" or macro.lower or not -8 <= macro.row <= 8:
            raise UnsupportedError(f"line {line.number} of the template: CRF++ has only %x[row,column], with rows from -8 to 8; found {macro.text}")
    if b"%" in b"".join(line.literals):
        raise UnsupportedError(f"line {line.number} of the template: CRF++ has no way to write a percent sign")
    return as_bytes(line.text) if dialect == dialects.CRFPP else written(line)
