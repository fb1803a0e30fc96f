"""Which features exist and where their weights stand: against sets computed in Python."""

import array
import tracemalloc
from collections import Counter, defaultdict
from itertools import product
from random import Random

import pytest
from commands import memory_told, plain_build, python
from hypothesis import example, given
from hypothesis import strategies as st
from trainers.twins import Built, Corpus, Sample, corpora, weighted

from crfkit.data.dataset import Dataset
from crfkit.data.tallies import ambiguity_in
from crfkit.errors import DataError
from crfkit.weights.evidence import Evidence
from crfkit.weights.layout import Layout, pairs_in
from crfkit.weights.observed import seen_in
from crfkit.weights.pruning import pruned


def every_cell(layout, n_labels):
    """{(kind, attribute, ..., label): cell} of all features that a layout says it has."""
    n_u, n_b = layout.n_attributes
    labels = range(n_labels)
    cells = {("U", a, j): layout.cell(a, j) for a in range(n_u) for j in labels}
    cells |= {("B", b, i, j): layout.rich_cell(b, -1, i, j) for b in range(n_b) for i in labels for j in labels}
    cells |= {("T", i, j): layout.pair_cell(i, j) for i in labels for j in labels}
    return {feature: cell for feature, cell in cells.items() if cell >= 0}


def renumbered(built):
    """The features of the corpus with the layout's numbers of attributes."""
    for kind, *rest in built.corpus.features():
        new = {"U": built.u_new, "B": built.b_new}.get(kind)
        yield (kind, *rest) if new is None else (kind, new[rest[0]], *rest[1:])


@given(corpora())
def test_features_are_those_of_the_corpus_each_in_a_cell_of_its_own(corpus):
    built = Built(corpus)
    cells = every_cell(built.layout, corpus.n_labels)
    assert set(cells) == set(renumbered(built))
    assert len(set(cells.values())) == len(cells) == built.layout.n_features
    assert all(0 <= cell < built.layout.n_cells for cell in cells.values())


@pytest.mark.parametrize("at_once", [5, 64, 65, 10_000])
def test_many_tokens_are_sorted_otherwise_than_few(at_once):
    rng = Random(1)
    lengths = [rng.randint(1, 30) for _ in range(20)]
    samples = [Sample([rng.randrange(11) for _ in range(n)], [[(rng.randrange(9), 1.0)] for _ in range(n)], [[(rng.randrange(4), 1.0)] for _ in range(n)]) for n in lengths]
    built = Built(Corpus(samples, 11, 9, 4), at_once)
    assert set(every_cell(built.layout, 11)) == set(renumbered(built))
    counts = Counter(a for sample in samples for items in sample.unigrams for a, _ in items)
    assert sorted(counts, key=lambda a: built.u_new[a]) == sorted(counts, key=lambda a: (-counts[a], a))


@given(corpora())
def test_nothing_exists_outside_the_tables(corpus):
    layout = Built(corpus).layout
    (n_u, n_b), n = layout.n_attributes, corpus.n_labels
    assert {layout.cell(a, j) for a, j in ((-1, 0), (n_u, 0), (0, -1), (0, n), (0, n + 7))} == {-1}
    assert {layout.rich_cell(b, -1, i, j) for b, i, j in ((-1, 0, 0), (n_b, 0, 0), (0, -1, 0), (0, 0, n), (0, n, 0))} == {-1}
    assert {layout.pair_cell(i, j) for i, j in ((-1, 0), (0, -1), (n, 0), (0, n))} == {-1}


