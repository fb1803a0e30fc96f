"""The index against the plain expansion of templates: the same features, found the same way, whatever cells hold."""

import array
import io
import os
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from features.indexes import CELLS, blocks, built, extracted
from hypothesis import given
from hypothesis import strategies as st
from inputs import filled

from crfkit.errors import DataError
from crfkit.features import merging
from crfkit.features.index import Index
from crfkit.features.indexing import IndexBuilder
from crfkit.features.packing import pack
from crfkit.features.walk import Extractor
from crfkit.template.meaning import expand
from crfkit.template.parsing import Template
from crfkit.testing import attributes_of
from crfkit.text.reading import Source
from crfkit.text.rows import Rows

MACROS = [
    "%x[0,0]", "%x[-1,0]", "%x[1,0]", "%x[0,1]", "%x[-2,1]", "%x[1,1]", "%X[0,0]", '%t[0,0,"a|/"]', '%m[-1,0,"[ab]+"]',
    "%p[0,0,1]", "%s[0,0,2]", "%S[0,1]", "%C[1,0]", "%N[0,0]", "%=[0,0,0,1]", "%=[0,0,-1,0]",
]

cell = st.sampled_from(CELLS)
token = st.tuples(cell, cell, st.sampled_from(["X", "Y", "B-Z"]))
sentences = st.lists(st.lists(token, min_size=1, max_size=5), min_size=1, max_size=5)
piece = st.sampled_from(["/", "|", "", "a", "/|"])
plain_line = st.builds(
    lambda kind, head, first, rest, tail: kind + head + first + "".join(a + b for a, b in rest) + tail,
    st.sampled_from(["U", "B", "*"]),
    st.sampled_from(["", "0", "0:", "0:a", "1:", "x"]),
    st.sampled_from(MACROS),
    st.lists(st.tuples(piece, st.sampled_from(MACROS)), max_size=4),
    st.sampled_from(["", "", "/a"]),
)
line = st.one_of(plain_line, st.sampled_from(["B", "U", "U0:a", "B0:", "*", "U0:a/b"]))
templates = st.lists(line, min_size=1, max_size=8).map("\n".join)


def frequent(template, sentences, min_freq):
    """The strings without those of attributes that occur too rarely."""
    builder, data = built(template, sentences)
    new = []
    for bigram in (False, True):
        rules = builder.rules(bigram, min_freq=min_freq)
        assert set(rules) <= {0, 1}
        numbers = iter(range(len(rules)))
        new.append(array.array("i", [next(numbers) if rule else -1 for rule in rules]))
    builder.renumber(*new)
    return builder, data


def features(template, sentence):
    """The strings of each token, (unigram, bigram), as the template reads."""
    rows = [row[:-1] for row in sentence]
    for t in range(len(rows)):
        found = [], []
        tau = False
        for line in template.lines:
            for kind in line.kinds:
                if kind == "B" and not line.macros and not tau:
                    tau = True  # the first is the matrix of label pairs
                elif kind == "U" or t > 0:
                    string = expand(line, rows, t)
                    if string is not None:
                        found[kind == "B"].append(string.encode())
        yield found


def corpus_features(template, sentences):
    return [found for sentence in sentences for found in features(template, sentence)]


def rows_of(data, kind):
    arrays = data.arrays()
    ptr = arrays.get(f"{kind}_ptr", [0] * (data.n_tokens + 1))
    return [list(arrays[f"{kind}_id"][a:b]) if a < b else [] for a, b in pairwise(ptr)]


def check(index, template, sentences, keep):
    """Assert that the index finds the strings of the template, restricted to the attributes that it keeps."""
    names = [list(index.attributes(bigram)) for bigram in (False, True)]
    ids = [{name: i for i, name in enumerate(known)} for known in names]
    assert [set(known) for known in ids] == keep
    assert [len(known) for known in names] == [len(known) for known in keep]
    for expected, found in zip(corpus_features(template, sentences), extracted(index, sentences), strict=True):
        for bigram in (0, 1):
            assert list(found[bigram]) == sorted(ids[bigram][s] for s in expected[bigram] if s in ids[bigram])


def known(template, sentences):
    """All strings of a corpus: how often each occurs, of both kinds."""
    found = corpus_features(template, sentences)
    return [Counter(s for token in found for s in token[bigram]) for bigram in (0, 1)]


