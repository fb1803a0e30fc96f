"""crfkit-crf-learn and crfkit-crf-test: CRF++'s options, what it prints, and the files it reads."""

import math
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import pytest
from commands import invoked as run
from commands import text_of, write
from slow_mira import mira

import crfkit
from crfkit.cli.compat import REPLACEMENTS
from crfkit.compat.crfpp.crf_learn import crf_learn
from crfkit.compat.crfpp.crf_test import crf_test
from crfkit.template.parsing import Template

ROOT = Path(__file__).parents[2]
PEERS = Path(os.environ.get("CRFKIT_PEERS", "-"), "crfpp")
peers = pytest.mark.skipif(not PEERS.is_dir(), reason="CRFKIT_PEERS does not name a folder with outputs of CRF++")
WORDS = ["the", "dog", "a/b", "Été", "barks", "日本", "#"]
SENTENCES = [[[WORDS[(7 * i + t * t) % 7], "XYZ"[(i + t) % 3], ["B-A", "I-A", "O"][(i * t + t) % 3]] for t in range(1 + i % 6)] for i in range(230)]
TEMPLATE = "# words\nU00:%x[-1,0]\nU01:%x[0,0]/%x[1,1]\n\nU02:%x[0,1] @all\nB\n"
LINE = re.compile(r"iter=(\d+) terr=([01]\.\d{5}) serr=([01]\.\d{5}) act=(\d+) obj=(\d+\.\d{5}) diff=(\d+\.\d{5})")
learned = cache(lambda algorithm, **limit: crfkit.learn("train", _template(), algorithm, **limit).to_bytes())
HEAD = """CRF++: Yet Another CRF Tool Kit
Copyright (C) 2005-2013 Taku Kudo, All rights reserved.

reading training data: {ticks}
Done!S s

Number of sentences: {sentences}
Number of features:  {features}
Number of thread(s): {threads}
Freq:                {freq}
eta:                 {eta}
C:                   {C}
shrinking size:      {shrinking}
"""


@pytest.fixture(autouse=True)
def files(tmp_path):
    for name, sentences in (("train", SENTENCES), ("test", SENTENCES[:9])):
        (tmp_path / name).write_text("\n".join("".join(" ".join(row) + "\n" for row in rows) for rows in sentences))
    (tmp_path / "template").write_text(TEMPLATE)


def learn(*arguments):
    """Head and lines of what is printed, and the number of each line."""
    printed = run(crf_learn, *arguments).stdout
    head, lines, end = re.fullmatch(r"(.*?shrinking size: +\d+\n)((?:iter=[^\n]*\n)*)(.*)", printed, re.S).groups()
    assert re.fullmatch(r"\nDone!\d+\.\d\d s\n\n", end)
    assert [int(line.split()[0][5:]) for line in lines.splitlines()] == list(range(lines.count("\n")))
    return re.sub(r"Done!\d+\.\d\d s", "Done!S s", head), lines.splitlines()


# --- What CRF++ 0.59 printed, and read ------------------------------------------------------------------------------


@peers
@pytest.mark.parametrize("name", ["chunk", "seg"])
@pytest.mark.parametrize("kind", ["model", "model.txt"])
@pytest.mark.parametrize(
    ("suffix", "arguments"),
    [("", []), (".v1", ["-v1"]), (".v2", ["--verbose=2"]), (".n3", ["-n", "3"]), (".n2v1", ["-n2", "-v", "1"]), ("", ["-v", "0", "-c2.5"])],
)
def test_crf_test_prints_what_crfpp_prints(name, kind, suffix, arguments):
    found = run(crf_test, "-m", PEERS / f"{name}.{kind}", *arguments, PEERS / f"{name}.test").stdout_bytes
    expected = (PEERS / f"{name}.out{suffix}").read_bytes()
    # Only the last digits of probabilities may differ: CRF++ adds up in single precision.
    number = re.compile(rb"\d\.\d{6}\b")
    assert number.sub(b"P", found) == number.sub(b"P", expected)
    assert [*map(float, number.findall(found))] == pytest.approx([*map(float, number.findall(expected))], abs=3e-6)


