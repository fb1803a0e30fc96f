"""Attributes given from Python: what python-crfsuite's ItemSequence makes of the same objects, names that hold anything,
and what is refused."""

import math
import os
import tracemalloc
from collections.abc import Set
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import filled

import crfkit
from crfkit.compat.pycrfsuite.groups import Groups
from crfkit.errors import DataError
from crfkit.testing import weights_in
from crfkit.text.faults import ordered
from crfkit.text.items import fill_rows, read_sentence
from crfkit.text.packed import Packed
from crfkit.text.rows import Rows
from crfkit.text.sources import Weighted, parsed_blocks

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)
encoded = st.one_of(names, names.map(str.encode))
numbers = st.one_of(st.booleans(), st.integers(-1000, 1000), st.floats(-1e6, 1e6, width=32))
values = st.recursive(
    st.one_of(numbers, encoded, st.lists(encoded, max_size=3), st.sets(names, max_size=3)),
    lambda inner: st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
items = st.one_of(st.lists(encoded, max_size=4), st.dictionaries(encoded, values, max_size=4), st.sets(names, max_size=3))


def found(sentences, **how):
    rows = filled(sentences, "crfsuite", **how)
    return [[[(name.decode(), value) for name, value in token] for token in sentence] for sentence in rows.attributes()]


@given(st.lists(items, max_size=3))
def test_the_same_attributes_as_python_crfsuite(sentence):
    peer = pytest.importorskip("pycrfsuite")
    (ours,) = found([sentence])
    assert [dict(token) for token in ours] == [pytest.approx(token) for token in peer.ItemSequence(sentence).items()]


def test_everything_an_item_may_be():
    item = {"a": 2, "b": "x", b"c": True, "d": False, "e": ["u", b"v"], "f": {"g": {"h": 3.5}, "i": ("k", {"l": 4})}, "s": {"q", "p"}}
    expected = [("a", 2), ("b:x", 1), ("c", 1), ("d", 0), ("e:u", 1), ("e:v", 1), ("f:g:h", 3.5), ("f:i:k", 1), ("f:i:l", 4), ("s:p", 1), ("s:q", 1)]
    assert found([[item, MappingProxyType(item)], [], [["a", ("b", 2)]]]) == [[expected, expected], [], [[("a", 1), ("b", 2)]]]


def test_generators_are_read_once():
    assert found(((name for name in "ab") for _ in range(2)) for _ in range(1)) == [[[("a", 1), ("b", 1)]] * 2]


def test_names_may_hold_anything(tmp_path):
    strange = ["a\tb", "line\nend", "\r", "a:b", "\\", " ", "\0", "é\U0001f600"]
    data = [[([name], "XY"[k % 2])] for k, name in enumerate(strange * 3)]
    crfkit.learn(data, format="crfsuite", l2=0.1).save(tmp_path / "m")
    tagger = crfkit.load(tmp_path / "m")
    assert [tagger.tag([[name]]) for name in strange] == [["XY"[k % 2]] for k in range(len(strange))]
    assert {name for name, *_ in tagger.model.features() if name is not None} == set(strange)


def test_sentences_in_several_blocks_are_numbered_through():
    rows = [[(["a"], "X")]] * 600
    with pytest.raises(DataError, match="sentence 601, token 1: "):
        crfkit.learn([*rows, [(3, "X")]], format="crfsuite")
    weighted = Weighted(rows, range(600))
    assert [weight for block, _ in parsed_blocks(weighted, "crfsuite", None) for weight in weights_in(block)] == [*range(600)]


def test_there_must_be_rows():
    with pytest.raises(TypeError):
        fill_rows(None, [])


def test_values_in_double_precision():
    read = read_sentence([{"a": 0.1, "b": "x"}, [], ["c", ("d", 1 / 3)]])
    assert read.attributes() == [[(b"a", 0.1), (b"b:x", 1.0)], [], [(b"c", 1.0), (b"d", 1 / 3)]]
    assert len(read) == 3


@given(st.lists(st.lists(items, max_size=4), max_size=3))
def test_packed_sentences_are_as_good_as_those_they_were_read_from(sentences):
    assert found(map(read_sentence, sentences)) == found(sentences)


def test_a_packed_sentence_takes_as_much_memory_as_its_names_and_numbers():
    sentence = [["a", "bc"]]
    tracemalloc.start()
    kept = [read_sentence(sentence) for _ in range(1000)]
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(kept) == 1000 and size < 200 * 1000  # 8 for the token, 12 for each attribute, two objects of Python


def test_packed_sentences_are_no_rows_and_have_no_labels():
    with pytest.raises(DataError, match="sentence 1: found <ItemSequence of size 1>, expected a sentence: a list of rows"):
        fill_rows(Rows("columns"), [read_sentence([["a"]])])
    with pytest.raises(DataError, match="sentence 1: found <ItemSequence of size 1>, expected a sentence"):
        fill_rows(Rows("crfsuite"), [read_sentence([["a"]])], True)
    assert Packed().attributes() == [] == found([Packed()])[0]


def test_a_sentence_may_read_another_while_it_is_read():
    def tokens():
        for name in "ab":
            assert read_sentence([[]]).attributes() == [[]]
            yield [name, *(found for (token,) in read_sentence([[name * 3]]).attributes() for found in token[:1])]

    assert read_sentence(tokens()).attributes() == [[(b"a", 1.0), (b"aaa", 1.0)], [(b"b", 1.0), (b"bbb", 1.0)]]


deep: dict = {}
for _ in range(60):
    deep = {"a": deep}
circle: dict = {}
circle["a"] = circle
DEEP = "mappings and lists nested less deeply"


@pytest.mark.parametrize(("item", "message"), [
    (3, "found 3, expected a list of attributes, or a mapping"),
    ("ab", "a list of attributes"),
    ([3], "found 3, expected a name, or a pair"),
    ([("a", "b")], "a name, or a pair"),
    ([("a", math.nan)], "found nan, expected a finite value of 'a'"),
    ({"a": 1e300}, "found 1e.300, expected a value of 'a' from -3.4e38 to 3.4e38"),
    ({"a": -(10**400)}, "found a whole number of 1,329 bits, expected a number from -3.4e38 to 3.4e38"),
    ([("a", 10**400)], "expected a number from -3.4e38 to 3.4e38"),
    ({"a": None}, "found None, expected for 'a' a number, a text, a list or set of texts, or a mapping from names to numbers$"),
    ({"a": [1]}, "found 1, expected a text in the list of 'a', or a mapping from names to numbers$"),
    ({"é": [["b", 1]]}, "found 1, expected a text in the list of 'é', or a mapping from names to numbers$"),
    ({"a": {"é": [["b", 1]]}}, "found 1, expected a text in the list of 'a:é', or a mapping from names to numbers$"),
    ({"a": {3: 1}}, "found 3, expected the name of an attribute"),
    ({b"\xff": 1}, "bytes in UTF-8"),
    (["\ud800"], "text that UTF-8 can encode"),
    (deep, DEEP),
    (circle, DEEP),
])
def test_faulty_items_are_refused(item, message):
    with pytest.raises(DataError, match=message) as caught:
        found([[["x"]], [["y"], item]])
    assert str(caught.value).startswith("sentence 2, token 2: ")
    assert "\n" not in str(caught.value)


def test_fifty_levels_are_not_too_many():
    item: dict = {"a": 1}
    for _ in range(50):
        item = {"a": item}
    assert found([[item]]) == [[[(":".join(51 * "a"), 1)]]]
    with pytest.raises(DataError, match=f"found 'a' within 50 others, expected {DEEP}"):
        found([[{"a": item}]])


@pytest.mark.parametrize("label", ["", "a\tb", "a\nb", "a\r", "\0"])
def test_labels_fit_into_a_column(label):
    with pytest.raises(DataError, match="expected a label: a str that is not empty, without tabs and line ends"):
        found([[(["x"], label)]], labelled=True)


class Numbered(Set):
    def __contains__(self, name):
        return name in [*self]

    def __iter__(self):
        return (f"n{k}" for k in range(30, 0, -1))

    def __len__(self):
        return 30


@pytest.mark.parametrize("names", [set(Numbered()), frozenset(Numbered()), Numbered()], ids=["set", "frozenset", "Set"])
def test_names_in_sets_are_read_in_their_order(names):
    assert [[name for name, _ in token] for token in found([[names, {"s": names}]])[0]] == [sorted(names), [f"s:{name}" for name in sorted(names)]]


@pytest.mark.parametrize("others", [[], ["a", 3, b"c"]])
def test_sets_have_the_same_order_in_every_run(others):
    """Whatever the order of the sets within them, which depends on the hashes of their texts."""
    within = [frozenset(f"{k}{c}" for c in "abc") for k in range(30)]
    assert ordered({*others, *within}) == sorted([*others, *within], key=lambda item: repr(sorted(item) if isinstance(item, frozenset) else item))
    assert ordered({*"cab"}) == [*"abc"] and ordered({"b", 1, b"a"}) == ["b", 1, b"a"] and ordered(frozenset()) == []


class Closed:
    """Like a weak proxy whose object is gone: even its class raises an exception."""

    @property
    def __class__(self):
        raise KeyError("closed")


@pytest.mark.parametrize("place", [lambda it: {"a": it}, lambda it: {"a": ["b", it]}, lambda it: {"a": {"b": it}}, lambda it: it], ids=["value", "list", "mapping", "item"])
def test_exceptions_of_the_callers_objects_pass_through(place):
    with pytest.raises(KeyError, match="closed"):
        found([[["x"], place(Closed())]])


@pytest.mark.long
@pytest.mark.skipif(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < 10**10, reason="takes 4 GB, and more where memory is checked")
def test_a_label_of_two_gigabytes():
    """Its length has 32 bits in the rows."""
    label = "X" * (2**31)
    for task in (lambda: fill_rows(Rows("crfsuite"), [[(["a"], label)]], True), lambda: Groups().add([["a"]], [label], 0)):
        with pytest.raises(DataError, match=r"^sentence 1, token 1: found a label of 2147483648 bytes, expected at most 2,147,483,647$"):
            task()


class Text(str):
    """A subclass of str."""


NAMES = st.one_of(st.text("ab:\\", max_size=40), st.text("é日\x7f\x80", max_size=20), st.text("ab").map(Text), st.binary(max_size=4),
                  st.tuples(st.text("ab", max_size=3), st.floats(-9, 9, width=32)))


@given(st.lists(st.lists(NAMES, max_size=30), min_size=1, max_size=4), st.sampled_from([0, 7, 126, 127, 128, 129, 300]), st.integers(0, 3))
def test_names_in_ascii_among_others(sentence, more, place):
    """ASCII names are read in a fast loop. It must end at any other item, and where the room for attributes or bytes ends."""
    sentence.insert(min(place, len(sentence)), [f"n{k}" * (1 + k % 50) for k in range(more)])
    rows = Rows("crfsuite")
    rows.loose = True
    fill_rows(rows, [sentence])
    pairs = [[name if isinstance(name, tuple) else (name, 1.0) for name in item] for item in sentence]
    expected = [[(name if isinstance(name, bytes) else name.encode(), value) for name, value in item] for item in pairs]
    assert rows.attributes() == [expected]
    assert read_sentence(sentence).attributes() == expected
