"""What attributes of data in several parts were seen with: how often they occur, and which features they have."""

from __future__ import annotations

from typing import Any

import numpy as np

ANY = 0xFFFF  # a label that a feature does not look at, as in cells.pxd
BEGIN = ANY - 2  # the position before a sentence; the next number is the one before that


class Evidence:
    """From what `seen_in` (observed.pyx) finds in each part. Parts may number labels and attributes differently."""

    def __init__(self, bigram: bool):
        self.bigram = bigram
        self.counts = np.zeros(0, np.int64)  # how often each attribute occurs
        self.parts: list[tuple[Any, Any]] = []  # of each part the attributes of its features, and the keys of these (cells.pxd)

    def add(self, attributes: Any, labels: Any, counts: Any, starts: Any, befores: Any, previouses: Any, own: Any) -> None:
        """Add one part: its attributes' and labels' numbers here, and what `seen_in` returned. ValueError or LookupError if that is not
        possible."""
        attributes, labels, counts, starts, own = map(_numbers, (attributes, labels, counts, starts, own), "iiqqH")
        before, previous = (np.full(len(own), ANY) if given is None else _numbers(given, "H") for given in (befores, previouses))
        sizes = np.diff(starts)
        if not (len(attributes) == len(counts) == len(sizes) and len(before) == len(previous) == len(own)) or (self.bigram and previouses is None):
            raise ValueError("evidence in tables that do not fit together")
        if starts[0] != 0 or starts[-1] != len(own) or min(map(_least, (attributes, counts, sizes, labels))) < 0:
            raise ValueError("evidence that is not possible")
        if (labels >= BEGIN).any() or (own >= len(labels)).any():
            raise ValueError("evidence with labels that are not possible")
        known = attributes.max(initial=-1) + 1
        if known > len(self.counts):
            self.counts.resize(known, refcheck=False)  # in place, mostly: a copy for each part would take long where parts are many
        np.add.at(self.counts, attributes, counts)
        keys = _renamed(before << 32 | previous << 16 | own, labels, len(labels), BEGIN)
        self.parts.append((np.repeat(attributes, sizes).astype(np.int32), keys))

    def settle(self, rank: Any) -> None:
        """After all parts: give labels their final numbers."""
        for number, (attributes, keys) in enumerate(self.parts):
            self.parts[number] = attributes, _renamed(keys, rank, BEGIN, len(rank))

    def ambiguity(self) -> tuple[int, int]:
        """How many attributes occur, and how many with more than one label."""
        seen, several = np.full(len(self.counts), -1), np.zeros(len(self.counts), bool)
        for attributes, keys in self.parts:
            label = keys & 0xFFFF
            seen[attributes] = np.where(seen[attributes] < 0, label, seen[attributes])  # of those in this part, the last
            several[attributes[seen[attributes] != label]] = True
        return int((seen >= 0).sum()), int(several.sum())


def _numbers(values: Any, form: str) -> Any:
    """An array of this form, in numbers of 64 bits; ValueError if it is none."""
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype != np.dtype(form):
        raise ValueError(f"{found.ndim} dimensions of {found.dtype}, expected one of {np.dtype(form)}")
    return found.astype(np.int64)


def _least(numbers: Any) -> int:
    return int(numbers.min(initial=0))


def _renamed(keys: Any, labels: Any, begin: int, new_begin: int) -> Any:
    """Keys with other numbers of labels. The positions before the sentence have the numbers `begin` and the next one."""
    table = np.full(ANY + 1, -1)
    table[: len(labels)] = labels
    table[begin : begin + 2] = new_begin, new_begin + 1
    table[ANY] = ANY
    parts = [table[keys >> shift & 0xFFFF] for shift in (32, 16, 0)]
    if min(map(_least, parts)) < 0:
        raise ValueError("evidence with a label that does not exist")
    return parts[0] << 32 | parts[1] << 16 | parts[2]
