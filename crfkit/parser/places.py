"""P lines of a template, split into what depends on a token alone, and which tokens of a state a line looks at.

    P01:%x[s0,form]/%x[q0,upos]      cells (form, s0) and (upos, q0)

The value of a macro at a token does not depend on the state. So the cells of all tokens are first mapped to numbers
by the same index as in taggers: `symbols` is its template, with one line per distinct macro. A line of the parser
is then a list of `Cell`s.
"""

from __future__ import annotations

from typing import NamedTuple

from crfkit.errors import TemplateError
from crfkit.features.plan import ViewPlan
from crfkit.template.macros import PLACES, Line, Macro
from crfkit.template.parsing import Template

MOST_CELLS = 16  # in a line

VALUE, DISTANCE, EQUAL = range(3)


class Cell(NamedTuple):
    """One macro of a line: the value of a view at a place, the distance between two places, or whether their cells
    are equal.
    """

    kind: int
    view: int
    place: int
    view2: int = 0
    place2: int = 0


class StateFeatures(NamedTuple):
    """The cells that P lines use."""

    symbols: Template
    lines: tuple[tuple[Cell, ...], ...]
    views: int
    compared: tuple[int, ...]
    """Columns whose cells are compared without a transform; their values follow those of the views."""


def features_of(template: Template) -> StateFeatures:
    """Parse the lines of a template whose columns are resolved to numbers."""
    for line in template.lines:
        if len(line.macros) > MOST_CELLS:
            raise TemplateError(
                f"{len(line.macros)} macros in a P line, expected at most {MOST_CELLS}",
                template.path or "template",
                line.number,
            )
    views: dict[ViewPlan, Macro] = {}
    compared: dict[int, int] = {}
    for macro in template.macros:
        if macro.kind == "=":
            compared.setdefault(macro.column, len(compared))
            compared.setdefault(macro.column2, len(compared))
        elif macro.kind != "d":
            views.setdefault(ViewPlan.of(macro), macro)
    if not views:  # the tables of an index have at least one
        macro = Macro("x", "%x[s0,0]", column=0)
        views[ViewPlan.of(macro)] = macro
    numbers = {view: number for number, view in enumerate(views)}

    def cell(macro: Macro) -> Cell:
        place, place2 = PLACES.index(macro.place), PLACES.index(macro.place2 or macro.place)
        if macro.kind == "d":
            return Cell(DISTANCE, 0, place, 0, place2)
        if macro.kind == "=":
            return Cell(EQUAL, len(views) + compared[macro.column], place, len(views) + compared[macro.column2], place2)
        return Cell(VALUE, numbers[ViewPlan.of(macro)], place)

    # Of equal width, so that no name begins another one.
    names = (b"%06d:" % number for number in range(len(views)))
    symbols = tuple(
        Line(number, name.decode(), "U", (name, b""), (macro._replace(row=0, place="", place2=""),))
        for number, (name, macro) in enumerate(zip(names, views.values(), strict=True), 1)
    )
    lines = tuple(tuple(map(cell, line.macros)) for line in template.lines)
    return StateFeatures(Template(symbols, "", template.path), lines, len(views), tuple(compared))
