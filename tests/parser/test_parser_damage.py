"""Damaged tables of a parser, and of its checkpoints: each fault has its message."""

import array
import math
from functools import partial

import pytest
from parser.test_parser import TEMPLATE, corpus
from parser.test_parser_files import learned

import crfkit
from crfkit import modelfile
from crfkit.errors import ModelFileError, OptionError
from crfkit.template.macros import MOST_COUNTED
from crfkit.template.parsing import Template

MODEL = learned(labels=True).to_bytes()


def used(table):
    return next(k for k, row in enumerate(table[::2]) if row >= 0) * 2


@pytest.mark.parametrize(("name", "damage", "message"), [
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
])
def test_each_fault_has_its_message(name, damage, message):
    file = modelfile.read(MODEL)
    sections = {key: array.array(values.format, values) for key, values in file.contents().items()}
    if damage is None:
        del sections[name]
    else:
        damage(sections[name])
    with pytest.raises(ModelFileError, match=f": {message}$"):
        crfkit.load(modelfile.dumps(file.header, sections))


# What each kind of cell may have at most, in a line and at a place of its key: values, distances, equality, children.
LIMITS = [(0, 1, 5), (2, 3, 0x7FFFFFFE), (6, 1, 2), (9, 3, 1 + MOST_COUNTED)]


def loaded(name, damage):
    file = modelfile.read(MODEL)
    sections = {key: array.array(values.format, values) for key, values in file.contents().items()}
    damage(sections[name])
    return crfkit.load(modelfile.dumps(file.header, sections))


@pytest.mark.parametrize(("line", "place", "most"), LIMITS)
def test_cells_up_to_their_limits(line, place, most):
    """The last number that exists is refused only for its place in the table, or not at all."""
    width = 1 + len(Template.parse(TEMPLATE).lines[line].macros)
    for value, message in ((-1, "names a value"), (most + 1, "names a value"), (most, "has an entry that is not found")):
        table = modelfile.read(MODEL).contents()[f"line.{line}"]
        at = next(k for k in range(0, len(table), width) if table[k] >= 0 and table[k + place] != value)
        with pytest.raises(ModelFileError, match=message):
            loaded(f"line.{line}", lambda table, at=at, value=value: table.__setitem__(at + place, value))


def test_rows_and_actions_up_to_their_limits():
    rows = len(modelfile.read(MODEL).contents()["rows"]) // 2
    actions = 1 + 2 * len(crfkit.load(MODEL).header["relations"])
    for row in (-2, rows):
        with pytest.raises(ModelFileError, match="names a row that does not exist"):
            loaded("line.0", lambda table, row=row: table.__setitem__(used(table), row))
    loaded("line.0", lambda table: table.__setitem__(used(table), rows - 1))
    with pytest.raises(ModelFileError, match="an action that does not exist"):
        loaded("actions", lambda table: table.__setitem__(0, actions))
    loaded("actions", lambda table: table.__setitem__(0, actions - 1))
    for size in (0, -1):
        with pytest.raises(ModelFileError, match="the rows do not cover the weights"):
            loaded("rows", lambda table, size=size: table.extend([sum(table[-2:]), size]))


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


@pytest.mark.parametrize(("name", "numbers", "message"), [
    ("actions", (-1, 3), "actions: that do not exist"),  # without relations there are three
    ("rows", (-1, 10**6), "actions: that do not exist"),
    ("order", (-1, 8, 10**6), "order: not one of the sentences"),
    ("keys", (10**6, 2**31 - 1, -1), "keys: of values that do not exist"),  # else refused only at the end of training
])
def test_a_checkpoint_with_numbers_that_do_not_exist_is_damaged(tmp_path, name, numbers, message):
    path = str(tmp_path / "state")
    learned(passes=1, checkpoint=path)
    file = modelfile.read(path)
    sections = file.contents()
    for number in numbers:
        damaged = array.array("i", sections[f"trainer.{name}"].tolist())
        damaged[0] = number
        modelfile.write(path, file.header, {**sections, f"trainer.{name}": damaged})
        with pytest.raises(ModelFileError, match=f"damaged: .*{message}"):
            learned(passes=2, checkpoint=path, resume=True)


def test_a_run_is_not_resumed_on_trees_with_other_relations(tmp_path):
    """Words and heads are the same, and so are the names of relations."""
    trees = corpus(5, 8)
    again = partial(crfkit.learn, template=TEMPLATE, algorithm="lookahead", format="conllu", labels=True, depth=1, checkpoint=str(tmp_path / "state"))
    again(trees, passes=1)
    first, second = (next(row for rows in trees[1:] for row in rows if row[7] == relation) for relation in ("obj", "det"))
    first[7], second[7] = second[7], first[7]
    with pytest.raises(OptionError, match="different training data"):
        again(trees, passes=2, resume=True)
    first[7], second[7] = second[7], first[7]
    again(trees, passes=2, resume=True)
