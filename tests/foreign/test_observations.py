"""Observations of Wapiti's models in the order of their files, compared with a slow walk through all of their places."""

import array
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crfkit.compat.wapiti.editing import compacted, edited
from crfkit.features.strings import StringTable
from crfkit.foreign import wapiti
from crfkit.foreign.observations import Observations, places_for
from crfkit.foreign.parts import FeatureRows, Parts, Places, pair_table
from crfkit.template import dialects

LABELS = ["A", "B:é", "C"]
TEMPLATE = dialects.parse("u:%x[0,0]\nb\n*:%x[0,0]\n", dialects.WAPITI)
NAMES = st.sampled_from([b"u:a", b"u:", b"*:a", b"*:b", b"b", b"b:c", b"", b"x", b"u:\xc3\xa9", b"*\t"])
WEIGHTS = st.one_of(st.just(0.0), st.floats(-9, 9).map(lambda weight: weight or 0.0), st.sampled_from([5e-324, -1e300, 0.5]))  # no zero has a sign


def places(bigram):
    return list(product(range(len(LABELS)) if bigram else [0], range(len(LABELS))))


def features(bigram):
    return st.dictionaries(st.sampled_from(places(bigram)), WEIGHTS).map(lambda found: sorted((*place, weight) for place, weight in found.items()))


def rows(bigram):
    def made(given):
        found = FeatureRows.empty()
        for name, row in given.items():
            found.append(name, row)
        return found

    return st.dictionaries(NAMES, features(bigram)).map(made)


PAIRS = st.one_of(st.none(), features(True).map(lambda found: pair_table(found, len(LABELS))))
MODELS = st.builds(
    lambda order, unigrams, bigrams, pairs: Parts("wapiti", LABELS, unigrams, bigrams, pairs, TEMPLATE, 2, {}, Places.of(StringTable(order))),
    st.lists(NAMES, unique=True), rows(False), rows(True), PAIRS,
)


def cells(parts):
    """(name, whether it is of pairs, label before, label, weight) of every place in the file."""
    known, plain = list(parts.places), [] if parts.pairs is None else [b"b"]
    others = sorted({*parts.unigrams.names, *parts.bigrams.names, *plain} - {*known})
    for name in known + others:
        for bigram, of_kind in enumerate((parts.unigrams, parts.bigrams)):
            if name.startswith((b"b", b"u")[bigram]):
                continue
            number = of_kind.names.find(name)
            found = {(i, j): w for i, j, w in of_kind.features(number)} if number >= 0 else {}
            if bigram and [name] == plain:
                found = {divmod(place, len(LABELS)): w for place, w in enumerate(parts.pairs)}
            for place in places(bigram):
                yield name, bool(bigram), *place, found.get(place, 0.0)


@given(MODELS)
def test_files(parts):
    expected, names = list(cells(parts)), list(dict.fromkeys(name for name, *_ in cells(parts))) or [b"u"]
    _, _, text = wapiti.write(parts).partition(b"#qrk#3\n1:A,\n4:B:\xc3\xa9,\n1:C,\n")
    head, weights = b"#qrk#%d\n" % len(names) + b"".join(b"%d:%s,\n" % (len(name), name) for name in names), {}
    assert text.startswith(head)
    for line in text.removeprefix(head).decode().splitlines():
        number, _, weight = line.partition("=")
        assert weight[-1] != "0" or "p" in weight
        weights[int(number)] = float.fromhex(weight)
    assert list(weights.items()) == [(number, cell[-1]) for number, cell in enumerate(expected) if cell[-1]]
    assert wapiti.write(parts).startswith(b"#mdl#2#%d\n" % len(weights))
    assert places_for(StringTable(names), len(LABELS)) == (len(expected) or len(LABELS))


@given(MODELS, st.integers(0, 20), st.booleans())
def test_dumps(parts, decimals, every):
    lines = {}
    for name, bigram, before, label, weight in cells(parts):
        if weight or every:
            line = f"{name.decode()}\t{LABELS[before] if bigram else '#'}\t{LABELS[label]}\t{weight:.{decimals}f}\n"
            lines[name] = lines.get(name, "") + line
    assert b"".join(wapiti.dumped(parts, decimals, every)).decode() == "".join(text + "\n" for text in lines.values())


@given(MODELS)
def test_observations_with_weights(parts):
    found = wapiti.observed(parts)
    assert [found.names[number] for number in found.used()] == list(dict.fromkeys(name for name, *_, weight in cells(parts) if weight))


@given(MODELS, st.data())
def test_changes(parts, data):
    """Some weights are changed, then observations without any are left out."""
    assume(parts.bigrams.names.find(b"b") < 0 and (parts.pairs is None or any(parts.pairs)))  # as models are read
    known = {cell[:4]: cell[4] for cell in cells(parts)}
    possible = [cell for cell in known if cell[0] in parts.places and (cell[1] or parts.unigrams.names.find(cell[0]) >= 0)]
    changed = data.draw(st.dictionaries(st.sampled_from(possible), WEIGHTS, max_size=9)) if possible else {}
    changes = {}
    for (name, bigram, *place), weight in changed.items():
        changes.setdefault((name, bigram), {})[tuple(place)] = weight
    found, expected = edited(parts, changes), {**known, **changed}
    assert {cell[:4]: cell[4] for cell in cells(found)} == expected
    heavy = {name for (name, *_), weight in expected.items() if weight}
    assert [(cell[:4], cell[4]) for cell in cells(compacted(found, str))] == [cell for cell in expected.items() if cell[0][0] in heavy]


def test_a_long_dump_comes_in_pieces():
    parts = Parts("wapiti", LABELS, FeatureRows.empty(), FeatureRows.empty(), None, TEMPLATE, 2, {}, Places.of(StringTable([b"u:%d" % k for k in range(9000)])))
    pieces = list(wapiti.dumped(parts, 5, True))
    assert len(pieces) > 3 and max(map(len, pieces)) < 1 << 17
    assert b"".join(pieces).count(b"\n") == 9000 * 4


@pytest.mark.parametrize("change", ["ptr", "label", "weight", "previous"])
def test_rows_that_do_not_belong_together(change):
    bad = FeatureRows.empty()
    bad.append(b"b", [(0, 1, 0.5)])
    getattr(bad, change).pop()
    with pytest.raises(ValueError, match="rows that do not belong together"):
        Observations(bad.names, LABELS, FeatureRows.empty(), bad, None)


@pytest.mark.parametrize("ptr", [[-1, 1], [0, 2], [1, 0]])
def test_rows_that_lie_outside(ptr):
    bad = FeatureRows.empty()
    bad.append(b"b", [(0, 1, 0.5)])
    bad.ptr = array.array("q", ptr)
    with pytest.raises(ValueError, match="row 0 from "):
        Observations(bad.names, LABELS, FeatureRows.empty(), bad, None)
