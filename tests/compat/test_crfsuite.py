"""crfkit-crfsuite: CRFsuite's options, log and output."""

import json
import platform
import re
import sys
from collections import Counter
from functools import partial
from io import TextIOWrapper
from pathlib import Path

import commands
import pycrfsuite
import pytest
from commands import python, write
from compat.pycrfsuite_runs import opened
from liars import Sips
from pycrfsuite._logparser import TrainLogParser

from crfkit.compat.crfsuite import _parsed, cli
from crfkit.compat.pycrfsuite.features import Sequences

SENTENCES = [[("AO", 1), ("B", 2)], [("O", 3)], [("B", 2), ("AO", 1), ("O", 0)]] * 4


@pytest.fixture(autouse=True)
def data(tmp_path):
    """Two files, in which an attribute has a colon and another a value."""
    for name, shift in (("train", 0), ("test", 1)):
        lines = "\n\n".join("\n".join(f"{label}\tw={(word + shift) // 2}\tx\\:y:0.5\tv={word}" for label, word in rows) for rows in SENTENCES)
        (tmp_path / name).write_text(lines + "\n\n" if shift else lines)


run = partial(commands.invoked, cli)


def test_learn_tag_and_dump(tmp_path):
    log = run("learn", "-m", "model", "-p", "c2=0.1", "-p", "max_iterations=5", "-e2", "train", "test").stdout
    assert "[2] test\n" in log and "Number of instances: 24\n" in log and "Holdout group: 2\n" in log
    parser = TrainLogParser()
    for message in log[log.index("Feature generation") :].splitlines(keepends=True):
        parser.feed(message)
    assert parser.last_iteration["scores"]["O"].ref == 8
    assert "\nSeconds required: " in log.partition("Storing the model")[2]  # the parser takes 0.000 for none
    tagger = opened(pycrfsuite, "model")
    text = run("tag", "-r", "-i", "-l", "-p", "-m", "model", "train").stdout
    for (rows, block) in zip(SENTENCES, text.split("\n\n"), strict=False):
        score, probability, *lines = block.splitlines()
        items = [{f"w={word // 2}": 1, "x:y": 0.5, f"v={word}": 1} for _, word in rows]
        found = tagger.tag(items)
        assert float(probability.split("\t")[1]) == pytest.approx(tagger.probability(found), abs=2e-6) and score.startswith("@score\t")
        for place, (line, (label, _)) in enumerate(zip(lines, rows, strict=True)):
            gold, best, *others = line.split("\t")
            assert gold == label and best == f"{found[place]}:{tagger.marginal(found[place], place):.6f}"
            assert {other.rpartition(":")[0] for other in others} == set(tagger.labels())
    tagger.dump("peer")
    assert run("dump", "model").stdout == (tmp_path / "peer").read_text()


@pytest.mark.long
def test_nobody_reads_the_log():
    run("learn", "-m", "model", "train")
    assert commands.unheard("crfsuite", "learn", "-m", "unheard", "train") == 0
    assert Path("unheard").read_bytes() == Path("model").read_bytes()


@pytest.mark.parametrize("line", [" ", "\t", " \t "])
def test_lines_of_blanks_end_sequences(tmp_path, line):
    (tmp_path / "data").write_text(f"A\ta\n{line}\nB\tb\n\n")
    assert "Number of instances: 2\nNumber of items: 2\n" in run("learn", "data").stdout


def test_labels_with_percent_signs(tmp_path):
    (tmp_path / "data").write_text("%d\ta\n100%\tb\n\n")
    run("learn", "-m", "model", "-p", "c2=0.01", "data")
    first, second, _ = run("tag", "-l", "-m", "model", "data").stdout.split("\n", 2)
    assert re.fullmatch(r"%d\t%d:0\.9\d{5}\t100%:0\.0\d{5}", first) and re.fullmatch(r"100%\t%d:0\.0\d{5}\t100%:0\.9\d{5}", second)


def test_standard_output_without_a_buffer(monkeypatch):
    """With PYTHONUNBUFFERED, a disk that is nearly full takes a part of what is written."""
    run("learn", "-m", "model", "train")
    for flags in ((), ("-r", "-p", "-i")):
        expected = run("tag", *flags, "-m", "model", "train").stdout
        stream = Sips(7)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", TextIOWrapper(stream, write_through=True))
            cli(["tag", *flags, "-m", "model", "train"], standalone_mode=False)
        assert stream.held.decode() == expected


