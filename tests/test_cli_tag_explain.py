"""`crfkit tag --explain`: the lines to the byte, what stands between them, and what is refused."""

import gzip

import pytest
from commands import crfkit as command
from commands import error, tag
from models import ROOT, model

import crfkit

# Weights by hand, in a model of CRF++: of U:a, U:b and U:\xe9 for X and Y, and of XX, XY, YX, YY.
TEXT = b"version: 100\ncost-factor: 1\nmaxid: 10\nxsize: 1\n\nX\nY\n\nU:%x[0,0]\nB\n\n0 U:a\n2 U:b\n4 U:\xe9\\*\n6 B\n\n"
TEXT += b"1.5\n-0.25\n-1\n0.5\n0.25\n0.75\n0.5\n-0.25\n0.125\n1\n"
# XY scores 1.5 + 0.5 - 0.25 = 1.75, YY -0.25 + 0.5 + 1 = 1.25, XX 1.5 - 1 + 0.5 = 1, YX less.
A = ["\trival\t+0.5\tY\t0\t0", "\t0\t+1.75\tU:a\t#\tX\t1.5\t#\tY\t-0.25", "\t+1\t-1.25\t*\tX\tY\t-0.25\tY\tY\t1"]
B = ["\trival\t+0.75\tX\t0\t0", "\t0\t+1.5\tU:b\t#\tY\t0.5\t#\tX\t-1", "\t0\t-0.75\t*\tX\tY\t-0.25\tX\tX\t0.5"]


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "hand").write_bytes(TEXT)
    for name, trained in (("m", model("chunking")), ("words", model("segmentation")), ("ahead", model("chunking", "lookahead"))):
        trained.save(tmp_path / name)


def lines(*groups):
    return "".join(line + "\n" for group in groups for line in ([group] if isinstance(group, str) else group))


def test_by_hand():
    assert tag("--explain", 9, "hand", stdin="a\nb\n") == lines("a X", A, "b Y", B, "")
    assert tag("--explain", 2, "hand", stdin="a 1\tz\nb 2\tz\n\na 1\tz\nb 2\tz\n") == 2 * lines("a 1\tz\tX", A, "b 2\tz\tY", B, "")
    one = lines("a X", A[:2], "\trest\t-1.25\t1", "b Y", B[:2], "\trest\t-0.75\t1", "")
    assert tag("--explain", 1, "hand", stdin="a\nb\n\n\n") == one
    assert tag("--explain", 1, "--separator", "|", "hand", stdin="a\nb\n") == one.replace("a X", "a|X").replace("b Y", "b|Y")


def test_neighbours_that_change_with_a_token():
    """YY scores 3.5 and XX 2, XY and YX less than 0: with the label of one token that of the other changes, too."""
    data = TEXT.replace(b"\n1.5\n-0.25\n-1\n0.5\n", b"\n0.5\n0.25\n0.5\n0.25\n").replace(b"0.5\n-0.25\n0.125\n1\n", b"1\n-2\n-2\n3\n")
    with open("joint", "wb") as file:
        file.write(data)
    expected = ["a Y", "\trival\t+1.5\tX\t0\t+1", "\t+1\t+2\t*\tY\tY\t3\tX\tX\t1", "\t0\t-0.25\tU:a\t#\tY\t0.25\t#\tX\t0.5", "\trest\t-0.25\t1"]
    assert tag("--explain", 2, "joint", stdin="a\nb\n").startswith(lines(expected, "b Y", "\trival\t+1.5\tX\t-1\t0"))


def test_constraints_and_known_labels():
    """What is not allowed is no rival; a token without a choice has none."""
    with open("pairs", "w") as file:
        file.write("X Y\nX X\n")
    assert tag("--explain", 9, "--constraints", "pairs", "hand", stdin="a\nb\n") == lines("a X", "b Y", B, "")
    assert tag("--explain", 9, "--partial", "hand", stdin="a ?\nb Y\n") == lines("a ? X", A, "b Y Y", "")
    assert tag("--explain", 9, "--partial", "hand", stdin="a X|Y\nb ?\n") == lines("a X|Y X", A, "b ? Y", B, "")