@given(templates, sentences, sentences)
def test_same_features_as_the_template(text, training, other):
    template = Template.parse(text)
    builder, data = built(template, training)
    strings = corpus_features(template, training)
    for bigram, kind in enumerate("ub"):
        of_id = {}
        for expected, ids in zip(strings, rows_of(data, kind), strict=True):
            assert len(ids) == len(expected[bigram])
            for name, i in zip(expected[bigram], ids, strict=True):
                assert of_id.setdefault(i, name) == name
        assert len(set(of_id.values())) == len(of_id) == (data.n_b if bigram else data.n_u)
        assert list(of_id) == sorted(of_id)  # numbered as they occur
    counts = known(template, training)
    index = Index(template, pack(builder))
    check(index, template, training + other, [set(c) for c in counts])
    assert extracted(builder, training + other) == extracted(index, training + other)  # nobody has to pack it to tag


@given(templates, sentences, sentences, st.integers(2, 3))
def test_rare_attributes_are_dropped(text, training, other, min_freq):
    template = Template.parse(text)
    builder, data = frequent(template, training, min_freq)
    keep = [{s for s, n in c.items() if n >= min_freq} for c in known(template, training)]
    assert (data.n_u, data.n_b) == (len(keep[0]), len(keep[1]))
    check(Index(template, pack(builder)), template, training + other, keep)


@given(templates, sentences, sentences, st.randoms(use_true_random=False))
def test_renumbering_dropping_and_packing_again(text, training, other, rng):
    template = Template.parse(text)
    builder, data = built(template, training)
    index = Index(template, pack(builder))
    before = [rows_of(data, "u"), rows_of(data, "b")]
    names = [list(index.attributes(bigram)) for bigram in (False, True)]
    new = [shuffled(len(known), rng) for known in names]
    kept = [{s for s, i in zip(*pair, strict=True) if i >= 0} for pair in zip(names, new, strict=True)]

    again = Index(template, pack(index, *new))
    check(again, template, training + other, kept)
    check(Index(template, pack(builder, *new)), template, training + other, kept)

    builder.renumber(*new)
    for bigram, kind in enumerate("ub"):
        for old, ids in zip(before[bigram], rows_of(data, kind), strict=True):
            assert ids == sorted(new[bigram][i] for i in old if new[bigram][i] >= 0)
    assert (data.n_u, data.n_b) == tuple(map(len, kept))
    index = Index(template, pack(builder))
    check(index, template, training + other, kept)
    assert extracted(builder, training + other) == extracted(index, training + other)

    new = [shuffled(len(known), rng) for known in kept]
    names = [list(again.attributes(bigram)) for bigram in (False, True)]
    kept = [{s for s, i in zip(*pair, strict=True) if i >= 0} for pair in zip(names, new, strict=True)]
    check(Index(template, pack(again, *new)), template, training + other, kept)


def shuffled(n, rng):
    """New ids for some of n attributes."""
    ids = list(range(n))
    rng.shuffle(ids)
    kept = [i for i in ids if rng.random() < 0.6]
    new = array.array("i", [-1]) * n
    for place, i in enumerate(kept):
        new[i] = place
    return new


def sentence(text):
    return [[*line.split(" "), "L"] for line in text.split(",")]


def test_lines_that_differ_only_in_place_share_features():
    template = Template.parse("U:%x[-1,0]\nU:%x[0,0]\nU:%x[1,0]")
    builder, data = built(template, [sentence("a,a,b")])
    a, end = map(list(Index(template, pack(builder)).attributes()).index, (b"U:a", b"U:_B+1"))
    assert rows_of(data, "u")[1].count(a) == 2
    assert end >= 0 and data.n_u == 4


def test_lines_of_thousands_of_macros():
    """Time must grow linearly: quadratic time would make this test run for hours."""
    text = "U0:" + "/".join(f"%x[{i % 5 - 2},{i % 2}]" for i in range(1500))
    template = Template.parse(text + "\n" + text.replace("U0:", "U1:") + "/%x[0,0]\nB\n")
    training, other = [sentence("a x/b,a/b c")] * 10, [sentence("b a,x/b d,a/b b"), sentence("a x/b,a/b c")]
    builder, _ = built(template, training)
    check(Index(template, pack(builder)), template, training + other, [set(c) for c in known(template, training)])


def test_no_bigram_attributes_at_the_first_token():
    template = Template.parse("B\nB0:%x[0,0]\nB1")
    builder, data = built(template, [sentence("a,b"), sentence("c")])
    assert rows_of(data, "b") == [[], [0, 1], []]
    assert list(Index(template, pack(builder)).attributes(True)) == [b"B0:b", b"B1"]