def test_report_and_standard_input(tmp_path):
    run("learn", "-m", "model", "-a", "ap", "train")
    text = (tmp_path / "train").read_text()
    assert run("tag", "-m", "model", stdin=text).stdout.replace("\n\n", "\n").split() == [label for rows in SENTENCES for label, _ in rows]
    report = run("tag", "-qt", "-m", "model", stdin=text).stdout
    assert report.startswith("Performance by label") and "Item accuracy: 24 / 24 (1.0000)" in report and "[instance/sec]" in report


def test_names_of_options_may_be_cut_short_before_their_values(tmp_path):
    """Where `=` follows, the first option that begins so is meant; elsewhere names are written out."""
    run("learn", "--alg=ap", "--m=model", "--s=max_iterations=2", "train")
    assert run("tag", "--mod=model", "train").stdout == run("tag", "-m", "model", "train").stdout
    run("learn", "--algorithm=ap", "--set=max_iterations=1", "--log=ignored", "train", code=2)  # --log-to-file, before --logbase
    run("learn", "--algorithm=ap", "--set=max_iterations=1", "--logb=named", "-l", "train")
    assert (tmp_path / "named_averaged-perceptron_max_iterations=1").is_file()
    assert "Holdout group: 1\n" in run("learn", "--h=1.0", "-pmax_iterations=1", "train", "test").stdout
    for words in (["--mod", "model"], ["--x=model"]):
        name = words[0].partition("=")[0]
        # older versions of click have no quotes
        assert re.search(rf"No such option(: {name}\s| '{name}')", run("learn", *words, "train", code=2).stderr)


def test_nothing_to_label_is_no_error(tmp_path):
    run("learn", "-m", "model", "train")
    (tmp_path / "empty").write_text("\n")
    assert run("tag", "-m", "model", "empty").stdout == run("tag", "-m", "model", stdin="").stdout == ""
    assert "Item accuracy: 0 / 0 (0.0000)" in run("tag", "-qt", "-m", "model", "empty").stdout
    assert "empty: no tokens" in run("learn", "-m", "model", "empty", code=1).stderr


def test_the_log_tells_of_reading():
    out = run("learn", "-a", "ap", "-p", "max_iterations=1", "train").stdout
    assert "[1] train\n0....1....2....3....4....5....6....7....8....9....10\nNumber of instances: " in out
    assert "c2: expected a number of at least 0, found -1" in run("learn", "-p", "c2=-1", "train", code=1).stderr


def test_what_the_log_says_of_the_data():
    """Each file has its lines; what holds for all stands behind them."""
    out = run("learn", "-a", "ap", "-p", "max_iterations=1", "train", "test").stdout
    assert re.search(r"\[1\] train\n0\.\.[^\n]*10\nNumber of instances: 12\nSeconds required: [\d.]+\n\[2\] test\n0[^\n]*\nNumber of instances: 12\nS[^\n]*\n\nStat", out)
    items, names = 2 * sum(map(len, SENTENCES)), len({f"w={(word + shift) // 2}" for shift in (0, 1) for word in range(4)}) + 1 + 4
    expected = f"(groups): 2\nNumber of instances: 24\nNumber of items: {items}\nNumber of attributes: {names}\nNumber of labels: 3\n\n"
    assert expected in out and re.search(r"\nEnd time of the training: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n\n$", out)
    for flag in ("-H", "--help-params"):
        assert run("learn", "-a", "ap", flag).stdout.startswith("PARAMETERS for averaged-perceptron (crf1d):\n\n")


def c_shuffled(n):
    """0 to n - 1, each in turn exchanged with one that rand() of the C library gives."""
    code = f"import ctypes\nrand = ctypes.CDLL(None).rand\nprint(*(rand() % {n} for _ in range({n})))"
    order = list(range(n))
    for k, j in enumerate(map(int, python(code).stdout.split())):
        order[k], order[j] = order[j], order[k]
    return order


def test_groups_are_of_one_size_and_those_of_crfsuite():
    sequences = Sequences()
    rows = next(iter(_parsed("train")))
    for n in range(97):
        sequences.append(rows, n % len(rows), None, 0)
    sequences.split(7)
    assert sorted(Counter(sequences.groups).values()) == [13] * 1 + [14] * 6
    if platform.libc_ver()[0] == "glibc":
        assert [sequences.groups[k] for k in c_shuffled(97)] == [place % 7 for place in range(97)]
    Sequences().split(3)


