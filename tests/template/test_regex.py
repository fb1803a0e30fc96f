"""The regex machine against Python's re, and what the two do not share by example."""

import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from problems import thorough

from crfkit.template.meaning import _python_regex
from crfkit.template.regex import Regex
from crfkit.template.regex_syntax import MAX_DEPTH, MAX_PATTERN, MAX_PROGRAM, misread
from crfkit.testing import found_in

LETTERS = "abB1.é日 -"


class Pattern(NamedTuple):
    """A pattern that means the same to both, and what the comparison has to know of it."""

    text: str
    may_be_empty: bool = False
    empty_rounds: bool = False  # it repeats what may be empty: matchers differ in when they leave such a loop

    def __add__(self, other):
        both = self.may_be_empty and other.may_be_empty
        return Pattern(self.text + other.text, both, self.empty_rounds or other.empty_rounds)

    def __or__(self, other):
        either = self.may_be_empty or other.may_be_empty
        return Pattern(f"{self.text}|{other.text}", either, self.empty_rounds or other.empty_rounds)

    def group(self, repeat):
        may_be_empty = self.may_be_empty or repeat not in ("+", "{2}", "{1,2}", "{2,}", "+?", "{1,3}?", "{1}")
        return Pattern(f"({self.text}){repeat}", may_be_empty, self.empty_rounds or self.may_be_empty)


SINGLE = [".", r"\d", r"\D", r"\s", r"\S", "[ab]", "[^ab]", r"[^\d]", r"[a-z\d]", "[]a]", "[^]a-]", "[é-日]"]
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{,1}", "*?", "+?", "??", "{1,3}?"]
single = st.sampled_from(SINGLE + [re.escape(c) for c in LETTERS]).map(Pattern)
empty = st.sampled_from(["^", "$", ""]).map(lambda text: Pattern(text, may_be_empty=True))
repeats = st.sampled_from(REPEATS)
patterns = st.recursive(
    st.one_of(single, empty),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: (pair[0] | pair[1]).group("{1}")),
        st.tuples(inner, repeats).map(lambda pair: pair[0].group(pair[1])),
    ),
    max_leaves=10,
)
cells = st.text(LETTERS, max_size=8)


@thorough
@given(patterns, cells)
@example(Pattern("(|a)*"), "aa")
@example(Pattern("(|a)+"), "aa")
@example(Pattern("(a|ab)(c|bcd)(d*)"), "abcd")
def test_finds_what_re_finds(pattern, cell):
    match = re.search(pattern.text.replace("$", r"\Z"), cell, re.DOTALL)
    found = found_in(Regex(pattern.text), cell)
    if pattern.empty_rounds:
        assert (found is None) == (match is None)
    else:
        assert found == (match[0] if match else None)


@thorough
@given(st.text("ab()[]{}*+?|^$.-,012", max_size=10))
@example("a{2}{3}")
@example("{2}")
@example("a{,}")
@example("a{2,1}")
@example("[a-]")
def test_refuses_what_re_refuses(pattern):
    assume("(?" not in pattern.replace("(?:", ""))
    assume(not re.search(r"[*+?}]\+", pattern))  # possessive in some versions of re
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = re.compile(pattern)
    except (re.error, OverflowError):
        expected = None
    if expected is None:
        with pytest.raises(ValueError, match="at character"):
            Regex(pattern)
    else:
        Regex(pattern)


@given(st.text("ab[]^-\\dDaAwWlLuUpPsS.$*", max_size=8), st.text(max_size=6))
def test_kinds_of_characters(pattern, cell):
    """All kinds of characters, alone and in sets, against sets spelt out for re."""
    try:
        regex = Regex(pattern)
    except ValueError:
        assume(False)
    assume("--" not in pattern)  # reserved in sets of re
    match = _python_regex(pattern).search(cell)
    assert found_in(regex, cell) == (match[0] if match else None)


@settings(deadline=None)
@given(patterns, st.binary(max_size=8))
def test_ill_formed_utf8_does_no_harm(pattern, cell):
    found = found_in(Regex(pattern.text), cell)
    assert found is None or found in cell


