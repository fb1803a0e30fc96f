"""Tables of parts of a corpus that contradict themselves, as a faulty worker may send them."""

import array
import copy

import pytest
from features.indexes import built

from crfkit.features import merging
from crfkit.features.indexing import IndexBuilder
from crfkit.template.parsing import Template

# The nodes: one cell as it is, one with a view of its own, one of equality; a pair, and three that begin with it.
TEMPLATE = Template.parse("U0:%x[0,0]\nU1:%S[0,0]\nU2:%=[0,0,1,0]\nU3:%x[0,0]/%S[1,0]\nU4:%x[0,0]/%S[1,0]/%x[2,0]\nU5\nB6:%x[0,0]")
SENTENCE = [["a", "X"], ["B", "Y"], ["a/a", "X"], ["c", "Y"]]


@pytest.fixture(scope="module")
def part():
    return merging.tables(built(TEMPLATE, [SENTENCE])[0])


def added(part):
    return merging.add_tables(IndexBuilder(TEMPLATE), part)


def test_tables_in_their_own_order(part):
    """Added to an empty builder, everything keeps its number."""
    numbers = added(part)
    assert {kind: list(found) for kind, found in numbers.items()} == {
        "labels": [0, 1], "u": list(range(part["n"][0])), "b": list(range(part["n"][1]))}


def node_with(part, cells):
    """Of the nodes with a table of grams, the one of so many cells."""
    return [node for node in part["nodes"] if len(node["keys"])][cells - 2]


def first_of_single_cells(part):
    return part["nodes"][0]


def without_a_node(part):
    part["nodes"].pop()


def with_another_node(part):
    part["nodes"].append(part["nodes"][-1])


def set_offset(at, to):
    def change(part):
        part["columns"][0]["offsets"][at] = to
    return change


def without_offsets(part):
    part["columns"][0]["offsets"] = array.array("q")


def more_values_than_cells(part):
    part["views"][1].append(0)


def value_without_a_cell(part):
    part["views"][1][0] = len(part["views"][1])


def more_rows_than_values(part):
    node = first_of_single_cells(part)
    node["n"] += 100


def fewer_keys(part):
    node_with(part, 2)["keys"].pop()


def set_key(cells, at, to):
    def change(part):
        node_with(part, cells)["keys"][at] = to
    return change


def key_of_a_gap(part):
    """The pair is there, the three cells that begin with it are, too, but the pair is marked as a gap."""
    pair = node_with(part, 2)
    pair["keys"][0] = pair["keys"][1] = -1
    pair["rows"][0] = -1


def attribute_of_a_gap(part):
    three = node_with(part, 3)
    three["keys"][0] = three["keys"][1] = -1


def value_that_no_cell_has(part):
    """The value of the second cell of the first pair is taken away from all cells."""
    view, value = part["views"][1], node_with(part, 2)["keys"][1]
    for cell, its_value in enumerate(view):
        if its_value == value:
            view[cell] = -1


def fewer_rows(part):
    node_with(part, 2)["rows"].pop()


def set_row(to):
    def change(part):
        node_with(part, 2)["rows"][0] = to(part)
    return change


def fewer_attributes_of_literals(part):
    part["literals"][0]["attributes"].pop()


def attribute_of_a_literal(part):
    part["literals"][0]["attributes"][0] = part["n"][0]


def attribute_that_nothing_makes(part):
    part["n"][0] += 1


def too_many(part):
    part["n"][0] = 0x7FFFFFFF


FAULTS = [
    (without_a_node, "tables of another template"),
    (with_another_node, "tables of another template"),
    (without_offsets, "strings without an end"),
    (set_offset(0, 1), "strings without an end"),
    (set_offset(-1, 5), "strings without an end"),
    (set_offset(1, 9), "strings that overlap"),
    (set_offset(2, -1), "strings that overlap"),
    (more_values_than_cells, "values of cells that do not exist"),
    (value_without_a_cell, "a value without a cell"),
    (more_rows_than_values, "rows without values"),
    (fewer_keys, "grams without cells"),
    (set_key(2, 0, 8), "a gram of cells that do not exist"),
    (set_key(2, 0, -1), "a gram of cells that do not exist"),
    (set_key(2, 1, 8), "a gram of cells that do not exist"),
    (set_key(2, 1, -1), "a gram of cells that do not exist"),
    (set_key(3, 0, 100), "a gram of cells that do not exist"),
    (key_of_a_gap, "a gram of cells that do not exist"),
    (value_that_no_cell_has, "a gram of cells that do not exist"),
    (attribute_of_a_gap, "a row with an attribute that does not exist"),
    (fewer_rows, "rows that are not those of the grams"),
    (set_row(lambda part: part["n"][0]), "a row with an attribute that does not exist"),
    (fewer_attributes_of_literals, "strings without attributes"),
    (attribute_of_a_literal, "an attribute that does not exist"),
    (attribute_that_nothing_makes, "an attribute that nothing makes"),
    (too_many, "too many attributes"),
]


@pytest.mark.parametrize(("change", "message"), FAULTS)
def test_tables_that_contradict_themselves(part, change, message):
    part = copy.deepcopy(part)
    change(part)
    with pytest.raises(ValueError, match=message):
        added(part)
