"""crfkit-crf-learn and crfkit-crf-test beside CRF++ itself, which the package crfpy has, on templates and data at random."""

import importlib.util
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from commands import invoked, python, write

from crfkit.compat.crfpp.crf_learn import crf_learn
from crfkit.compat.crfpp.crf_test import crf_test

pytestmark = pytest.mark.skipif(importlib.util.find_spec("_CRFPP") is None, reason="needs CRF++: pip install crfpy")

WORDS = ["a", "b", "cc", "été", "日本", "x/y", "_B-1", "%", "U00:a", "#", "a:b", "\\", "1", "-", "[", "é"]
LABELS = (["A", "B"], ["B-X", "I-X", "O"], ["é", "x/1", "#", "0.5"])


def theirs(program, *words):
    """What a program of CRF++ prints."""
    return python(f"import sys, CRFPP; CRFPP.{program}(sys.argv)", *words, text=False).stdout


def sentence(source, columns, labels):
    rows = ([*source.choices(WORDS, k=columns), *source.sample(labels, 1)] for _ in range(source.randint(1, 6)))
    return "".join(source.choice(["\t", " ", "  ", " \t"]).join(row) + "\n" for row in rows)


def template(source, columns):
    """Lines of all kinds, no two alike; many begin as others do. Zeros may be left out."""
    lines = ["U9:%x[0,0]"] + ["B"] * source.randint(0, 1)
    for number in range(source.randint(1, 5)):
        places = [(source.randint(-3, 3), source.randrange(columns)) for _ in range(source.choice([0, 1, 1, 2, 3]))]
        cells = [f"%x[{row or ('0', '', '-')[number % 3]},{column or ('', '0')[number % 2]}]" for row, column in places]
        lines.append(source.choice("UUUB") + source.choice([f"{number:02d}:", "", ":", "x_"]) + "/".join(cells) + source.choice(["", "", "lit"]))
    return "\n".join(dict.fromkeys(source.sample(lines, len(lines)))) + "\n"


def close(found, expected):
    """The same, except for the last digits of probabilities: CRF++ adds up in single precision."""
    texts, numbers = zip(*((re.split(rb"\d\.\d{6}", text), re.findall(rb"\d\.\d{6}", text)) for text in (found, expected)), strict=True)
    return texts[0] == texts[1] and all(abs(float(a) - float(b)) < 2e-4 for a, b in zip(*numbers, strict=True))


FIRST = (0, 1, 19, 23, 33, 53)  # with lines that begin as others do, and cells that only lines of several name


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=() if seed in FIRST else pytest.mark.long) for seed in range(60)])
def test_random_templates(seed):
    source = random.Random(seed)
    columns, labels = source.randint(1, 3), source.choice(LABELS)
    Path("template").write_text(template(source, columns), encoding="utf-8")
    for name, n in (("train", source.randint(4, 20)), ("test", 8)):
        Path(name).write_text("\n".join(sentence(source, columns, labels) for _ in range(n)) + "\n", encoding="utf-8")
    options = [*source.choice(([], ["-f", "2"])), *source.choice(([], ["-c", "3"])), "-m", source.choice(["5", "30"])]
    logs = theirs("crfpp_learn", *options, "-p", "1", "-t", "template", "train", "theirs"), invoked(crf_learn, *options, "template", "train", "ours").stdout_bytes
    assert len({re.search(rb"Number of features: *(\d+)\n", log)[1] for log in logs}) == 1
    for original, models in (("theirs", ["theirs", "theirs.txt"]), ("ours", ["ours"])):
        for how in ([], ["-v1"], ["-v2"]):
            expected = theirs("crfpp_test", *how, "-m", original, "test")
            for model in models:
                assert close(invoked(crf_test, *how, "-m", model, "test").stdout_bytes, expected), f"{model} {how}"
    invoked(crf_learn, "-C", "theirs.txt", "converted")
    theirs("crfpp_learn", "-C", "theirs.txt", "again")
    assert Path("converted").read_bytes() == Path("again").read_bytes()


def test_a_text_model_that_was_edited():
    """CRF++ reads the header in any order, and passes over blanks around numbers; it has no use for the cost factor, and writes 1."""
    write(template="U:%x[0,0]\nB\n", train="a A\nb B\n\n")
    theirs("crfpp_learn", "-m", "5", "-t", "template", "train", "model")
    head, rest = Path("model.txt").read_bytes().split(b"\n\n", 1)
    rest, weights = rest.rstrip().rsplit(b"\n\n", 1)
    edited = [b"\xef\xbb\xbf" + head, b"\n".join(reversed(head.split(b"\n"))), head.replace(b": 1\n", b": \t1 \n"), head.replace(b"factor: 1", b"factor: 2.5")]
    for lines in edited:
        Path("edited").write_bytes(lines + b"\n\n" + rest + b"\n\n" + b"".join(b" \t" + weight + b" \n" for weight in weights.split(b"\n")))
        theirs("crfpp_learn", "-C", "edited", "again")
        invoked(crf_learn, "-C", "edited", "converted")
        assert Path("again").read_bytes() == Path("model").read_bytes()
        written = Path("converted").read_bytes()
        assert struct.unpack("<d", written[8:16]) == (2.5 if b"2.5" in lines else 1,)
        assert written[:8] + struct.pack("<d", 1) + written[16:] == Path("again").read_bytes()


def test_numbers_and_names_that_crf_learn_reads_in_another_way():
    """A number with anything behind it is 0 to CRF++. Names are written out in both."""
    write(template="U:%x[0,0]\n", train="a A\nb B\n\n")
    assert b"iter=" not in theirs("crfpp_learn", "-m", "5.0", "template", "train", "theirs") and Path("theirs").exists()
    assert b"Freq:                0\n" in theirs("crfpp_learn", "-f", "2x", "-m", "5.0", "template", "train", "theirs")
    for words in (["-m", "5.0"], ["-f", "2x"], ["-c", "4x"], ["--max", "5"], ["--max=5"]):
        assert "Error: " in invoked(crf_learn, *words, "template", "train", "ours", code=2).stderr
    assert b"Usage: " in theirs("crfpp_learn", "--max=5", "template", "train", "theirs")
    Path("nothing").write_text("\n\n")
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run([sys.executable, "-c", "import sys, CRFPP; sys.exit(CRFPP.crfpp_learn(sys.argv))", "template", "nothing", "none"], capture_output=True, check=True)
    assert not Path("none").exists()
    invoked(crf_learn, "template", "nothing", "none", code=1)


def test_without_arguments_crf_learn_says_who_it_is():
    """Programs start it so, and look for the name of CRF++ on standard output."""
    ours, expected = invoked(crf_learn).stdout.splitlines(), theirs("crfpp_learn").decode().splitlines()
    assert ours[:3] == expected[:3] and "Yet Another" in ours[0]
    assert ours == invoked(crf_learn, "--help").stdout.splitlines()
    assert "found 0 files" in invoked(crf_learn, "-f", "3", code=2).stderr
