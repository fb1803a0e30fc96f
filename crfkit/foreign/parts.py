"""The common form of all linear-chain models: labels, attributes, and weights as doubles.

Readers convert files to `Parts`, writers convert `Parts` to files; `model_of` and `parts_of` convert to and from crfkit's own
models, whose weights are in single precision.
"""

from __future__ import annotations

import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, compress, repeat
from math import isfinite
from typing import TYPE_CHECKING, Any

from crfkit.errors import ModelFileError, UnsupportedError
from crfkit.features.strings import StringTable
from crfkit.model import Model, assembled
from crfkit.template.dialects import MAXENT, WAPITI
from crfkit.values import as_text
from crfkit.weights.layout import MAX_LABELS, Layout

if TYPE_CHECKING:
    from crfkit.template.parsing import Template


BEYOND = "beyond 3.4e38, the most that single precision holds"  # what is said of a weight
Features = list[tuple[int, int, float]]  # of one attribute: (label before, or 0, label, weight)


@dataclass
class FeatureRows:
    """The features of attributes in compressed rows: attribute a has those from ptr[a] to ptr[a+1], labels ascending."""

    names: StringTable
    ptr: array.array[int]  # "q"
    label: array.array[int]  # "H"
    weight: array.array[float]  # "d"
    # "H": the label before, of pairs of labels; a row ascends in (previous, label). Of single labels it is 0, or left out
    previous: array.array[int] = field(default_factory=lambda: array.array("H"))

    @classmethod
    def placed(
        cls, at: Places, chosen: Iterable[int], numbers: array.array[int] | None, weights: array.array[float], labels: int, bigram: bool
    ) -> FeatureRows:
        """The rows of the chosen names. The weights of a name follow its place. Weight k has the place numbers[k], in ascending order. If
        `numbers` is None, it has the place k, and each name has weights for all labels, or for all pairs of labels."""
        from .placed import rows_at

        return cls(*rows_at(at.names, at.places, array.array("i", chosen), numbers, weights, labels, bigram))

    @classmethod
    def empty(cls) -> FeatureRows:
        return cls(StringTable(), array.array("q", [0]), array.array("H"), array.array("d"))

    def copy(self) -> FeatureRows:
        return FeatureRows(self.names.copy(), self.ptr[:], self.label[:], self.weight[:], self.previous[:])

    def features(self, number: int) -> Features:
        """The features of an attribute."""
        span = slice(self.ptr[number], self.ptr[number + 1])
        return list(zip(self.previous[span] or repeat(0), self.label[span], self.weight[span], strict=False))

    def renamed(self, names: StringTable, numbers: Any) -> FeatureRows:
        """Each of these names with the features of the attribute that has this number ("i"), or none if that is -1. Weights of zero are left out."""
        from .placed import rows_of

        return FeatureRows(names, *rows_of(numbers, self.ptr, self.label, self.weight, self.previous))

    def without_zeros(self) -> FeatureRows:
        """The rows without weights of zero, and without names that have no others."""
        import numpy

        made = self if all(self.weight) else self.renamed(self.names, array.array("i", range(len(self.names))))
        ptr = numpy.asarray(made.ptr)
        chosen = numpy.flatnonzero(numpy.diff(ptr))
        if len(chosen) == len(made.names):
            return made
        return replace(made, names=made.names.select(chosen.astype("i")), ptr=array.array("q", numpy.append(0, ptr[chosen + 1]).tobytes()))

    def changed(self, changes: Mapping[bytes, Mapping[tuple[int, int], float]]) -> FeatureRows:
        """The same with other weights of (previous, label) for some names. New names are the last, and weights of zero are left out."""
        made, numbers = self.copy(), array.array("i", range(len(self.names)))
        for name, cells in changes.items():
            number = made.names.intern_bytes(name)
            before = self.features(number) if number < len(self.names) else ()
            numbers[number : number + 1] = array.array("i", [len(made.ptr) - 1])  # the rows are put behind all others, and brought in order at the end
            made._add((*place, weight) for place, weight in sorted({**{(previous, label): weight for previous, label, weight in before}, **cells}.items()))
        return made.renamed(made.names, numbers)

    def append(self, name: bytes, features: Iterable[tuple[int, int, float]]) -> None:
        self.names.intern_bytes(name)
        self._add(features)

    def _add(self, features: Iterable[tuple[int, int, float]]) -> None:
        for previous, label, weight in features:
            self.previous.append(previous)
            self.label.append(label)
            self.weight.append(weight)
        self.ptr.append(len(self.label))


class Places(Mapping[bytes, int]):
    """Name -> place of its weights in the file, in ascending order. A dict would do, but takes too long to build for so many names."""

    def __init__(self, names: StringTable, places: array.array[int]):
        self.names, self.places = names, places

    @classmethod
    def of(cls, names: StringTable) -> Places:
        """Places that tell only the order of the names."""
        return cls(names, array.array("q", range(len(names))))

    def __getitem__(self, name: bytes) -> int:
        number = self.names.find(name)
        if number < 0:
            raise KeyError(name)
        return self.places[number]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def of_kind(kinds: bytes, wanted: bytes) -> list[int]:
    """The numbers of the names that begin with one of these bytes, among the first bytes of all."""
    return list(compress(range(len(kinds)), kinds.translate(bytes(kind in wanted for kind in range(256)))))


