"""Models changed by hand: `wapiti update`, and --compact."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from math import isfinite
from typing import Any

from crfkit.errors import DataError
from crfkit.foreign.names import numbers_in
from crfkit.foreign.observations import places_for
from crfkit.foreign.parts import Parts, Places, pair_table
from crfkit.foreign.wapiti import observed, plain_name
from crfkit.values import as_bytes

Changes = dict[tuple[bytes, bool], dict[tuple[int, int], float]]
"""For each observation, of single labels or of pairs: the weights of (previous, label)."""


def read_patch(lines: Iterable[bytes], parts: Parts, path: str) -> Changes:
    """Parse edited lines of a dump; DataError for a weight that the model has no feature for."""
    labels = {as_bytes(label): number for number, label in enumerate(parts.labels)}
    changes: Changes = {}
    for number, line in enumerate(lines, 1):
        line = line.rstrip(b"\r\n")
        if not line.strip():
            continue
        fields = line.split(b"\t") if b"\t" in line else line.rsplit(None, 3)
        if len(fields) != 4:
            raise DataError("expected an observation, the label before or #, the label, and the weight, with tabs between", path, number)
        name, before, label, value = fields[0], *map(bytes.strip, fields[1:])
        if parts.places.names.find(name) < 0:
            raise DataError(f"the model has no observation {name.decode(errors='replace')!r}, and an update cannot add any", path, number)
        pair = before != b"#" or (before in labels and name[:1] == b"b")
        if name[:1] == (b"u" if pair else b"b"):
            expected = "# in the place of the label before" if pair else "a label before, not #"
            raise DataError(f"{name.decode(errors='replace')!r} is an observation of {'single labels' if pair else 'pairs'}: expected {expected}", path, number)
        for wanted in (before, label) if pair else (label,):
            if wanted not in labels:
                raise DataError(f"the model has no label {wanted.decode(errors='replace')!r}", path, number)
        cells = changes.setdefault((name, pair), {})
        cells[labels[before] if pair else 0, labels[label]] = _weight(value, path, number)
    return changes


def _weight(value: bytes, path: str, number: int) -> float:
    text = value.decode(errors="replace")
    with suppress(ValueError, OverflowError):
        if isfinite(weight := float.fromhex(text) if "x" in text.lower() else float(text)):
            return weight
    raise DataError(f"expected a weight, found {text!r}", path, number)


def edited(parts: Parts, changes: Changes) -> Parts:
    """The model with some weights changed."""
    of_labels, of_pairs = ({name: cells for (name, bigram), cells in changes.items() if bigram == wanted} for wanted in (False, True))
    pairs, plain = parts.pairs, plain_name(parts)
    if plain is not None and plain in of_pairs:
        new = ((*place, weight) for place, weight in of_pairs.pop(plain).items())
        pairs = pair_table(chain(parts.pair_weights(), new), len(parts.labels))
    unigrams, bigrams = parts.unigrams.changed(of_labels), parts.bigrams.changed(of_pairs)
    return replace(parts, unigrams=unigrams, bigrams=bigrams, pairs=pairs if any(pairs or ()) else None)


def compacted(parts: Parts, say: Callable[[str], Any]) -> Parts:
    """The model without the observations that have no weight; it has no features of weight zero. `say` is called with the lines of the log."""
    say("* Compacting the model")
    say("    - Scan the model")
    found, n = observed(parts), len(parts.labels)
    kept = found.names.select(found.used())
    say("    - Compact it")
    say(f"    {len(found.names) - len(kept):8d} observations removed")
    say(f"    {places_for(found.names, n) - places_for(kept, n):8d} features removed")
    unigrams, bigrams = (rows.renamed(kept, numbers_in(rows.names, kept)) for rows in (parts.unigrams, parts.bigrams))
    return replace(parts, unigrams=unigrams, bigrams=bigrams, places=Places.of(kept))
