"""Tables of names: sorted, put together, and renamed as the lines of a template say, compared with all ways to read a name."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.errors import UnsupportedError
from crfkit.features.strings import StringTable
from crfkit.foreign.names import ascending, in_order, joined, numbers_in
from crfkit.foreign.parts import FeatureRows, Parts
from crfkit.foreign.translating import translated
from crfkit.template import dialects
from crfkit.template.parsing import Template

NAMES = st.lists(st.one_of(st.binary(max_size=3), st.sampled_from([b"U:", b"U:\xff", b"U:a", b"U:a\0"])), unique=True, max_size=20)


@given(NAMES, st.integers(0, 5))
def test_names_by_their_bytes(names, begin):
    assert [names[number] for number in ascending(StringTable(names), begin)] == sorted(names[begin:])


@given(NAMES, NAMES, NAMES)
def test_names_put_together(first, second, third):
    known, others = StringTable(first), (StringTable(second), StringTable(third))
    assert list(joined(known, *others)) == list(dict.fromkeys(first + second + third))
    assert list(in_order(known, *others)) == first + sorted({*second, *third} - {*first})
    assert (in_order(known, *others) is known) == ({*second, *third} <= {*first})
    assert list(known) == first
    assert list(numbers_in(known, others[0])) == [first.index(name) if name in first else -1 for name in second]


def readings(text, line, own, other):
    """All texts that a line makes in the other language of cells of which it makes this text in its own."""
    literal, *literals = line.literals
    if not text.startswith(literal):
        return
    if not literals:
        if text == literal:
            yield text
        return
    macro, rest = line.macros[0], text[len(literal) :]
    shorter = type(line)(line.number, "", line.kinds, tuple(literals), line.macros[1:])
    for end in range(len(rest) + 1):
        cell = rest[:end]
        cells = {cell} | {other + b"%+d" % d for d in range(-4, 5) if d * macro.row > 0 and abs(d) <= abs(macro.row) and cell == own + b"%+d" % d}
        for behind in readings(rest[end:], shorter, own, other):
            yield from (literal + found + behind for found in cells)


CELLS = st.sampled_from([b"", b"a", b"_B-1", b"_B+1", b"_B-2", b"_x-1", b"_x+1", b"a_B-1", b"/"])
LITERALS = st.sampled_from([b"", b"/", b"a", b"_B-1", b"_x"])
MACROS = st.lists(st.tuples(st.integers(-2, 2), LITERALS), max_size=3)
FORMS = {dialects.CRFPP: ([b"U", b"U1:", b"B", b"B1:"], b"_B"), dialects.WAPITI: ([b"u", b"u1:", b"b", b"b1:", b"*", b"*1:"], b"_x")}
LETTERS = {dialects.CRFPP: (b"U", b"B", None), dialects.WAPITI: (b"u", b"b", b"*")}


def names_in_other(name, lines, bigram, source, to):
    single, pair, both = LETTERS[to]
    letters = [both if line.kinds == "UB" and both else pair if bigram else single for line in lines]
    return {letter + text[1:] for letter, line in zip(letters, lines, strict=True) for text in readings(name, line, FORMS[source][1], FORMS[to][1])}


@given(st.data(), st.sampled_from([(dialects.CRFPP, dialects.WAPITI), (dialects.WAPITI, dialects.CRFPP)]))
def test_names_in_another_language(data, languages):
    source, to = languages
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(FORMS[source][0]), MACROS), min_size=1, max_size=4))
    template = dialects.parse("".join(f"{start.decode()}{''.join(f'%x[{row},0]{text.decode()}' for row, text in macros)}\n" for start, macros in drawn), source)
    rows = []
    for bigram in (False, True):
        lines = [line for line in template.lines if "UB"[bigram] in line.kinds]
        found = FeatureRows.empty()
        for line in data.draw(st.lists(st.sampled_from(lines), max_size=6)) if lines else ():
            name = line.literals[0] + b"".join(data.draw(CELLS) + literal for literal in line.literals[1:])
            if found.names.find(name) < 0:
                found.append(name, [(0, 0, data.draw(st.sampled_from([0.5, 0.5, 2.0])))])
        rows.append(found)
    parts = Parts(source, ["A", "B"], *rows, None, template)
    expected, clash = [], False
    for bigram, given_rows in enumerate(rows):
        lines = [line for line in template.lines if "UB"[bigram] in line.kinds]
        made = {}
        for number, name in enumerate(given_rows.names):
            found = sorted(names_in_other(name, lines, bigram, source, to))
            twins = {line.literals[0][:1] + name[1:] for line in lines} - {*given_rows.names}
            clash |= any(names_in_other(twin, lines, bigram, source, to) & {*found} for twin in twins)
            beyond = {twin for line in lines for twin in readings(name, line, FORMS[to][1], FORMS[source][1])}
            clash |= not beyond <= {*given_rows.names}
            clash |= any(given_rows.features(made.setdefault(new, number)) != given_rows.features(number) for new in found)
        expected.append([(new, given_rows.features(number)) for new, number in made.items()])
    if clash:
        with pytest.raises(UnsupportedError, match="and another feature would get the same name"):
            translated(parts, to)
        return
    found = translated(parts, to)
    assert [[(name, rows.features(number)) for number, name in enumerate(rows.names)] for rows in (found.unigrams, found.bigrams)] == expected


BOTH = "{u}:%x[0,0]\n*:%x[0,0]\n"


@pytest.mark.parametrize(("source", "to", "weights", "found"), [
    (dialects.WAPITI, dialects.CRFPP, {b"u:a": 0.5, b"*:a": 0.5}, [b"U:a"]),
    (dialects.WAPITI, dialects.CRFPP, {b"u:a": 0.5, b"*:a": 2.0}, "*:a"),
    (dialects.WAPITI, dialects.CRFPP, {b"u:a": 0.5}, "u:a"),
    (None, dialects.WAPITI, {b"U:a": 0.5}, [b"u:a"]),
    (None, dialects.WAPITI, {b"U:a": 0.5, b"*:a": 2.0}, [b"u:a", b"*:a"]),
])
def test_names_of_lines_that_differ_in_their_letters(source, to, weights, found):
    """CRF++ has one letter for lines of labels and of both, so what one of them has not learned of a cell would get weights; Wapiti has two."""
    template = dialects.parse(BOTH.format(u="u"), source) if source else Template.parse(BOTH.format(u="U"))
    rows = FeatureRows.empty()
    for name, weight in weights.items():
        rows.append(name, [(0, 0, weight)])
    parts = Parts("crfkit", ["A", "B"], rows, FeatureRows.empty(), None, template)
    if isinstance(found, str):
        with pytest.raises(UnsupportedError, match=f"^{re.escape(repr(found))} and another feature would get the same name"):
            translated(parts, to)
        return
    unigrams = translated(parts, to).unigrams
    expected = [(name, [(0, 0, weight)]) for name, weight in zip(found, weights.values(), strict=False)]
    assert [(name, unigrams.features(number)) for number, name in enumerate(unigrams.names)] == expected


@pytest.mark.parametrize(("row", "cell"), [(-1, b"_x-1"), (-2, b"_x-2"), (1, b"_x+1")])
def test_a_cell_that_is_no_padding_does_not_become_one(row, cell):
    """The model has no feature of tokens beyond the sentence, which in the other language would get those of this cell."""
    def parts(*names, row=row):
        rows = FeatureRows.empty()
        for name in names:
            rows.append(name, [(0, 0, 0.5)])
        return Parts("crf++", ["A", "B"], rows, FeatureRows.empty(), None, dialects.parse(f"U:%x[{row},0]\n", dialects.CRFPP))

    beyond = cell.replace(b"_x", b"_B")
    with pytest.raises(UnsupportedError, match=f"'U:{re.escape(cell.decode())}' and another feature would get the same name"):
        translated(parts(b"U:" + cell), dialects.WAPITI)
    for known in (parts(b"U:" + cell, b"U:" + beyond), parts(b"U:" + cell, row=0), parts(b"U:" + cell + b"0")):
        assert b"u:" + cell in b" ".join(translated(known, dialects.WAPITI).unigrams.names)
