"""Sequences in groups, and the features of those that are not held out, counted and ordered as CRFsuite does."""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .groups import Groups

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.features.strings import StringTable
    from crfkit.foreign.parts import Parts
    from crfkit.weights.layout import Layout


class Sequences(Groups):
    """Sequences in groups, and CRFsuite's order of them."""

    order: Sequence[int] | None = None  # CRFsuite's order, if it is another one
    drawn: int | None = None  # random numbers so far, if all trainings share a generator; None: each has its own

    def split(self, n: int) -> None:
        """Split into n groups: shuffle the sequences as CRFsuite does, then assign them to the groups in turn."""
        from crfkit.trainers.online.crfsuite import shuffled

        self.order, self.drawn = shuffled(len(self.groups)), len(self.groups)
        for place, sequence in enumerate(self.order):
            self.groups[sequence] = place % n

    def first_order(self, groups: array.array[int], holdout: int) -> array.array[int]:
        """CRFsuite's order of the sequences that are not held out, each by its number among them."""
        learned = [sequence for sequence, group in enumerate(groups) if not 0 <= holdout == group]
        numbers = {sequence: number for number, sequence in enumerate(learned)}
        return array.array("i", (numbers[sequence] for sequence in self.order or learned if sequence in numbers))


class Features(NamedTuple):
    """The features of the training sequences. Labels and attributes of held-out sequences are numbered, too."""

    data: Dataset
    held: Dataset
    layout: Layout
    names: StringTable  # of all attributes, in the order in which they were first seen
    numbers: Any  # of these, in the data; -1: no feature
    order: array.array[int]  # of the training sequences


def features_of(sequences: Sequences, holdout: int, values: dict[str, Any]) -> Features:
    """The features that CRFsuite makes: its minimum frequency applies to features, not to attributes."""
    import numpy

    from crfkit.features.indexing import RULES
    from crfkit.weights.layout import Layout
    from crfkit.weights.pruning import frequent

    data, held, names, groups = sequences.divided(holdout)
    states, pairs = (RULES["all" if values[f"feature.possible_{what}"] else "observed"] for what in ("states", "transitions"))
    layout, *new = Layout.build(data, len(data.labels), pairs, bytes([states]) * len(names), b"")
    numbers = numpy.array(new[0])
    for some in (data, held):
        sequences.renumber(some, new[0])
    rest = frequent(layout, data, values["feature.minfreq"])
    if rest is not None:
        layout, *new = rest
        data = sequences.copied(data)
        for some in (data, held):
            some.renumber(*new)
        numbers = numpy.where(numbers < 0, -1, numpy.array([*new[0], -1], "i")[numbers])
    return Features(data, held, layout, names, numbers, sequences.first_order(groups, holdout))


def parts_of(features: Features, weights: array.array) -> Parts:
    """A model with these weights. Labels and attributes are in order of first occurrence, as in CRFsuite."""
    from crfkit.foreign.parts import FeatureRows, Parts
    from crfkit.weights.precision import doubles

    of_attributes, pairs, _ = doubles(features.layout, weights)
    arrays = features.layout.arrays()
    rows = FeatureRows(features.names, arrays["u_ptr"], arrays["u_label"], of_attributes).renamed(features.names, features.numbers)
    return Parts("crfsuite", features.data.labels, rows.without_zeros(), FeatureRows.empty(), pairs)
