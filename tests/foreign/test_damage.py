"""Damaged models of other programs are refused, or work; nothing else may happen."""

import struct

import pytest
from foreign.hostile import sound, use
from hypothesis import given
from hypothesis import strategies as st

from crfkit import foreign
from crfkit.errors import CrfkitError

# Of each format, how many bytes tell it.
STARTS = {"crfpp": 12, "crfpp-text": 12, "crfsuite": 4, "wapiti": 5}
LINES = {"crfpp-text": [b"1e999", b"nan", b"-1 U:x", b"999999 B"], "wapiti": [b"99999999=nan", b"1=inf", b"3=0x1p+99999"]}


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("form", STARTS)
def test_truncated_at_every_byte(form, step):
    data = sound(form)
    for end in {*range(STARTS[form], len(data), step), *range(len(data) - 20, len(data))}:
        assert use(data[:end]) == (form == "crfpp-text" and end == len(data) - 1)  # without its last line end it is whole
    assert use(data)


@pytest.mark.parametrize("form", STARTS)
@given(data=st.data())
def test_changed_bytes_are_refused_or_harmless(form, data):
    changed = bytearray(sound(form))
    byte = st.integers(0, 255) | (st.sampled_from(b"0123456789:,#\n%[]\"*?ub") if form in LINES else st.nothing())
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(STARTS[form], len(changed) - 1))] = data.draw(byte)
    use(bytes(changed))


@pytest.mark.parametrize("form", ["crfpp", "crfsuite"])
@given(data=st.data())
def test_changed_numbers_are_refused_or_harmless(form, data):
    """Counts, offsets and ids have 32 bits."""
    changed = bytearray(sound(form))
    number = st.integers(0, 2**32 - 1) | st.integers(0, 2 * len(changed)) | st.sampled_from((2**31, 2**32 - 1, 2**32 - 4))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(1, len(changed) // 4 - 1)) * 4
        changed[at : at + 4] = struct.pack("<I", data.draw(number))
    use(bytes(changed))


@pytest.mark.parametrize("form", LINES)
@given(data=st.data())
def test_changed_lines_are_refused_or_harmless(form, data):
    lines = sound(form).split(b"\n")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(1, len(lines) - 1))
        lines[at : at + data.draw(st.integers(0, 2))] = data.draw(st.lists(st.sampled_from([*lines, *LINES[form]]), max_size=2))
    use(b"\n".join(lines))


COMMON = sound("wapiti").replace(b'16:*1:%t[0,1,"\\a$"]', b"10:*1:%x[0,1]").replace(b"%X", b"%x")  # CRF++ has all its macros


@pytest.mark.parametrize(("weight", "to", "message"), [
    *((weight, to, "not a finite number") for weight in (b"inf", b"-inf", b"nan") for to in foreign.FORMATS),
    *((b"0x1p+128", to, "beyond 3.4e38, the most that single precision holds") for to in ("crfkit", "crfpp")),
])
def test_no_format_is_written_with_weights_that_it_does_not_hold(tmp_path, weight, to, message):
    """The weight is of a label, of a pair of labels, or of an attribute with pairs of labels: whoever opens the model would refuse it."""
    for old in (b"0=0x1p+0", b"13=-0x1.2p+0", b"9=0x1.8p-2"):
        damaged, target = tmp_path / "damaged", tmp_path / "target"
        damaged.write_bytes(COMMON.replace(b"\n" + old, b"\n" + old.partition(b"=")[0] + b"=" + weight))
        with pytest.raises(CrfkitError, match=f"^{damaged}: a weight is {message}"):
            foreign.convert(damaged, target, to, template=None)
        assert not target.exists()


@pytest.mark.parametrize("to", ["crfpp-text", "wapiti"])
def test_formats_in_double_precision_hold_all_weights(to):
    parts = foreign.read(COMMON.replace(b"\n0=0x1p+0", b"\n0=0x1p+128"))
    again = foreign.read(foreign.model_bytes(parts, to))
    assert max(parts.unigrams.weight) == max(again.unigrams.weight) == 2.0**128
