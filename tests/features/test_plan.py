"""The plan of a template: which slots are known by their strings, and which lines imply others, against the definitions."""

from array import array
from dataclasses import replace
from itertools import permutations

import pytest
from features.indexes import built
from hypothesis import given
from hypothesis import strategies as st

import crfkit
from crfkit.features.plan import Plan
from crfkit.template.parsing import Template

LINES = st.builds(
    lambda kind, name, cells, between, end: kind + name + between.join(f"%{letter}[{row},{column}]" for letter, row, column in cells) + end,
    st.sampled_from("UB*"),
    st.sampled_from(["", "0", "1", "1:", "12:"]),
    st.lists(st.tuples(st.sampled_from("xxX"), st.integers(-1, 1), st.integers(0, 1)), max_size=3),
    st.sampled_from(["", "/"]),
    st.sampled_from(["", ":", "/"]),
)


def known_by_string(plan, slot):
    """Whether no literal stands between two cells, or whether another slot, or a line without macros, could make the same string."""
    begin = slot.literals[0]
    others = [other.literals[0] for node in plan.nodes for other in node.slots if other is not slot and other.bigram == slot.bigram]
    return (
        not all(slot.literals[1:-1])
        or any(other.startswith(begin) or begin.startswith(other) for other in others)
        or any(line.literals[0].startswith(begin) for line in plan.constants if line.bigram == slot.bigram)
    )


def containers(plan):
    made = {}
    for use in plan.uses:
        if use.node >= 0 and not use.bigram:
            made.setdefault((use.node, use.slot), []).append(use)
    cells = {slot: plan._cells(uses[0]) for slot, uses in made.items() if len(uses) == 1}
    plain = {}
    for slot, (found, whole) in cells.items():
        if whole:
            plain.setdefault(found, slot)
    best = {slot: min((wide for wide in plain if found <= wide and plain[wide] != slot), key=len, default=None) for slot, (found, _) in cells.items()}
    return {slot: plain[wide] for slot, wide in best.items() if wide is not None}


@given(st.lists(LINES, min_size=1, max_size=8))
def test_slots_and_containers_are_those_of_the_definitions(lines):
    plan = Plan(Template.parse("\n".join(lines)))
    for node in plan.nodes:
        for slot in node.slots:
            assert slot.by_string == known_by_string(plan, slot), slot
    assert all(constant.by_string for constant in plan.constants)
    assert plan.containers() == containers(plan)


@pytest.mark.parametrize(("lines", "expected"), [
    (["U0:%x[0,0]", "U1:%x[0,0]/%x[1,0]", "U2:%x[0,0]/%x[1,0]/%x[2,0]"], {"U0:": "U1:", "U1:": "U2:"}),  # the one with the fewest cells
    (["U0:%x[0,0]", "U0:%x[1,0]", "U1:%x[0,0]/%x[1,0]"], {}),  # two lines make what is called U0
    (["U0:%=[0,1,0,0]", "U1:%x[0,1]"], {}),  # equality looks at two cells
    (["U0:%=[0,1,0,0]", "U1:%x[0,1]", "U2:%x[0,0]/%x[0,1]"], {"U0:": "U2:", "U1:": "U2:"}),
    (["U0:%=[0,0,1,0]", "U1:%x[0,0]/%x[-1,0]"], {}),
    (["U0:%=[0,0,1,0]", "U1:%x[0,0]/%x[1,0]"], {"U0:": "U1:"}),
    (["U0:%x[0,0]", "U1:%X[0,0]/%x[1,0]"], {}),  # in lower case a cell is not the same
    (["U0:%X[0,0]", "U1:%x[0,0]/%x[1,0]"], {"U0:": "U1:"}),
    (["U0:%x[0,0]", "B1:%x[0,0]/%x[1,0]"], {}),
])
def test_lines_that_imply_others(lines, expected):
    plan = Plan(Template.parse("\n".join(lines)))
    found = {tuple(plan.nodes[node].slots[slot].literals[0].decode() for node, slot in pair) for pair in plan.containers().items()}
    assert found == set(expected.items())


def test_beginnings_are_compared_once_for_each_line():
    class Counted(bytes):
        compared = 0

        def startswith(self, *begin):
            Counted.compared += 1
            return super().startswith(*begin)

    template = Template.parse("".join(f"U{k}\nU{k}:%x[0,0]\n" for k in range(100)))
    lines = [line._replace(literals=tuple(map(Counted, line.literals))) for line in template.lines]
    Plan(replace(template, lines=tuple(lines)))
    assert Counted.compared <= 2 * len(lines)


@pytest.mark.long
def test_names_of_very_many_lines():
    """The product of nodes and slots has more than 32 bits."""
    names = [f"U{k}:" for k in range(46_400)]
    template = "\n".join([*(f"{name}%x[0,0]" for name in names), *(f"U:%x[0,{i}]/%x[0,{j}]" for i in range(217) for j in range(217))])
    model = crfkit.learn([[[*"a" * 217, label] for label in "XY"]], template, "perceptron", passes=1)
    assert {attribute for attribute, *_ in model.features()} == {"U:a/a", *(name + "a" for name in names)}


@pytest.mark.parametrize("order", [*permutations(range(3))])
@pytest.mark.parametrize("lines", [("U1:%x[0,0] @all", "U1%x[0,1] @observed", "U1:5"), ("U1:%x[0,0]", "U1%x[0,1] @all", "U1:5 @observed"),
                                   ("U1:%x[0,0] @observed", "U1%x[0,1]", "U1:5 @all")])
def test_of_lines_that_make_the_same_string_the_most_permissive_rule_applies(lines, order):
    """Lines with other macros, or with none. The same holds for how often it has to occur."""
    builder, _ = built(Template.parse("\n".join(lines[k] for k in order)), [[["5", ":5", "L"]]])
    assert list(builder.rules()) == [2]
    thresholds = [line.partition(" ")[0] + (" @minfreq=4" if "@all" in line else " @minfreq=5") for line in lines]
    builder, _ = built(Template.parse("\n".join(thresholds[k] for k in order)), [[["5", ":5", "L"]]])
    assert [list(builder.rules(counts=array("q", [n]))) for n in (3, 4)] == [[0], [1]]
