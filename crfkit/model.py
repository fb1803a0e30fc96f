"""A trained model: labels, template, index of attributes, layout and weights, and how they lie in a file.

The header of the file says what the model is (header.py); its sections are those of the index
(features/packing.pyx), the arrays of the layout (weights/layout.pyx), each with the prefix "layout.", and "weights", or
what stands for it in fewer bytes (weights/precision.pyx). docs/model-format.md describes them all.
"""

from __future__ import annotations

import array
import heapq
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, TypeVar, overload

from crfkit import modelfile
from crfkit.weights.layout import Layout

from .constants import WEIGHTS
from .errors import ModelFileError, OptionError
from .header import Described, SearchOptions, checked, template_of
from .modelbytes import named_in_faults
from .replacing import replacing, write_texts, written_to
from .spelling import Previous, attribute_text
from .tagging import Tagger
from .values import Expected, added_to, as_text, copied, exactly, legible, shown
from .version import __version__

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from crfkit.decode.bias import Bias
    from crfkit.decode.constraints import ConstraintSource
    from crfkit.features.index import Index

S = TypeVar("S", bound="Stored")
FORMS = {form for form, _ in modelfile.DTYPES.values()} | {"l", "L"}  # of the numbers in a section
T = TypeVar("T")

LAYOUT_ARRAYS = {"u_ptr": "int64", "u_label": "uint16", "b_ptr": "int64", "b_prev": "uint16", "b_label": "uint16"}

_HISTORY = "layout.b_prev2"  # the labels that features see before the last one, where there are such features

# Sections in the place of "weights", and what they hold.
_FEWER_BYTES = {"weights.half": "float16", "weights.scaled": "int8"}


def _copy(numbers: memoryview) -> memoryview:
    form: Any = numbers.format if numbers.format in FORMS else "B"
    return memoryview(numbers.tobytes()).cast(form)


