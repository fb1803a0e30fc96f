"""CRF++'s models, binary and text: labels as printed by CRF++, damaged files, and conversion in both directions."""

import array
import itertools
import math
import os
import struct
import threading
from pathlib import Path

import commands
import pytest
from commands import named_pipes
from foreign.hostile import sound
from hypothesis import given
from hypothesis import strategies as st

import crfkit
from crfkit import foreign
from crfkit.errors import ModelFileError, UnsupportedError
from crfkit.foreign import crfpp, crfpp_parts, crfpp_text
from crfkit.foreign.parts import FeatureRows, Parts, model_of, parts_of
from crfkit.template.parsing import Template

PEERS = Path(os.environ.get("CRFKIT_PEERS", "-"), "crfpp")
peers = pytest.mark.skipif(not PEERS.is_dir(), reason="CRFKIT_PEERS does not name a folder with outputs of CRF++")
TEMPLATE = "U00:%x[-1,0]\nU01:%x[0,0]/%x[1,1]\nU02 %x[-2,1] and %x[0,0]\nB\nB01:%x[0,1]\n"


def sentences(n=12):
    words = ["the", "a/b", "%x", "Été", "_B-1", "日本", "12"]
    return [
        [[words[(i * 7 + t * t) % 7], "XYZ"[(i + t) % 3], ["B-A", "I-A", "O"][(i * t + t) % 3]] for t in range(1 + i % 5)]
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def model():
    return crfkit.learn(sentences(), template=Template.parse(TEMPLATE), l2=0.1)


LINES = ["U0:%x[0,0]", "U00:%x[0,0]", "U1:%x[-1,0]/%x[0,0]", "U2:%x[0,0]/%x[1,0]/%x[0,1]", "U3:%x[0,0]%x[0,1]", "U4:%x[0,0]ab%x[-2,1]!",
         "U5", "U6:%x[-1,1] %x[0,1]", "B", "B1:%x[0,1]", "B2:%x[-1,0]/%x[0,0]", "B3"]
BEGUN = ["U1:a%x[0,1]", "U1:%x[1,0]", "U8:%x[1,0]/%x[0,1]", "B1:a%x[-1,0]", "B1:%x[0,1]", "B5:%x[0,0]-%x[-1,1]"]
CELLS = ["a", "b", "ab", "aab", "a/b", "/", "%x", "_B-1", "_B+1", "!", "Été"]


@pytest.mark.filterwarnings("ignore:all weights are zero")  # of sentences whose labels do not depend on them nothing is learned
@given(st.data())
def test_what_cells_make_is_what_strings_make(data):
    """Models find attributes by cells where only one tuple of cells makes a string. The oracle finds all of them by strings."""
    lines = data.draw(st.sampled_from((LINES, BEGUN)).flatmap(lambda of: st.lists(st.sampled_from(of), min_size=1, unique=True)).filter(lambda found: any("%" in line for line in found)))
    row = st.tuples(st.sampled_from(CELLS), st.sampled_from(CELLS[:4]), st.sampled_from("XY")).map(list)
    known, new = (data.draw(st.lists(st.lists(row, min_size=1, max_size=5), max_size=6)) for _ in range(2))
    known.append([["a", "b", "X"], ["b", "a", "Y"]])
    trained = crfkit.learn(known, template=Template.parse("\n".join(lines)), l2=0.5, max_iter=3, features="all")
    parts = foreign.read(crfpp_text.write(foreign.read(trained.to_bytes())))
    found = model_of(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crfkit.foreign.parts._only_cells", lambda template: False)
        expected = model_of(parts)
    assert expected.header["by_string"] and not found.header["by_string"]
    assert list(found.features_in_bytes()) == list(expected.features_in_bytes())
    for sentence in [*known, *new]:
        rows = [row[:2] for row in sentence]
        assert (found.tagger().marginals(rows) == expected.tagger().marginals(rows)).all()


@pytest.mark.parametrize("kind", "UB")
def test_strings_that_begin_as_others_do(kind):
    """The first two lines are told apart by strings alone, and the cell of the first one is known from the third, which is not."""
    lines = [f"{kind}1:a%x[0,1]", f"{kind}1:%x[0,0]", f"{kind}2:%x[0,0]/%x[0,1]", "U3:%x[0,0]", "B"]
    rows = [[["x", word, "XY"[word == "b"]]] for word in "aba"] + [[["x", "b", "Y"], ["x", "a", "X"]], [["x", "a", "X"], ["x", "b", "Y"]]]
    trained = crfkit.learn(rows, Template.parse("\n".join(lines)), l2=0.1, features="all")
    again = crfkit.load(crfpp.write(foreign.read(trained.to_bytes())))
    for sentence in rows:
        given = [row[:2] for row in sentence]
        assert (again.marginals(given) == trained.tagger().marginals(given)).all()


@peers
@pytest.mark.parametrize("name", ["chunk", "seg"])
def test_the_text_model_is_written_as_crfpp_writes_it(name):
    text = (PEERS / f"{name}.model.txt").read_bytes()
    assert crfpp_text.write(foreign.read(text)) == text
    foreign.convert(PEERS / f"{name}.model.txt", "binary", "crfpp")
    assert Path("binary").read_bytes() == (PEERS / f"{name}.model").read_bytes()


@peers
def test_dump_is_the_text_model():
    text = (PEERS / "seg.model.txt").read_text()
    assert b"".join(foreign.dump(PEERS / "seg.model.txt")).decode() == text
    # Weights of the binary model are in single precision.
    for ours, theirs in zip(b"".join(foreign.dump(PEERS / "seg.model")).decode().splitlines(), text.splitlines(), strict=True):
        assert ours == theirs or float(ours) == pytest.approx(float(theirs), rel=1e-6)


@pytest.mark.parametrize("to", ["crfpp", "crfpp-text"])
def test_there_and_back(model, to):
    model.save("ours")
    foreign.convert("ours", "theirs", to)
    foreign.convert("theirs", "back")
    ours, theirs, back = crfkit.load("ours"), crfkit.load("theirs"), crfkit.load("back")
    assert {f[:3]: pytest.approx(f[3], abs=1e-15) for f in model.features()} == {f[:3]: f[3] for f in back.model.features()}
    unknown = [[["the", "Y"], ["new", "Q"], ["_B+1", "X"], ["a/b", "X"]]]
    for sentence in [[row[:2] for row in rows] for rows in sentences(40)] + unknown:
        assert ours.tag(sentence) == theirs.tag(sentence) == back.tag(sentence)
        assert ours.marginals(sentence) == pytest.approx(theirs.marginals(sentence), abs=1e-9)


def test_binary_and_text_say_the_same(model):
    parts = foreign.read(model.to_bytes())
    text = crfpp_text.write(parts)
    assert b"".join(crfpp.dump(memoryview(crfpp.write(parts)))) == text
    assert crfpp_text.write(foreign.read(text)) == text


def test_a_text_model_may_have_the_line_ends_of_windows(model):
    text = crfpp_text.write(foreign.read(model.to_bytes()))
    for lines in -1, 1, 20:  # all of them, or the first ones, as editors may leave them
        assert crfpp_text.write(foreign.read(text.replace(b"\n", b"\r\n", lines))) == text
    labels = text.replace(b"\nO\n", b"\nO\r\n").replace(b" B1:X\n", b" B1:X\r\n")  # of training data with such line ends, elsewhere
    assert crfpp_text.write(foreign.read(labels)) == labels != text
    with pytest.raises(ModelFileError, match="damaged: expected a weight, found "):
        foreign.read(text.rstrip(b"\n").replace(b"\n", b"\r\n") + b"\0" + b"0.0000000000000000\r\n")


def test_a_text_model_may_have_what_crfpp_passes_over(model):
    """The same with a byte order mark, header lines in any order, and blanks around numbers."""
    text = crfpp_text.write(foreign.read(model.to_bytes()))
    head, rest = text.split(b"\n\n", 1)
    rest, weights = rest[:-1].rsplit(b"\n\n", 1)
    for lines in itertools.permutations(head.split(b"\n")):
        for mark in b"", b"\xef\xbb\xbf":
            padded = [line.replace(b": ", b":\t ") + b" " for line in lines], [b"\t " + line + b" \t" for line in weights.split(b"\n")]
            for end in b"\n", b"\r\n":
                data = mark + b"\n".join([*padded[0], b"", rest, b"", *padded[1], b""]).replace(b"\n", end)
                assert crfpp_text.write(foreign.read(data)) == text
                assert crfpp_text.write(foreign.read(data.removesuffix(end))) == text


@pytest.mark.parametrize("word", ["version:", "cost-factor:", "maxid:", "xsize:"])
def test_words_of_the_header_in_data(tmp_path, word):
    """Only with a number behind it does such a word begin a model, over which another may be written."""
    for ending, number in ("O", False), ("100", True), ("100 O", False), ("100x", False):
        (tmp_path / "data").write_text(f"{word} {ending}\nx A\n\n")
        assert foreign.begins_as_model(str(tmp_path / "data")) == number


def test_a_text_model_may_lack_the_last_line_end(model):
    text = crfpp_text.write(foreign.read(model.to_bytes()))
    assert crfpp_text.write(foreign.read(text[:-1])) == text
    for cut in 2, 10, 16:
        with pytest.raises(ModelFileError, match="damaged: the last line has no end"):
            foreign.read(text[:-cut])


def test_weights_may_have_any_form_of_decimals(model):
    text = crfpp_text.write(foreign.read(model.to_bytes()))
    before = text[:-1].rpartition(b"\n")[0]
    for form in (b"-12.5", b"-125e-1", b"-1.25E+1"):
        assert crfpp_text.write(foreign.read(before + b"\n" + form + b"\n")) == before + b"\n-12.5000000000000000\n"
    for form in (b"1_0", b"0x1", b"1 1", b" ", b"- 1"):
        with pytest.raises(ModelFileError, match=rf":{text.count(10)}: damaged: expected a weight, found "):
            foreign.read(before + b"\n" + form + b"\n")


@pytest.mark.parametrize(("number", "message"), [(b"nan", "not a finite number"), (b"-inf", "not a finite number"), (b"1e99", "beyond 3.4e38, ")])
def test_weights_that_are_none(model, number, message):
    """Of labels, of pairs of labels, and of attributes with pairs of labels."""
    text = crfpp_text.write(foreign.read(model.to_bytes()))
    head, _, weights = text.rpartition(b"\n\n")
    lines = weights.split(b"\n")
    for k in range(0, len(lines) - 1, 5):
        with pytest.raises(ModelFileError, match=f": a weight is {message}"):
            foreign.load(b"\n".join([head + b"\n", *lines[:k], number, *lines[k + 1 :]]))


def test_the_lines_of_a_template_end_with_a_zero_byte(model):
    data = bytearray(crfpp.write(foreign.read(model.to_bytes())))
    at = data.index(TEMPLATE.encode().partition(b"\n")[0])
    data[at + int.from_bytes(data[at - 4 : at], "little") - 1] = ord("x")
    with pytest.raises(ModelFileError, match="damaged: the lines of the template do not end with a zero byte"):
        foreign.read(bytes(data))


def test_pairs_of_labels_that_no_sentence_had():
    """CRF++ makes a feature of B at the second token of a sentence: a model of sentences of one token has none."""
    text = b"version: 100\ncost-factor: 1\nmaxid: 4\nxsize: 1\n\nX\nY\n\nU:%x[0,0]\nB\n\n0 U:a\n2 U:b\n\n1.0\n-1.0\n-1.0\n1.0\n"
    assert crfkit.load(text).tag([["a"], ["b"]]) == ["X", "Y"]
    again = crfpp_text.write(foreign.read(text))  # what the model lacks stands last
    assert again.endswith(b"\n\n4 B\n0 U:a\n2 U:b\n\n" + b"".join(b"%.16f\n" % w for w in (1, -1, -1, 1, 0, 0, 0, 0)))


@pytest.mark.parametrize("to", ["crfpp", "crfpp-text"])
@pytest.mark.parametrize("lines", ["B\nB @minfreq=9", "B\nB\nB @minfreq=1", "B @minfreq=9\nB\nB02:"])
def test_lines_that_make_the_same_feature_of_pairs(lines, to):
    """In CRF++ they share its weights. The first one has weights of its own in a model of crfkit, which the others may lack."""
    data = [[["a", "A"], ["b", "B"], ["a", "B"]], [["b", "A"], ["b", "B"]], [["a", "A"]]]
    crfkit.learn(data, f"U:%x[0,0]\n{lines}\n", prune=0.01).save("ours")
    foreign.convert("ours", "theirs", to)
    foreign.convert("theirs", "back")
    rows = [["a"], ["b"], ["a"]]
    for labels in itertools.product("AB", repeat=3):
        assert crfkit.load("theirs").score(rows, labels) == pytest.approx(crfkit.load("ours").score(rows, labels))
        assert crfkit.load("back").score(rows, labels) == pytest.approx(crfkit.load("ours").score(rows, labels))


def test_templates_stay_crfpp_s(model):
    """What crfkit would take for an annotation or a doubled percent sign is plain text to CRF++."""
    text = crfpp_text.write(foreign.read(model.to_bytes())).replace(b"U00:%x[-1,0]", b"U00:%x[-1,0] @all").replace(b" U00:the\n", b" U00:the @all\n")
    theirs = crfkit.load(text)
    assert "U00:the @all" in {feature[0] for feature in theirs.model.features()}
    rows = [["the", "X"], ["12", "Y"]]
    assert theirs.score(rows, ["O", "O"]) == pytest.approx(crfkit.load(model.to_bytes()).score(rows, ["O", "O"]), abs=2)
    assert crfkit.load(theirs.model.to_bytes()).tag(rows) == theirs.tag(rows)
    for wrong, found in ((b"%X[-1,0]", r"%X\[-1,0\]"), (b"\0%x[-1,0]", r"\\x00")):
        with pytest.raises(ModelFileError, match=rf"its template cannot be read: template:1: '{found}': expected %x\[row,column\]"):
            foreign.load(text.replace(b"%x[-1,0] @all", wrong))


@pytest.mark.parametrize("line", ["U:%X[0,0]", "U:%p[0,0,2]", "*:%x[0,0]", "U:100%%%x[0,0]", "U:%x[9,0]", "U:%x[-9,0]", "u:%x[0,0]"])
def test_what_crfpp_has_no_room_for(line):
    crfkit.learn(sentences(), template=Template.parse(f"{line}\nU:%x[0,0]\nB\n")).save("ours")
    with pytest.raises(UnsupportedError, match=r"^ours: line 1 of the template: CRF\+\+ has "):
        foreign.convert("ours", "theirs", "crfpp")
    assert not Path("theirs").exists()


def test_the_furthest_rows_that_crfpp_has_room_for():
    crfkit.learn(sentences(), template=Template.parse("U:%x[-8,0]/%x[8,0]\nB\n")).save("ours")
    foreign.convert("ours", "theirs", "crfpp")
    theirs = crfkit.load("theirs")
    assert {feature[0] for feature in theirs.model.features()} >= {"U:_B-8/_B+8"}
    assert theirs.header["columns"] == 2  # the one that the template uses, and that of the labels


def test_pairs_of_hundreds_of_labels():
    """A weight in the midst of 90,000."""
    bigrams = FeatureRows.empty()
    bigrams.append(b"B:a", [(299, 298, 0.5)])
    parts = Parts("crf++", [f"{k}" for k in range(300)], FeatureRows.empty(), bigrams, None, Template.parse("B:%x[0,0]"), 2)
    found = foreign.read(crfpp.write(parts)).bigrams.features(0)
    assert len(found) == 90_000 and [feature for feature in found if feature[-1]] == [(299, 298, 0.5)]


@pytest.mark.parametrize("cell", ["a\nb", "\n", "a\0b"])
@pytest.mark.parametrize("to", ["crfpp", "crfpp-text", "wapiti"])
def test_cells_that_no_line_of_a_file_has(cell, to):
    """A line end in a name would make the text model unreadable."""
    crfkit.learn([[[cell, "X"], ["b", "Y"]], [["b", "Y"]]], "U:%x[0,0]\nB\n", max_iter=2).save("ours")
    with pytest.raises(UnsupportedError, match=r"^ours: the attribute 'U:.*' has a line end or a zero byte"):
        foreign.convert("ours", "theirs", to)
    assert not Path("theirs").exists()


@pytest.mark.parametrize(("to", "needed", "lacks"), [
    ("crfpp", "a CRF\\+\\+ model needs a template", "has no line for them"), ("wapiti", "a Wapiti model needs patterns", "does not have one line for them"),
])
def test_a_model_without_template_needs_one(to, needed, lacks):
    crfkit.learn([[(["U:a"], "X"), (["U:b"], "Y")]] * 3, format="crfsuite").save("ours")
    with pytest.raises(UnsupportedError, match=f"^ours: {needed}"):
        foreign.convert("ours", "theirs", to)
    Path("template").write_text("U:%x[0,0]\n")
    with pytest.raises(UnsupportedError, match=f"^ours: the model has weights of pairs of labels, but its template {lacks}"):
        foreign.convert("ours", "theirs", to, "template")
    Path("template").write_text("U:%x[0,0]\nB\n")
    foreign.convert("ours", "theirs", to, "template")
    assert crfkit.load("theirs").tag([["a"], ["b"]]) == ["X", "Y"]


# What crf_learn -t of CRF++ writes of sentences of one token: no B line sees two of them, and column 2 is not counted.
OF_SINGLE_TOKENS = """\
version: 100
cost-factor: 1
maxid: 4
xsize: 1

B
O

U0:%x[0,0]
B01:%x[0,2]

0 U0:a
2 U0:b

-0.9828360494090497
0.9828360494090499
0.7210323619470014
-0.7210323619470016
"""


@pytest.mark.parametrize("to", ["crfpp-text", "crfpp", "crfkit"])
def test_b_lines_that_made_no_feature_may_use_any_column(tmp_path, to):
    (tmp_path / "theirs").write_text(OF_SINGLE_TOKENS)
    foreign.convert("theirs", "again", to)
    tagger = crfkit.load("again")
    assert tagger.header["columns"] == 4  # with that of the labels
    assert tagger.tag_many([[["a", "x", "1"]], [["b", "y", "1"]], [["b", "y", "1"], ["a", "x", "2"]]]) == [["O"], ["B"], ["B", "O"]]
    with pytest.raises(ModelFileError, match="the template uses column 1 of 1"):
        foreign.load(OF_SINGLE_TOKENS.replace("U0:%x[0,0]", "U0:%x[0,1]").encode())


# Files that are not sound


def test_features_that_share_their_weights():
    """Each feature needs its own weights: otherwise a small file could take much memory."""
    head = "version: 100\ncost-factor: 1\nmaxid: 9\nxsize: 1\n\nA\nB\nC\n\nU:%x[0,0]\n\n"
    text = head + "".join(f"0 U:{k}\n" for k in range(10, 60)) + "\n" + "0.5\n" * 9
    with pytest.raises(ModelFileError, match=r"damaged: the features have 150 weights, the file 9$"):
        foreign.load(text.encode())
    text = head + "0 U:a\n3 U:b\n\n" + "0.5\n-0.5\n0\n" * 3  # and some that no feature has do no harm
    assert foreign.load(text.encode()).tagger().tag([["a"], ["b"]]) == ["A", "A"]


def test_messages():
    data, text = sound("crfpp"), sound("crfpp-text")
    for old, new, message in (
        (b"cost-factor: 1", b"cost-factor: x", "2: damaged: expected 'cost-factor' and its value, found 'cost-factor: x'"),
        (b"cost-factor: 1", b"cost_factor: 1", "2: damaged: expected 'cost-factor' or 'maxid' or 'xsize' and its value, found 'cost_factor: 1'"),
        (b"xsize: 2", b"version: 100", "4: damaged: expected 'xsize' and its value, found 'version: 100'"),
        (b"version: 100\ncost-factor: 1", b"cost-factor: 9e999\nversion: 100", "1: damaged: '9e999' is not a cost factor"),
        (b"xsize: 2\n", b"xsize: 2x\n", "4: damaged: expected 'xsize' and its value, found 'xsize: 2x'"),
        (b"cost-factor: 1", b"cost-factor: 9e999", "2: damaged: '9e999' is not a cost factor"),
        (b"cost-factor: 1", b"cost-factor: 1.2.3", "2: damaged: '1.2.3' is not a cost factor"),
        (text[-9:], text[-9:] + b"\n1\n", f"{text.count(10) + 1}: damaged: more lines behind the weights"),
        (b"\nB1:%x[0,1]\n", b"\nB1:%x[0,7]\n", "the template uses column 7 of 2"),
        (b"\nO\n", b"\nB-A\n", "the labels are not different names"),
        (b" B1:X\n", b" C1:X\n", f"{text[: text.index(b' B1:X')].count(10) + 1}: damaged: expected a number, a blank and the name of a feature, which begins with U or B, found"),
        (b" B1:X\n", b"  B1:X\n", f"{text[: text.index(b' B1:X')].count(10) + 1}: damaged: expected a number, a blank and the name of a feature, which"),
        (b" B1:X\n", b" B1:Y\n", "damaged: two features of the same name"),
        (b" B1:X\n", b"_B1:X\n", f"{text[: text.index(b' B1:X')].count(10) + 1}: damaged: expected a number, a blank and the name of a feature"),
        (b"xsize: 2\n\n", b"xsize: 2\n", "5: damaged: expected a blank line, and the labels behind it"),
        (text[text.index(b"\n\n") + 1 :], b"", "5: damaged: the labels have no end"),
        (b"maxid: ", b"maxid: 1", f"{text.count(10)}: damaged: [0-9]+ weights, 1[0-9]+ are announced"),
    ):
        assert old in text
        with pytest.raises(ModelFileError, match=f"^model in memory:(?! [0-9]).*{message.replace('[0,7]', '.*')}"):
            foreign.load(text.replace(old, new))
    long = text.replace(b" B1:X\n", b"9999 B1:" + 10_000 * b"X" + b"\n")
    with pytest.raises(ModelFileError, match=r"the feature '.* has its weights at ") as error:
        foreign.load(long)
    assert len(str(error.value)) < 400
    for value in (math.inf, math.nan):
        with pytest.raises(ModelFileError, match=f"^model in memory: damaged: {value} as cost factor$"):
            foreign.load(data[:8] + struct.pack("<d", value) + data[16:])


@named_pipes
@pytest.mark.parametrize("to", [name for name in foreign.FORMATS if name != "crfsuite"])
def test_models_that_come_through_a_pipe(model, tmp_path, to):
    data, wanted = foreign.model_bytes(foreign.read(model.to_bytes()), to), model.tagger().tag(sentences()[3])
    os.mkfifo(tmp_path / "pipe")
    for use_it in (
        lambda: crfkit.load(tmp_path / "pipe").tag(sentences()[3]),
        lambda: foreign.load(tmp_path / "pipe").tagger().tag(sentences()[3]),
        lambda: (foreign.convert(tmp_path / "pipe", tmp_path / "own"), crfkit.load(tmp_path / "own").tag(sentences()[3]))[1],
        lambda: commands.crfkit("dump", "--labels", tmp_path / "pipe").stdout and wanted,
        lambda: commands.crfkit("dump", "--layout", "original", tmp_path / "pipe").stdout and wanted,
    ):
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
        writer.start()
        assert use_it() == wanted
        writer.join()


def test_an_attribute_without_a_name_is_refused():
    """A file that contradicts itself: two cells have one attribute, and none has the third."""
    model = crfkit.learn([[["a", "X"], ["b", "Y"], ["c", "X"]]], template="U:%x[0,0]\n", max_iter=3)
    for rows, message in (([0, 1, 0], "nothing leads to attribute 2"), ([0, 0, 0], "nothing leads to attribute 1")):
        sections = {**model.sections, "node.0.rows": array.array("i", rows)}
        with pytest.raises(ModelFileError, match=message):
            crfkit.Model(model.header, sections)
    with pytest.raises(ModelFileError, match="damaged: several attributes have one name"):
        parts_of(crfkit.Model(model.header, sections, verify=False))


def test_more_weights_than_its_tables_can_number(monkeypatch):
    """Each attribute of a pair of labels has a weight for all pairs there."""
    crfkit.learn([[["a", "X"], ["b", "Y"]]] * 3, template="U:%x[0,0]\nB:%x[0,0]\n").save("ours")
    monkeypatch.setattr(crfpp_parts, "MOST_WEIGHTS", 7)
    for to in ("crfpp", "crfpp-text"):
        with pytest.raises(UnsupportedError, match=r"^ours: 8 weights, one for each label or pair of labels of every attribute: CRF"):
            foreign.convert("ours", "theirs", to)
    monkeypatch.setattr(crfpp_parts, "MOST_WEIGHTS", 8)
    foreign.convert("ours", "theirs", "crfpp")
