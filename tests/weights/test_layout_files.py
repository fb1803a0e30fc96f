"""Layouts of model files, sound and damaged."""

import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainers.twins import Built, Corpus, Sample, corpora, weighted
from weights.test_layout import every_cell

import crfkit
from crfkit.errors import ModelFileError
from crfkit.model import Model
from crfkit.weights.layout import Layout
from crfkit.weights.pruning import pruned

ARRAYS = ("u_ptr", "u_label", "b_ptr", "b_prev", "b_label")


def opened(arrays, n_labels, has_tau, hot, verify=True):
    return Layout(n_labels, has_tau, hot, *(memoryview(arrays[name]) for name in ARRAYS), verify=verify)


@given(corpora(), st.booleans(), st.data())
def test_a_layout_comes_back_from_its_arrays(corpus, verify, data):
    built = Built(corpus)
    layout, cells, _, _ = pruned(built.layout, built.to_cells(weighted(data.draw, corpus.features())))
    again = opened(layout.arrays(), corpus.n_labels, layout.has_tau, layout.hot, verify)
    assert list(again.features(cells)) == list(layout.features(cells))
    assert again.arrays() == layout.arrays()
    assert (again.n_cells, again.n_attributes, again.labels) == (layout.n_cells, layout.n_attributes, layout.labels)
    found = every_cell(again, corpus.n_labels)
    if not layout.has_tau:
        assert not any(feature[0] == "T" for feature in found)
    pairs = {feature for feature in found if feature[0] == "T"}
    assert {f: c for f, c in found.items() if f not in pairs} == {
        f: c for f, c in every_cell(layout, corpus.n_labels).items() if f[0] != "T"
    }


def sound(arrays, n_labels, hot):
    """Whether all rows of both tables lie in them and hold ascending labels that exist."""
    u_ptr, u_label, b_ptr, b_prev, b_label = (list(arrays[name]) for name in ARRAYS)

    def rows_fit(ptr, items):
        return (
            bool(ptr)
            and ptr[0] == 0
            and ptr[-1] == len(items)
            and ptr == sorted(ptr)
            and all(max(item) < n_labels for item in items)
            and all(a < b for start, end in pairwise(ptr) for a, b in pairwise(items[start:end]))
        )

    return (
        len(b_prev) == len(b_label)
        and rows_fit(u_ptr, [(j,) for j in u_label])
        and rows_fit(b_ptr, list(zip(b_prev, b_label, strict=True)))
        and 0 <= hot < len(u_ptr)
    )


@given(corpora(), st.data())
def test_damaged_arrays_are_refused(corpus, data):
    built = Built(corpus)
    arrays = {name: array.array(values.format, values) for name, values in built.layout.arrays().items()}
    hot = built.layout.hot
    for _ in range(data.draw(st.integers(1, 2))):
        name = data.draw(st.sampled_from([*ARRAYS, "hot"]))
        if name == "hot":
            hot = data.draw(st.one_of(st.integers(-2, 8), st.sampled_from([-(2**63), 2**31, 2**63 - 1])))
            continue
        items = arrays[name]
        numbers = st.integers(0, 12) if items.typecode == "H" else st.integers(-2, 40)
        extremes = [0xFFFF] if items.typecode == "H" else [-(2**63), 2**62, 2**63 - 1]
        number = data.draw(st.one_of(numbers, st.sampled_from(extremes)))
        change = data.draw(st.sampled_from(["set", "cut", "append"]))
        if change == "append":
            items.append(number)
        elif items:
            place = data.draw(st.integers(0, len(items) - 1))
            if change == "set":
                items[place] = number
            else:
                del items[place:]
    good = sound(arrays, corpus.n_labels, hot)
    try:
        layout = opened(arrays, corpus.n_labels, corpus.has_tau, hot)
    except ModelFileError as error:
        assert not good
        assert str(error).startswith("layout: ")
    else:
        assert good
        assert list(layout.features(array.array("f", bytes(4 * layout.n_cells)))) == []
    # Without verification a fault is found later or does no harm: nothing outside the arrays is read.
    try:
        layout = opened(arrays, corpus.n_labels, corpus.has_tau, hot, verify=False)
        if layout.n_cells < 10**6:
            list(layout.features(array.array("f", bytes(4 * layout.n_cells))))
        layout.cell(0, 0), layout.rich_cell(0, -1, 0, 0), layout.pair_cell(0, 0)
    except ModelFileError:
        assert not good


TABLES = {"u_ptr": [0, 2, 3], "u_label": [0, 1, 1], "b_ptr": [0, 2], "b_prev": [0, 1], "b_label": [1, 0]}
LAST = 65535  # any label, in a feature with history
BEFORE = {"b_prev2": [0, 3], "b_prev": [0, 2], "b_label": [0, 1]}  # two labels, and two places before the sentence


