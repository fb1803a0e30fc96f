"""Counting by tables, compared with a slow implementation of the rules."""

from itertools import product

import pytest
from chunk_rules import ODD_LABELS, SANE_LABELS, as_text, conlleval, sentences_of, strict_spans, tally_of
from hypothesis import example, given
from hypothesis import strategies as st

from crfkit.errors import DataError
from crfkit.evaluation.counting import Tally
from crfkit.evaluation.schemes import SCHEMES


def counter(tally):
    (found,) = tally.counters.values()
    return found


@given(sentences_of(ODD_LABELS) | sentences_of(SANE_LABELS))
@example([[(previous, previous), (label, label)] for previous in ODD_LABELS for label in ODD_LABELS])
@example([[("B-A", "B-A"), (".-A", ".-A"), (".-B", ".-A")]])  # a type changes where nothing ends
def test_lenient_counts_are_those_of_conlleval(sentences):
    tally = tally_of(sentences)
    counts, totals, right = conlleval(sentences)
    assert counter(tally).counts(tally.types) == counts
    assert counter(tally).totals == totals
    assert sum(correct for _, _, correct in tally.label_counts().values()) == right
    assert tally.tokens == sum(map(len, sentences))


@pytest.mark.parametrize("scheme", ["bio", "ioe2", "iobes", "bilou"])
@given(data=st.data())
def test_strict_counts_well_formed_chunks_only(scheme, data):
    labels = ["O"] + [f"{p}-{t}" for p in SCHEMES[scheme].prefixes if p != "O" for t in "AB"]
    short = [*product(labels, repeat=3), *product([label for label in labels if label[-1] != "B"], repeat=4)]
    sentences = data.draw(st.just([[(label, label) for label in sentence] for sentence in short]) | sentences_of(labels))
    gold = [(i, *span) for i, s in enumerate(sentences) for span in strict_spans([g for g, _ in s], scheme)]
    found = [(i, *span) for i, s in enumerate(sentences) for span in strict_spans([f for _, f in s], scheme)]
    expected = len(gold), len(found), len(set(gold) & set(found))
    assert counter(tally_of(sentences, scheme, strict=True)).totals == expected


def encode(spans, n, scheme):
    """Label n tokens for spans (start, end, type) in order."""
    labels = ["O"] * n
    for k, (start, end, kind) in enumerate(spans):
        after = k > 0 and spans[k - 1][1:] == (start, kind)
        before = k + 1 < len(spans) and (spans[k + 1][0], spans[k + 1][2]) == (end, kind)
        inside = ["I"] * (end - start)
        if scheme == "bio" or (scheme == "iob1" and after):
            inside[0] = "B"
        elif scheme == "ioe2" or (scheme == "ioe1" and before):
            inside[-1] = "E"
        elif scheme in ("iobes", "bilou"):
            last, single = ("E", "S") if scheme == "iobes" else ("L", "U")
            inside[0], inside[-1] = "B", last
            if end - start == 1:
                inside = [single]
        labels[start:end] = [f"{prefix}-{kind}" for prefix in inside]
    return labels


@st.composite
def spans_in_sentence(draw):
    spans, at = [], 0
    for gap, length, kind in draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("AB")))):
        spans.append((at + gap, at + gap + length, kind))
        at += gap + length
    return spans, at + draw(st.integers(0, 2))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("scheme", ["bio", "iob1", "ioe1", "ioe2", "iobes", "bilou"])
@given(sentence=spans_in_sentence(), kept=st.integers(0, 2**30 - 1))
def test_every_scheme_finds_what_was_encoded(scheme, strict, sentence, kept):
    spans, n = sentence
    some = [span for k, span in enumerate(spans) if kept >> k & 1]
    pairs = list(zip(encode(spans, n, scheme), encode(some, n, scheme), strict=True))
    assert counter(tally_of([pairs], scheme, strict)).totals == (len(spans), len(some), len(some))


@given(sentences_of(ODD_LABELS), st.sampled_from(["\t", " ", "   "]), st.booleans())
def test_text_counts_as_lists_do(sentences, separator, in_pieces):
    options = {"keep": True, "word_starts": SCHEMES["bio"].lenient}
    listed = tally_of(sentences, **options)
    read = Tally([SCHEMES["bio"].lenient], **options)
    sentences = [sentence for sentence in sentences if sentence]
    line = 1
    for piece in [[s] for s in sentences] if in_pieces else [sentences]:
        # A blank line after the last sentence too: conlleval closes a chunk at the end of the file by another rule,
        # which matters for labels such as "-".
        text = as_text(piece, separator) + b"\n"
        read.feed(text, line)
        line += text.count(b"\n")
    read.finish()
    for of in (
        lambda t: counter(t).counts(t.types),
        lambda t: (t.tokens, t.sentences, t.sentences_correct, t.word_counts),
        lambda t: (t.label_counts(), t.confusion),
    ):
        assert of(read) == of(listed)


