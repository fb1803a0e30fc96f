"""A trained model: labels, template, index of attributes, layout and weights, and how they lie in a file.

The header of the file says what the model is (`describe`); its sections are those of the index
(features/packing.pyx), the arrays of the layout (weights/layout.pyx), each with the prefix "layout.", and "weights".
docs/model-format.md describes them all.
"""

from __future__ import annotations

import array
import heapq
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from crfkit import modelfile
from crfkit.template import dialects
from crfkit.template.parsing import Template
from crfkit.weights.history import PADDINGS

from .errors import ModelFileError, OptionError
from .options import WITH_HISTORY, WITHOUT_PROBABILITIES, make
from .version import __version__

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from crfkit.features.index import Index
    from crfkit.weights.layout import Layout

# The label before that of a feature, or the two before it.
Previous = str | tuple[str | None, str | None] | None

LAYOUT_ARRAYS = {"u_ptr": "int64", "u_label": "uint16", "b_ptr": "int64", "b_prev": "uint16", "b_label": "uint16"}

# What the header must hold, and of which type.
_FIELDS: dict[str, Any] = {
    "algorithm": str,
    "attributes": int,
    "bigram_attributes": int,
    "column_names": (list, type(None)),
    "columns": int,
    "crfkit": str,
    "features": int,
    "format": str,
    "has_tau": bool,
    "hot": int,
    "label_column": (int, type(None)),
    "labels": list,
    "options": dict,
    "template": (str, type(None)),
}


@dataclass(frozen=True)
class Search:
    """How a model with history finds labels, one after the other."""

    depth: int
    backward: bool

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> Search | None:
        """What the header of a model says; None where labels are found together."""
        if header["algorithm"] not in WITH_HISTORY:
            return None
        options = {name: header["options"].get(name) for name in ("depth", "direction")}
        try:
            options = asdict(make(header["algorithm"], options))
        except OptionError as error:
            raise ModelFileError(f"the header's options: {error}") from None
        return cls(options["depth"], options["direction"] == "backward")


class Model:
    """A model, read-only. `learn` makes one, `load` opens one."""

    def __init__(self, header: dict[str, Any], sections: Mapping[str, Buffer], name: str = "model", verify: bool = True):
        from crfkit.features.index import Index
        from crfkit.weights.layout import Layout

        self.name, self.header, self.sections, self.verified = name, _checked(header), sections, verify
        try:
            self.template = template_of(header)
            self.search = Search.of(header)
            if self.search is None and self.template is not None and self.template.history_line is not None:
                raise ModelFileError(f"its template sees labels given before, which {header['algorithm']} cannot use")
            self.index: Index = Index(self.template, sections, verify=verify, backward=self.search is not None and self.search.backward)
            tables: list[Any] = [self._numbers(f"layout.{name}", dtype) for name, dtype in LAYOUT_ARRAYS.items()]
            tables.append(self._history())
            self.layout: Layout = Layout.from_sections(
                len(self.labels),
                header["has_tau"],
                header["hot"],
                *tables,
                verify=verify,
            )
            self.weights = self._numbers("weights", "float32")
            if len(self.weights) != self.layout.n_cells:
                raise ModelFileError(f"{len(self.weights)} weights, expected {self.layout.n_cells}")
            if self.layout.n_attributes != (header["attributes"], header["bigram_attributes"]):
                raise ModelFileError("the header counts other attributes than the layout")
            if self.index.n_attributes != self.layout.n_attributes:
                raise ModelFileError("the index counts other attributes than the layout")
            if verify:
                from crfkit.trainers.base import all_finite

                if not all_finite(self.weights):
                    raise ModelFileError("a weight is not a finite number")
        except ModelFileError as error:
            raise ModelFileError(f"{name}: {error}") from None

    def _numbers(self, name: str, dtype: str) -> memoryview:
        try:
            section = memoryview(self.sections[name])
        except KeyError:
            raise ModelFileError(f"section {name!r} is missing") from None
        code, size = modelfile.DTYPES[dtype]
        if section.nbytes % size:
            raise ModelFileError(f"section {name!r} is not made of {dtype}")
        return section.cast("B").cast(code)

    def _history(self) -> memoryview | None:
        """The labels that features see before the last one, where there are such features."""
        name = "layout.b_prev2"
        if name not in self.sections:
            return None
        if self.search is None:
            raise ModelFileError(f"section {name!r} in a model of {self.header['algorithm']}")
        return self._numbers(name, "uint16")

    @property
    def labels(self) -> list[str]:
        """The labels, in bytewise order; their places are their numbers."""
        return self.header["labels"]

    @property
    def has_probabilities(self) -> bool:
        """Whether the scores are logarithms of unnormalised probabilities."""
        return self.header["algorithm"] not in WITHOUT_PROBABILITIES

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model; returns the bytes written. What was there before stays whole until all is written."""
        return modelfile.write(path, self.header, self.sections)

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes."""
        return modelfile.dumps(self.header, self.sections)

    def __reduce__(self):
        return load, (self.to_bytes(),)

    def features(self) -> Iterator[tuple[str | None, Previous, str, float]]:
        """Every feature of a weight other than zero: (attribute, previous label or None, label, weight).

        Attribute None stands for the plain pair of labels. A feature with history has a pair for the previous label: the
        labels of the token before the last one and of the last one, None for any and _B-1, _B-2 before the sentence.
        """
        names = self.labels
        history = [*names, *PADDINGS, None]  # for -1
        for kind, attribute, previous, label, weight in self.layout.features(self.weights):
            text = None if kind == "T" else self._attribute_names[kind != "U"][attribute]
            if kind == "H":
                yield text, (history[previous[0]], history[previous[1]]), names[label], weight
            else:
                yield text, None if kind == "U" else names[previous], names[label], weight

    def dump(self, file: str | os.PathLike[str] | IO[str] | None = None, *, top: int | None = None, attribute: str | None = None) -> str | None:
        """The weights other than zero as text, as `crfkit dump` prints them: attribute, previous label, label and weight
        between tabs. Written to a path or an open file; returned where none is given.

        `top`: only so many, of greatest absolute value, greatest first. `attribute`: only those of this one ("*": of
        plain label pairs).
        """
        if file is None:
            return "".join(self.dump_lines(top, attribute))
        if isinstance(file, (str, os.PathLike)):
            with modelfile.replacing(file) as output:
                output.writelines(line.encode() for line in self.dump_lines(top, attribute))
        else:
            file.writelines(self.dump_lines(top, attribute))
        return None

    def dump_lines(self, top: int | None = None, attribute: str | None = None) -> Iterator[str]:
        """The lines of `dump`."""
        if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
            raise OptionError(f"top: expected a whole number of at least 1, found {top!r}")
        features = self.features()
        if attribute is not None:
            wanted = None if attribute == "*" else attribute
            features = iter([feature for feature in features if feature[0] == wanted])
        if top is not None:
            features = iter(heapq.nlargest(top, features, key=lambda feature: abs(feature[3])))
        found = False
        for name, previous, label, weight in features:
            if isinstance(previous, tuple):
                previous = " ".join("#" if before is None else before for before in previous)
            found = True
            yield f"{'*' if name is None else name}\t{'#' if previous is None else previous}\t{label}\t{weight:.7g}\n"
        if attribute is not None and not found:
            raise OptionError(f"{self.name}: no weights for the attribute {attribute!r}")

    @cached_property
    def _attribute_names(self) -> tuple[list[str], list[str]]:
        of_u, of_b = ([name.decode(errors="backslashreplace") for name in self.index.attributes(bigram)] for bigram in (False, True))
        return of_u, of_b


