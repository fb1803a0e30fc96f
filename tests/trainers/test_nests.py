"""Attributes that imply others: which ones do, and that summed rows leave the objective unchanged."""

import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import apart

from crfkit.data.dataset import Dataset
from crfkit.features.tables import Names
from crfkit.learning.corpus import read_corpus
from crfkit.learning.reader import Reader
from crfkit.options import Run
from crfkit.template.parsing import Template
from crfkit.testing import parts_of, rows_of, value_at
from crfkit.trainers.batch.nests import Nests, Survey
from crfkit.trainers.batch.objective import Objective
from crfkit.trainers.batch.visits import bytes_of_visits

CHUNKING = """\
U00:%x[-1,0]
U01:%x[0,0]
U02:%x[1,0]
U03:%x[-1,0]/%x[0,0]
U04:%p[0,0,1]
U05:%S[0,0]
U10:%x[0,1]
U11:%x[0,1]/%x[1,1]
U12:%x[-1,1]/%x[0,1]/%x[1,1]
B
"""
SENTENCES = [list(zip("abcabd", "xyxyxx", "PQPQPP", strict=True))] * 30


def corpus_of(rows, text, **chosen):
    return read_corpus(Reader(rows, Template.parse(text), Run(**chosen)))


def plain(corpus):
    """The same data, without what the template says about its lines."""
    corpus.dataset.nesting = None
    return corpus


def expanded(nests, row):
    """The attributes that a row of attributes and nests stands for."""
    found = []
    for a in row:
        found += expanded(nests, parts_of(nests, -1 - a)) if a < 0 else [a]
    return sorted(found)


def assert_the_same_attributes(corpus):
    nests = Nests(corpus.dataset, corpus.layout)
    with_nests, without = rows_of(nests), rows_of(Nests(plain(corpus).dataset, corpus.layout))
    assert [expanded(nests, row) for row in with_nests] == [sorted(row) for row in without]


words = st.sampled_from(["a", "b", "cc", "a/b", "b/", "/", "Cc"])
tokens = st.tuples(words, st.sampled_from(["x", "y", "x/y"]), st.sampled_from("PQR"))
corpora = st.lists(st.lists(tokens, min_size=1, max_size=8), min_size=4, max_size=30)
LINES = CHUNKING.splitlines()[:-1]


def two_labels(sentences):
    return [*sentences, [("a", "x", "P"), ("b", "y", "Q")]]


@given(corpora, st.sets(st.sampled_from(LINES), min_size=2), st.integers(1, 3))
def test_nests_stand_for_the_attributes_of_each_token(sentences, lines, min_freq):
    corpus = corpus_of(two_labels(sentences), "\n".join(sorted(lines)) + "\nB\n", min_freq=min_freq)
    assert_the_same_attributes(corpus)


@given(corpora, st.sampled_from(["observed", "all"]), st.integers(0, 99))
def test_the_objective_and_its_gradient_are_the_same(sentences, features, seed):
    corpus = corpus_of(two_labels(sentences * 3), CHUNKING, features=features)
    cells = [((k * 7919 + seed) % 61 - 30) / 16 for k in range(corpus.layout.n_cells)]
    values = []
    for data in (corpus.dataset, plain(corpus).dataset):
        for threads in (1, 2):
            values.append(evaluated(data, corpus.layout, cells, threads))
    assert values[0] == values[1]
    assert values[2] == values[3]
    assert values[0][0] == pytest.approx(values[2][0], rel=1e-12)
    assert not apart(values[0][1], values[2][1], rel=1e-9, abs=1e-9).any()


def evaluated(data, layout, cells, threads):
    """The objective at a point where only cells of features are not zero: the gradient of those alone is not zero."""
    features = value_at(Objective(data, layout, 0.0, 1), array.array("d", [0.0] * len(cells)))[1]
    point = array.array("d", [x if g else 0.0 for x, g in zip(cells, features, strict=True)])
    f, gradient = value_at(Objective(data, layout, 0.5, threads), point)
    return f, list(gradient)


def test_pairs_bring_their_words_along_and_words_their_prefixes():
    corpus = corpus_of(SENTENCES, CHUNKING)
    nests = Nests(corpus.dataset, corpus.layout)
    rows = rows_of(nests)
    assert nests.n
    assert max(map(len, rows)) < len(LINES) - 3
    names = list(Names(corpus.builder, False))
    sums = [{names[a].decode() for a in expanded(nests, parts_of(nests, k))} for k in range(nests.n)]
    assert {"U03:a/b", "U01:b", "U00:a", "U04:b", "U05:x"} in sums


