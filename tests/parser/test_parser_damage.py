"""Damaged tables of a parser: each fault has its message."""

from __future__ import annotations

import array
import math

import pytest
from parser.test_parser import corpus
from parser.test_parser_files import learned

import crfkit
from crfkit import modelfile
from crfkit.errors import ModelFileError

MODEL = learned(labels=True).to_bytes()


def used(table):
    """Where the first entry is that names a row."""
    return next(k for k, row in enumerate(table[::2]) if row >= 0) * 2


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("rows", lambda rows: rows.pop(), "section 'rows' is not a list of pairs, or a section is too large"),
        ("rows", lambda rows: rows.__setitem__(0, 1), "the rows do not cover the weights one after another"),
        ("rows", lambda rows: rows.__setitem__(slice(-2, None), array.array("i")), "the rows do not cover the weights one after another"),
        ("actions", lambda actions: actions.__setitem__(0, 99), "a weight is for an action that does not exist"),
        ("line.0", lambda table: table.__setitem__(used(table), 10**6), "section 'line.0' names a row that does not exist"),
        ("line.0", lambda table: table.__setitem__(used(table) + 1, 10**6), "section 'line.0' names a value that does not exist"),
        ("line.0", lambda table: table.append(-1), "section 'line.0' is not a table for its template line"),
        ("line.0", None, "section 'line.0' is missing"),
        ("weights", lambda weights: weights.append(1), "the numbers of weights and of their actions differ"),
        ("weights", lambda weights: weights.__setitem__(0, math.nan), "a weight is not a finite number"),
    ],
)  # fmt: skip
def test_each_fault_has_its_message(name, damage, message):
    file = modelfile.read(MODEL)
    sections = {key: array.array(values.format, values) for key, values in file.contents().items()}
    if damage is None:
        del sections[name]
    else:
        damage(sections[name])
    with pytest.raises(ModelFileError, match=f": {message}$"):
        crfkit.load(modelfile.dumps(file.header, sections))


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_weights_that_are_no_numbers_lead_to_a_tree_all_the_same(value):
    """Without verification nobody has looked at them, and no action is better than another."""
    file = modelfile.read(MODEL)
    sections = {key: array.array(values.format, values) for key, values in file.contents().items()}
    sections["weights"] = array.array("f", [value]) * len(sections["weights"])
    parser = crfkit.load(modelfile.dumps(file.header, sections), verify=False)
    for rows in corpus(5, 8):
        heads = [head for head, _ in parser.tag(rows)]
        assert heads.count(0) == 1
        for word in range(1, len(heads) + 1):
            for _ in heads:
                word = word and heads[word - 1]
            assert word == 0
