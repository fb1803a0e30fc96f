"""What a model says of itself: the header of its file, checked, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from crfkit import modelfile
from crfkit.template import dialects
from crfkit.template.parsing import Template

from .constants import FORMATS, WITH_HISTORY, WITHOUT_PROBABILITIES
from .errors import ModelFileError, OptionError, TemplateError, UnsupportedError
from .values import copied, shown

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


class Described:
    """What a header tells of, kept in `_header`."""

    _header: dict[str, Any]

    @property
    def header(self) -> dict[str, Any]:
        """What the model says of itself: algorithm, options, labels, template, counts; a copy."""
        return copied(self._header)

    @property
    def labels(self) -> list[str]:
        """The labels, in bytewise order, or as in the model of another program; their places are their numbers. A copy."""
        return list(self._header["labels"])

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are logarithms of unnormalised probabilities."""
        return self._header["algorithm"] not in WITHOUT_PROBABILITIES

    def need_labellings(self, wanted: str) -> None:
        """UnsupportedError unless the model compares labellings of whole sentences."""
        if self._header["algorithm"] in WITH_HISTORY:
            raise UnsupportedError(
                f"{wanted} compares labellings of whole sentences, but a model trained by {self._header['algorithm']} decides label by label. "
                "Train with another algorithm, such as lbfgs or perceptron"
            )


def checked(header: dict[str, Any]) -> dict[str, Any]:
    """The header itself; ModelFileError if a field is missing or has the wrong type."""
    if header.get("kind") == modelfile.CHECKPOINT:
        raise ModelFileError("is a checkpoint of a training run, not a model; crfkit learn --resume continues it")
    if header.get("kind") == modelfile.PARSER:
        raise ModelFileError("is a parser, which has no labels for tokens; crfkit tag and crfkit.load use it")
    check_fields(header, _FIELDS)
    labels, names, label = (header[field] for field in ("labels", "column_names", "label_column"))
    if not _are_names(labels):
        raise ModelFileError("the header's labels are not different names")
    if header["algorithm"] != "crfsuite" and any(map(misfits_column, labels)):  # CRFsuite's may be anything
        raise ModelFileError("a label in the header is empty, or contains a tab or a line end")
    if names is not None and not _are_names(names):
        raise ModelFileError("the header's names of columns are not different names")
    if label is not None and not 0 <= label < len(names or ()):
        raise ModelFileError("the header names a column of labels that does not exist")
    if header["format"] not in FORMATS:
        raise ModelFileError(f"the header names an unknown format, {header['format']!r}")
    return header


def _are_names(found: list[Any]) -> bool:
    """Whether these are texts, all different, and at least one."""
    return bool(found) and all(isinstance(name, str) for name in found) and len(set(found)) == len(found)


def check_fields(header: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """ModelFileError unless these fields are there, each of its type."""
    for name, kind in fields.items():
        if name not in header or not isinstance(header[name], kind) or (kind is not bool and isinstance(header[name], bool)):
            raise ModelFileError(f"the header's field {name!r} is missing or has the wrong type")


def misfits_column(label: str) -> bool:
    """Whether the label does not fit into a column of a file."""
    return not label or not set(label).isdisjoint("\t\r\n\0")


def check_columns(labels: Iterable[str]) -> None:
    """UnsupportedError for a label that cannot."""
    for label in filter(misfits_column, labels):
        raise UnsupportedError(f"the label {shown(label)} does not fit into a column of a file; use the model from Python")


def label_name(header: Mapping[str, Any]) -> str | None:
    """The name of the column that the model predicts. None: it has none, and is the last one."""
    column = header["label_column"]
    return None if column is None else header["column_names"][column]


def template_of(header: Mapping[str, Any]) -> Template | None:
    """The template that the header of a model holds."""
    text, column_names = header["template"], header["column_names"]
    if text is None:
        return None
    try:
        if header.get("dialect") is not None:
            template = dialects.parse(text, header["dialect"])
        else:
            template = Template.parse(text, columns={name: number for number, name in enumerate(column_names or ())})
    except (TemplateError, TypeError, ValueError) as error:
        raise ModelFileError(f"the template in the header cannot be read: {error}") from None
    if column_names is not None and max(template.columns, default=-1) >= len(column_names):
        raise ModelFileError("the template in the header uses a column without a name, the others have names")
    return replace(template, by_string=header.get("by_string") is True)


class SearchOptions(NamedTuple):
    """How a model with history finds labels, one after the other."""

    depth: int
    backward: bool

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> SearchOptions | None:
        """What the header of a model says; None where labels are found together."""
        if header["algorithm"] not in WITH_HISTORY:
            return None
        from .options import make

        options = {name: header["options"].get(name) for name in ("depth", "direction")}
        try:
            made = make(header["algorithm"], options)
        except OptionError as error:
            raise ModelFileError(f"the header's options: {error}") from None
        return cls(made.depth, made.direction == "backward")
