"""The plan: a template compiled into the look-ups that yield its attributes.

    columns   of the data that any macro reads
    views     a transform of a column: (column, transform), shared by all macros that use it
    nodes     the sequences of views in lines, as a prefix tree: a node adds one cell to its parent's
    slots     the distinct strings made from one node: literals around its cells, unigram or bigram
    uses      one per line (two for `*`): (node, offset of its first cell from the token, slot)

    U05:%x[-1,0]/%x[0,0]     node (word, next word), base -1, slot "U05:" "/" ""
    U06:%x[0,0]/%x[1,0]      the same node,          base  0, slot "U06:" "/" ""

So the pair of words at a position is looked up once for both lines. Feature identity is CRF++'s: the expanded
string. (node, cells, slot) is used in its place wherever it identifies the string; where two different cell
tuples, or two slots, can give the same string, attributes are identified `by_string`:

 * no literal between two cells, or another slot whose leading literal begins this one's or is begun by it;
 * a cell that contains a byte of the literals between cells: only such a tuple (it is *flagged*). Without such
   bytes in the cells, the literals can be found in the string from the left, in one way only.

The plan is part of the model format: an index on disk has one table for each column, view and node, in this order.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from crfkit.template.dialects import MAXENT, WAPITI
from crfkit.template.macros import Line, Macro
from crfkit.template.parsing import Template
from crfkit.template.patterns import Patterns


class ViewPlan(NamedTuple):
    """A transform of the cells of one column; equality looks at a second cell, `delta` positions further on."""

    kind: str
    column: int
    lower: bool = False
    collapse: bool = False
    length: int = 0
    pattern: str = ""
    column2: int = -1
    delta: int = 0

    @classmethod
    def of(cls, macro: Macro) -> ViewPlan:
        if macro.kind == "=":
            return cls("=", macro.column, column2=macro.column2, delta=macro.row2 - macro.row)
        return cls(macro.kind, macro.column, macro.lower, macro.collapse, macro.length, macro.pattern)


@dataclass
class Slot:
    """One string form of a node."""

    literals: tuple[bytes, ...]
    bigram: bool
    rules: set[str | None]  # of the lines that make it, None where a line leaves it to the options
    min_freqs: set[int | None]
    reach: int = 0  # which labels before its own a bigram looks at: see reach.pxd
    by_string: bool = False


class Node:
    """Cells at fixed offsets from the first of them; none at the root."""

    def __init__(self, index: int = -1, parent: Node | None = None, view: int = -1, distance: int = 0, base: int = 0):
        self.index, self.parent, self.view, self.distance = index, parent, view, distance
        self.arity: int = parent.arity + 1 if parent else 0
        self.children: dict[tuple[int, int], Node] = {}
        self.slots: list[Slot] = []
        self.slot_numbers: dict[tuple[tuple[bytes, ...], bool, int], int] = {}
        self.first, self.last = base, base  # range of bases, its children's included

    @property
    def path(self) -> list[Node]:
        """The nodes below the root down to this one."""
        path, node = [], self
        while node.parent is not None:
            path.append(node)
            node = node.parent
        return path[::-1]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The first fields of a NodeC (tables.pxd)."""
        above = self.parent.index if self.parent else -1
        return above, self.view, self.distance, self.arity, self.first, self.last, len(self.slots)


class Use(NamedTuple):
    """A line at a token: the slot of a node, or for a line without macros (node -1) one of the constants."""

    node: int
    base: int
    slot: int
    bigram: bool
    edge: bool  # a bigram that the first token does not have


