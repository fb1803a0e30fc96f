"""crfkit-crf-learn and crfkit-crf-test on files that CRF++ was not made for."""

from pathlib import Path

import pytest
from commands import invoked as run

from crfkit.compat.crfpp.crf_learn import crf_learn
from crfkit.compat.crfpp.crf_test import crf_test


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "template").write_text("U00:%x[0,0]\nU01:%x[-1,1]\nB\n")
    (tmp_path / "train").write_text("the D O\ndog N B\n\nbarks V O\nthe D O\ncat N B\n\n" * 3)
    (tmp_path / "test").write_text("the D\ncat N\n\n")


def test_byte_order_marks_are_ignored():
    run(crf_learn, "template", "train", "model")
    expected = run(crf_test, "-m", "model", "test").stdout
    assert expected.splitlines()[:2] == ["the\tD\tO", "cat\tN\tB"]
    for name in ("template", "train", "test"):
        Path(name).write_bytes(b"\xef\xbb\xbf" + Path(name).read_bytes())
    run(crf_learn, "template", "train", "marked")
    assert run(crf_test, "-m", "marked", "test").stdout == run(crf_test, "-m", "model", "test").stdout == expected


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_data_without_tokens(content):
    Path("none").write_text(content)
    assert "none: no tokens: expected" in run(crf_learn, "template", "none", "model", code=1).stderr
    assert not Path("model").exists()
    run(crf_learn, "template", "train", "model")
    assert run(crf_test, "-m", "model", "none").stdout == ""