def _checked(header: dict[str, Any]) -> dict[str, Any]:
    if header.get("kind") == modelfile.CHECKPOINT:
        raise ModelFileError("is a checkpoint of a training run, not a model; crfkit learn --resume goes on with it")
    for name, kind in _FIELDS.items():
        if name not in header or not isinstance(header[name], kind) or (kind is not bool and isinstance(header[name], bool)):
            raise ModelFileError(f"the header's field {name!r} is missing or not what it should be")
    labels = header["labels"]
    if not labels or not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise ModelFileError("the header's labels are not different names")
    if any(not label or set(label) & set("\t\r\n\0") for label in labels):
        raise ModelFileError("a label of the header is empty, or holds a tab or a line end")
    names, label = header["column_names"], header["label_column"]
    if names is not None and not (all(isinstance(name, str) for name in names) and len(set(names)) == len(names)):
        raise ModelFileError("the header's names of columns are not different names")
    if label is not None and not 0 <= label < len(names or ()):
        raise ModelFileError("the header names a column of labels that does not exist")
    if header["format"] not in ("columns", "conllu", "crfsuite"):
        raise ModelFileError(f"the header names an unknown format, {header['format']!r}")
    return header


def template_of(header: Mapping[str, Any]) -> Template | None:
    """The template that the header of a model holds."""
    from .errors import TemplateError

    text, column_names = header["template"], header["column_names"]
    if text is None:
        return None
    try:
        if header.get("dialect") is not None:
            return dialects.parse(text, header["dialect"])
        names = {name: number for number, name in enumerate(column_names or ())}
        template = Template.parse(text, columns=names)
    except (TemplateError, TypeError, ValueError) as error:
        raise ModelFileError(f"the template in the header cannot be read: {error}") from None
    if column_names is not None and max(template.columns, default=-1) >= len(column_names):
        raise ModelFileError("the template in the header uses a column without a name, the others have names")
    return replace(template, by_string=header.get("by_string") is True)


def build(layout: Layout, weights: array.array, builder: Any, header: dict[str, Any]) -> Model:
    """The model of trained weights: features of weight zero, and what only they needed, are left out."""
    from crfkit.features.packing import pack

    layout, weights, u_new, b_new = layout.pruned(weights)
    sections: dict[str, Buffer] = dict(pack(builder, u_new, b_new))
    sections.update((f"layout.{name}", values) for name, values in layout.arrays().items())
    sections["weights"] = weights
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
    return Model(header, sections)


def load(path_or_bytes: str | os.PathLike[str] | Buffer, verify: bool = True) -> Model:
    """Open a model file, or the bytes of one, and check it. With verify=False the time does not depend on its
    size; what is used is then checked when it is used."""
    file = modelfile.read(path_or_bytes, verify=verify)
    sections = {name: file.section(name, entry.dtype) for name, entry in file.sections.items()}
    try:
        return Model(file.header, sections, file.name, verify=verify)
    except ModelFileError as error:
        reason = str(error)
        raise ModelFileError(reason if reason.startswith(file.name) else f"{file.name}: {reason}") from None