class Stored(Described):
    """What models have in common: each is kept in a file, and can be shown as text."""

    name: str
    sections: Mapping[str, Buffer]

    # What a model reads from its file by itself. Other attributes are those of a subclass, and are pickled.
    _own = frozenset({"name", "sections", "verified", "template", "index", "weights", "_header"})

    if TYPE_CHECKING:

        def features(self) -> Iterator[tuple[str | None, Previous, str, float]]: ...

        def _set_up(self, header: dict[str, Any], sections: Mapping[str, Buffer], name: str, verify: bool) -> None: ...

    def __init__(self, header: dict[str, Any], sections: Mapping[str, Buffer], name: str = "model", verify: bool = True):
        # Copies: whoever gave the sections could change them after they were checked.
        self._set_up(header, {section: _copy(memoryview(values)) for section, values in sections.items()}, name, verify)

    def __reduce__(self):
        return _again, (type(self), self.to_bytes(), self.name), added_to(self, self._own)

    def save(self, file: Any) -> int:
        """Write the model to a path, or to a file that is open for bytes; return the number of bytes. A file that was at the
        path before stays whole until the new one is complete."""
        return modelfile.write(file, self._header, self.sections)

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes."""
        return modelfile.dumps(self._header, self.sections)

    @overload
    def dump(self, file: None = None, *, top: int | None = None, attribute: str | None = None) -> str: ...
    @overload
    def dump(self, file: str | bytes | os.PathLike[Any] | IO[Any], *, top: int | None = None, attribute: str | None = None) -> None: ...
    def dump(self, file: Any = None, *, top: int | None = None, attribute: str | None = None) -> str | None:
        """The nonzero weights as text, as `crfkit dump` prints them: attribute, previous label, label and weight, separated
        by tabs. The text is written to a path or an open file, or returned if none is given.

        `top`: only so many weights, of greatest absolute value, greatest first. `attribute`: only the weights of this
        attribute, written as in the text ("*" for plain label pairs).
        """
        pieces = self.dumped(top, attribute)
        if file is None:
            return "".join(map(as_text, pieces))
        if not hasattr(file, "write"):
            with replacing(file) as output:
                write_texts(output, pieces)
        else:
            with written_to(file):
                try:
                    file.write("")
                except TypeError:  # open for bytes
                    write_texts(file, pieces)
                else:
                    for piece in pieces:
                        file.write(as_text(piece))
        return None

    def dumped(self, top: int | None = None, attribute: str | None = None) -> Iterator[bytes]:
        """What `dump` writes, in pieces of whole lines."""
        from .listing import feature_lines

        top = None if top is None else Expected(int, low=1).take("top", top)
        features: Iterable[tuple[str | None, Previous, str, float]] = self.features()
        if attribute is not None:
            attribute = Expected(str).take("attribute", attribute)
            features = [feature for feature in features if attribute_text(feature[0]) == attribute]
            if not features:
                raise OptionError(f"{self.name}: no weights for the attribute {shown(attribute)}")
        if top is not None:
            features = heapq.nlargest(top, features, key=lambda feature: abs(feature[3]))
        yield from feature_lines(features)


class Model(Stored):
    """A model, read-only. `learn` makes one, `load` opens one."""

    rest: array.array | None = None  # what single precision leaves over of the weights of another program's model
    _own = Stored._own | {"search", "layout", "_attribute_names"}

    def _set_up(self, header: dict[str, Any], sections: Mapping[str, Buffer], name: str, verify: bool) -> None:
        from crfkit.features.index import Index

        self.name, self.sections, self.verified = name, sections, verify
        with named_in_faults(name):
            self._header = header = checked(copied(header))
            self.template = template_of(header)
            self.search = SearchOptions.of(header)
            if self.search is None and self.template is not None and self.template.history_line is not None:
                raise ModelFileError(f"its template has features of earlier labels, which {header['algorithm']} cannot use")
            self.index: Index = Index(self.template, sections, verify=verify, backward=self.search is not None and self.search.backward)
            tables: list[Any] = [modelfile.numbers(self.sections, f"layout.{name}", dtype) for name, dtype in LAYOUT_ARRAYS.items()]
            tables.append(None)
            if _HISTORY in self.sections:
                if self.search is None:
                    raise ModelFileError(f"section {_HISTORY!r} is not possible in a model of {header['algorithm']}")
                tables[-1] = modelfile.numbers(self.sections, _HISTORY, "uint16")
            self.layout: Layout = Layout(len(header["labels"]), header["has_tau"], header["hot"], *tables, verify=verify)
            self.weights = self._weights()
            if len(self.weights) != self.layout.n_cells:
                raise ModelFileError(f"{len(self.weights)} weights, expected {self.layout.n_cells}")
            if self.layout.n_attributes != (header["attributes"], header["bigram_attributes"]):
                raise ModelFileError("the header and the layout have different numbers of attributes")
            if self.index.n_attributes != self.layout.n_attributes:
                raise ModelFileError("the index and the layout have different numbers of attributes")
            if verify:
                from crfkit.trainers.base import all_finite

                if not all_finite(self.weights):
                    raise ModelFileError("a weight is not a finite number")

    def _weights(self) -> Any:
        """In single precision, whatever they are in the file."""
        found = [name for name in ("weights", *_FEWER_BYTES) if name in self.sections]
        if len(found) > 1:
            raise ModelFileError(f"sections {' and '.join(found)}: expected one of them")
        if "weights.half" in found:
            from crfkit.weights.precision import from_halves

            return memoryview(from_halves(modelfile.numbers(self.sections, "weights.half", "uint16"))).toreadonly()
        if "weights.scaled" in found:
            from crfkit.weights.precision import from_scaled

            numbers, scales = modelfile.numbers(self.sections, "weights.scaled", "int8"), modelfile.numbers(self.sections, "weights.scales", "float32")
            return memoryview(from_scaled(numbers, scales)).toreadonly()
        return modelfile.numbers(self.sections, "weights", "float32")

    def quantised(self, form: str) -> Model:
        """This model with its weights kept as "float16" or "int8", or as "float32" again, which does not undo rounding."""
        from crfkit.weights.precision import halves, scaled

        if not isinstance(form, str) or form not in WEIGHTS:
            raise OptionError(f"weights: expected one of {', '.join(WEIGHTS)}, found {exactly(form)}")
        sections = {name: values for name, values in self.sections.items() if name.partition(".")[0] != "weights"}
        if form == "float16":
            sections["weights.half"] = halves(self.weights)
        elif form == "int8":
            sections["weights.scaled"], sections["weights.scales"] = scaled(self.weights)
        else:
            sections["weights"] = self.weights
        return made(Model, self._header, sections, self.name, self.verified)

    def tagger(self, constraints: ConstraintSource | None = None, bias: Bias | None = None) -> Tagger:
        """The model at work: `model.tagger().tag(rows)`."""
        return Tagger(self, constraints, bias)

    def __repr__(self) -> str:
        header = self._header
        return f"<{type(self).__name__} {self.name}: {header['algorithm']}, {len(header['labels'])} labels, {header['features']:,} features>"

    def features(self) -> Iterator[tuple[str | None, Previous, str, float]]:
        """Every feature with a nonzero weight: (attribute, previous label or None, label, weight).

        Attribute None means the plain pair of labels. A feature with history has a pair as its previous label: the labels
        of the token two before and of the token before. In this pair None is any label; -1 and -2 are one and two places
        before the sentence.
        """
        return self._features(self._attribute_names)

    def features_in_bytes(self) -> Iterator[tuple[bytes | None, Previous, str, float]]:
        """Every feature as from `features`, with attributes as bytes: patterns of other programs may make attributes that are not UTF-8."""
        return self._features((list(self.index.attributes()), list(self.index.attributes(bigram=True))))

    def _features(self, attributes: tuple[list[T], list[T]]) -> Iterator[tuple[T | None, Previous, str, float]]:
        from .listing import named_features

        return named_features(self.layout.features(self.weights), attributes, self._header["labels"])

    @cached_property
    def _attribute_names(self) -> tuple[list[str], list[str]]:
        of_u, of_b = (list(map(legible, self.index.attributes(bigram))) for bigram in (False, True))
        return of_u, of_b


def precision_of(model: Model) -> str:
    """How the file of a model keeps its weights, as `Model.quantised` takes it."""
    return next((form for section, form in _FEWER_BYTES.items() if section in model.sections), "float32")


def ready() -> None:
    """Import what makes a model, and a file of it. To be called before training: after hours, crfkit may have been replaced or removed."""
    for name in ("crfkit.features.index", "crfkit.features.packing", "crfkit.weights.precision", "crfkit.weights.pruning", "xxhash"):
        import_module(name)


def build(layout: Layout, weights: array.array, features: Any, header: dict[str, Any]) -> Model:
    """The model of trained weights: features of weight zero, and what only they needed, are left out."""
    from crfkit.features.packing import pack
    from crfkit.weights.pruning import pruned

    layout, weights, u_new, b_new = pruned(layout, weights)
    return assembled(layout, weights, pack(features, u_new, b_new), header)


def assembled(layout: Layout, weights: array.array, index: Mapping[str, Buffer], header: dict[str, Any], name: str = "model") -> Model:
    """The model of these parts; `header` says what they do not tell."""
    sections = {**index, **{f"layout.{part}": values for part, values in layout.arrays().items()}, "weights": weights}
    attributes, bigram_attributes = layout.n_attributes
    header = dict(
        header,
        crfkit=__version__,
        attributes=attributes,
        bigram_attributes=bigram_attributes,
        features=layout.n_features,
        has_tau=layout.has_tau,
        hot=layout.hot,
    )
    model = made(Model, header, sections, name, verify=False)
    model.verified = True  # it was just made
    return model


def load(path_or_bytes: Any, verify: bool = True) -> Model:
    """Open a model file (its path, an open file, or its bytes) and check it; with verify=False, each part when it is used."""
    return of_file(Model, modelfile.read(path_or_bytes, verify=verify), verify)


def of_file(cls: type[S], file: modelfile.ModelFile, verify: bool) -> S:
    """The model of this class that a file holds."""
    return made(cls, file.header, file.contents(), file.name, verify)


def made(cls: type[S], header: dict[str, Any], sections: Mapping[str, Buffer], name: str = "model", verify: bool = True) -> S:
    """The model of these sections, which are not copied. The __init__ of a subclass may take what it likes: it is not called."""
    model = cls.__new__(cls)
    model._set_up(header, {section: memoryview(values).toreadonly() for section, values in sections.items()}, name, verify)
    return model


def _again(cls: type[Stored], data: bytes, name: str) -> Stored:
    """A model that was pickled; what its class adds comes with its state."""
    return of_file(cls, modelfile.read(data)._replace(name=name), verify=True)
