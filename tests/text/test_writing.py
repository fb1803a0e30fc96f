"""The growable buffer."""

from hypothesis import given
from hypothesis import strategies as st

from crfkit.text.writing import Output


@given(st.lists(st.binary(max_size=9000)))
def test_what_is_written_is_there_until_the_reset(pieces):
    out = Output()
    for _ in range(2):
        for piece in pieces:
            out.write(piece)
        assert out.getvalue() == b"".join(pieces)
        assert len(out) == sum(map(len, pieces))
        out.reset()
        assert out.getvalue() == b""
