"""CRF++ has one feature for lines of a template that make the same string: each of them counts."""

from math import exp
from pathlib import Path

import pytest
from commands import invoked

import crfkit
from crfkit import foreign
from crfkit.compat.crfpp.crf_learn import crf_learn
from crfkit.errors import UnsupportedError

WEIGHTS = [0.25, 2.0, -1.0, 0.5]
MODEL = "version: 100\ncost-factor: 1\nmaxid: 4\nxsize: 1\n\nA\nB\n\n{}\n\n0 B:b\n\n" + "".join(f"{weight:.16f}\n" for weight in WEIGHTS)


@pytest.mark.parametrize("lines", ["B:%x[0,0]\nB:b", "B:b\nB:%x[0,0]", "B%x[0,0]\nB:b\nB:%x[0,0]"])
def test_a_plain_line_and_one_with_a_macro_share_a_feature(tmp_path, lines):
    (tmp_path / "m.txt").write_text(MODEL.format(lines))
    foreign.convert(tmp_path / "m.txt", tmp_path / "binary", "crfpp")
    foreign.convert(tmp_path / "binary", tmp_path / "own", "crfkit")
    for name in ("m.txt", "binary", "own"):
        tagger = crfkit.load(tmp_path / name)
        for word, times in (("b", 2), ("a", 1)):
            expected = exp(times * WEIGHTS[1]) / sum(exp(times * weight) for weight in WEIGHTS)
            assert tagger.probability([["a"], [word]], ["A", "B"]) == pytest.approx(expected, rel=1e-5)


def test_training_with_such_lines_is_refused_before_data_are_read():
    """Their weights are separate here."""
    Path("template").write_text("U:%x[0,0]\nB:%x[0,0]\nB:b\n")
    assert "the template's line B:b and a B line with a macro" in invoked(crf_learn, "template", "nothing", "m", code=1).stderr
    rows = [["a", "A"], ["b", "B"], ["b", "A"]]
    crfkit.learn([rows] * 2, "U:%x[0,0]\nB:%x[0,0]\nB:b\n", features="all").save("own")
    with pytest.raises(UnsupportedError, match="B:b: in CRF"):
        foreign.convert("own", "theirs", "crfpp")


def test_a_cell_that_training_data_lack_would_add_the_weights_of_pairs_again():
    crfkit.learn([[["a", "A"], ["c", "B"]]] * 2, "U:%x[0,0]\nB:%x[0,0]\nB:b\n").save("own")
    with pytest.raises(UnsupportedError, match="B:b: in CRF"):
        foreign.convert("own", "theirs", "crfpp")
