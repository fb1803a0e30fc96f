"""Reading a corpus with a template: which attributes it has, and with which labels each forms features.

First `add` for each block; then `finish` sorts the labels, `rules` says which features each attribute has, and `renumber` drops
attributes and orders the others as the layout of the weights wants them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from crfkit.data.dataset import Dataset
from crfkit.values import as_text

from .builder import TableBuilder, drop_rare
from .plan import Slot

DROPPED, OBSERVED, ALL = range(3)  # rules, as in reach.pxd
RULES = {"observed": OBSERVED, "all": ALL}
EDGE = 0  # the reach of B lines, as in reach.pxd


class IndexBuilder(TableBuilder):
    """Compiles a corpus against a template. `template` may be None for CRFsuite's format, where the data
    name their attributes. With `backward`, the data set has the tokens of a sequence in reverse order.
    `folder`: where to store the data set, in memory if None."""

    def drain(self) -> Dataset:
        """The sequences added since the last call, as a Dataset. Labels and attributes are numbered in order of first occurrence, across
        all calls."""
        return self.take([as_text(label) for label in self.label_table], False)

    def finish(self, as_seen: bool = False) -> Dataset:
        """Close the corpus. Labels are sorted bytewise, or stay in order of first occurrence on request and with Wapiti's
        patterns. Returns the Dataset; its attributes are in order of first occurrence."""
        names = list(self.label_table)
        data = self.take([as_text(name) for name in names], True)
        if self.plan.patterns is None and not as_seen:
            order = sorted(names)
            place = {name: number for number, name in enumerate(order)}
            data.relabel(array("i", [place[name] for name in names]), [as_text(name) for name in order])
        return data

    def rules(self, bigram: bool = False, usual: int = OBSERVED, min_freq: int = 1, counts: array[int] | None = None) -> bytearray:
        """The rule of each attribute (reach.pxd): that of its lines, or `usual`; DROPPED if it occurs less than `min_freq` times, or less
        than its lines demand. If several lines make it, the most permissive applies. `counts`: how often each occurs, if not taken
        from the data set."""
        slots = self.plan.slots
        found = bytearray([usual]) * self.n_attributes[bigram]
        if any(slot.rules != {None} for slot in slots):
            found = bytearray(self._spread(bigram, usual, lambda slot: max(RULES.get(name or "", usual) for name in slot.rules)).tolist())
        if min_freq > 1 or any(slot.min_freqs != {None} for slot in slots):
            least = self._spread(bigram, -min_freq, lambda slot: max(-(f or min_freq) for f in slot.min_freqs))
            if counts is None:
                counts = self.dataset.counts(bigram)
            drop_rare(found, counts, least)
        return found

    def plain_rule(self, usual: int = OBSERVED) -> int:
        """The rule of plain label pairs, as `rules` for attributes."""
        return max((RULES.get(rule or "", usual) for rule in self.plan.plain_rules), default=DROPPED)

    def reaches(self) -> bytes | None:
        """For each bigram attribute, which previous labels it depends on (reach.pxd). None if all are from B lines."""
        if not any(slot.reach for slot in self.plan.slots):
            return None
        return bytes(max(reach, 0) for reach in self._spread(True, EDGE, lambda slot: slot.reach))

    def nesting(self) -> tuple[array[int], list[int]]:
        """Which unigram attributes imply others: for each attribute the number of the slot that made it (negative: none of these), and for
        each slot the number of its container (Plan.containers), or -1."""
        numbers, containers = self.plan.nesting()
        return self._spread(False, -1, lambda slot: numbers.get(id(slot), -1)), containers

    def _spread(self, bigram: bool, of_items: int, of_slot: Callable[[Slot], int]) -> array[int]:
        """For each attribute, the maximum of `of_slot` over the slots that make it."""
        of_slots = [of_slot(slot) if slot.bigram == bigram else 0 for slot in self.plan.slots]
        return self.largest(bigram, of_items, array("q", of_slots))
