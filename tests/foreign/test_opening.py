"""Models of other programs that are opened again and again, as by a service for each request."""

import os

import pytest
from foreign.hostile import WAPITI

from crfkit import foreign, load

OTHER = WAPITI.replace(b"0=0x1", b"0=0x2", 1)


@pytest.fixture(autouse=True)
def none_is_kept(monkeypatch):
    monkeypatch.setattr(foreign, "_last", {})


def test_four_are_kept():
    first = load(WAPITI).model
    for number in range(3):
        load(WAPITI.replace(b"0=0x1", b"0=0x1.%d" % number, 1))
    assert load(WAPITI).model is first
    load(OTHER)
    assert len(foreign._last) == 4 and load(WAPITI).model is not first


def test_a_small_model_is_opened_once(tmp_path, monkeypatch):
    (tmp_path / "m").write_bytes(WAPITI)
    assert load(tmp_path / "m").model is load(tmp_path / "m").model
    assert foreign.load(tmp_path / "m", exact=True).rest is not None and foreign.load(tmp_path / "m").rest is None
    assert [load(data).model.name for data in (WAPITI, tmp_path / "m")] == ["model in memory", str(tmp_path / "m")]  # for messages
    monkeypatch.setattr(foreign, "_LARGEST", len(WAPITI) - 1)
    assert load(OTHER).model is not load(OTHER).model


@pytest.mark.parametrize("replaced", [False, True])
def test_what_a_file_holds_now_counts(tmp_path, replaced):
    """Also if it has the name, the size and the time of the one before."""
    assert OTHER != WAPITI
    path, found = tmp_path / "m", []
    for content in (WAPITI, OTHER, WAPITI):
        if replaced:
            path.unlink(missing_ok=True)
        path.write_bytes(content)
        os.utime(path, (1, 1))
        found.append(foreign.load(path).dump())
    assert found[0] == found[2] != found[1]
