"""crfkit-wapiti beside Wapiti itself, where it is installed."""

import random
import re
from functools import cache
from pathlib import Path

import pytest
from commands import text_of, write
from compat.wapiti_peer import wapiti
from compat.wapiti_runs import TIMES, TWICE, dumped, run, sentences, trained, write_files

from crfkit import foreign
from crfkit.compat.wapiti.algorithms import ALGORITHMS


@pytest.fixture(autouse=True)
def files():
    write_files()


@cache
def model_of_the_peer(kind):
    wapiti("train", "-T", kind, "-1", "0.01", "-2", "0.01", "-i", "12", "-p", "patterns", "train", "model")
    return Path("model").read_bytes()


@pytest.mark.parametrize(("kind", "options"), [
    *(("crf", options) for options in ["", "-l", "-s", "-p -s", "-n 3 -s", "-n 2 -l", "-p -n 2 -s", "-c", "-c -p"]),
    *(("crf", options) for options in ["--force", "--force -s", "--force -p -s"]),
    *(("maxent", options) for options in ["", "-p -s", "-c", "--force"]),
    *(pytest.param("maxent", options, marks=pytest.mark.long) for options in ["-l", "-s", "-c -p", "--force -s", "--force -p -s"]),
])
def test_label_prints_what_the_peer_prints(options, kind):
    # maxent without -n: labellings of equal scores have no order
    Path("model").write_bytes(model_of_the_peer(kind))
    for data in ("test",) if "-c" in options or "--force" in options else ("test", "plain"):
        expected, log = wapiti("label", "-m", "model", *options.split(), data)
        done = run("label", "-m", "model", *options.split(), data)
        assert (done.stdout, done.stderr) == (expected, log)


@pytest.mark.parametrize("patterns", [TWICE, ["bDT", "b%x[0,1]", "u:%x[0,0]"]])
def test_observations_that_several_patterns_make(patterns):
    Path("patterns").write_text("\n".join(patterns) + "\n", encoding="utf-8")
    wapiti("train", "-1", "0.01", "-2", "0.1", "-i", "12", "-p", "patterns", "train", "model")
    assert run("label", "-p", "-s", "-m", "model", "test").stdout == wapiti("label", "-p", "-s", "-m", "model", "test")[0]


@pytest.mark.parametrize("seed", range(3))
def test_observations_that_any_patterns_make(seed):
    """A hundred patterns at once, whose regular expressions are put together at random, on cells that are, too."""
    rng = random.Random(seed)
    pieces = [*"abAZ1é._-+$[]", *(f"\\{letter}" for letter in "adlupswADLUPSW.*?\"\\^$")]
    characters = [*"abAZ1._-+*^$%#\"\\[]:", "é", "Ж", "日", "\u00a0", "_x-1"]

    def macro():
        kind, place = rng.choice("xXttmmTM"), f"{rng.choice(('0', '-1', '+1', '-5', '@1', '@-1', '@9', '010', '0x1'))},{rng.choice('01')}"
        regex = "".join(rng.choice(pieces) + rng.choice(("", "", "*", "?")) for _ in range(rng.randint(0, 4)))
        return f"%{kind}[{place}]" if kind in "xX" else f"%{kind}[{place},\"{rng.choice(('', '^'))}{regex}{rng.choice(('', '$'))}\"]"

    patterns = [f"{rng.choice('uuub*')}{number}:" + "/".join(macro() for _ in range(rng.randint(1, 3))) for number in range(100)]
    words = ["".join(rng.choices(characters, k=rng.randint(1, 4))) for _ in range(12)]
    rows = [[[*rng.choices(words, k=2), label] for label in rng.choices("XY", k=5)] for _ in range(8)]
    write(patterns="\n".join(patterns) + "\n", train=text_of(rows))
    wapiti("train", "-i", "1", "-p", "patterns", "train", "theirs")
    trained("-i", "1", name="ours")
    names = [list(foreign.read(name).places) for name in ("theirs", "ours")]
    assert names[0] == names[1] and len(names[0]) > 500