def slow_words(labels):
    """Spans of a segmentation: a word starts at the sentence's start, at B and S, and after E, S and O."""
    starts = [i for i, x in enumerate(labels) if i == 0 or x in "BSO" or labels[i - 1] in "ESO"]
    return list(zip(starts, [*starts[1:], len(labels)], strict=True))


@given(sentences_of(list("BMESO")), st.sets(st.sampled_from(["ab", "b", "bc", "abc"])))
def test_words_and_the_lexicon(sentences, lexicon):
    from crfkit.evaluation.schemes import WORD_STARTS

    tally = Tally(word_starts=WORD_STARTS, lexicon={word.encode() for word in lexicon})
    gold, found, text = set(), set(), b""
    unknown = {}
    for i, sentence in enumerate(sentences):
        letters = ("abc" * 3)[: len(sentence)]
        spans = slow_words([g for g, _ in sentence])
        gold.update((i, *span) for span in spans)
        found.update((i, *span) for span in slow_words([f for _, f in sentence]))
        unknown.update({(i, *span): True for span in spans if letters[slice(*span)] not in lexicon})
        text += "".join(f"{c} {g} {f}\n" for c, (g, f) in zip(letters, sentence, strict=True)).encode() + b"\n"
    tally.feed(text, 1)
    tally.finish()
    right = gold & found
    assert tally.word_counts == (len(gold), len(found), len(right), len(unknown), len(right & set(unknown)))


def test_sentence_boundaries_are_blank_lines_and_minus_x_minus():
    tally = Tally([SCHEMES["bio"].lenient])
    tally.feed(b"a x B-A B-A\n-X- x O O\n-X-b x I-A I-A\n \t \nc x I-A I-A\n-X-\nd x I-A O\n", 1)
    tally.finish()
    assert (tally.sentences, tally.tokens, counter(tally).totals) == (4, 4, (4, 3, 3))


def fed(text, **options):
    tally = Tally(**options)
    tally.feed(text, 1)
    tally.finish()
    return tally


def test_labels_that_begin_another_are_others():
    """And each pair that differs is counted as often as it occurs."""
    tally = fed(b"x AB A\nx A AB\nx AB A\nx AB AB\n")
    assert tally.label_counts() == {"AB": (3, 2, 1), "A": (1, 2, 0)}
    assert tally.confusion == {("AB", "A"): 2, ("A", "AB"): 1}


def test_a_predicted_label_of_crfsuite_is_written_as_it_is():
    tally = fed(b"a\\:b\ta:b\na\\:b\ta\\:b\n", form="crfsuite", separator=b"\t", before=1)
    assert tally.confusion == {("a:b", "a\\:b"): 1}
    assert tally.label_counts() == {"a:b": (2, 1, 1), "a\\:b": (0, 1, 0)}


@pytest.mark.parametrize(("text", "tokens"), [(b"a a\n\n" * 100_000, 100_000), (b"a a\n" * 100_000, 100_000), (b"\n" * 1_000_000 + b"a a\n", 1)])
def test_the_shortest_lines(text, tokens):
    """A block has as many tokens as can be."""
    tally = fed(text, lexicon={b"a"}, before=0)
    assert (tally.tokens, tally.label_counts()) == (tokens, {"a": (tokens, tokens, tokens)})


def test_what_is_kept_of_each_sentence():
    """Those without tokens do not count."""
    tally = Tally(keep=True)
    for gold, found in ((["A", "B"], ["A", "A"]), ([], []), (["A"], ["A"]), (["A", "B"], ["A", "B"])):
        tally.add(gold, found)
    tally.finish()
    rows = tally.kept().tolist()
    rows = [rows[k : k + 4] for k in range(0, len(rows), 4)]
    assert [row[:3] for row in rows] == [[1, 2, 1], [2, 1, 1], [3, 2, 2]]
    assert rows[0][3] == rows[2][3] != rows[1][3]


def test_many_labels():
    labels = [f"B-{i}" for i in range(5000)]
    tally = Tally([SCHEMES["bio"].lenient])
    tally.feed("".join(f"w {label} {label}\n" for label in labels).encode(), 1)
    tally.finish()
    assert counter(tally).totals == (5000, 5000, 5000)
    assert counter(tally).counts(tally.types)["4321"] == (1, 1, 1)


def test_a_label_that_is_not_utf8_names_its_line():
    tally = Tally(path="f")
    with pytest.raises(DataError, match=r"f:3: the label b'B-\\xff' is not valid UTF-8"):
        tally.feed(b"a O O\n\nb O B-\xff\n", 1)