def test_what_different_cells_spell_alike_is_no_nest():
    lines = "U00:%x[0,0]\nU01:%x[0,1]\nU02:%x[0,0]/%x[0,1]\nB\n"
    sentences = [[("a/b", "c", "P"), ("a", "b/c", "Q")]] * 40
    corpus = corpus_of(sentences, lines)
    nests = Nests(corpus.dataset, corpus.layout)
    names = list(Names(corpus.builder, False))
    assert "U02:a/b/c" not in {names[parts_of(nests, k)[0]].decode() for k in range(nests.n)}


@pytest.mark.parametrize("last", [("c", "d", "2:a/b", "P"), ("a", "b", "2:c/d", "P"), ("c", "d", "0:a", "P"), ("a", "b", "0:c", "P")])
def test_what_another_line_spells_alike_is_no_nest(last):
    """The last token has two attributes that look as if one line had made them: U02:a/b and U02:c/d, or U00:a and U00:c."""
    lines = "U00:%x[0,0]\nU01:%x[0,1]\nU02:%x[0,0]/%x[0,1]\nU0%x[0,2]\nB\n"
    sentences = [[("c", "d", "-", "P"), ("a", "b", "-", "Q")]] * 40 + [[last]]
    assert_the_same_attributes(corpus_of(sentences, lines))


def test_what_is_spelled_twice_wherever_a_pair_occurs_is_no_nest():
    """U1:b is made by the first line, and beside the pairs by the second."""
    sentences = [[("b", "x", "P"), ("b", "x", "Q")], *[[("a", ":b", "P"), ("c", ":b", "Q")]] * 30]
    corpus = corpus_of(sentences, "U1:%x[0,0]\nU1%x[0,1]\nU2:%x[0,0]/%x[1,0]")
    assert_the_same_attributes(corpus)


def test_nothing_is_summed_where_lines_share_their_attributes():
    corpus = corpus_of(SENTENCES, "U:%x[-1,0]\nU:%x[0,0]\nU03:%x[-1,0]/%x[0,0]\nB\n")
    assert Nests(corpus.dataset, corpus.layout).n == 0


def part_of(data, first, last):
    """Sequences first .. last - 1, with the same numbers of attributes."""
    whole = data.arrays()
    begin, end = (whole["seq_ptr"][s] for s in (first, last))
    tokens = [t - begin for t in whole["seq_ptr"][first : last + 1]]
    starts = whole["u_ptr"][begin : end + 1]
    return Dataset(tokens, [u - starts[0] for u in starts], whole["u_id"][starts[0] : starts[-1]], label=whole["label"][begin:end], n_u=data.n_u)


@given(st.lists(st.sampled_from([("a", "b/b"), ("a/b", "b"), ("a", "b")]), min_size=2, max_size=6), st.data())
def test_parts_of_the_data_tell_together_what_all_of_them_tell(sentences, data):
    """Also where an attribute implies others in one part than in another: a/b/b the words a and b/b, or a/b and b."""
    corpus = corpus_of([list(zip(words, "PQ", strict=True)) for words in sentences], "U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[-1,0]/%x[0,0]\nB\n")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sentences)), max_size=3)))
    whole, added = (Survey(corpus.layout, corpus.dataset.nesting) for _ in range(2))
    expected = [list(found) for found in whole.of(corpus.dataset)[:2]]
    for first, last in pairwise([0, *cuts, len(sentences)]):
        added.add(*Survey(corpus.layout, corpus.dataset.nesting).of(part_of(corpus.dataset, first, last)))
    assert [list(found) for found in added.found()[:2]] == expected


def test_the_estimate_counts_what_occurs_four_times_as_nests(tmp_path):
    """A row of sums each. All else lies on the disk."""
    found = []
    for times in ({"a": 3, "b": 3}, {"a": 4, "b": 3}, {"a": 9, "b": 4}):
        rows = [[[word, "x", "XY"[k % 2]]] for word, n in times.items() for k in range(n)]
        corpus = corpus_of(rows, "U0:%x[0,0]\nU1:%x[0,0]/%x[0,1]\n", data_dir=str(tmp_path))
        found.append(bytes_of_visits(corpus.dataset, corpus.layout, 1))
    assert found[0] == 0 < found[1] and found[2] == 2 * found[1]