@given(corpora())
def test_attributes_with_many_labels_have_dense_rows_and_come_first(corpus):
    built = Built(corpus)
    padded = -(-corpus.n_labels // 8) * 8
    labels = Counter(feature[1] for feature in renumbered(built) if feature[0] == "U")
    hot = {a for a, n in labels.items() if n > 1 and 6 * n >= padded}
    assert hot == set(range(built.layout.hot))
    for kind, a, *rest in renumbered(built):
        if kind == "U":
            cell = built.layout.cell(a, rest[0])
            assert (cell == a * padded + rest[0]) if a in hot else (cell >= len(hot) * padded)


@given(corpora())
def test_frequent_attributes_come_first_among_their_kind(corpus):
    built = Built(corpus)
    counts = Counter(a for sample in corpus.samples for items in sample.unigrams for a, _ in items)
    new = {built.u_new[a]: counts[a] for a in counts if built.u_new[a] >= 0}
    assert sorted(new) == list(range(built.layout.n_attributes[0]))
    for group in (range(built.layout.hot), range(built.layout.hot, len(new))):
        ordered = [new[a] for a in group]
        assert ordered == sorted(ordered, reverse=True)


@pytest.mark.parametrize(("first", "second", "order"), [(65_533, 65_534, [1, 0]), (65_535, 65_536, [0, 1])])
def test_the_most_frequent_attributes_keep_their_order(first, second, order):
    """From 65,535 occurrences on, whether these were counted together or in parts of the data."""
    u_id = [0] * first + [1] * second
    n = len(u_id)
    data = Dataset(range(n + 1), range(n + 1), u_id, label=[0] * n, n_u=2)
    found = Evidence(False)
    found.add(array.array("i", [0, 1]), array.array("i", [0]), *seen_in(data, 1, False))
    built = Layout.build(data, 1, 0, b"\1\1", b"")
    together = Layout.build((found, Evidence(True)), 1, 0, b"\1\1", b"")
    assert list(built[1]) == list(together[1]) == order


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=4), max_size=4))
@example([[(0, 0)], [(0, 1)]])
@example([[(0, 1)], [(0, 0)]])
@example([[(1, 0)], [(1, 0)]])
def test_attributes_with_several_labels_are_counted_in_all_parts_and_in_the_whole(parts):
    """Each token is an attribute and a label, which parts number in the order of their first occurrence."""
    found, seen = Evidence(False), defaultdict(set)
    for part in parts:
        attributes, labels = ([*dict.fromkeys(column)] for column in zip(*part, strict=True))
        n = len(part)
        data = Dataset([0, n], range(n + 1), [attributes.index(a) for a, _ in part], label=[labels.index(j) for _, j in part], n_u=len(attributes))
        found.add(array.array("i", attributes), array.array("i", labels), *seen_in(data, len(labels), False))
        for a, j in part:
            seen[a].add(j)
    whole = [token for part in parts for token in part]
    data = Dataset([0, len(whole)], range(len(whole) + 1), [a for a, _ in whole], label=[j for _, j in whole], n_u=4)
    assert found.ambiguity() == ambiguity_in(data) == (len(seen), sum(len(labels) > 1 for labels in seen.values()))


def test_an_attribute_that_does_not_occur_has_no_features():
    data = Dataset([0, 1], [0, 1], [1], label=[0], n_u=3)
    layout, u_new, _ = Layout.build(data, 2, 0, b"\2\2\1", b"")
    assert (list(u_new), layout.n_features) == ([-1, 0, -1], 2)


def test_a_part_costs_what_it_has():
    """Parts are many where data are large: what all of them have is not copied for each."""
    found, n = Evidence(False), 1_000_000

    def add(attributes):
        counts, starts = array.array("q", [1]) * len(attributes), array.array("q", [0]) * (len(attributes) + 1)
        found.add(attributes, array.array("i", [0]), counts, starts, None, None, array.array("H"))

    add(array.array("i", range(n)))
    tracemalloc.start()
    try:
        add(array.array("i", [0, 1]))
        assert tracemalloc.get_traced_memory()[1] < 8 * n
    finally:
        tracemalloc.stop()
    add(array.array("i", [0, n]))
    assert found.counts.tolist() == [3, 2, *[1] * (n - 1)]


NUMBERING = """
from array import array
from crfkit.data.dataset import Dataset
from crfkit.learning.memory import in_use
from crfkit.weights.layout import Layout
data = Dataset(seq_ptr=array("q", [0, 2]), u_ptr=array("q", [0, 1 << 19, 1 << 20]), u_id=array("i", range(1 << 20)), label=array("H", [0, 1]), n_u=1 << 20, n_b=0, labels=["A", "B"])
now, rules = in_use()[0], bytearray(b"\\1") * (1 << 20)
Layout.build(data, 2, 1, rules, b"")
print((in_use()[1] - now) / (1 << 20))
"""


@memory_told
@plain_build
def test_attributes_are_numbered_without_a_list_of_them():
    """For each that has one feature: 16 bytes and 12, of itself and of its feature as they are met, then 4, 8 and 2 of the layout's."""
    assert 16 + 12 + 4 + 8 + 2 - 4 < float(python(NUMBERING).stdout) < 16 + 12 + 4 + 8 + 2 + 8


@given(corpora())
def test_dropped_attributes_are_those_too_rare_or_never_seen(corpus):
    built = Built(corpus)
    for kind, new, n, least in (("unigrams", built.u_new, corpus.n_u, corpus.u_min), ("bigrams", built.b_new, corpus.n_b, corpus.b_min)):
        counts = Counter(a for sample in corpus.samples for items in getattr(sample, kind) for a, _ in items)
        for a in range(n):
            if kind == "unigrams":
                assert (new[a] < 0) == (counts[a] < max(1, least.get(a, 1)))
            elif counts[a] < max(1, least.get(a, 1)):
                assert new[a] < 0  # seen at the first position alone, an attribute has no label pair either


