"""`crfkit dump`: a model as text, and errors for files that are not models."""

import json
import os
import re

import numpy
import pytest
from commands import crfkit, error, write_part
from hypothesis import given
from hypothesis import strategies as st

from crfkit import Template, learn
from crfkit.errors import OptionError
from crfkit.model import load
from crfkit.spelling import attribute_text, escaped, previous_text

TEMPLATE = "U00:%x[0,0]\nU01:%x[0,1]\nB\nB:%x[0,1]\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dump")
    (folder / "template").write_text(TEMPLATE)
    write_part(folder / "train", "chunking", 40)
    crfkit("learn", "-q", folder / "template", folder / "train", folder / "model")
    return (folder / "model").read_bytes()


@pytest.fixture
def model(trained, tmp_path):
    (tmp_path / "model").write_bytes(trained)
    return tmp_path / "model"


def rows(*arguments):
    return [line.split("\t") for line in crfkit("dump", *arguments).stdout.splitlines()]


def test_every_weight_once(model):
    found = rows("model")
    assert len(found) == load("model").header["features"] == len({tuple(row[:3]) for row in found})
    expected = {(a or "*", p or "#", label): w for a, p, label, w in load("model").features()}
    single = {key: numpy.float32(w) for key, w in expected.items()}
    assert {(a, p, label): numpy.float32(w) for a, p, label, w in found} == single
    kinds = {(row[0][:1], row[1] == "#") for row in found}
    assert kinds == {("U", True), ("B", False), ("*", False)}


def test_the_greatest(model):
    everything = sorted((abs(float(row[3])) for row in rows("model")), reverse=True)
    assert [abs(float(row[3])) for row in rows("--top", 10, "model")] == everything[:10]
    assert len(rows("--top", 10**9, "model")) == len(everything)


def test_one_attribute(model):
    everything = rows("model")
    for name in ("U01:NN", "B:NN", "*"):
        assert rows("--attribute", name, "model") == [row for row in everything if row[0] == name] != []
    assert rows("--attribute", "U01:NN", "--top", 1, "model") == [
        max((row for row in everything if row[0] == "U01:NN"), key=lambda row: abs(float(row[3])))
    ]
    assert error("dump", "--attribute", "U01:nonesuch", "model") == "model: no weights for the attribute 'U01:nonesuch'"


def test_from_python(model, tmp_path):
    """The lines are the same, returned or written. Names are written with the bytes of the model, in any locale."""
    opened, text = load("model"), crfkit("dump", "model").stdout
    assert opened.dump() == text
    assert opened.dump(top=7) == crfkit("dump", "--top", 7, "model").stdout
    assert opened.dump(attribute="U01:NN", top=2) == crfkit("dump", "--attribute", "U01:NN", "--top", 2, "model").stdout
    opened.dump("lines")
    assert (tmp_path / "lines").read_bytes() == text.encode()
    with open("more", "w", encoding="utf-8", newline="\n") as file:
        assert opened.dump(file, attribute="*") is None
    assert (tmp_path / "more").read_text(encoding="utf-8") == crfkit("dump", "--attribute", "*", "model").stdout
    with open("bytes", "wb") as file:
        opened.dump(file)
    opened.dump(b"named")
    assert (tmp_path / "bytes").read_bytes() == (tmp_path / "named").read_bytes() == text.encode()
    with pytest.raises(OptionError, match="found 3, expected a path or an open file"):
        opened.dump(3)
    with pytest.raises(OptionError, match="model: no weights for the attribute 'U01:nonesuch'"):
        opened.dump("other", attribute="U01:nonesuch")
    with pytest.raises(OptionError, match="attribute: expected a text, found array"):
        opened.dump("other", attribute=numpy.array(["*", "*"]))
    assert not (tmp_path / "other").exists()
    for top in (0, -1, True, "3"):
        with pytest.raises(OptionError, match="top: expected a whole number of at least 1, found "):
            opened.dump(top=top)


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: {"t": "\t", "n": "\n", "r": "\r", "s": " "}.get(found[1], found[1]), text)


def test_lines_stay_lines_and_mean_one_thing():
    """Attributes and labels that look like separators or placeholders: the text must stay unambiguous."""
    cells = ["#", "*", "\\", "a\tb", "c\nd\r", "\\t", "e f"]
    names = ["#", "*", "\\#", "X"]
    sentences = [[[cell, names[(i + k) % 4]] for k, cell in enumerate(cells)] for i in range(4)]
    trained = learn(sentences, template=Template.parse("U:%x[0,0]\nB:%x[0,0]\nB"), max_iter=5)
    lines = [line.split("\t") for line in trained.dump().removesuffix("\n").split("\n")]
    assert {len(line) for line in lines} == {4}
    found = [
        (None if a == "*" else unescaped(a), None if p == "#" else unescaped(p), unescaped(label), numpy.float32(w)) for a, p, label, w in lines
    ]
    assert found == list(trained.features())
    assert {a for a, *_ in found if a} == {f"U:{cell}" for cell in cells} | {f"B:{cell}" for cell in cells[1:]}
    assert {p for _, p, *_ in found} == {None, *names}
    assert trained.dump(attribute="U:a\\tb") == "".join("\t".join(line) + "\n" for line in lines if line[0] == "U:a\\tb") != ""


