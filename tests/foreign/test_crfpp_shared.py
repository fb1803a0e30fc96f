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


@pytest.mark.parametrize("lines", ["B:%x[0,0]\nB:", "B:%x[0,0]x\nB:abc", "Bx%x[0,0]\nB:b", "B:%x[0,0]%x[0,0]\nB:b"])
def test_a_line_with_a_macro_that_cannot_make_the_plain_feature(lines):
    """As cells are not empty, and all its characters are in the feature."""
    rows = [["a", "A"], ["b", "B"], ["b", "A"]]
    own = crfkit.learn([rows] * 2, f"U:%x[0,0]\n{lines}\n", features="all")
    theirs = foreign.load(foreign.model_bytes(foreign.read(own.to_bytes()), "crfpp-text")).tagger()
    for word in "ab":
        assert theirs.marginals([["a"], [word]]) == pytest.approx(own.tagger().marginals([["a"], [word]]))


# "b" and "b2" are observations of pairs of labels, each with weights of its own.
OF_WAPITI = b"#mdl#2#4\n#rdr#3/1/0\n10:u0:%x[0,0],\n1:b,\n2:b2,\n#qrk#2\n1:A,\n1:B,\n#qrk#3\n4:u0:x,\n1:b,\n2:b2,\n0=0x1p+0\n3=0x1p-1\n5=0x1.8p+0\n8=-0x1p+1\n"


@pytest.mark.parametrize("to", ["crfkit", "crfpp", "crfpp-text"])
def test_two_patterns_without_macros(to):
    tagger = crfkit.load(foreign.model_bytes(foreign.read(OF_WAPITI), to))
    of_labels, of_pairs = {"A": 1, "B": 0}, {"AA": 0, "AB": 0.5, "BA": -2, "BB": 1.5}
    for pair, weight in of_pairs.items():
        assert tagger.score([["x"], ["x"]], [*pair]) == of_labels[pair[0]] + of_labels[pair[1]] + weight


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