# python-crfsuite where CRFsuite's learn would be: the same dice, thrown as often before, the sequences in the order that they give.
PEER = """
import ctypes, json, sys
import pycrfsuite
algorithm, groups, sequences, holdouts = json.loads(sys.argv[1])
rand, order = ctypes.CDLL(None).rand, list(range(len(sequences)))
for k in range(len(order) if groups else 0):
    j = rand() % len(order)
    order[k], order[j] = order[j], order[k]
trainer = pycrfsuite.BaseTrainer(algorithm, {"max_iterations": 4})
for place, number in enumerate(order):
    items, labels, group = sequences[number]
    trainer.append(items, labels, place % groups if groups else group)
for holdout in holdouts:
    trainer.train("", holdout)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the order is that of glibc's rand()")
@pytest.mark.parametrize("algorithm", ["l2sgd", "ap"])  # the steps of the others depend on the last digits of weights
@pytest.mark.parametrize(("arguments", "groups", "holdouts"), [(("-g4", "-e3"), 4, [2]), (("-g3", "-x"), 3, [0, 1, 2]), (("-x", "noisy", "test"), 0, [0, 1])], ids=str)
def test_groups_are_learned_from_in_the_order_of_crfsuite(tmp_path, algorithm, arguments, groups, holdouts):
    sequences = []
    for name, shift in (("noisy", 0), ("test", 1)):
        # Each sequence begins with all labels, so that they have the same numbers in any order of the sequences.
        own = [[(f"w{(i * i + t * t + shift) % 7}", ("ABC" + "CABBA"[i % 5 :])[t]) for t in range(8 - i % 5)] for i in range(23 + shift)]
        (tmp_path / name).write_text("".join("".join(f"{label}\t{word}\n" for word, label in rows) + "\n" for rows in own))
        if shift == 0 or not groups:
            sequences += [([[word] for word, _ in rows], [label for _, label in rows], shift) for rows in own]
    given = json.dumps([algorithm, groups, sequences, holdouts])
    peer = python(PEER, given).stdout
    ours = run("learn", "-a", algorithm, "-p", "max_iterations=4", *arguments, *(["noisy"] if groups else [])).stdout
    found, expected = ([float(loss) for loss in re.findall(r"^Loss: (.*)$", log, re.M)] for log in (ours, peer))
    assert len(found) >= 4 * len(holdouts) and found == pytest.approx(expected, rel=1e-4)


def test_cross_validation_and_log_file(tmp_path):
    assert run("learn", "-g3", "-x", "-a", "ap", "-p", "max_iterations=9", "-l", "train").stdout == ""
    log = (tmp_path / "log.crfsuite_averaged-perceptron_max_iterations=9").read_text()
    assert "===== Cross validation (3/3) =====" in log and log.count("Item accuracy") >= 3
    assert "float c1 = 0.000000;" in run("learn", "-H").stdout


@pytest.mark.parametrize(("arguments", "message"), [
    (("learn", "-a", "none", "train"), "--algorithm: expected lbfgs, l2sgd, ap, pa or arow, found 'none'"),
    (("learn", "-p", "none=1", "train"), "--set: lbfgs has no parameter 'none'; it has feature.minfreq, "),
    (("learn", "-p", "c1=1", "-a", "ap", "train"), "--set: averaged-perceptron has no parameter 'c1'; it has "),
    (("learn", "-p", "c1", "train"), "--set: expected NAME=VALUE, found 'c1'"),
    (("learn", "-p", "c1=x", "train"), "c1: expected a number, found 'x'"),
    (("learn", "-p", "linesearch=x", "train"), "linesearch: expected one of MoreThuente, Backtracking, StrongBacktracking, found 'x'"),
    (("learn", "-t", "2d", "train"), "--type: expected 1d, found '2d'"),
    (("learn", "-a", "pa", "-p", "type=7", "train"), "type: expected 0, 1 or 2, found 7"),
    (("dump", ""), "'': cannot be read: No such file or directory"),
    (("learn", "-e3", "train"), "--holdout: there is 1 group, found 3"),
    (("learn", "-x", "train"), "--cross-validate needs at least two groups"),
    (("learn", "absent"), "absent: cannot be read: No such file"),
    (("tag", "-m", "absent"), "absent: cannot be read: No such file"),
    (("tag", "-m", "train"), "crfkit: error: Invalid model file 'train': not a crfkit model: a text file"),
    (("dump", "train"), "Invalid model file 'train'"),
    (("dump", "absent"), "absent: cannot be read: No such file"),
    (("learn", "bad"), "bad:2: 'x' is not a finite number: expected attribute:value"),
    (("learn", "zero"), "zero:2: byte 3 of the line is 0"),
])
def test_errors_are_one_line(arguments, message):
    write(bad="A\tw\nB\tw:x\n", zero=b"A\tw\nB\t\0\n")
    error = run(*arguments, code=1).stderr
    assert error.startswith("crfkit: error: ") and message in error and error.count("\n") == 1


def test_too_many_labels_name_the_file():
    write(many="".join(f"L{label}\ta\n" for label in range(65533)))  # and three
    assert run("learn", "train", "many", code=1).stderr == "crfkit: error: many: more than 65535 different labels; is another column the label?\n"


@pytest.mark.parametrize("arguments", [("tag", "-m", "model", "one", "two"), ("dump", "one", "two")])
def test_no_file_is_ignored(arguments):
    assert "unexpected extra argument (two)" in run(*arguments, code=2).stderr


def test_what_is_found_before_training(tmp_path):
    data = (tmp_path / "train").read_bytes()
    assert "--model: train has another use here and would be overwritten" in run("learn", "-m", "train", "train", code=1).stderr
    (tmp_path / "train_lbfgs").write_bytes(data)
    error = run("learn", "-l", "-L", "train", "train_lbfgs", code=1).stderr
    assert "--log-to-file: train_lbfgs has another use here and would be overwritten" in error
    assert "absent/log_lbfgs: cannot be written: No such file or directory" in run("learn", "-l", "-L", "absent/log", "train", code=1).stderr
    assert (tmp_path / "train").read_bytes() == (tmp_path / "train_lbfgs").read_bytes() == data
    error = run("learn", "-m", "absent/m", "-p", "max_iterations=1", "train", code=1)
    assert "absent/m: no usable folder" in error.stderr and "Reading the data" not in error.stdout


def test_labels_of_any_bytes_in_a_log_file(tmp_path):
    (tmp_path / "latin").write_bytes(b"\xe4\ta\nB\tb\n\n" * 4)
    run("learn", "-l", "-e1", "-g2", "latin")
    assert b"\xe4" in (tmp_path / "log.crfsuite_lbfgs").read_bytes()


def test_a_model_with_a_template_is_refused():
    write(columns="a X\nb Y\n\n", template="U:%x[0,0]\n")
    commands.crfkit("learn", "-q", "template", "columns", "model")
    assert "model: has a template: label columns with `crfkit tag`" in run("tag", "-m", "model", "train", code=1).stderr


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_blanks_between_attributes_are_warned_of(separator):
    """Like CRFsuite, learn takes such a line for a label."""
    text = "A w=1\nB w=2\n\nB w=2\n".replace(" ", separator)
    write(some=text, half="A\nB\tb\n\n")
    warning = "crfkit: warning: {}: no line has an attribute: expected a label, a tab, and attributes with tabs between\n"
    expected = warning if separator == " " else ""
    assert run("learn", "-p", "max_iterations=1", "some", "half").stderr == expected.format("some")
    run("learn", "-p", "max_iterations=1", "-m", "model", "train")
    assert run("tag", "-m", "model", "-", stdin=text.encode()).stderr == expected.format("<stdin>")


def test_columns_are_no_attributes():
    """A model of attributes takes a line without a tab for a label alone."""
    Path("train").write_text("A\ta\nB\tb\n\n" * 3)
    commands.crfkit("learn", "-q", "--format", "crfsuite", "train", "model")
    warning = "warning: no line has an attribute: expected a label, a tab, and attributes with tabs between"
    assert warning in commands.crfkit("tag", "model", stdin=b"the DT B-NP\ncat NN I-NP\n\n").stderr
    for fine in (b"", b"A\n\nA\ta\n", b"A\ta\n"):
        assert "warning" not in commands.crfkit("tag", "model", stdin=fine).stderr
