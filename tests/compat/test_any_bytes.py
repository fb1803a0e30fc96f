"""Text that is not UTF-8, as CRF++, Wapiti and CRFsuite take it: what a byte means is for the user to know."""

import random

import pytest
from commands import invoked, write

import crfkit
from crfkit import foreign
from crfkit.cli import cli as main
from crfkit.compat.crfpp.crf_learn import crf_learn
from crfkit.compat.crfpp.crf_test import crf_test
from crfkit.compat.crfsuite import cli as crfsuite
from crfkit.compat.pycrfsuite import ItemSequence
from crfkit.compat.wapiti.commands import cli as wapiti
from crfkit.errors import UnsupportedError

ENCODINGS = pytest.mark.parametrize("encoding", ["euc_jp", "shift_jis"])
LABELS = "始中終単"
PATTERNS = "U00:前%x[-1,0]\nU01:今%x[0,0]\nU02:%x[1,0]\nB\n"


def text(seed, n=60):
    """Syllables, of which each tells its label most of the time."""
    rng, out = random.Random(seed), ""
    for _ in range(n):
        for _ in range(rng.randrange(1, 7)):
            number = rng.randrange(40)
            out += f"{chr(0x3042 + number)}\t{LABELS[number % 4 if rng.random() < 0.9 else 0]}\n"
        out += "\n"
    return out


@pytest.fixture
def files(tmp_path, encoding):
    """The same files in UTF-8, whose names begin with u, and in the other encoding, x."""
    for name, content in (("train", text(1)), ("test", text(2, 20)), ("template", PATTERNS)):
        (tmp_path / f"u.{name}").write_bytes(content.encode())
        (tmp_path / f"x.{name}").write_bytes(content.encode(encoding))


def run(command, *arguments):
    return invoked(command, *arguments).stdout_bytes