@pytest.mark.parametrize(("pattern", "cell", "found"), [
    ("^.?.?.?", "labels", "lab"),  # prefixes and suffixes as Wapiti's users write them
    (".?.?.?$", "labels", "els"),
    (r"^\u*$", "NATO", "NATO"),
    (r"^\u*$", "Nato", None),
    (r".\p.", "a-b", "a-b"),
    (r"\p", "+", "+"),  # symbols are punctuation, as for C's ispunct
    (r"\p", "«", "«"),
    (r"\P+", "--ab--", "ab"),
    (r"\w+", "_ab1_", "ab1"),  # letters and digits, no underscore
    (r"\a+", "ab1", "ab"),
    (r"\l\u", "iPhone", "iP"),
    (r"[^\W\d]+", "12ab34", "ab"),
    (r"[\P]", "-a", "a"),
    (r"\"", 'say "', '"'),
    (r"[\]]", "]", "]"),
    ("a{x}", "a{x}", "a{x}"),  # a brace that is no repeat
])
def test_examples(pattern, cell, found):
    assert found_in(Regex(pattern), cell) == found
    assert found_in(Regex(pattern), cell.encode()) == (None if found is None else found.encode())


@pytest.mark.parametrize(("pattern", "message"), [
    ("*a", "nothing to repeat at character 1"),
    ("a|+", "nothing to repeat at character 3"),
    ("^*", "nothing to repeat at character 2"),
    ("a**", "repeat of a repeat .* at character 3"),
    ("(ab", r"'\(' without '\)' at character 1"),
    ("ab)", r"'\)' without '\(' at character 3"),
    ("a[bc", r"'\[' without '\]' at character 2"),
    ("[]", r"'\[' without '\]' at character 1"),
    ("[z-a]", "bad range 'z-a' at character 2"),
    (r"[a-\d]", "bad range"),
    ("a\\", "nothing after the backslash at character 2"),
    ("(?=a)", r"only \(\?:...\)"),
    ("a{3,2}", "minimum above its maximum at character 2"),
    (f"a{{{MAX_PROGRAM + 1}}}", f"more than {MAX_PROGRAM} repeats"),
    ("a{9999999999}", f"more than {MAX_PROGRAM} repeats"),
    ("(a{100}){100}", "too long"),
    ("a" * MAX_PROGRAM, "too long: it needs"),
    ("{" * (MAX_PATTERN + 1), f"too long: more than {MAX_PATTERN}"),
    ("(" * (MAX_DEPTH + 1) + ")" * (MAX_DEPTH + 1), "nested"),
])
def test_messages(pattern, message):
    with pytest.raises(ValueError, match=message):
        Regex(pattern)


@pytest.mark.parametrize(("pattern", "part"), [
    (r"\bdog", r"\b"), (r"^\d+\x41", r"\x"), (r"(a)\1", r"\1"), (r"\p{Lu}+", r"\p{Lu}"), (r"\P{^L}", r"\P{^L}"),
    (r"[[:alpha:]_]", "[:alpha:]"), (r"x[^[:^Digit:]]", "[:^Digit:]"), (r"\\\t", r"\t"),
    (r"\\b", None), (r"\d\D\a\w\l\u\p\S", None), (r"\p{2}\p{1,}", None), (r"\-\.\_\é\[:a", None), (r"[:a]|[a:]", None), ("", None),
])
def test_what_other_programs_read_in_another_way(pattern, part):
    Regex(pattern)
    assert misread(pattern) == part


def test_the_longest_program_runs():
    longest = "a" * (MAX_PROGRAM - 1)
    assert found_in(Regex(longest), "b" + longest) == longest
    # Mostly choices: the most that can be waiting in one step.
    assert found_in(Regex("(((a?)?)?)?" * 80 + "b"), "a" * 400 + "b") == "a" * 80 + "b"


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)*b", "(a?){30}a{30}b", "(.*)(.*)(.*)b"])
def test_no_blow_up(pattern):
    assert found_in(Regex(pattern), "a" * 3000) is None


def test_empty_repeats_are_free():
    assert found_in(Regex("((){1000}){1000}x"), "x") == "x"
    assert found_in(Regex("((a{0}){1000}){1000}x"), "x") == "x"


def test_many_threads_share_one():
    regex = Regex(r"\d+[a-f]*|\u\l+")
    cells = [f"..{n}abc" for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(partial(found_in, regex), cells)) == [f"{n}abc" for n in range(200)]


@pytest.mark.parametrize("pattern", [None, b"a"])
def test_only_text_is_a_pattern(pattern):
    with pytest.raises(TypeError):
        Regex(pattern)