@peers
@pytest.mark.parametrize(("name", "arguments"), [("chunk", []), ("seg", ["-f", "2", "-c", "3"])])
def test_crf_learn_prints_what_crfpp_prints(name, arguments):
    data = [PEERS / f"{name}.template", PEERS / f"{name}.train", "model"]
    theirs = (PEERS / f"{name}.learn.out").read_text()
    head, lines = learn("-p2", *arguments, *data)
    assert theirs.startswith(head.replace("S s", re.search(r"Done!(.*) s", theirs)[1] + " s"))
    found, expected = [LINE.fullmatch(line) for line in lines], LINE.findall(theirs)
    assert all(found) and found[0].groups() == expected[0]
    last, least = float(found[-1][5]), min(float(line[4]) for line in expected)
    assert last < least * 1.0001
    if name == "chunk":  # which ran to its end; for the other, -m was too small
        assert last > least * (1 - 30e-4)
        assert [*map(float, found[-1].groups()[1:3])] == pytest.approx([*map(float, expected[-1][1:3])], abs=0.02)
    assert float(found[-1][6]) < 1e-4


@peers
def test_the_page_shows_what_both_print():
    shown = re.findall(r"^(CRF\+\+|crfkit) +(iter=.*)$", (ROOT / "docs/crfpp.md").read_text(), re.M)
    theirs = LINE.findall((PEERS / "chunk.learn.out").read_text())
    _, ours = learn("-p2", PEERS / "chunk.template", PEERS / "chunk.train", "model")
    assert [line for side, line in shown if side == "crfkit"] == [ours[0], ours[-1]]
    assert [LINE.fullmatch(line).groups() for side, line in shown if side == "CRF++"] == [theirs[0], theirs[-1]]


# --- A small reader of CRF++'s binary files, and of its log ----------------------------------------------------------


def read(path):
    """(labels, lines of the template, columns, {feature: weights}), as CRF++ reads them."""
    data = Path(path).read_bytes()
    version, kind, cost, maxid, columns, size = struct.unpack_from("<IidIII", data)
    assert (version, kind, cost) == (100, 0, 1.0)
    at, texts = 28, []
    for _ in range(2):
        (length,) = struct.unpack_from("<I", data, at)
        texts.append([name.decode() for name in data[at + 4 : at + 4 + length].split(b"\0") if name])
        at += 4 + length
    assert at % 4 == 0
    units = [*struct.iter_unpack("<iI", data[at : at + size])]
    weights = struct.unpack_from(f"<{maxid}f", data, at + size)
    assert at + size + 4 * maxid == len(data)

    def place(name):
        base = units[0][0]
        for byte in name.encode():
            unit = units[base + byte + 1]
            if unit[1] != base:
                return None
            base = unit[0]
        value, check = units[base]
        return -1 - value if check == base and value < 0 else None

    def found(name):
        first = place(name)
        return None if first is None else weights[first : first + len(texts[0]) ** (2 if name[0] == "B" else 1)]

    return *texts, columns, found, maxid


def test_the_model_is_one_that_crfpp_reads():
    learn("-t", "template", "train", "model")
    labels, template, columns, weights, maxid = read("model")
    assert labels == ["B-A", "I-A", "O"] and template == ["U00:%x[-1,0]", "U01:%x[0,0]/%x[1,1]", "U02:%x[0,1] @all", "B"] and columns == 2
    tagger, seen = crfkit.load("model"), set()
    for rows in SENTENCES:
        score, names = 0.0, []
        words, tags, gold = zip(*rows, strict=True)
        for t, label in enumerate(gold):
            names = [f"U00:{words[t - 1] if t else '_B-1'}", f"U01:{words[t]}/{tags[t + 1] if t + 1 < len(rows) else '_B+1'}", f"U02:{tags[t]} @all"]
            seen |= {*names}
            score += sum(weights(name)[labels.index(label)] for name in names)
            if t:
                score += weights("B")[3 * labels.index(gold[t - 1]) + labels.index(label)]
        assert tagger.score(rows, gold) == pytest.approx(score, abs=1e-4)
    assert maxid == 3 * len(seen) + 9 and weights("U00:none") is None
    text = Path("model.txt").read_text()
    assert text.startswith(f"version: 100\ncost-factor: 1\nmaxid: {maxid}\nxsize: 2\n\nB-A\nI-A\nO\n\nU00:%x[-1,0]\n")
    binary = Path("model").read_bytes()
    run(crf_learn, "--convert", "model.txt", "again")
    assert Path("again").read_bytes() == binary


