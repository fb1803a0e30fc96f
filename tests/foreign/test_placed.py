"""Names and weights of models that number their weights, compared with a slow reading in Python."""

import array
import math
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crfkit.errors import ModelFileError
from crfkit.features.strings import StringTable
from crfkit.foreign import wapiti
from crfkit.foreign.parts import Places
from crfkit.foreign.placed import doubles, initials, read_decimals, read_places, read_strings, read_weights, rows_at, weight_lines
from crfkit.testing import written

SIGNS = st.sampled_from(["", "-", "+"])
DIGITS = st.text("0123456789abcdef", min_size=1, max_size=18)
ODD = st.builds(lambda sign, whole, rest, power: f"{sign}0x{whole}{rest}{power}", SIGNS, DIGITS,
                st.one_of(st.just(""), st.just("."), DIGITS.map(".{}".format)), st.one_of(st.just(""), st.integers(-1200, 1200).map("p{:+d}".format)))
NUMBERS = st.one_of(st.floats(allow_nan=False, allow_infinity=False).map(float.hex), ODD, st.floats(-9, 9).map(repr))


def value(text):
    """The number as Python reads it; None if it is too large for a double."""
    try:
        return float.fromhex(text) if "x" in text else float(text)
    except OverflowError:
        return None


def bits(x):
    """Those of a number; what is none has a sign by chance."""
    return struct.pack("<d", x if x == x else math.nan)


@given(st.lists(st.tuples(st.integers(0, 10**18 - 1), NUMBERS), max_size=8))
@example([(0, "0x1.fffffffffffff8p+1"), (7, "0x0.0000000000001p-1022"), (8, "-0x0p+0"), (9, "0x1p-1075"), (10, "0x1.8p-1074"), (11, "0x20000000000001")])
@example([(5, "0x1p+0"), (3, "0x1p+1"), (5, "0x1p+2")])
def test_weights_are_read_in_any_order_and_form(found):
    """Weights in any order and any form. Of two weights with the same number, the last counts."""
    text = wapiti._Text("".join(f"{number}={weight}\n" for number, weight in found).encode())
    expected = {number: value(weight) for number, weight in found}
    if None in map(value, (weight for _, weight in found)):
        with pytest.raises(ModelFileError, match=r"is not a weight$"):
            wapiti._weights(text, len(found))
        return
    numbers, weights = wapiti._weights(text, len(found))
    assert list(numbers) == sorted(expected)
    assert [*map(bits, weights)] == [bits(expected[number]) for number in numbers]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_plain_weights_need_no_second_look(x):
    """All that C's %a prints is read by compiled code alone."""
    text = b"3=" + written("hexadecimal", x) + b"\n"
    numbers, weights = array.array("q", [0]), array.array("d", [0])
    assert read_weights(text, 0, numbers, weights, 0) == (len(text), 1)
    assert numbers[0] == 3
    assert bits(weights[0]) == bits(x)


@pytest.mark.parametrize("line", ["", "1", "1=", "1=0x", "1=0x1", "1=0x.8\n", "1=0x1..8\n", "1=0x1p\n", "1=0x1p+\n", "1=0x1p+123456\n", "1=0X1\n",
                                  "1=0x1p+9999\n", "=0x1\n", "1 =0x1\n", "1=0x1 \n", "1=0x1\r\n", "1234567890123456789=0x1\n", "-1=0x1\n", "1=0xA\n", "1=0xg\n"])
def test_other_lines_are_left_to_the_caller(line):
    text = f"0=0x1p+0\n{line}".encode()
    numbers, weights = array.array("q", [0, 0]), array.array("d", [0, 0])
    assert read_weights(text, 0, numbers, weights, 0) == (9, 1)
    assert (numbers[1], weights[1]) == (0, 0)