def labels_of(names: Iterable[bytes]) -> list[str]:
    """Labels as text; ModelFileError unless they are distinct, and not more than crfkit supports."""
    labels = [as_text(name) for name in names]
    if not labels or not all(labels) or len(set(labels)) < len(labels):
        raise ModelFileError("damaged: the labels are not different names")
    if len(labels) > MAX_LABELS:
        raise ModelFileError(f"{len(labels)} labels: crfkit has room for {MAX_LABELS}")
    return labels


@dataclass
class Parts:
    program: str  # crfsuite, crf++ or wapiti; crfkit's trainer where the model is its own
    labels: list[str]
    unigrams: FeatureRows
    bigrams: FeatureRows
    pairs: array.array[float] | None  # "d", L x L: the weight of label i followed by label j at i * L + j
    template: Template | None = None  # None: the data name their attributes
    columns: int = 1  # of the data, the label's included
    options: dict[str, Any] = field(default_factory=dict)  # what else the file says
    places: Places = field(default_factory=lambda: Places.of(StringTable()))  # of attributes in the file, so that writing it again keeps their order

    def pair_weights(self) -> Iterator[tuple[int, int, float]]:
        """(label, next label, weight) of the pairs that have a weight."""
        for place, weight in enumerate(self.pairs or ()):
            if weight:
                yield *divmod(place, len(self.labels)), weight


def pair_table(features: Iterable[tuple[int, int, float]], labels: int) -> array.array[float]:
    """Weights of pairs of labels as `Parts.pairs` has them. ModelFileError if there is no room: small files may have many labels."""
    try:
        table = array.array("d", bytes(8)) * labels**2
    except MemoryError:
        size = 8 * labels**2 / 1e9
        raise ModelFileError(f"{labels:,} labels: there is no memory for the weights of all pairs of them, {size:.1f} GB") from None
    for before, label, weight in features:
        table[before * labels + label] = weight
    return table


def model_of(parts: Parts, name: str = "model", exact: bool = False) -> Model:
    """A model for crfkit's tagger. Features whose weight is zero in single precision are left out. `exact`: the model also keeps the
    rounding errors of the weights, so that scores are those of doubles."""
    from crfkit.features.indexing import IndexBuilder
    from crfkit.features.packing import pack
    from crfkit.trainers.base import all_finite
    from crfkit.weights.precision import cells
    from crfkit.weights.pruning import pruned

    u, b = parts.unigrams, parts.bigrams
    layout = Layout(len(parts.labels), parts.pairs is not None, 0, u.ptr, u.label, b.ptr, b.previous, b.label)
    rest = pruned(layout, cells(u.weight, parts.pairs, len(parts.labels), b.weight, rest=True))[1] if exact else None
    layout, weights, *kept = pruned(layout, cells(u.weight, parts.pairs, len(parts.labels), b.weight))
    template = parts.template and replace(parts.template, by_string=not _only_cells(parts.template))
    builder = IndexBuilder(template, crfsuite=template is None)
    builder.adopt(u.names)
    builder.adopt(b.names, True)
    header = {
        "algorithm": parts.program,
        "column_names": None,
        "columns": parts.columns,
        "format": "crfsuite" if parts.template is None else "columns",
        "label_column": None,
        "labels": parts.labels,
        "options": parts.options,
        "template": None if parts.template is None else parts.template.text,
    }
    if template is not None:
        header.update(by_string=template.by_string, dialect=template.dialect)
    if not all_finite(weights):
        raise ModelFileError(f"{name}: a weight is " + (BEYOND if is_finite(parts) else "not a finite number"))
    model = assembled(layout, weights, pack(builder, *kept), header, name)
    model.rest = rest
    return model


def is_finite(parts: Parts) -> bool:
    """Whether no weight is infinite or not a number."""
    return all(map(isfinite, chain(parts.unigrams.weight, parts.pairs or (), parts.bigrams.weight)))


def _only_cells(template: Template) -> bool:
    """Whether the cells of an attribute can be recovered from its string."""
    return template.dialect not in (WAPITI, MAXENT) and all(macro.kind == "x" and not macro.lower for macro in template.macros)


def parts_of(model: Model) -> Parts:
    """The parts of a crfkit model, with exactly its weights."""
    from crfkit.weights.precision import doubles
    from crfkit.weights.pruning import pruned

    if model.search is not None:
        raise UnsupportedError(f"{model.name}: trained by {model.header['algorithm']}, whose search for labels no other program has")
    layout, weights, *new = pruned(model.layout, model.weights)
    of_u, pairs, of_b = doubles(layout, weights)
    arrays = {name: array.array(values.format, values) for name, values in layout.arrays().items()}
    names = []
    for bigram, numbers in enumerate(new):
        kept = [b""] * sum(number >= 0 for number in numbers)
        for name, number in zip(model.index.attributes(bool(bigram)), numbers, strict=True):
            if number >= 0:  # in another order than before where weights of zero leave a row too few to be dense
                kept[number] = name
        names.append(StringTable(kept))
        if len(names[-1]) < len(kept):  # it was not checked when it was opened
            raise ModelFileError(f"{model.name}: damaged: several attributes have one name")
    unigrams = FeatureRows(names[0], arrays["u_ptr"], arrays["u_label"], of_u)
    bigrams = FeatureRows(names[1], arrays["b_ptr"], arrays["b_label"], of_b, arrays["b_prev"])
    header = model.header
    return Parts(header["algorithm"], model.labels, unigrams, bigrams, pairs, model.template, header["columns"], header["options"])