class Plan:
    """A template compiled as far as possible without data."""

    def __init__(self, template: Template | None):
        self.columns = [] if template is None else sorted(template.columns)
        self.nodes: list[Node] = []
        self.constants: list[Slot] = []
        self.uses: list[Use] = []
        self.patterns: Patterns | None = None  # of a model of Wapiti, in the place of all this
        self.plain_rules: set[str | None] = set()  # of the line that asks for plain label pairs, as in a Slot
        self.padding = 0  # the largest distance that any macro looks beyond a sentence
        self._root = Node()
        self._view_numbers: dict[ViewPlan, int] = {}  # in the order of these
        if template is None:  # data that name their attributes themselves
            self.plain_rules = {None}
        elif template.dialect in (WAPITI, MAXENT):
            self.patterns = Patterns([line.text for line in template.lines], template.dialect == MAXENT)
            self.plain_rules = {None} if self.patterns.plain >= 0 else set()
        else:
            self._add_lines(template)
        self.views = list(self._view_numbers)
        self.separators = bytes(sorted({byte for node in self.nodes for slot in node.slots for byte in b"".join(slot.literals[1:-1])}))
        self._mark_by_string(template is not None and template.by_string)

    def _add_lines(self, template: Template) -> None:
        for line in template.lines:
            if line.reach:
                self._add(_without_history(line), True)
                continue
            for bigram in (False, True):
                if "UB"[bigram] in line.kinds:
                    self._add(line, bigram)

    def _add(self, line: Line, bigram: bool) -> None:
        edge = bigram and not line.reach
        if not line.macros:
            if edge and not self.plain_rules:
                self.plain_rules = {line.rule}  # the label-pair weights themselves: no attribute
                return
            slot = Slot(line.literals, bigram, {line.rule}, {line.min_freq}, line.reach, by_string=True)
            self.uses.append(Use(-1, 0, len(self.constants), bigram, edge))
            self.constants.append(slot)
            return
        base = line.macros[0].row
        node = self._root
        for macro in line.macros:
            node = self._node(node, macro, base)
        self.uses.append(Use(node.index, base, self._slot(node, line, bigram), bigram, edge))

    def _node(self, parent: Node, macro: Macro, base: int) -> Node:
        """The node of a macro in a line that has begun with `parent`, whose first macro looks at `base`."""
        self.padding = max(self.padding, abs(macro.row), abs(macro.row2))
        key = (self._view_numbers.setdefault(ViewPlan.of(macro), len(self._view_numbers)), macro.row - base)
        node = parent.children.get(key)
        if node is None:
            node = parent.children[key] = Node(len(self.nodes), parent, *key, base)
            self.nodes.append(node)
        node.first, node.last = min(node.first, base), max(node.last, base)
        return node

    def _slot(self, node: Node, line: Line, bigram: bool) -> int:
        """The slot of a line. Lines that differ only in their offset share their features."""
        key = (line.literals, bigram, line.reach)
        number = node.slot_numbers.setdefault(key, len(node.slots))
        if number == len(node.slots):
            node.slots.append(Slot(line.literals, bigram, set(), set(), line.reach))
        node.slots[number].rules.add(line.rule)
        node.slots[number].min_freqs.add(line.min_freq)
        return number

    @property
    def slots(self) -> list[Slot]:
        """The slots of all nodes, and behind them those of lines without macros."""
        return [*(slot for node in self.nodes for slot in node.slots), *self.constants]

    def nesting(self) -> tuple[dict[int, int], list[int]]:
        """Numbers of the slots that are or have containers, by the id of each slot; and for each the number of its container, or -1."""
        within = self.containers()
        numbers = {place: number for number, place in enumerate({*within, *within.values()})}
        of_slots = {id(self.nodes[node].slots[slot]): number for (node, slot), number in numbers.items()}
        return of_slots, [numbers[within[place]] if place in within else -1 for place in numbers]

    def packed(self) -> tuple[bytes, bytes, bytes, bytes, list[bytes]]:
        """Uses, nodes, paths of nodes with slots, and slots, in numbers of 32 bits as tables.pxd has them; and all literals."""
        ends = [node for node in self.nodes if node.slots]
        slots = [slot for node in ends for slot in node.slots]
        numbers = (
            self.uses,
            [node.numbers for node in self.nodes],
            [[part.index for part in node.path] for node in ends],
            [(slot.by_string, slot.bigram) for slot in slots],
        )
        uses, nodes, paths, flags = (array("i", chain.from_iterable(rows)).tobytes() for rows in numbers)
        return uses, nodes, paths, flags, [*chain.from_iterable(slot.literals for slot in slots), *(slot.literals[0] for slot in self.constants)]

    def containers(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Slot of a unigram line -> its container: the slot of a line that has all its cells, unchanged. So each attribute of the
        container implies one attribute of the first slot. Of several containers, the one with the fewest cells is chosen."""
        made: dict[tuple[int, int], list[Use]] = {}
        for use in self.uses:
            if use.node >= 0 and not use.bigram:
                made.setdefault((use.node, use.slot), []).append(use)
        # A slot that several lines share does not tell which of them made an attribute.
        cells = {slot: self._cells(uses[0]) for slot, uses in made.items() if len(uses) == 1}
        plain: dict[frozenset[tuple[int, int]], tuple[int, int]] = {}
        having: dict[tuple[int, int], list[frozenset[tuple[int, int]]]] = {}  # of those, the ones with a cell
        for slot, (found, whole) in cells.items():
            if whole and plain.setdefault(found, slot) == slot:
                for cell in found:
                    having.setdefault(cell, []).append(found)
        containers = {}
        for slot, (found, _) in cells.items():
            fewest = min((having.get(cell, []) for cell in found), key=len)
            wider = [all_cells for all_cells in fewest if found <= all_cells and plain[all_cells] != slot]
            if wider:
                containers[slot] = plain[min(wider, key=len)]
        return containers

    def _cells(self, use: Use) -> tuple[frozenset[tuple[int, int]], bool]:
        """The cells that a line looks at, as columns and offsets from the token; and whether it uses them without a transform."""
        found, whole = set(), True
        for node in self.nodes[use.node].path:
            view, row = self.views[node.view], use.base + node.distance
            found.add((view.column, row))
            if view.column2 >= 0:
                found.add((view.column2, row + view.delta))
            whole &= view == ViewPlan("x", view.column)
        return frozenset(found), whole

    def _mark_by_string(self, every: bool) -> None:
        """Mark the slots whose strings other cells or another slot could make, too; or mark `every` slot."""
        for bigram in (False, True):
            slots = [slot for node in self.nodes for slot in node.slots if slot.bigram == bigram]
            for slot in slots:
                slot.by_string = every or not all(slot.literals[1:-1])
            # In sorted order, all that begin with a literal follow it without a gap.
            begun: list[Slot] = []
            constants = [slot for slot in self.constants if slot.bigram == bigram]
            for slot in sorted([*slots, *constants], key=lambda slot: slot.literals[0]):
                while begun and not slot.literals[0].startswith(begun[-1].literals[0]):
                    begun.pop()
                if begun:  # those between the two are marked already
                    begun[0].by_string = slot.by_string = True
                if len(slot.literals) > 1:  # no string continues a constant
                    begun.append(slot)


def _without_history(line: Line) -> Line:
    """The line with its %y macros as text: an attribute of a pair or three of labels. Percent signs that are text are
    doubled, so that no other line can have the same literals."""
    literals, macros = [line.literals[0].replace(b"%", b"%%")], []
    for macro, literal in zip(line.macros, line.literals[1:], strict=True):
        escaped = literal.replace(b"%", b"%%")
        if macro.kind == "y":
            literals[-1] += b"%%y[%d]" % macro.row + escaped
        else:
            macros.append(macro)
            literals.append(escaped)
    return line._replace(literals=tuple(literals), macros=tuple(macros))
