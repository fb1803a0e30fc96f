"""Numbers as text, compared with Python's."""

import math
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crfkit.testing import written

SINGLE = st.floats(width=32)
WEIGHTS = st.one_of(st.floats(), SINGLE, st.floats(-30, 30), st.floats(-30, 30, width=32), st.integers(-(10**12), 10**12).map(lambda n: n / 2**20))


def signed(text, x):
    """printf prints the sign of what is no number, Python does not."""
    return "-nan" if math.isnan(x) and math.copysign(1, x) < 0 else text


@given(WEIGHTS, st.sampled_from([0, 1, 5, 6, 8, 9, 16, 17]))
@example(0.5, 0)
@example(2.5, 0)
@example(0.0078125, 6)  # in the middle of two decimals
@example(0.0234375, 6)
@example(0.9999995, 6)  # a double just below
@example(0.99999999999999994, 16)
@example(-999999999.9999999, 6)
@example(999999999.5, 0)
@example(-1e9, 6)
@example(-1.7976931348623157e308, 16)
@example(-5e-324, 16)
@example(-0.0, 6)
@example(2.0**-64, 16)
@example(1e-5 / 2, 5)
def test_decimals(x, decimals):
    assert written("decimal", x, decimals).decode() == signed(f"{x:.{decimals}f}", x)


@given(st.integers(0, 10**6), st.integers(-2, 2))
def test_next_to_the_middle_of_two_decimals(n, steps):
    """The double that is closest to the middle, and its neighbours."""
    x = (n + 0.5) / 10**6
    for _ in range(abs(steps)):
        x = math.nextafter(x, math.copysign(math.inf, steps))
    assert written("decimal", x).decode() == f"{x:f}"


@given(st.one_of(SINGLE, st.floats(-30, 30, width=32), WEIGHTS))
@example(0.0)
@example(1e-4)
@example(math.nextafter(1e-4, 0))
@example(-math.nextafter(1e-3, 0))
@example(9.9999999996)
@example(-99999999.96)
@example(1e8)
@example(123456789.5)
@example(12345678.0)
@example(100.0)
def test_nine_digits(x):
    assert written("significant", x).decode() == signed(f"{x:.9g}", x)


@given(WEIGHTS)
@example(5e-324)
@example(-(2.0**-1022))
@example(0.0)
@example(-0.0)
@example(1.0)
@example(-16.0)
@example(math.nextafter(2.0, 0))
def test_all_bits(x):
    """As printf's %a: Python writes the zeros at the end, too."""
    text = written("hexadecimal", x).decode()
    assert text == signed(str(x), x) if not math.isfinite(x) else struct.pack("d", float.fromhex(text)) == struct.pack("d", x)
    digits, _, power = x.hex().partition("p")
    assert not math.isfinite(x) or text == f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{power}"


@pytest.mark.parametrize("number", [0, 9, 10, 12345678901, 10**18, 2**64 - 1])
def test_whole_numbers(number):
    assert written("integer", number) == b"%d" % number