def test_labels_that_the_model_does_not_have_are_not_counted():
    """Their tokens are, among all."""
    trained("-i", "8", "-1", "0.01")
    strange = [[[*row[:2], "strange" if (s + t) % 3 == 0 else row[2]] for t, row in enumerate(rows)] for s, rows in enumerate(sentences(3, 60))]
    Path("strange").write_text(text_of(strange), encoding="utf-8")
    done = run("label", "-c", "-m", "model", "strange")
    found = [[line.split("\t")[-1] for line in block.split("\n")] for block in done.stdout.strip().split("\n\n")]
    pairs = [[(row[2], label) for row, label in zip(rows, labels, strict=True)] for rows, labels in zip(strange, found, strict=True)]
    wrong = [sum(gold not in ("strange", label) for gold, label in rows) for rows in pairs]
    assert sum(wrong) > 0
    assert f"Token error   : {100 * sum(wrong) / sum(map(len, pairs)):5.2f}%" in done.stderr
    assert f"Sequence error: {100 * sum(map(bool, wrong)) / len(pairs):5.2f}%" in done.stderr
    counted = [pair for rows in pairs for pair in rows if pair[0] != "strange"]
    right = counted.count(("B", "B")) / sum(label == "B" for _, label in counted)
    assert f"B       Pr={right:.2f}" in done.stderr


def test_unknown_labels_in_wapiti():
    wapiti("train", "-i", "8", "-1", "0.01", "-p", "patterns", "train", "model")
    Path("strange").write_text(text_of([[[*row[:2], "strange" if t % 3 == 0 else row[2]] for t, row in enumerate(rows)] for rows in sentences(3, 60)]), encoding="utf-8")
    done, expected = run("label", "-c", "-m", "model", "strange"), wapiti("label", "-c", "-m", "model", "strange")
    assert (done.stdout, done.stderr) == expected


@pytest.mark.parametrize("options", ["-1 0.1", "-1 0.3 -2 1 -c", "-T maxent -1 0.1 -c", "-1 0.1 -d dev", "-a rprop -1 0.1", "-a bcd -1 0.1", "-1 0 -2 1"])
def test_trained_models_work_in_wapiti(options):
    log = trained("-e", "0.00001", "-w", "0", *options.split())
    expected, _ = wapiti("label", "-m", "model", "-s", "test")
    assert run("label", "-m", "model", "-s", "test").stdout == expected
    expected, _ = wapiti("dump", "--all", "-p", "7", "model")
    assert run("dump", "--all", "-p", "7", "model").stdout == expected
    assert log.endswith("* Save the model\n* Done\n") and "  [   1] obj=" in log
    if "-a" in options:
        return
    _, peer = wapiti("train", "-e", "0.00001", "-w", "0", *options.split(), "-i", "400", "-p", "patterns", "train", "peer")
    objective = [float(re.findall(r"obj=(\S+)", told)[-1]) for told in (log, peer)]
    assert objective[0] == pytest.approx(objective[1], rel=2e-3)


@pytest.mark.parametrize("options", ["-1 0.1", "-T maxent -1 0.1", "-d dev"])
def test_the_log_is_that_of_the_peer(options):
    """The first iterations are the same to the last digit; so is all else that both say."""
    ours, theirs = trained(*options.split(), "-i", "1"), wapiti("train", "-p", "patterns", *options.split(), "-i", "1", "train", "peer")[1]
    said = [TIMES.sub("", log).splitlines() for log in (ours, theirs)]
    names = [list(foreign.read(name).places) for name in ("model", "peer")]
    assert said[0] == said[1] and names[0] == names[1]
    assert foreign.read("model").labels == foreign.read("peer").labels


@pytest.mark.parametrize("options", [[], ["-c"]])
def test_update_writes_what_the_peer_writes(options):
    trained("-1", "0.1", "-i", "5")
    lines = [line for line in dumped().splitlines(keepends=True) if " " not in line]  # which Wapiti cannot read again
    rng = random.Random(5)
    patch = "".join(re.sub(r"\S+$", f"{rng.choice((0, 1.5, -2))}", line) if rng.random() < 0.3 else line for line in lines)
    Path("patch").write_text(patch, encoding="utf-8", errors="surrogateescape")
    log = run("update", "-m", "model", *options, "patch", "ours").stderr
    assert log == wapiti("update", "-m", "model", *options, "patch", "theirs")[1]
    assert Path("ours").read_bytes() == Path("theirs").read_bytes()


def test_states_of_wapiti_are_named():
    wapiti("train", "-i", "2", "--sstate", "theirs", "-p", "patterns", "train", "model")
    assert "theirs: a state of Wapiti" in run("train", "--rstate", "theirs", "-p", "patterns", "train", "new", code=1).stderr


def test_data_without_sentences():
    write(model=model_of_the_peer("crf"), empty="\n\n")
    done = run("label", "-m", "model", "-c", "empty")
    assert (done.stdout, done.stderr) == wapiti("label", "-m", "model", "-c", "empty")