def test_every_line_comes_out_as_it_went_in():
    """Line ends, bytes that are no UTF-8, comments; without the lines that begin with a tab it is what `tag` prints."""
    text = "a\r\nb\r\n"
    assert tag("--explain", 9, "hand", stdin=text) == lines("a X", A, "b Y", B, "").replace("\n", "\r\n")
    text = text.replace("\r", "\r\r")  # of a file that was converted twice
    assert tag("--explain", 9, "hand", stdin=text) == lines("a X", A, "b Y", B).replace("\n", "\r\r\n") + "\r\n"
    given = b"\xe9\\* z\n\xff \xe9\n\na 1\n"
    done = command("tag", "--explain", "1", "hand", stdin=given).stdout_bytes
    assert b"\n".join(line for line in done.split(b"\n") if line[:1] != b"\t") == command("tag", "hand", stdin=given).stdout_bytes
    named = b"\t0\t-0.5\tU:\\\\xe9\\\\*\t#\tX\t0.25\t#\tY\t0.75\n"
    assert named in command("tag", "--explain", "9", "hand", stdin=b"a\n\xe9\\*\n").stdout_bytes
    text = "# one\nthe DT\ndog NN\n\n\n# two\nold JJ\n# tail"
    out = tag("--comments", "--explain", 3, "m", stdin=text)
    assert "".join(line for line in out.splitlines(True) if line[0] != "\t") == tag("--comments", "m", stdin=text)
    assert tag("--explain", 3, "m") == ""


def test_in_files_of_all_formats(tmp_path):
    rows = "# text\n1-2\tdon't\t_\t_\n1\tdo\tAUX\t_\n2\tnot\tPART\t_\n\n1\tgo\tVERB\t_\n"
    (tmp_path / "u").write_text("# global.columns = ID FORM UPOS XPOS\n" + rows)
    crfkit.learn(str(tmp_path / "u"), "U:%x[0,form]\nB\n", format="conllu", label="upos", max_iter=3).save("conllu.model")
    crfkit.learn(ROOT / "data/reals.train.txt", format="crfsuite", max_iter=3).save("items.model")
    for name, data in (("conllu.model", tmp_path / "u"), ("items.model", ROOT / "data/reals.test.txt"), ("m", ROOT / "data/chunking.test.txt")):
        out, plain = tag("--explain", 2, name, data), tag(name, data)
        assert "".join(line for line in out.splitlines(True) if line[0] != "\t") == plain
        assert out == tag("--explain", 2, "--threads", 3, name, data)
        tokens = [line for line in plain.splitlines() if line and line[0] != "#" and not line.startswith("1-2")]
        assert out.count("\n\trival\t") == len(tokens)


def test_names_are_those_of_dump():
    """Each feature that is named has in the dump the weight that is its score; what is said adds up."""
    rows = 'the DT\nold JJ\ndog NN\n\n"\\" ``\n# #\n* NN\n'
    dumped = {tuple(line.split("\t")[:3]): float(line.split("\t")[3]) for line in command("dump", "m").stdout.splitlines()}
    lead, said = 0.0, 0.0
    for line in tag("--explain", 5, "m", stdin=rows).splitlines():
        _, what, amount, *cells = line.split("\t") if line[:1] == "\t" else ("", "", "0")
        if what == "rival":
            assert said == pytest.approx(lead, abs=1e-3)
            lead, said = float(amount), 0.0
            continue
        said += float(amount)
        if what and what != "rest":
            name, previous, label, score, other_previous, other, other_score = cells
            assert float(score) == pytest.approx(dumped.get((name, previous, label), 0.0), rel=1e-5)
            assert float(other_score) == pytest.approx(dumped.get((name, other_previous, other), 0.0), rel=1e-5)
            assert (previous == "#") == (name != "*") and int(what) in range(-3, 4)
    assert said == pytest.approx(lead, abs=1e-3)


def test_files_one_by_one(tmp_path):
    (tmp_path / "one.gz").write_bytes(gzip.compress(b"a\nb\n"))
    assert command("tag", "--explain", "9", "--output-dir", "out", "hand", "one.gz").stdout == ""
    assert (tmp_path / "out/one").read_text() == lines("a X", A, "b Y", B, "")


def test_eval_says_which_lines_are_no_tokens():
    out = tag("--explain", 1, "hand", stdin="a X\nb Y\n")
    assert error("eval", stdin=out) == "<stdin>:2: 6 columns, but line 1 has 3 (tag without --explain, which adds such lines)"


@pytest.mark.parametrize("options", [("-v", "1"), ("-n", "2"), ("--probability",), ("--posterior",), ("--fill",)])
def test_options_that_exclude_it(options):
    assert "--explain has a layout of its own" in error("tag", "--explain", "3", *options, "m", code=2)


def test_models_that_decide_label_by_label():
    assert error("tag", "--explain", "3", "ahead") == (
        "--explain compares labellings of whole sentences, but a model trained by lookahead decides label by label. "
        "Train with another algorithm, such as lbfgs or perceptron"
    )
    for given in ("0", "-1", "x", str(2**31)):
        assert "--explain" in error("tag", "--explain", given, "m", code=2)