def test_an_attribute_like_that_of_pairs():
    rows = [[(["*", "#", "x"], "A"), (["#"], "B")]] * 3
    trained = learn(rows, format="crfsuite", max_iter=5)
    assert {line.split("\t")[0] for line in trained.dump().splitlines()} == {"\\*", "\\#", "x", "*"}
    assert {line.split("\t")[0] for line in trained.dump(attribute="\\*").splitlines()} == {"\\*"}
    assert {line.split("\t")[0] for line in trained.dump(attribute="*").splitlines()} == {"*"}


def test_previous_labels_of_history():
    rows = [[["a", "X Y"], ["b", "#"], ["c", "Z\\"], ["d", "_B-1"], ["e", "_B-2"], ["f", "#"]]] * 3
    trained = learn(rows, template=Template.parse("U:%x[0,0]\nU2:%y[-2]/%y[-1]"), algorithm="lookahead", passes=3)
    expected = [p for _, p, *_ in trained.features() if isinstance(p, tuple)]
    found = [line.split("\t")[1].split(" ") for line in trained.dump().splitlines() if " " in line.split("\t")[1]]
    meaning = {"#": None, "_B-1": -1, "_B-2": -2}
    assert [tuple(meaning[p] if p in meaning else unescaped(p) for p in pair) for pair in found] == expected
    assert {"X\\sY", "\\#", "_B-1", "_B-2", "\\_B-1", "\\_B-2"} <= {label for pair in found for label in pair}
    again = learn(rows, template=trained.template, algorithm="lookahead", passes=1, average=False, margin=0, init=trained)
    assert list(again.features()) == list(trained.features())  # no label is taken for what stands before the sentence


def test_parts_of_a_model_are_shown(model):
    header = json.loads(crfkit("dump", "--header", "model").stdout)
    assert header["algorithm"] == "lbfgs"
    assert crfkit("dump", "--labels", "model").stdout.splitlines() == header["labels"] == sorted(header["labels"])
    assert crfkit("dump", "--template", "model").stdout == TEMPLATE
    crfkit("convert", "--to", "wapiti", "model", "theirs")
    assert crfkit("dump", "--labels", "theirs").stdout.split() == header["labels"]  # not all weights, as Wapiti would show them


def test_one_thing_at_a_time(model):
    for pair in (("--header", "--labels"), ("--template", "--top", "3"), ("--labels", "--attribute", "*")):
        assert "choose one" in error("dump", *pair, "model", code=2)
    assert "'--top'" in error("dump", "--top", 0, "model", code=2)
    for part in (("--top", 3), ("--attribute", "*"), ("--header",), ("--labels",), ("--template",)):
        assert "--layout original shows all weights" in error("dump", "--layout", "original", *part, "model", code=2)
        assert crfkit("dump", "--layout", "crfkit", *part, "model").stdout == crfkit("dump", *part, "model").stdout


def test_attribute_lines_have_no_template(tmp_path):
    (tmp_path / "train").write_text("yes\ta\nno\tb\n\n")
    crfkit("learn", "-q", "--format", "crfsuite", "train", "model")
    assert error("dump", "--template", "model") == "model: trained on attribute lines, there is no template"


# --- models that are none -----------------------------------------------------------------------------------------


def newer(data):
    return data[:8] + (int.from_bytes(data[8:12], "little") + 1).to_bytes(4, "little") + data[12:]


def damaged(data, place):
    changed = bytearray(data)
    changed[place] ^= 0x20
    return bytes(changed)


FAULTS = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "header": lambda data: damaged(data, 200),
    "weights": lambda data: damaged(data, len(data) - 5),
    "newer": newer,
    "CRF++": lambda data: b"\x64\0\0\0" + data[4:],
    "CRFsuite": lambda data: b"lCRF" + data[4:],
    "text": lambda data: b"version: 100\ncost-factor: 1\n",
}


@pytest.mark.parametrize("command", ["dump", "init", "tag"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_is_no_model(model, command, fault):
    model.write_bytes(FAULTS[fault](model.read_bytes()))
    (model.parent / "t").write_text("U:%x[0,0]\n")
    (model.parent / "d").write_text("a X\nb Y\n\n")
    said = error(*{"dump": ("dump", "model"), "init": ("learn", "--init", "model", "t", "d", "new"), "tag": ("tag", "model", "d")}[command])
    assert said.startswith("model:3: " if fault == "text" else "model: ")
    assert not os.path.exists("new")


def test_a_long_dump(tmp_path):
    """It comes in pieces. Each line is what Python makes of its feature."""
    words = [f"{k}é" if k % 3 else f"{k}\t\\" for k in range(6000)]
    trained = learn([[[word, "AB"[k % 2]], ["x", "C D"]] for k, word in enumerate(words)], template=Template.parse("U:%x[0,0]\nB:%x[0,0]\nB"), max_iter=2)
    expected = "".join(f"{attribute_text(name)}\t{previous_text(before)}\t{escaped(label)}\t{weight:.9g}\n" for name, before, label, weight in trained.features())
    pieces = list(trained.dumped())
    assert b"".join(pieces).decode() == expected
    assert len(pieces) > 2 and all(piece.endswith(b"\n") for piece in pieces)
    with open("text", "w", encoding="utf-8", newline="\n") as file:
        trained.dump(file)
    assert (tmp_path / "text").read_bytes() == expected.encode()


@given(st.text(st.sampled_from("\\*#tnrs\t\n\r a\u00e9\u2028\x7f"), max_size=4))
def test_names_are_escaped_where_they_have_to_be(name):
    each = "".join({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(character, character) for character in name)
    assert escaped(name) == ("\\" + name if name in ("*", "#") else each)