def test_too_many_labels_are_refused():
    with pytest.raises(DataError, match="65536 labels"):
        Layout.build(Built(Corpus([Sample([0], [[]], [[]])], 1, 0)).dataset, 65536, 1, b"", b"")


@pytest.mark.long
def test_more_pairs_of_labels_than_32_bits_count():
    data = Built(Corpus([Sample([0], [[]], [[]])], 1, 0)).dataset
    layout, *_ = Layout.build(data, 46400, 2, b"", b"")
    assert layout.n_features == 46400**2
    assert layout.pair_cell(46399, 46399) == layout.n_cells - 1


def test_numbers_of_another_corpus_are_refused():
    data = Built(Corpus([Sample([1], [[(0, 1.0)]], [[]])], 2, 1)).dataset
    with pytest.raises(ValueError, match="rules for 2 attributes, expected 1"):
        Layout.build(data, 2, 1, b"\1\1", b"")
    with pytest.raises(ValueError, match="label 1 of 1"):
        Layout.build(data, 1, 1, b"\1", b"")
    with pytest.raises(ValueError, match="label 1 of 1"):
        pairs_in(data, 1)


def test_pairs_of_other_labels_are_refused():
    layout = Built(Corpus([Sample([0, 1], [[], []], [[], []])], 2, 0)).layout
    for n in (15, 17):
        with pytest.raises(ValueError, match=f"{n} cells of label pairs, expected 16"):
            layout.tell_absent(bytes(n))
    for pair in ((0, 2), (2, 0), (-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="a pair of labels that do not exist"):
            Layout.build((Evidence(False), Evidence(True)), 2, 1, b"", b"", None, {pair})


def test_data_without_labels_are_refused():
    with pytest.raises(ValueError, match="a data set without labels"):
        seen_in(Dataset([0, 1], [0, 1], [0], n_u=1), 2, False)


# --- weights of zero ----------------------------------------------------------------------------------------------


@given(corpora(), st.data())
def test_pruning_keeps_exactly_the_features_with_a_weight(corpus, data):
    built = Built(corpus)
    weights = weighted(data.draw, corpus.features())
    layout, cells, u_new, b_new = pruned(built.layout, built.to_cells(weights))
    old_u, old_b = ({new: old for old, new in enumerate(ids) if new >= 0} for ids in (built.u_new, built.b_new))
    first_u, first_b = ({new: old for old, new in enumerate(ids) if new >= 0} for ids in (u_new, b_new))
    found = {}
    for kind, attribute, i, j, weight in layout.features(cells):
        if kind == "U":
            assert (i, layout.cell(attribute, j) >= 0) == (-1, True)
            found["U", old_u[first_u[attribute]], j] = weight
        elif kind == "B":
            assert layout.rich_cell(attribute, -1, i, j) >= 0
            found["B", old_b[first_b[attribute]], i, j] = weight
        else:
            assert (attribute, layout.pair_cell(i, j) >= 0) == (-1, True)
            found["T", i, j] = weight
    assert found == {feature: weight for feature, weight in weights.items() if weight}
    assert layout.n_features == len(found)
    assert layout.n_attributes == (len(first_u), len(first_b))
    assert layout.has_tau == any(feature[0] == "T" for feature in found)
    for ids in ([a for a in u_new if 0 <= a < layout.hot], [a for a in u_new if a >= layout.hot], [b for b in b_new if b >= 0]):
        assert ids == sorted(ids)


def test_weights_of_another_layout_are_refused():
    layout = Built(Corpus([Sample([0, 1], [[(0, 1.0)]] * 2, [[], []])], 2, 1)).layout
    too_many = array.array("f", bytes(4 * (layout.n_cells + 1)))
    for use in (lambda w: pruned(layout, w), lambda w: list(layout.features(w))):
        with pytest.raises(ValueError, match="another layout"):
            use(too_many)


def test_everything_that_could_exist_does_with_all_features():
    n = 9
    corpus = Corpus([Sample([0, 1], [[(0, 1.0)], []], [[], [(0, 1.0)]])], n, 1, 1, tau_all=True, u_all={0}, b_all={0})
    cells = every_cell(Built(corpus).layout, n)
    assert set(cells) == {("U", 0, j) for j in range(n)} | {(k, *a, i, j) for i, j in product(range(n), range(n)) for k, a in (("T", ()), ("B", (0,)))}