def test_single_lines():
    """--me: each line is a sequence and lists its features."""
    write(me="foo bar A\nx y B\nx bar A\nfoo y q B\nz:\\1 y B\n@w y B\n", met="foo y\nbar y y\n\nnothing\nq z:\\1\n")
    log = run("train", "--me", "-1", "0.01", "-2", "0.1", "-e", "0.00001", "-w", "0", "me", "model").stderr
    _, peer = wapiti("train", "--me", "-1", "0.01", "-2", "0.1", "-e", "0.00001", "-w", "0", "me", "peer")
    assert re.findall(r"obj=(\S+) +act=(\d+)", log)[-1] == re.findall(r"obj=(\S+) +act=(\d+)", peer)[-1]
    assert re.findall(r"nb .*", log) == re.findall(r"nb .*", peer)
    ours, theirs = (Path(name).read_bytes().split(b"\n") for name in ("model", "peer"))
    assert ours[1:6] == theirs[1:6] and b"#rdr#0/0/1" in ours  # columns, labels, number of observations
    for options in ("", "-s", "-n 2 -s", "-p -s -n 2", "-l"):
        assert run("label", "-m", "model", *options.split(), "met").stdout == wapiti("label", "-m", "model", *options.split(), "met")[0]
    done = run("label", "-m", "model", "-c", "me")
    assert (done.stdout, done.stderr) == wapiti("label", "-m", "model", "-c", "me")
    assert run("label", "-m", "model", "--force", "-l", "me").stdout.split() == list("ABABBB")


def test_wapiti_prints_what_the_page_shows():
    """docs/wapiti.md: that crfkit-wapiti prints it is for tests/test_docs.py."""
    page = (Path(__file__).parents[2] / "docs" / "wapiti.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"^\$ cat (\S+)\n((?:(?!\$).*\n)*?)(?=\$ )", page, re.M):
        Path(name).write_text(content, encoding="utf-8")
    shown = re.search(r"^```console\n(.*?)^```$", page, re.M | re.S)[1]
    commands = re.findall(r"^\$ crfkit-wapiti (.*)\n((?:[^$].*\n|\n)*)", shown, re.M)
    assert len(commands) > 1
    for command, printed in commands:
        out, log = wapiti(*command.partition(" 2> ")[0].split())
        told = out if " 2> " in command else log + out
        assert re.sub(r"time=\S+", "time=...s/...s", told).strip() == printed.strip()


def test_numbers_are_read_as_wapiti_reads_them():
    for words in (("-i", "3.0"), ("-i", "+3", "-t", "1.", "-1", "1e-1")):
        expected = wapiti("train", *words, "-p", "patterns", "train", "model")[1]
        assert len(re.findall(r"^  \[", expected, re.M)) == len(re.findall(r"^  \[", trained(*words), re.M)) == 3


def test_byte_order_marks_and_data_of_one_label():
    """A mark is a part of the first cell to Wapiti. Both learn from data of one label."""
    log = trained("-i", "3")
    for name in ("train", "patterns"):
        Path(name).write_bytes(b"\xef\xbb\xbf" + Path(name).read_bytes())
    assert TIMES.sub("", trained("-i", "3")) == TIMES.sub("", log)
    Path("plain patterns").write_text("u:%x[0,0]\n")
    wapiti("train", "-i", "1", "-p", "plain patterns", "train", "theirs")
    assert "u:\ufeff" in wapiti("dump", "theirs")[0]
    with pytest.raises(AssertionError, match="unknown pattern type"):
        wapiti("train", "-i", "1", "-p", "patterns", "train", "theirs")
    Path("same").write_text("a A\nb A\n")
    wapiti("train", "-i", "3", "-p", "plain patterns", "same", "theirs")
    assert wapiti("label", "-l", "-m", "theirs", "same")[0].split() == ["A", "A"]
    for algorithm in ALGORITHMS:
        assert "only one label, 'A': the model will give it to every token" in run("train", "-a", algorithm, "-p", "plain patterns", "same", "ours").stderr
        assert run("label", "-l", "-m", "ours", "same").stdout == wapiti("label", "-l", "-m", "ours", "same")[0] == "A\nA\n\n"
    assert "only one label, 'A'" in run("train", "--me", "same", "ours").stderr
    assert run("label", "--me", "-l", "-m", "ours", "same").stdout == wapiti("label", "--me", "-l", "-m", "ours", "same")[0] == "A\n\nA\n\n"