@pytest.mark.parametrize(("lines", "min_freq", "kept"), [
    ("U0:%x[0,0] @minfreq=2\nU1:%x[0,0]", 1, {b"U0:a", b"U1:a", b"U1:b"}),
    ("U0:%x[0,0] @minfreq=1\nU1:%x[0,0]", 2, {b"U0:a", b"U0:b", b"U1:a"}),
    ("U:%x[0,0] @minfreq=3\nU:%x[1,0] @minfreq=9", 1, {b"U:a"}),
])
def test_thresholds_of_single_lines(lines, min_freq, kept):
    template = Template.parse(lines)
    builder, _ = frequent(template, [sentence("a,a,b")], min_freq)
    assert set(Index(template, pack(builder)).attributes()) == kept


def test_rules_of_single_lines():
    template = Template.parse(
        "U0:%x[0,0] @all\nU1:%x[0,0] @observed\nU2:%x[0,0]\nU3:%x[0,0] @observed\nU3:%x[1,0] @all"
    )
    builder, _ = built(template, [sentence("a")])
    usual = dict(zip(Index(template, pack(builder)).attributes(), builder.rules(), strict=True))
    assert usual == {b"U0:a": 2, b"U1:a": 1, b"U2:a": 1, b"U3:a": 2, b"U3:_B+1": 2}
    assert dict(zip(usual, builder.rules(usual=2), strict=True)) == {**usual, b"U2:a": 2}
    assert set(builder.rules(min_freq=2)) == {0}


@pytest.mark.parametrize(("lines", "rules"), [("U", (0, 0)), ("B", (1, 2)), ("B @all", (2, 2)), ("B @observed", (1, 1)), ("B0\nB @all\nB", (1, 2))])
def test_rules_of_plain_label_pairs(lines, rules):
    """The first B line without macros makes the features of plain label pairs."""
    builder = IndexBuilder(Template.parse(lines))
    assert (builder.plain_rule(), builder.plain_rule(2)) == rules


def test_labels_come_in_bytewise_order():
    _, data = built(Template.parse("U:%x[0,0]"), [[["a", "é"], ["a", "b"]], [["a", "B"], ["a", "é"]]])
    assert data.labels == ["B", "b", "é"]
    assert list(data.arrays()["label"]) == [2, 1, 0, 2]
    assert list(data.arrays()["seq_ptr"]) == [0, 2, 4]


def test_too_many_labels():
    template = Template.parse("B")
    with pytest.raises(ValueError, match="more than 65535 different labels; is another column the label"):
        built(template, [[["a", f"label{i}"] for i in range(65537)]])