@given(st.lists(st.binary(max_size=12), max_size=6), st.binary(max_size=4), st.integers(0, 8))
def test_strings_are_read_up_to_the_first_bad_one(names, rest, n):
    text = b"".join(b"%d:%s,\n" % (len(name), name) for name in names)
    found, sound, end = StringTable(), [], 0
    for name in names[:n]:
        if name in sound or b"\n" in name:
            break
        sound.append(name)
        end += len(b"%d:%s,\n" % (len(name), name))
    if n <= len(names):  # else what stands behind them may be one more
        assert read_strings(text + rest, 0, n, found) == end
        assert list(found) == sound
    assert initials(found) == bytes(name[0] if name else 0 for name in found)


@pytest.mark.parametrize("text", [b"", b"3", b":ab,\n", b"3:abc", b"3:abc,", b"3:abc;\n", b"2:abc,\n", b"9:abc,\n", b"99999999999:abc,\n", b"-3:abc,\n", b"3:a\nc,\n"])
def test_strings_that_are_none(text):
    found = StringTable()
    assert read_strings(text, 0, 1, found) == 0
    assert len(found) == 0


@given(st.lists(st.tuples(st.integers(0, 10**15 - 1), st.builds(bytes.__add__, st.sampled_from([b"U", b"B"]), st.binary(max_size=9).filter(lambda name: b"\n" not in name))), unique_by=lambda found: found[1]),
       st.binary(min_size=1, max_size=4))
@example([(3, b"Ub"), (2, b"B"), (2, b"U 7 c"), (0, b"Ua")], b"1 x")
def test_features_are_ordered_by_their_places(found, rest):
    lines = b"".join(b"%d %s\n" % line for line in found)
    at, names, places = read_places(lines + rest, 0, len(found))
    assert at == len(lines)
    assert list(zip(places, names, strict=True)) == sorted(found, key=lambda line: line[0])


@pytest.mark.parametrize("line", [b"", b" U", b"U", b"12", b"1\tU", b"-1 U", b"+1 U", b"1234567890123456 U", b"1 ", b"1  U", b"1 u", b"1 C"])
def test_lines_that_are_no_features(line):
    at, names, places = read_places(b"7 B\n" + line + b"\n3 U\n", 0, 3)
    assert (at, list(names), list(places)) == (4, [b"B"], [7])


@given(st.lists(st.one_of(st.floats().map(lambda x: f"{x:.16f}"), st.floats(-2, 2).map("{:.16f}".format),
                          st.builds("{}{}{}{}{}".format, SIGNS, st.text("0123456789", min_size=1, max_size=25), st.sampled_from(["", ".", ".0", ".123456789012345"]),
                                    st.one_of(st.just(""), st.integers(-400, 400).map("e{:d}".format)), st.sampled_from(["", "\r", " \t"])))))
@example([".5", "5.", "+inf", " -nan\r", "1E+5", "\t9e999", "  -0.0 \t\r"])
def test_decimals_are_those_of_python(lines):
    text = "".join(line + "\n" for line in lines).encode()
    weights = array.array("d", bytes(8 * len(lines)))
    assert read_decimals(text + b"1", 0, weights) == len(text)
    assert list(map(bits, weights)) == list(map(bits, map(float, lines)))


@pytest.mark.parametrize("line", ["", ".", "-", "1e", "1_0", "0x1", "1 1", " ", "\r", "infinity", "+-1", "Inf"])
def test_lines_that_are_no_decimals(line):
    assert read_decimals(f"1\n{line}\n2\n".encode(), 0, array.array("d", bytes(24))) == 2