@ENCODINGS
def test_crfpp_gives_the_same_in_any_encoding(files, encoding, tmp_path):
    for kind in "ux":
        run(crf_learn, "-t", "-m", 20, f"{kind}.template", f"{kind}.train", f"{kind}.model")
    lines = [sorted((tmp_path / f"{kind}.model.txt").read_bytes().decode(code).splitlines()) for kind, code in (("u", "utf-8"), ("x", encoding))]
    assert [line.split(" ")[-1] for line in lines[0]] == [line.split(" ")[-1] for line in lines[1]]
    run(crf_learn, "-C", "x.model.txt", "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "x.model").read_bytes()
    for options in ((), ("-v", 1), ("-n", 3)):
        assert run(crf_test, *options, "-m", "x.model", "x.test").decode(encoding) == run(crf_test, *options, "-m", "u.model", "u.test").decode()
    wanted = run(main, "tag", "u.model", "u.test").decode()
    assert run(main, "tag", "x.model", "x.test").decode(encoding) == wanted
    for form in ("crfkit", "crfpp-text", "wapiti"):
        run(main, "convert", "--to", form, "x.model", "converted")
        assert run(main, "tag", "converted", "x.test").decode(encoding) == wanted
        run(main, "convert", "--to", "crfpp", "converted", "back")
        assert run(main, "tag", "back", "x.test").decode(encoding) == wanted
    assert LABELS[0] in run(main, "dump", "--labels", "x.model").decode(encoding)


@ENCODINGS
def test_wapiti_gives_the_same_in_any_encoding(files, encoding):
    for kind in "ux":
        run(wapiti, "train", "-a", "l-bfgs", "-i", 5, "-p", f"{kind}.template", "-d", f"{kind}.test", f"{kind}.train", f"{kind}.model")
    for options in ((), ("-c",), ("-s", "-p")):
        wanted = run(wapiti, "label", *options, "-m", "u.model", "u.test").decode()
        assert run(wapiti, "label", *options, "-m", "x.model", "x.test").decode(encoding) == wanted
    reports = [invoked(wapiti, "label", "-c", "-m", f"{kind}.model", f"{kind}.test").stderr_bytes for kind in "ux"]
    scores = [[line.split() for line in report.decode(code).splitlines()] for report, code in zip(reports, ("utf-8", encoding), strict=True)]
    assert scores[0] == scores[1] and scores[0][-2][0] in LABELS
    assert run(wapiti, "dump", "x.model").decode(encoding) == run(wapiti, "dump", "u.model").decode()


@ENCODINGS
def test_lines_that_name_their_features_may_be_in_any_encoding(encoding):
    content, other = ("".join(f"前{line[0]} 今{line[0]} {line[2:]}\n" for line in text(seed).split("\n") if line) for seed in (1, 2))
    found = {}  # in the same order, as labels stand as first seen
    for code in ("utf-8", encoding):
        write(train=content.encode(code), dev=other.encode(code))
        run(wapiti, "train", "--me", "-i", 5, "-d", "dev", "train", "model")
        run(wapiti, "train", "--me", "-i", 5, "-m", "model", "train", "again")
        log = invoked(wapiti, "label", "-c", "-m", "model", "dev").stderr_bytes.decode(code)
        shown = [run(wapiti, *words).decode(code) for words in (("label", "-s", "-m", "model", "dev"), ("label", "--force", "-m", "again", "dev"), ("dump", "model"))]
        found[code] = [*shown[:2], sorted(shown[2].split("\n")), sorted(" ".join(line.split()) for line in log.split("\n"))]
    assert found["utf-8"] == found[encoding]
    assert all(label in found["utf-8"][0] for label in LABELS)


def test_names_in_data_for_a_model_of_wapiti_may_be_any_bytes():
    write(model=b"#mdl#2#2\n#rdr#0/0/0\n#qrk#2\n1:A,\n1:B,\n#qrk#2\n2:u\xe9,\n2:uy,\n0=0x1p+0\n3=0x1p+0\n", data=b"A\tu\xe9\nA\tuy\n")
    assert run(main, "tag", "model", "data") == b"A\tu\xe9\tA\nA\tuy\tB\n\n"


@ENCODINGS
def test_crfsuite_gives_the_same_in_any_encoding(files, encoding, tmp_path):
    for kind, code in (("u", "utf-8"), ("x", encoding)):
        for part in ("train", "test"):
            rows = [line.split("\t") for line in (tmp_path / f"{kind}.{part}").read_bytes().decode(code).split("\n")]
            (tmp_path / f"{kind}.{part}").write_bytes("".join("\t".join(reversed(row)) + "\n" for row in rows).encode(code))
        run(crfsuite, "learn", "-m", f"{kind}.model", f"{kind}.train")
    wanted = run(crfsuite, "tag", "-m", "u.model", "u.test").decode()
    assert run(crfsuite, "tag", "-m", "x.model", "x.test").decode(encoding) == wanted
    assert run(main, "tag", "x.model", "x.test").decode(encoding) == run(main, "tag", "u.model", "u.test").decode()


@pytest.mark.parametrize("encoding", ["euc_jp"])
def test_crfkit_s_own_data_are_utf_8(files):
    assert "not UTF-8" in invoked(main, "learn", "u.template", "x.train", "model", code=1).output


@pytest.mark.parametrize("encoding", ["euc_jp"])
def test_labels_from_python(files):
    run(crf_learn, "-m", 5, "x.template", "x.train", "x.model")
    tagger = crfkit.load("x.model")
    assert [label.encode(errors="surrogateescape").decode("euc_jp") for label in tagger.labels] == sorted(LABELS, key=lambda label: label.encode("euc_jp"))
    assert tagger.tag([["a"]])[0] in tagger.labels


@pytest.fixture(params=["pycrfsuite", "crfkit.compat.pycrfsuite"])
def library(request):
    pytest.importorskip("pycrfsuite")
    return pytest.importorskip(request.param)


def trained(library, data):
    """Train on sequences with their labels; the model as either library opens it."""
    trainer = library.Trainer(verbose=False)
    for items, labels in data:
        trainer.append(items, labels)
    trainer.train("m")
    taggers = [pytest.importorskip(name).Tagger() for name in ("pycrfsuite", "crfkit.compat.pycrfsuite")]
    for tagger in taggers:
        tagger.open("m")
    return taggers


NAMES = [b"w=caf\xe9", b"w=th\xe9", b"\xff", "é".encode("latin-1"), "é".encode()]


def test_names_from_python_may_be_any_bytes(library):
    """As bytes, or as the str that Python makes of bytes that are no UTF-8."""
    there, here = trained(library, [([[name], {name: 2.0, b"\xfe": {b"\xfd": b"\xfc"}}], ["AB"[k % 2], "C"]) for k, name in enumerate(NAMES)])
    texts = [name.decode(errors="surrogateescape") for name in NAMES]
    assert set(here.info().attributes) == {*texts, "\udcfe:\udcfd:\udcfc"}
    for name, text in zip(NAMES, texts, strict=True):
        sentence = [[name], {name: 0.5, b"\xfe": {b"\xfd": [b"\xfc"]}}]
        assert here.tag(sentence) == there.tag(sentence) == here.tag([[text], {text: 0.5, "\udcfe": {"\udcfd": "\udcfc"}}]) == crfkit.load("m").tag(sentence)
        assert here.probability(["A", "C"]) == pytest.approx(there.probability(["A", "C"]), rel=1e-5)
        assert ItemSequence(sentence).items()[0] == {text: 1.0}
        assert crfkit.load("m").tag_many([sentence]) == [here.tag(ItemSequence(sentence))]
    with pytest.raises(ValueError, match="text that UTF-8 can encode"):
        here.tag([["\ud800"]])  # which stands for no byte


@pytest.mark.parametrize("encoding", ["euc_jp"])
def test_cells_from_python(files, encoding):
    run(crf_learn, "-m", 20, "x.template", "x.train", "x.model")
    run(crf_learn, "-m", 20, "u.template", "u.train", "u.model")
    rows = [["あ"], ["い"], ["う"]]
    escaped = [[cell.encode(encoding).decode(errors="surrogateescape") for cell in row] for row in rows]
    found = [label.encode(errors="surrogateescape").decode(encoding) for label in crfkit.load("x.model").tag(escaped)]
    assert found == crfkit.load("u.model").tag(rows)


def test_what_is_crfkit_s_own_is_utf_8():
    with pytest.raises(crfkit.CrfkitError, match="bytes in UTF-8"):
        crfkit.learn([[([b"\xff"], "A"), ([b"b"], "B")]], format="crfsuite")
    with pytest.raises(crfkit.CrfkitError, match="text that UTF-8 can encode"):
        crfkit.learn([[["\udcff", "A"], ["b", "B"]]], "U:%x[0,0]\n")


# --- Labels that no column can hold -----------------------------------------------------------------------------------

ODD = ["@", "@weight:2", "a\tb", "a b", "a\nb", "a\r\nb", "a:b", "a\\b", " x ", "#", "", "é"]


def test_labels_from_python_may_be_anything(library):
    for tagger in trained(library, [([["f" + label], ["g"]], [label, "O"]) for label in ODD]):
        assert set(tagger.labels()) == {*ODD, "O"}
        assert [tagger.tag([["f" + label], ["g"]]) for label in ODD] == [[label, "O"] for label in ODD]
    foreign.convert("m", "own")
    foreign.convert("own", "again", "crfsuite")
    assert foreign.load("own").tagger().tag([["fa\nb"], ["g"]]) == ["a\nb", "O"]
    assert set(foreign.read("again").labels) == {*ODD, "O"}
    write(data="x\tfa\n")
    assert "does not fit into a column" in invoked(main, "tag", "m", "data", code=1).output
    with pytest.raises(UnsupportedError, match="does not fit into a column"):
        foreign.convert("m", "text", "crfpp-text")


# --- Lines with tabs and blanks ---------------------------------------------------------------------------------------

MIXED = "the DT\tB\n dog  \t NN I\n\nruns VB O\t\n\nthe\tDT B\n"


def test_tabs_and_blanks_separate_alike(tmp_path):
    (tmp_path / "template").write_text("U1:%x[0,0]\n \t\nU2:%x[-1,1]/%x[0,1]\nB\n")
    (tmp_path / "mixed").write_text(MIXED)
    (tmp_path / "plain").write_text("".join("\t".join(line.split()) + "\n" for line in MIXED.splitlines()))
    made = []
    for data in ("plain", "mixed"):
        run(crf_learn, "-m", 5, "template", data, "crfpp")
        run(wapiti, "train", "-i", 5, "-p", "template", data, "wapiti")
        made.append([(tmp_path / name).read_bytes() for name in ("crfpp", "wapiti")])
        made[-1].append(run(crf_test, "-v", 2, "-m", "crfpp", data))
        made[-1].append([line.split() for line in run(wapiti, "label", "-c", "-m", "wapiti", data).splitlines()])
        made[-1].append([line.split() for line in run(main, "tag", "-v", 1, "crfpp", data).splitlines()])
    assert made[0] == made[1]
    (tmp_path / "names").write_text("New York\tNNP\tB\nis\tVBZ\tO\n")
    said = "crfkit: error: names:2: found 3 columns, expected 4 as in names:1 (for CRF++ and Wapiti columns end at blanks, too)\n"
    assert invoked(crf_learn, "template", "names", "m", code=1).stderr == said
    assert run(main, "tag", "wapiti", "mixed").startswith(b"the DT\tB\tB\n dog  \t NN I\tI\n\n")