@peers
def test_the_reader_reads_crfpp_s_own():
    labels, template, columns, weights, maxid = read(PEERS / "chunk.model")
    text = (PEERS / "chunk.model.txt").read_text().split("\n\n")
    assert labels == text[1].split("\n") and template == text[2].split("\n") and (columns, maxid) == (2, 62280)
    values = [*map(float, text[4].split())]
    for line in text[3].split("\n")[::7]:
        first, _, name = line.partition(" ")
        assert list(weights(name)) == pytest.approx(values[int(first) : int(first) + (225 if name[0] == "B" else 15)], rel=1e-6)


def test_columns_that_no_line_uses_are_not_asked_for():
    Path("template").write_text("B\nU:%x[0,0]\n")
    learn("template", "train", "model")
    assert read("model")[1:3] == (["U:%x[0,0]", "B"], 1)
    assert run(crf_test, "-m", "model", stdin="the\ndog\n").stdout.count("\n") == 3


# --- The log ------------------------------------------------------------------------------------------------------


def measured(path, rows=SENTENCES):
    """(terr, serr) of a model."""
    tagger = crfkit.load(path)
    pairs = [(tagger.tag([row[:2] for row in one]), [row[2] for row in one]) for one in rows]
    wrong = [sum(a != b for a, b in zip(*pair, strict=True)) for pair in pairs]
    return sum(wrong) / sum(map(len, rows)), sum(map(bool, wrong)) / len(rows)


def penalty_and_loss(path, l1, l2):
    """Negative log-likelihood and penalty, of the model as it stands in the file."""
    tagger = crfkit.load(path)
    loss = -sum(tagger.log_probability([row[:2] for row in rows], [row[2] for row in rows]) for rows in SENTENCES)
    weights = [weight for *_, weight in tagger.model.features()]
    return loss + l1 * math.fsum(map(abs, weights)) + l2 / 2 * math.fsum(w * w for w in weights), len(weights)


@pytest.mark.parametrize(("arguments", "l1", "l2"), [(["-c", "0.5"], 0, 2), (["-a", "crf-l2", "-p3"], 0, 1), (["-a", "CRF-L1", "--cost=2"], 0.5, 0)])
def test_the_last_line_is_true(arguments, l1, l2):
    head, lines = learn("-f2", "-e", "0.00001", *arguments, "template", "train", "model")
    last = LINE.fullmatch(lines[-1])
    objective, active = penalty_and_loss("model", l1, l2)
    assert (float(last[2]), float(last[3])) == pytest.approx(measured("model"), abs=6e-6)
    assert float(last[5]) == pytest.approx(objective, rel=1e-6)
    features = int(re.search(r"features: +(\d+)", head)[1])
    assert int(last[4]) == (active if l1 else features)
    assert all(map(LINE.fullmatch, lines)) and lines[0].endswith("diff=1.00000")
    crfkit.learn("train", _template(), "owlqn", l1=l1, l2=l2, features="all", min_freq=2, delta=1e-9).save("best")
    assert objective == pytest.approx(penalty_and_loss("best", l1, l2)[0], rel=1e-3)


def _template():
    return Template.parse(TEMPLATE.replace(" @all", ""))


