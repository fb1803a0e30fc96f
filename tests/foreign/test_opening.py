"""Models of other programs that are opened again and again, as by a service for each request."""

import os

import pytest
from commands import memory_told, plain_build, python
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


@plain_build
@memory_told
def test_many_labels_in_a_small_file():
    """Where there is no memory for all pairs of them, an error says so; where no pair has a weight, none is taken."""
    program = """
import resource, sys
from array import array
import crfkit
from crfkit.features.strings import StringTable
from crfkit.foreign import crfsuite, ready, wapiti
from crfkit.foreign.parts import FeatureRows, Parts
ready("crfsuite"), ready("wapiti")
limit = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 1_000_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
labels = [f"L{number}" for number in range(40_000)]
rows = FeatureRows(StringTable([b"a"]), array("q", [0, 1]), array("H", [39_999]), array("d", [1.5]))
again = crfsuite.read(crfsuite.write(Parts("crfsuite", labels, rows, FeatureRows.empty(), None)))
print(again.labels == labels, again.pairs, list(again.unigrams.label))
text = "".join(f"{len(label)}:{label},\\n" for label in labels)
data = f"#mdl#2#1\\n#rdr#2/0/0\\n9:u:%x[0,0],\\n1:b,\\n#qrk#40000\\n{text}#qrk#2\\n3:u:a,\\n1:b,\\n40007=0x1p0\\n"
try:
    crfkit.load(data.encode())
except crfkit.CrfkitError as error:
    print(error)
model = crfkit.load(data.replace("#mdl#2#1", "#mdl#2#0").removesuffix("40007=0x1p0\\n").encode()).model
print(len(model.labels), model.header["features"])
try:
    model.tagger().tag([["a"]])
except MemoryError as error:
    print(error)
"""
    assert python(program).stdout.splitlines() == [
        "True None [39999]",
        "model in memory: 40,000 labels: there is no memory for the weights of all pairs of them, 12.8 GB",
        "40000 0",
        "no memory for a table of 76810881032 bytes, for all pairs of 40,000 labels",
    ]


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
