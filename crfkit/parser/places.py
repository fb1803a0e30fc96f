"""P lines of a template, split into what depends on a token alone, and which tokens of a state a line looks at.

    P01:%x[s0,form]/%x[q0,upos]      cells (form, s0) and (upos, q0)

The value of a macro at a token does not depend on the state. So the cells of all tokens are first mapped to numbers
by the same index as in taggers: `symbols` is its template, with one line per distinct macro. A line of the parser
is then a list of `Cell`s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from crfkit.features.plan import ViewPlan
from crfkit.template.macros import ROOTS, Line, Macro
from crfkit.template.parsing import Template, line_fault

MOST_CELLS = 16  # in a line
MOST_PLACES = 64  # in all lines, those on the way to others included
MOST_RELATIONS = 30_000  # two actions for each, whose numbers have 16 bits

VALUE, DISTANCE, EQUAL, COUNT = range(4)
FIRST, LAST, INNER = range(3)  # steps from a token: to its leftmost child, its rightmost one, the next one inwards from itself


class Cell(NamedTuple):
    """One macro of a line: the value of a view at a place, the distance between two places, whether their cells are
    equal, or the number of children from a place on inwards."""

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
    steps: tuple[tuple[int, int], ...]
    """The places after ROOTS: each is an earlier place and a step from there."""
    compared: tuple[int, ...]
    """Columns whose cells are compared without a transform; their values follow those of the views."""


class _Places:
    """The numbers of places by name: of ROOTS, of those that lines look at, and of those on the way there."""

    def __init__(self) -> None:
        self.numbers = {name: number for number, name in enumerate(ROOTS)}
        self.steps: list[tuple[int, int]] = []

    def number(self, name: str) -> int:
        if name not in self.numbers:
            above, _, child = name.rpartition(".")
            side, rank = child[0], int(child[1:] or 1)
            if rank == 1:
                step = self.number(above), FIRST if side == "l" else LAST
            else:
                step = self.number(f"{above}.{side}{rank - 1}".removesuffix("1")), INNER
            self.steps.append(step)
            self.numbers[name] = len(self.numbers)
        return self.numbers[name]


def features_of(template: Template) -> StateFeatures:
    """Parse the lines of a template whose columns are resolved to numbers."""
    for line in template.lines:
        if len(line.macros) > MOST_CELLS:
            raise line_fault(template, line, f"{len(line.macros)} macros in a P line, expected at most {MOST_CELLS}")
    macros = [macro for macro in template.macros if macro.kind not in "=dv"]
    macros = macros or [Macro("x", "%x[s0,0]", column=0)]  # the tables of an index have at least one
    views = {ViewPlan.of(macro): macro for macro in macros}
    compared = tuple(dict.fromkeys(column for macro in template.macros if macro.kind == "=" for column in (macro.column, macro.column2)))
    numbers: dict[object, int] = {value: number for number, value in enumerate([*views, *compared])}
    places, lines = _Places(), []
    for line in template.lines:
        lines.append(tuple(_cell(macro, numbers, places) for macro in line.macros))
        if len(places.numbers) > MOST_PLACES:
            raise line_fault(template, line, f"the P lines up to here look at more than {MOST_PLACES} places")
    return StateFeatures(Template(_symbols(views.values()), "", template.path), tuple(lines), len(views), tuple(places.steps), compared)


def _cell(macro: Macro, numbers: Mapping[object, int], places: _Places) -> Cell:
    """`numbers`: of views, and of columns that are compared."""
    place, place2 = places.number(macro.place), places.number(macro.place2 or macro.place)
    if macro.kind in "dv":
        return Cell(DISTANCE if macro.kind == "d" else COUNT, 0, place, 0, place2)
    if macro.kind == "=":
        return Cell(EQUAL, numbers[macro.column], place, numbers[macro.column2], place2)
    return Cell(VALUE, numbers[ViewPlan.of(macro)], place)


def _symbols(macros: Iterable[Macro]) -> tuple[Line, ...]:
    """A line for each macro. Its name is of the same width in all, so that no name begins another one."""
    return tuple(
        Line(number, f"{number - 1:06d}:", "U", (b"%06d:" % (number - 1), b""), (macro._replace(row=0, place="", place2=""),))
        for number, macro in enumerate(macros, 1)
    )