@pytest.mark.parametrize("most", [65535, 65536])
def test_as_many_labels_in_several_parts_as_in_one(most):
    """Of two parts that share half of their labels."""
    template, parts = Template.parse("B"), []
    for first, last in ((0, most // 2), (most // 4, most)):
        builder = IndexBuilder(template)
        builder.add(filled([[["a", f"label{i}"] for i in range(first, last)]], label=-1))
        parts.append(merging.tables(builder))
    whole = IndexBuilder(template)
    merging.add_tables(whole, parts[0])
    if most > 65535:
        with pytest.raises(ValueError, match="more than 65535 different labels; is another column the label"):
            merging.add_tables(whole, parts[1])
    else:
        assert list(merging.add_tables(whole, parts[1])["labels"]) == list(range(most // 4, most))


@pytest.mark.parametrize("ids", [([0], None), (None, [0, 1, 2]), ([0, 1, 2], [0])])
def test_as_many_new_ids_as_attributes(ids):
    builder, _ = built(Template.parse("U0:%x[0,0]\nB0:%x[0,0]"), [sentence("a,b")])
    assert builder.n_attributes == (2, 1)
    with pytest.raises(ValueError, match="new ids for"):
        pack(builder, *ids)


def test_what_is_dropped_takes_no_room():
    template = Template.parse("U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%S[0,0]")
    rng = random.Random(5)
    builder, data = built(template, [[[f"w{rng.randrange(500)}", "L"] for _ in range(3000)]])
    new = array.array("i", [-1]) * data.n_u
    new[0] = 0
    whole, small = (sum(memoryview(s).nbytes for s in pack(builder, *ids).values()) for ids in ((), (new, [])))
    assert small < 2000 < whole


def test_equal_input_gives_equal_bytes():
    template = Template.parse("U0:%x[0,0]\nU1:%x[0,0]/%N[1,0]\nB%S[0,1]")
    rng = random.Random(1)
    corpus = [[[rng.choice(CELLS), rng.choice(CELLS), "L"] for _ in range(9)] for _ in range(30)]
    one, two = (pack(built(template, corpus)[0]) for _ in range(2))
    assert {name: bytes(part) for name, part in one.items()} == {name: bytes(part) for name, part in two.items()}


def test_data_without_a_column_of_the_template():
    template = Template.parse("U:%x[0,2]")
    with pytest.raises(DataError, match="column 2, but the data have 2"):
        built(template, [[["a", "L"]]])
    index = Index(template, pack(built(template, [[["a", "b", "c", "L"]]])[0]))
    with pytest.raises(DataError, match="column 2, but the data have 2"):
        extracted(index, [[["a", "b"]]])


@pytest.mark.parametrize("columns", [[], [0, 1], [-1]])
def test_a_place_for_each_column(columns):
    index = Index(Template.parse("U:%x[0,0]"), pack(built(Template.parse("U:%x[0,0]"), [sentence("a")])[0]))
    with pytest.raises(ValueError, match=f"{len(columns)} columns, expected 1"):
        Extractor(index, columns)


def test_data_without_the_column_of_labels():
    rows = Rows(label=2)
    rows.parse(next(iter(Source(io.BytesIO(b"a\tb\n")))))
    with pytest.raises(DataError, match="column 2, but the data have 2"):
        IndexBuilder(Template.parse("U:%x[0,0]")).add(rows)


def test_labels_before_the_token_are_text_of_the_attribute():
    builder = IndexBuilder(Template.parse("U:%x[0,0]/%y[-1]\nT:%x[0,0]\nT"))
    assert [(slot.literals, slot.reach) for slot in builder.plan.slots] == [((b"U:", b"/%y[-1]"), 1), ((b"T:", b""), 3), ((b"T",), 3)]


def test_a_builder_ends():
    builder, _ = built(Template.parse("U:%x[0,0]"), [sentence("a")])
    with pytest.raises(TypeError, match="finished"):
        builder.finish()
    with pytest.raises(TypeError, match="finished"):
        builder.add(next(blocks([sentence("a")])))


def test_attributes_that_the_data_name():
    builder = IndexBuilder(None, crfsuite=True)
    for rows in blocks([["X\ta:2\tb", "Y\tb:0.5\ta\\:b:-1"], ["@weight:3", "X\ta\ta"]], "crfsuite"):
        builder.add(rows)
    data = builder.finish()
    assert rows_of(data, "u") == [[0, 1], [1, 2], [0, 0]]
    assert list(data.arrays()["u_val"]) == [2, 1, 0.5, -1, 1, 1]
    assert list(data.arrays()["seq_weight"]) == [1, 3]
    assert "b_ptr" not in data.arrays()
    index = Index(None, pack(builder))
    assert list(index.attributes()) == [b"a", b"b", b"a:b"]
    (found,) = (attributes_of(Extractor(index), rows) for rows in blocks([["X\tc\tb:7\ta"]], "crfsuite"))
    assert found == [([0, 1], [])]


def test_values_stay_with_their_attributes():
    names = [f"a{i}" for i in range(200)]
    builder = IndexBuilder(None, crfsuite=True)
    line = "X" + "".join(f"\t{name}:{i}" for i, name in enumerate(names))
    for rows in blocks([[line, line]], "crfsuite"):
        builder.add(rows)
    data = builder.finish()
    new = shuffled(200, random.Random(3))
    builder.renumber(new, array.array("i"))
    arrays = data.arrays()
    expected = sorted((i, value) for value, i in enumerate(new) if i >= 0)
    assert list(zip(arrays["u_id"], arrays["u_val"], strict=True)) == expected * 2


def test_values_that_are_all_one_are_not_kept():
    builder = IndexBuilder(None, crfsuite=True)
    for rows in blocks([["X\ta\tb", "Y\ta"]], "crfsuite"):
        builder.add(rows)
    arrays = builder.finish().arrays()
    assert "u_val" not in arrays and "seq_weight" not in arrays


CHUNKING = "".join(
    f"U{number}:{'/'.join(f'%x[{row},{column}]' for row in rows)}\n"
    for number, (column, rows) in enumerate(
        (column, range(start, start + size))
        for column, sizes in ((0, (1, 2)), (1, (1, 2, 3)))
        for size in sizes
        for start in (range(-1, 1) if (column, size) == (0, 2) else range(-2, 4 - size))
    )
)


@pytest.mark.corpora
def test_attributes_of_conll_2000():
    builder = IndexBuilder(Template.parse(CHUNKING))
    for block in Source(Path(os.environ["CRFKIT_CORPORA"]) / "conll2000" / "train.txt"):
        rows = Rows(label=-1)
        rows.parse(block)
        builder.add(rows)
    data = builder.finish()
    assert (data.n_tokens, data.n_u, data.n_incidences) == (211_727, 338_551, (4_022_813, 0))