@pytest.mark.parametrize(("changed", "good"), [
    ({}, True),
    ({"u_label": [0, 2, 1]}, False),
    ({"u_label": [0, 0, 1]}, False),
    ({"u_label": [1, 0, 1]}, False),
    ({"u_ptr": [0, 4, 3]}, False),
    ({"u_ptr": [0, -1, 3]}, False),
    ({"u_ptr": [0, 1, 3], "u_label": [0, 0, 1]}, True),
    ({"b_prev": [0, 2]}, False),
    ({"b_label": [2, 0]}, False),
    ({"b_prev": [0, 0], "b_label": [1, 1]}, False),
    ({"b_prev": [0, 0], "b_label": [1, 0]}, False),
    ({"b_prev": [0, 0], "b_label": [0, 1]}, True),
    ({"b_ptr": [0, 3, 2]}, False),
    ({"b_ptr": [0, -1, 2]}, False),
    (BEFORE, True),
    ({**BEFORE, "b_prev2": [0, 4]}, False),
    ({**BEFORE, "b_prev": [0, 3]}, False),
    ({**BEFORE, "b_label": [0, 2]}, False),
    ({**BEFORE, "b_prev2": [0, LAST]}, True),
    ({**BEFORE, "b_prev": [0, LAST]}, True),
    ({**BEFORE, "b_label": [0, LAST]}, False),
    ({**BEFORE, "b_prev2": [0, 0], "b_prev": [2, 2], "b_label": [1, 1]}, False),
    ({**BEFORE, "b_prev2": [1, 0]}, False),
])
def test_labels_up_to_the_last_one(changed, good):
    """The greatest numbers that exist, and the least that do not."""
    tables = [array.array("q" if "ptr" in name else "H", values) for name, values in {**TABLES, **changed}.items()]
    if good:
        Layout(2, True, 0, *tables)
    else:
        with pytest.raises(ModelFileError, match="a row lies outside its table, or its labels are not in order"):
            Layout(2, True, 0, *tables)


@pytest.mark.parametrize(("changed", "message"), [
    ({"b_prev": [0]}, "pairs of labels of different lengths"),
    ({"b_prev2": [0]}, "pairs of labels of different lengths"),
    ({"u_ptr": [1, 2, 3]}, "the attribute tables do not cover their features"),
    ({"u_ptr": [0, 2, 2]}, "the attribute tables do not cover their features"),
    ({"b_ptr": [1, 2]}, "the attribute tables do not cover their features"),
    ({"b_ptr": [0, 1]}, "the attribute tables do not cover their features"),
    ({"u_ptr": [0, 4, 3]}, "the dense rows do not end within the features"),
    ({"u_ptr": [0, -1, 3]}, "the dense rows do not end within the features"),
    ({"u_ptr": []}, "an attribute table without an end, or too large"),
    ({"b_ptr": []}, "an attribute table without an end, or too large"),
])
def test_tables_that_do_not_belong_together(changed, message):
    """Seen at once, without a look at the rows."""
    tables = [array.array("q" if "ptr" in name else "H", values) for name, values in {**TABLES, **changed}.items()]
    with pytest.raises(ModelFileError, match=message):
        Layout(2, True, 1, *tables, verify=False)


@pytest.mark.parametrize(
    ("name", "place", "number", "word"),
    [("u_label", 2, 4, "b"), ("u_ptr", 2, 1, "c"), ("u_ptr", 2, 5, "b"), ("b_label", 0, 4, "a"), ("b_prev", 0, 4, "a")],
)
def test_rows_of_an_unverified_model_are_checked_when_they_are_used(name, place, number, word):
    """The first row is dense, and has two labels; a row that begins within it would have others' weights."""
    model = crfkit.learn([[["a", "W"], ["a", "X"]], [["b", "Y"]], [["c", "Z"]]], "U:%x[0,0]\nB:%x[0,0]\n", max_iter=2)
    assert model.header["hot"] == 1
    assert [list(model.sections[f"layout.{part}"]) for part in ARRAYS] == [[0, 2, 3, 4], [0, 1, 2, 3], [0, 1], [0], [1]]
    damaged = array.array(memoryview(model.sections[f"layout.{name}"]).format, model.sections[f"layout.{name}"])
    damaged[place] = number
    tagger = Model(model.header, {**model.sections, f"layout.{name}": damaged}, verify=False).tagger()
    assert tagger.tag([["?"]])
    with pytest.raises(ModelFileError, match="its tables of features contradict each other"):
        tagger.tag([[word], [word]])


@pytest.mark.parametrize(("hot", "good"), [(-1, False), (0, True), (2, True), (3, False)])
def test_as_many_dense_rows_as_attributes(hot, good):
    tables = [array.array("q" if "ptr" in name else "H", values) for name, values in TABLES.items()]
    if good:
        assert Layout(2, True, hot, *tables).hot == hot
    else:
        with pytest.raises(ModelFileError, match="dense rows for 2 attributes"):
            Layout(2, True, hot, *tables)


@pytest.mark.parametrize("labels", [-1, 0, 65536])
def test_impossible_numbers_of_labels_are_refused(labels):
    arrays = Built(Corpus([Sample([0], [[]], [[]])], 1, 0)).layout.arrays()
    with pytest.raises(ModelFileError, match="labels, expected 1 to 65535"):
        opened(arrays, labels, False, 0)