@given(st.data())
def test_rows_have_the_weights_of_their_places(data):
    """A row has the weights that exist of its place, in order."""
    labels, bigram = data.draw(st.integers(1, 4)), data.draw(st.booleans())
    size = labels**2 if bigram else labels
    kinds = data.draw(st.lists(st.booleans(), max_size=6))
    names, places, end = StringTable(), array.array("q"), 0
    for number, skipped in enumerate(kinds):
        names.intern_bytes(b"%d" % number)
        end += skipped
        places.append(end)
        end += size
    chosen = array.array("i", sorted(data.draw(st.sets(st.integers(0, len(kinds) - 1)))) if kinds else [])
    weights = array.array("d", (k + 0.5 for k in range(end)))
    held = sorted(data.draw(st.sets(st.integers(0, end - 1)))) if end and data.draw(st.booleans()) else None
    numbers = None if held is None else array.array("q", held)
    given_weights = weights if held is None else array.array("d", (weights[k] for k in held))
    found, ptr, label, weight, previous = rows_at(names, places, chosen, numbers, given_weights, labels, bigram)
    assert list(found) == [b"%d" % number for number in chosen]
    for row, number in enumerate(chosen):
        there = [k for k in range(places[number], places[number] + size) if held is None or k in held]
        span = range(ptr[row], ptr[row + 1])
        assert [weight[at] for at in span] == [weights[k] for k in there]
        cells = [divmod(k - places[number], labels) for k in there]
        assert [(previous[at] if bigram else 0, label[at]) for at in span] == cells
    assert len(label) == len(weight) == ptr[-1]


def test_places_beyond_the_weights():
    names = StringTable([b"U:a"])
    weights = array.array("d", [1, 2, 3])
    for place in (-1, 2, 3, 2**62, -(2**62)):
        with pytest.raises(ModelFileError, match=r"^damaged: the feature 'U:a' has its weights at -?[0-9]+ of 3$"):
            rows_at(names, array.array("q", [place]), array.array("i", [0]), None, weights, 2, False)
    with pytest.raises(ModelFileError, match="share weights"):
        rows_at(names, array.array("q", [0]), array.array("i", [0, 0]), None, weights, 2, False)
    with pytest.raises(IndexError, match="name 1 of 1"):
        rows_at(names, array.array("q", [0]), array.array("i", [1]), None, weights, 2, False)
    for labels, numbers in ((0, None), (65536, None), (2, array.array("q", [0]))):
        with pytest.raises(ValueError, match="do not belong together"):
            rows_at(names, array.array("q", [0]), array.array("i", [0]), numbers, weights, labels, False)


def test_arrays_that_do_not_fit():
    numbers, weights = array.array("q", [0]), array.array("d", [0])
    for at, begin, first in ((-1, 0, numbers), (9, 0, numbers), (0, -1, numbers), (0, 2, numbers), (0, 0, weights)):
        with pytest.raises(ValueError, match="arrays of other numbers"):
            read_weights(b"0=0x1p+0", at, first, weights, begin)
    for at in (-1, 2):
        with pytest.raises(ValueError, match=r"byte -?[0-9] of 1"):
            read_strings(b"1", at, 1, StringTable())
        with pytest.raises(ValueError, match=r"byte -?[0-9] of 1"):
            read_places(b"1", at, 1)
        with pytest.raises(ValueError, match="other numbers"):
            read_decimals(b"1", at, weights)
    with pytest.raises(ValueError, match="-1 lines"):
        read_places(b"1", 0, -1)
    with pytest.raises(ValueError, match="other numbers"):
        read_decimals(b"1", 0, numbers)


@given(st.lists(st.floats(width=32, allow_nan=False)), st.binary(max_size=3))
def test_numbers_in_single_precision_are_read(values, rest):
    assert list(doubles(array.array("f", values).tobytes() + rest)) == values


def test_places_are_a_mapping():
    places = Places(StringTable([b"a", b""]), array.array("q", [3, 5]))
    assert dict(places) == {b"a": 3, b"": 5}
    assert len(places) == 2
    assert b"b" not in places
    assert places.get(b"b", math.inf) == math.inf


def test_zeros_have_no_sign_in_text_models_of_crfpp():
    weights = [-0.0, 0.0, -1.5, -1e-300]
    assert b"".join(weight_lines(array.array("d", weights))).decode() == "".join(f"{weight or 0.0:.16f}\n" for weight in weights)
