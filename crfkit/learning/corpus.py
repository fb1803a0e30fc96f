"""Training data as numbers, and the features that exist."""

from __future__ import annotations

import array
import time
from collections.abc import Container
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit.data.tallies import ambiguity_in
from crfkit.errors import DataError
from crfkit.values import as_bytes, as_text, selected, shown

from .reader import Reader

if TYPE_CHECKING:
    from crfkit.model import Model
    from crfkit.options import Run
    from crfkit.template.parsing import Template


class Corpus:
    """Training data as numbers, with everything needed to make a model from weights: what was read, once its layout is made. `ambiguity`: how many
    unigram attributes occur in the data, rare ones included, and how many with more than one label; zeros if not counted."""

    def __init__(
        self, reader: Reader, dataset: Any, layout: Any, sequences: int, seconds: float = 0.0, ambiguity: tuple[int, int] = (0, 0)
    ):
        self.dataset, self.layout, self.builder = dataset, layout, reader.builder
        self.backward = reader.backward  # sequences are stored in reverse order
        self.header = {**reader.header(), "labels": dataset.labels, "sequences": sequences}  # the fields of a model's header that describe the data
        self.seconds, self.ambiguity = seconds, ambiguity

    @property
    def summary(self) -> dict[str, Any]:
        """What was read, in numbers."""
        read = {name: self.header[name] for name in ("sequences", "tokens")}
        attributes, weights = sum(self.layout.n_attributes), self.layout.n_features
        return {**read, "labels": len(self.dataset.labels), "attributes": attributes, "weights": weights, "seconds": self.seconds}

    def digest(self) -> str:
        """Identifies the data and the features."""
        from xxhash import xxh3_128

        layout = self.layout
        numbers = xxh3_128(f"{layout.n_features} {layout.n_cells} {layout.hot} {layout.has_tau}".encode())
        for values in layout.arrays().values():
            numbers.update(values)
        return f"{self.dataset.checksum()} {numbers.hexdigest()}"

    def weights_of(self, model: Model) -> array.array:
        """The weights of another model, for the features that both have; zero for the rest."""
        from crfkit.features.tables import Names

        own_labels = {label: number for number, label in enumerate(self.dataset.labels)}
        own_attributes = [{name: number for number, name in enumerate(Names(self.builder, bigram))} for bigram in (False, True)]
        weights = array.array("f", bytes(4 * self.layout.n_cells))
        history: dict[str | int | None, int] = {**own_labels, -1: len(own_labels), -2: len(own_labels) + 1, None: -1}
        for attribute, previous, label, weight in model.features_in_bytes():
            seen = previous if isinstance(previous, tuple) else (None, previous)
            if label not in own_labels or not all(name in history for name in seen):
                continue
            before, j = [history[name] for name in seen], own_labels[label]
            if attribute is None:
                cell = self.layout.pair_cell(before[1], j)
            elif previous is None:
                cell = self.layout.cell(own_attributes[0].get(attribute, -1), j)
            else:
                cell = self.layout.rich_cell(own_attributes[1].get(attribute, -1), *before, j)
            if cell >= 0:
                weights[cell] = weight
        return weights


class Known(NamedTuple):
    """Labels and attributes of an older model."""

    labels: list[str]
    attributes: Container[bytes]


def _keep(builder: Any, rules: tuple[bytearray, bytearray], known: Known, path: str | None) -> None:
    """Drop the attributes that the older model does not have; DataError for a label that it does not have."""
    from crfkit.features.indexing import DROPPED
    from crfkit.features.tables import Names

    for label in list(builder.label_table)[len(known.labels) :]:
        raise DataError(f"the older model has no label {shown(as_text(label))}, and can learn no new ones", path)
    for bigram, of_kind in enumerate(rules):
        for number, name in enumerate(Names(builder, bool(bigram))):
            if name not in known.attributes:
                of_kind[number] = DROPPED


def no_feature(reader: Reader) -> DataError:
    """The error to raise if no feature is left to train."""
    return DataError(f"no feature is left: {_why_none(reader.run)}", reader.path)


def no_attribute(corpus: Corpus, template: Template | None, run: Run) -> str | None:
    """A warning if nothing but label pairs is left of a template that looks at tokens, or None."""
    if corpus.summary["attributes"] or (template is not None and not any(line.macros for line in template.lines)):
        return None
    return f"no attribute is left: {_why_none(run)}; labels will depend on their neighbours alone"


def _why_none(run: Run) -> str:
    return "lower --min-freq" if run.min_freq > 1 else "the lines of the template find nothing in these data, or too rarely (@minfreq)"


def read_corpus(reader: Reader, known: Known | None = None, *, ambiguity: bool = True) -> Corpus:
    """Read all training data, decide which features exist, and number their attributes in the order of the weights.
    `known`: allow no other labels and attributes. `ambiguity`: count the attributes that have several labels."""
    from crfkit.features.indexing import RULES
    from crfkit.weights.layout import Layout

    started, run = time.perf_counter(), reader.run
    for rows in reader.blocks():
        if known is not None and not reader.builder.label_table:
            for label in known.labels:
                reader.builder.label_table.intern_bytes(as_bytes(label))
        reader.builder.add(rows)
    builder, dataset, usual = reader.builder, reader.finish(), RULES[run.features]
    reader.progress.warn(reader.names_warning(dataset))
    ambiguous = ambiguity_in(dataset) if ambiguity else (0, 0)
    rules = builder.rules(False, usual, run.min_freq), builder.rules(True, usual, run.min_freq)
    if known is not None:
        _keep(builder, rules, known, reader.path)
    n_selected = selected(run.select)
    if n_selected is not None:
        _select(dataset, rules, n_selected, builder.shared())
    layout, *new = Layout.build(dataset, len(dataset.labels), builder.plain_rule(usual), *rules, builder.reaches())
    if not layout.n_features:
        raise no_feature(reader)
    builder.renumber(*new)
    dataset.nesting = builder.nesting()
    return Corpus(reader, dataset, layout, dataset.n_sequences, time.perf_counter() - started, ambiguous)


def _select(dataset: Any, rules: tuple[bytearray, bytearray], n: int, shared: list[int]) -> None:
    """Drop all attributes but the n of the highest mutual information with the label. Those that every token has (`shared`) stay beside
    these, as plain label pairs do: that a token has them tells nothing, but the labels before it do."""
    from crfkit.data.selection import keep_best, mutual_information

    labels_alone = {number: rules[1][number] for number in shared}
    for number in labels_alone:
        rules[1][number] = 0
    keep_best((mutual_information(dataset, False, rules[0]), mutual_information(dataset, True, rules[1])), rules, n)
    for number, rule in labels_alone.items():
        rules[1][number] = rule
