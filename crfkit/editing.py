"""Weights changed by hand: lines as `crfkit dump` prints them, written back into a model."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import CrfkitWarning, DataError, warn_caller
from .model import build
from .spelling import NO_LABEL, attribute_of, earlier_of, escaped, unescaped
from .text.opening import contents
from .values import as_bytes, as_text, legible, nearest, plural, shown
from .weights.layout import Layout

if TYPE_CHECKING:
    from .model import Model

Labels = tuple[int, ...]  # of a feature, in the order of the arrays of a layout: its own comes last

ANY = 0xFFFF  # among two labels before: one that the feature does not look at


class Edit(NamedTuple):
    """The weight of a feature. `pairs`: it looks at labels before its own. `attribute`: as `Model.features` has it, None for plain label pairs.
    `name`: the bytes of the attribute. `line`: of the file."""

    pairs: bool
    attribute: str | None
    labels: Labels
    weight: float
    name: bytes
    line: int


def edited(model: Model, path: str | os.PathLike[str]) -> Model:
    """The model with the weights that a file lists, in single precision. Features of weight zero are dropped, others added where the model has none."""
    return _Editor(model, path).edited()


class _Editor:
    def __init__(self, model: Model, path: str | os.PathLike[str]):
        self._data, self._path = contents(path)
        self._model, self._layout = model, model.layout
        self._index: Any = model.index  # or its tables, once they must grow
        self._numbers = {label: number for number, label in enumerate(model.labels)}
        self._arrays = {name: array(values.format, values) for name, values in model.layout.arrays().items()}
        self._idle: list[Edit] = []  # that drop a feature which the model does not have
        self._new: list[Edit] = []  # the first of each attribute which the model does not have, and gets

    def edited(self) -> Model:
        from .weights.precision import cells, doubles

        edits = list(self._edits())
        of_u, pairs, of_b = doubles(self._layout, self._model.weights)
        pairs = self._with_pairs(pairs, [edit for edit in edits if edit.attribute is None])
        of_u = self._with_features(False, of_u, edits)
        of_b = self._with_features(True, of_b, edits)
        layout = Layout(self._layout.labels, pairs is not None, 0, *self._arrays.values())
        found = build(layout, cells(of_u, pairs, layout.labels, of_b), self._index, self._model.header)
        found.name = self._model.name
        if self._same(found):
            warn_caller(CrfkitWarning(f"{self._path}: no line changes a weight: the model stays as it is"))
        else:
            self._warn(self._idle, "the model has no such feature to drop", "line")
            self._warn(self._new, "the model did not have this attribute; it is added", "attribute")
        return found

    def _warn(self, edits: list[Edit], told: str, unit: str) -> None:
        """What may be a slip of the pen: where the first one is, and how many there are."""
        if edits:
            first, more = min(edit.line for edit in edits), len(edits) - 1
            warn_caller(CrfkitWarning(f"{self._path}:{first}: {told}" + f"; likewise {plural(more, f'more {unit}')}" * (more > 0)))

    def _same(self, found: Model) -> bool:
        """Whether a model has the features and the weights of the one that is edited."""
        from .weights.precision import doubles

        return found.layout.arrays() == self._layout.arrays() and doubles(found.layout, found.weights) == doubles(self._layout, self._model.weights)

    # ------------------------------------------------------------------------------------------- lines

    def _fault(self, reason: str, line: int) -> DataError:
        return DataError(reason, self._path, line)

    def _edits(self) -> Iterator[Edit]:
        lines: dict[Any, int] = {}
        for number, line in enumerate(as_text(self._data).removeprefix("\ufeff").split("\n"), 1):
            if not line.rstrip("\r"):
                continue
            try:
                edit = self._edit(line.removesuffix("\r").split("\t"), number)
            except ValueError as error:
                raise self._fault(str(error), number) from None
            first = lines.setdefault(edit[:3], number)
            if first != number:
                raise self._fault(f"line {first} has a weight for this feature already", number)
            yield edit

    def _edit(self, fields: Sequence[str], line: int) -> Edit:
        """The edit in the fields of a line; ValueError says what is wrong with them."""
        if len(fields) != 4:
            raise ValueError(
                f"found {plural(len(fields), 'field')}, expected four with tabs between, as crfkit dump --layout crfkit prints them: "
                "attribute, previous label or #, label, weight"
            )
        attribute = attribute_of(fields[0])
        before, label = self._before(fields[1], attribute), self._number(unescaped(fields[2]))
        if attribute is None and not (before and before[-1] < len(self._numbers) and {*before[:-1]} <= {ANY}):
            raise ValueError(f"expected a previous label, found {fields[1]}: the features of * are pairs of labels")
        name = as_bytes(attribute or "")
        return Edit(bool(before), attribute and legible(name), (*before, label), _weight(fields[3]), name, line)

    def _before(self, text: str, attribute: str | None) -> Labels:
        """The previous labels of a feature of this attribute, as many as the arrays have; none if it looks at none. One label may have a blank."""
        if text == NO_LABEL:
            return ()
        two = text.split(" ")
        if "b_prev2" not in self._arrays:
            return (self._number(unescaped(text)),)
        if len(two) != 2 or (text in map(escaped, self._numbers) and attribute not in self._of_two):
            return ANY, self._number(unescaped(text))
        return self._earlier(earlier_of(two[0])), self._earlier(earlier_of(two[1]))

    @cached_property
    def _of_two(self) -> set[str]:
        """The attributes whose features look two labels back."""
        from .features.tables import Names

        ptr, second = self._arrays["b_ptr"], self._arrays["b_prev2"]
        rows = zip(Names(self._model.index, True), pairwise(ptr), strict=True)
        return {legible(name) for name, (first, last) in rows if any(label != ANY for label in second[first:last])}

    def _earlier(self, label: str | int | None) -> int:
        """One of two previous labels; -1 and -2 are places before the sentence."""
        if label is None:
            return ANY
        return len(self._numbers) - 1 - label if isinstance(label, int) else self._number(label)

    def _number(self, label: str) -> int:
        if label not in self._numbers:
            near = nearest(label, self._numbers)
            raise ValueError(f"the model has no label {shown(label)}" + (f"; did you mean {near}?" if near else ""))
        return self._numbers[label]

    # ------------------------------------------------------------------------------------------- features

    def _with_pairs(self, weights: array[float] | None, edits: Sequence[Edit]) -> array[float] | None:
        """The weights of plain label pairs, if there are any."""
        labels = self._layout.labels
        for edit in edits:
            if weights is None:
                if not self._model.index.plan.plain_rules:
                    raise self._fault("the template has no line B, which makes plain pairs of labels", edit.line)
                weights = array("d", bytes(8 * labels**2))
            place = edit.labels[-2] * labels + edit.labels[-1]
            if not edit.weight and not weights[place]:
                self._idle.append(edit)
            weights[place] = edit.weight
        return weights

    def _with_features(self, pairs: bool, weights: array[float], edits: Iterable[Edit]) -> array[float]:
        """The weights of the features of attributes, with labels or with `pairs` of labels; the arrays of the layout then have room for them."""
        mine = [edit for edit in edits if edit.attribute is not None and edit.pairs == pairs]
        numbers = self._numbered(pairs, mine)
        for edit in mine:
            cell = self._cell(numbers.get(edit.attribute, -1), edit.labels)
            if not edit.weight and (cell < 0 or not self._model.weights[cell]):
                self._idle.append(edit)
            if edit.weight and cell < 0 and edit.pairs and self._model.search is not None:
                raise self._fault("the model has no such feature, and a model that decides label by label takes no new ones with previous labels", edit.line)
        names = [name for name in (("b_ptr", "b_prev2", "b_prev", "b_label") if pairs else ("u_ptr", "u_label")) if name in self._arrays]
        changes = [(numbers[edit.attribute], *edit.labels, edit.weight) for edit in mine if edit.attribute in numbers]
        *found, weights = _changed([*map(self._arrays.get, names), weights], changes, self._index.n_attributes[pairs])
        self._arrays.update(zip(names, found, strict=True))
        return weights

    def _cell(self, attribute: int, labels: Labels) -> int:
        """The cell of a feature of an attribute, or -1. In single bytes, the weight in it may be 0."""
        if len(labels) == 1:
            return self._layout.cell(attribute, *labels)
        return self._layout.rich_cell(attribute, *[-1, *(-1 if label == ANY else label for label in labels)][-3:])

    def _numbered(self, pairs: bool, edits: Sequence[Edit]) -> dict[str | None, int]:
        """The numbers of the attributes of these edits. Those that are new and get a weight are added to the index."""
        from .features.strings import StringTable
        from .features.tables import Names

        wanted = {edit.attribute for edit in edits}
        names = enumerate(map(legible, Names(self._model.index, pairs))) if wanted else ()
        numbers: dict[str | None, int] = {name: number for number, name in names if name in wanted}
        known, new = self._index.n_attributes[pairs], StringTable()
        for edit in edits:
            if edit.attribute not in numbers:
                self._check(edit)
                if edit.weight and not (pairs and self._model.search):
                    numbers[edit.attribute] = known + new.intern_bytes(edit.name)
                    self._new.append(edit)
        if len(new):
            self._growing.adopt(new, pairs)
            self._index = self._growing
        return numbers

    @cached_property
    def _growing(self) -> Any:
        from .features.merging import reopened

        return reopened(self._model.index, self._model.template)

    def _check(self, edit: Edit) -> None:
        """DataError unless a line of the template can make this attribute."""
        template, plan, name = self._model.template, self._model.index.plan, edit.name
        if template is None:
            if edit.pairs:
                raise self._fault("the model has no template, and its attributes no pairs of labels: expected # as the previous label", edit.line)
        elif plan.patterns is not None:
            lines = [line for number, line in enumerate(template.lines) if not (edit.pairs and number == plan.patterns.plain)]
            made = [line.literals for line in lines if "UB"[edit.pairs] in line.kinds]
            known = any(name.startswith(first) and name.endswith(rest[-1]) if rest else name == first for first, *rest in made)
        else:
            constant = any(slot.literals == (name,) and slot.bigram == edit.pairs for slot in plan.constants)
            known = constant or self._growing.can_make(name, edit.pairs)
        if template is not None and not known:
            raise self._fault(f"no line of the template makes {shown(edit.attribute)} with{'' if edit.pairs else 'out'} a previous label", edit.line)


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = float("nan")
    if not isfinite(weight) or "_" in text:  # which Python allows
        raise ValueError(f"expected a weight, found {shown(text)}")
    single = array("f", [weight])[0]
    if not isfinite(single):
        raise ValueError(f"the weight {text} is beyond 3.4e38, the most that single precision holds")
    return single


def _changed(features: Sequence[Any], changes: Sequence[tuple[float, ...]], attributes: int) -> Iterator[array[Any]]:
    """The features of so many attributes, some with other weights or added, and without those of weight zero. `features`: where the row of each
    attribute begins, labels, weights. `changes`: attribute, labels, weight."""
    import numpy

    ptr, *columns = features
    columns = [numpy.repeat(numpy.arange(len(ptr) - 1), numpy.diff(ptr)), *map(numpy.asarray, columns)]
    new = numpy.reshape(changes, (-1, len(columns))).T
    found: list[Any] = [numpy.append(old, more.astype(old.dtype)) for old, more in zip(columns, new, strict=True)]
    *places, weights = found
    order = numpy.lexsort(places[::-1])  # of the same place, what was there comes before its change,
    last = numpy.ones(len(order), bool)
    last[:-1] = numpy.any([numpy.diff(column[order]) != 0 for column in places], axis=0)  # which counts
    kept = order[last & (weights[order] != 0)]
    owners, *labels = (column[kept] for column in places)
    ends = numpy.cumsum(numpy.bincount(owners, minlength=attributes))
    yield array("q", numpy.append(0, ends).tobytes())
    yield from (array("H", column.tobytes()) for column in labels)
    yield array("d", weights[kept].tobytes())