def test_the_head():
    head, _ = learn("-f", "2", "-m3", "-c4.0", "-e", "0.01", "--thread=2", "-H", "7", "template", "train", "model")
    names = {}
    for rows in SENTENCES:
        for t, (word, tag, _) in enumerate(rows):
            for name in (f"0{rows[t - 1][0] if t else None}", f"1{word}/{rows[t + 1][1] if t + 1 < len(rows) else None}", f"2{tag}"):
                names[name] = names.get(name, 0) + 1
    features = 3 * sum(n >= 2 for n in names.values()) + 9
    settings = {"sentences": 230, "features": features, "threads": 2, "freq": 2, "eta": "0.01000", "C": "4.00000", "shrinking": 7}
    assert head == HEAD.format(ticks="100.. 200.. ", **settings)


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("algorithm", ["CRF", "CRF-L1", "MIRA"])
def test_no_more_lines_than_asked_for(most, algorithm):
    assert 1 <= len(learn("-m", most, "-a", algorithm, "template", "train", "model")[1]) <= most
    assert run(crf_test, "-m", "model", "test").stdout


@pytest.mark.parametrize(("C", "patience", "first", "size", "passes"), [(4, 2, 2, 12, 8), (0.4, 20, 1, 20, 8), (0.1, 1, 5, 12, 5)])
def test_the_log_of_mira_is_that_of_a_slow_twin(C, patience, first, size, passes):
    """The last case becomes quiet, asks for more when all sequences are visited once more, and ends when it becomes quiet again."""
    # Sentences whose steps are the same with weights of single and of double precision: no two labels are nearly as good.
    noisy = [[[*row[:2], "XYZ"[(t + i * i // 11) % 3] if (i + t) % 4 else row[2]] for t, row in enumerate(rows)]
             for i, rows in enumerate(SENTENCES[first : first + size])]
    Path("noisy").write_text(text_of(noisy, "\t"), encoding="utf-8")
    _, lines = learn("-a", "MIRA", "-c", C, "-H", patience, "-m8", "template", "noisy", "model")
    form = re.compile(r"iter=(\d+) terr=(\d\.\d{5}) serr=(\d\.\d{5}) act=(\d+) uact=(\d+) obj=(\d+\.\d{5}) kkt=(\d+\.\d{5})")
    found, expected = [[*map(float, form.fullmatch(line).groups())] for line in lines], [*mira(noisy, C, patience, 8)]
    assert len(found) == len(expected) == passes
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-4)
    assert sum(weight**2 for *_, weight in crfkit.load("model").model.features()) == pytest.approx(expected[-1][5], rel=1e-3)  # no mean


# --- crf_test -------------------------------------------------------------------------------------------------------


def test_layouts_and_files():
    learn("template", "train", "model")
    tagger = crfkit.load("model")
    one = run(crf_test, "-m", "model", "test").stdout
    expected = ""
    for rows in SENTENCES[:9]:
        expected += "".join("\t".join([*row, label]) + "\n" for row, label in zip(rows, tagger.tag(rows), strict=True)) + "\n"
    assert one == expected
    Path("bare").write_text("the\tX\tmore\t1\n\n\n")  # more columns than before, and no gold label
    both = run(crf_test, "--model=model", "test", "bare", "test").stdout
    assert both.startswith(one) and both.endswith(one) and both.removeprefix(one).removesuffix(one).startswith("the\tX\tmore\t1\t")
    assert run(crf_test, "-m", "model", stdin=Path("test").read_text()).stdout == one
    assert run(crf_test, "-m", "model", "-o", "out", "-", stdin=Path("test").read_text()).stdout == ""
    assert Path("out").read_text() == one
    crfkit.learn("train", _template()).save("own")
    assert run(crf_test, "-v2", "-m", "own", "test").stdout.count("\tB-A/") >= sum(map(len, SENTENCES[:9]))
    assert run(crf_test, "-v9", "-m", "own", "test").stdout == run(crf_test, "-v2", "-m", "own", "test").stdout


def test_the_cost_factor_multiplies_scores():
    learn("template", "train", "model")
    tagger, rows = crfkit.load("model"), [["the", "X"], ["dog", "Y"]]
    printed = run(crf_test, "-v1", "-c", "2", "-m", "model", stdin="the X\ndog Y\n").stdout
    scores = {(a, b): 2 * tagger.score(rows, [a, b]) for a in tagger.labels for b in tagger.labels}
    total = sum(map(math.exp, scores.values()))
    assert float(printed.split()[1]) == pytest.approx(math.exp(max(scores.values())) / total, abs=2e-6)


def test_a_sentence_through_a_pipe_is_answered_at_once():
    learn("template", "train", "model")
    program = [sys.executable, "-c", "from crfkit.compat.crfpp.crf_test import main; main()", "-m", "model"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        for _ in range(2):
            process.stdin.write(b"the X\n\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"the\tX\t") and process.stdout.readline() == b"\n"
        process.stdin.close()
        assert process.wait() == 0
        watchdog.cancel()


# --- Makefiles, aliases, messages -----------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_a_makefile_with_two_variables_changed():
    for name, module in (("crf_learn", "crf_learn"), ("crf_test", "crf_test")):
        Path(name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from crfkit.compat.crfpp.{module} import main; main()" "$@"\n')
        Path(name).chmod(0o755)
    Path("Makefile").write_text(
        "CRF_LEARN = crf_learn\nCRF_TEST = crf_test\n"
        "score: out\n\tawk 'NF { n++; ok += $$(NF-1) == $$NF } END { printf \"%d/%d\\n\", ok, n }' < out > $@\n"
        "out: test model\n\t$(CRF_TEST) -m model test > $@\n"
        "model: template train\n\t$(CRF_LEARN) -f 3 -c 4 template train $@ | tail -n 3 | head -n 2\n"
    )
    made = subprocess.run(["make", "-s", "CRF_LEARN=./crf_learn", "CRF_TEST=./crf_test"], capture_output=True, text=True)
    assert made.returncode == 0 and made.stderr == "", made.stderr
    assert re.fullmatch(r"\nDone!\d+\.\d\d s\n", made.stdout)
    right = sum(a == row[2] for rows in SENTENCES[:9] for a, row in zip(crfkit.load("model").tag(rows), rows, strict=True))
    assert Path("score").read_text() == f"{right}/{sum(map(len, SENTENCES[:9]))}\n"


def test_who_stops_reading_gets_the_model_all_the_same():
    program = f'"{sys.executable}" -c "from crfkit.compat.crfpp.crf_learn import main; main()" template train model | true'
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert crfkit.load("model").labels == ["B-A", "I-A", "O"]


def test_the_printed_aliases_work_in_a_shell():
    printed = run(crfkit.cli.cli, "compat").stdout
    assert printed == "".join(f"alias {name}={replacement}\n" for name, replacement in REPLACEMENTS.items())
    shell = subprocess.run(["sh", "-c", f'eval "{printed}"; alias crf_learn'], capture_output=True, text=True)
    assert shell.stdout.replace("'", "").replace("alias ", "") == "crf_learn=crfkit-crf-learn\n"


@pytest.mark.parametrize("module", ["crfpp.crf_test", *(pytest.param(name, marks=pytest.mark.long) for name in ("crfpp.crf_learn", "crfsuite"))])
def test_modules_are_programs_too(module):
    shown = subprocess.run([sys.executable, "-m", f"crfkit.compat.{module}", "--help"], capture_output=True, text=True)
    assert shown.returncode == 0 and "Usage: " in shown.stdout


def test_help_and_version():
    for command in (crf_learn, crf_test):
        lines = run(command, "--help").stdout.splitlines()
        assert lines[0] == "CRF++: Yet Another CRF Tool Kit" and lines[3].endswith(" [options] files")
        assert all(re.match(r" -\w, --[\w-]+|     --version", line) for line in lines[4:] if line)
        assert run(command, "--version").stdout.startswith("CRF++ of 0.59, by crfkit ")
    assert " -c, --cost=FLOAT            set FLOAT" in run(crf_learn, "-h").stdout and "|MIRA) select" in run(crf_learn, "-h").stdout
    assert run(crf_learn, "-v").stdout == run(crf_learn, "--version").stdout


@pytest.mark.parametrize(("command", "arguments", "code", "message"), [
    (crf_learn, ["-a", "none", "template", "train", "model"], 2, "--algorithm: expected CRF, CRF-L2, CRF-L1 or MIRA, found 'none'"),
    (crf_learn, ["-c0", "template", "train", "model"], 2, "'--cost': expected a finite number above 0, found 0"),
    (crf_learn, ["-c-1", "template", "train", "model"], 2, "'--cost': expected a finite number above 0, found -1"),
    (crf_learn, ["-e0", "template", "train", "model"], 2, "'--eta': expected a finite number above 0, found 0"),
    (crf_learn, ["-e", "nan", "template", "train", "model"], 2, "'--eta': expected a finite number above 0, found nan"),
    (crf_learn, ["template", "train", "absent/model"], 1, "absent"),
    (crf_learn, ["template", "absent", "model"], 1, "absent: cannot be read"),
    (crf_learn, ["absent", "train", "model"], 1, "absent: cannot read the template"),
    (crf_learn, ["bad", "train", "model"], 1, "bad:3: '%X[0,0]': expected %x[row,column], without blanks or +"),
    (crf_learn, ["blanks", "train", "model"], 1, "blanks:2: '%x[ -1, 0 ]': expected %x[row,column], without blanks or +"),
    (crf_learn, ["farther", "train", "model"], 1, "farther:1: '%x[999,0]': expected %x[row,column], without blanks or +, the row of two digits at most"),
    (crf_learn, ["far", "train", "model"], 1, "line 1 of the template: CRF++ has only %x[row,column], with rows from -8 to 8"),
    (crf_learn, ["column", "train", "model"], 1, "column 5"),
    (crf_learn, ["template", "train", "train"], 1, "train has another use here"),
    (crf_learn, ["-C", "train", "model"], 1, "train"),
    (crf_learn, ["template", "train"], 2, "expected TEMPLATE TRAIN MODEL, found 2 files"),
    (crf_learn, ["-C", "a", "b", "c"], 2, "expected TEXTMODEL MODEL, found 3 files"),
    (crf_learn, ["-m0", "template", "train", "model"], 2, "0 is not in the range"),
    (crf_test, ["test"], 2, "Missing option '-m'"),
    (crf_test, ["-m", "absent", "test"], 1, "absent: cannot be read"),
    (crf_test, ["-m", "train", "test"], 1, "train: not a crfkit model"),
    (crf_test, ["-m", "own", "absent"], 1, "absent: cannot be read"),
    *((crf_test, ["-m", "own", f"-c{value}", "test"], 2, f"'--cost-factor': expected a finite number above 0, found {value}") for value in ("0", "-1", "nan", "inf")),
    (crf_test, ["-m", "own", "-c1e300", "test"], 1, "--cost-factor: 1e+300 makes weights that are no longer finite"),
    (crf_test, ["-m", "own", "-o", "test", "test"], 1, "test has another use here"),
    (crf_test, ["-m", "own", "bad"], 1, "bad:1: found 1 column, expected 2 or more"),
    (crf_test, ["-m", "margins", "-v1", "test"], 1, "--verbose asks for probabilities"),
])
def test_errors_are_one_line_with_the_exit_code(command, arguments, code, message):
    write(bad="#\n\nU:%X[0,0]\n", blanks="B\nU:%x[0,0]/%x[ -1, 0 ]\n", far="U:%x[9,0]\n", farther="U:%x[999,0]\n", column="U:%x[0,5]\n")
    write(own=learned("lbfgs", max_iter=2), margins=learned("perceptron", passes=1))
    error = run(command, *arguments, code=code).stderr
    assert message in error
    assert code == 2 or (error.startswith("crfkit: error: ") and error.count("\n") == 1)
    assert not Path("model").exists()
