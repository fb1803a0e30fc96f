"""Sequences in groups, and the features of those that are not held out, counted and ordered as CRFsuite does."""

from __future__ import annotations

import array
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit.text.groups import Groups, append_sequence
from crfkit.text.rows import Rows

if TYPE_CHECKING:
    from crfkit.foreign.parts import Parts
    from crfkit.learning.corpus import Corpus


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

    def n_attributes(self) -> int:
        """How many different attributes there are."""
        from crfkit.features.indexing import IndexBuilder

        builder = IndexBuilder(None, crfsuite=True)
        with self.lock:
            builder.meet(self.rows, 0, len(self.groups))
        return builder.n_attributes[0]

    def held(self, holdout: int) -> Rows:
        """The sequences of a group."""
        found = Rows("crfsuite")
        with self.lock:
            for place, group in enumerate(self.groups):
                if 0 <= holdout == group:
                    append_sequence(found, self.rows, place)
        return found


class Features(NamedTuple):
    """The features of the training sequences. Labels and attributes of held-out sequences are numbered, too."""

    corpus: Corpus
    names: Any  # of all attributes, in the order in which they were first seen
    numbers: Any  # of these, in the corpus; -1: no feature
    order: array.array[int]  # of the training sequences


def features_of(sequences: Sequences, holdout: int, values: dict[str, Any]) -> Features:
    """The features that CRFsuite makes: its minimum frequency applies to features, not to attributes."""
    import numpy

    from crfkit.features.indexing import RULES, IndexBuilder
    from crfkit.learning.corpus import Corpus
    from crfkit.weights.layout import Layout
    from crfkit.weights.pruning import frequent

    builder = IndexBuilder(None, crfsuite=True)
    with sequences.lock:
        groups, first = sequences.groups[:], 0
        for held, run in groupby(groups, lambda group: 0 <= holdout == group):
            n = len(list(run))
            (builder.meet if held else builder.add)(sequences.rows, first, n)
            first += n
        order = sequences.first_order(groups, holdout)
    dataset, names = builder.finish(as_seen=True), builder.literals[0]
    states, pairs = (RULES["all" if values[f"feature.possible_{what}"] else "observed"] for what in ("states", "transitions"))
    layout, *new = Layout.build(dataset, len(dataset.labels), pairs, builder.rules(False, states), builder.rules(True, states))
    builder.renumber(*new)
    numbers = numpy.array(new[0])
    rest = frequent(layout, dataset, values["feature.minfreq"])
    if rest is not None:
        layout, *new = rest
        builder.renumber(*new)
        numbers = numpy.where(numbers < 0, -1, numpy.array([*new[0], -1])[numbers])
    dataset.nesting = builder.nesting()
    header = {"algorithm": "crfsuite", "columns": 1, "column_names": None, "format": "crfsuite", "label_column": None, "labels": dataset.labels}
    return Features(Corpus(dataset, builder, layout, header), names, numbers, order)


def parts_of(features: Features, weights: array.array) -> Parts:
    """A model with these weights. Labels and attributes are in order of first occurrence, as in CRFsuite."""
    from crfkit.foreign.parts import FeatureRows, Parts
    from crfkit.weights.precision import doubles

    layout = features.corpus.layout
    of_attributes, pairs, _ = doubles(layout, weights)
    arrays = layout.arrays()
    rows = FeatureRows.gathered(features.names, features.numbers, arrays["u_ptr"], arrays["u_label"], of_attributes)
    return Parts("crfsuite", features.corpus.dataset.labels, rows, FeatureRows.empty(), pairs)
