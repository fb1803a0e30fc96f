"""`crfkit eval` from the outside: layouts to the byte, options, errors and exit codes."""

import bz2
import gzip
import json
import lzma
import os
import re
from functools import partial

import pytest
from commands import crfkit as command
from commands import python, start

run = partial(command, "eval")

EXAMPLE = """\
Rockwell NNP B-NP B-NP
said VBD B-VP B-VP
the DT B-NP B-NP
agreement NN I-NP B-NP
quickly RB B-ADVP O

It PRP B-NP I-NP
is VBZ B-VP B-VP
calling VBG I-VP I-VP
as RB B-CONJP B-PP
. . O O
"""

# What conlleval.pl of 2004-01-26 prints for this input.
EXPECTED = b"""\
processed 10 tokens with 7 phrases; found: 7 phrases; correct: 4.
accuracy:  60.00%; precision:  57.14%; recall:  57.14%; FB1:  57.14
             ADVP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
            CONJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
               NP: precision:  50.00%; recall:  66.67%; FB1:  57.14  4
               PP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
               VP: precision: 100.00%; recall: 100.00%; FB1: 100.00  2
"""
LATEX = b"""\
        & Precision &  Recall  & F$_{\\beta=1} \\\\\\hline
ADVP    &    0.00\\% &   0.00\\% &   0.00 \\\\
CONJP   &    0.00\\% &   0.00\\% &   0.00 \\\\
NP      &   50.00\\% &  66.67\\% &  57.14 \\\\
PP      &    0.00\\% &   0.00\\% &   0.00 \\\\
VP      &  100.00\\% & 100.00\\% & 100.00 \\\\\\hline
Overall &   57.14\\% &  57.14\\% &  57.14 \\\\\\hline
"""


def text_file(name, text):
    with open(name, "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)
    return name


def test_the_layout_is_that_of_conlleval():
    result = run(stdin=EXAMPLE.encode())
    assert (result.stdout_bytes, result.stderr) == (EXPECTED, "")
    assert run("-l", "-", stdin=EXAMPLE.encode()).stdout_bytes == LATEX


def test_raw_labels():
    text = b"a NN NN\nb NN VB\n\nc - -\nd X O\n"
    expected = b"""\
processed 4 tokens with 3 phrases; found: 2 phrases; correct: 1.
accuracy:  50.00%; precision:  50.00%; recall:  33.33%; FB1:  40.00
               NN: precision: 100.00%; recall:  50.00%; FB1:  66.67  1
               VB: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
                X: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
"""
    assert run("-r", "-o", "-", stdin=text).stdout_bytes == expected
    assert run("--scheme", "none", "-o", "-", stdin=text).stdout_bytes == expected
    assert run("-r", "--scheme", "none", "-o", "-", stdin=text).stdout_bytes == expected


def test_chunks_without_a_type_are_listed_as_conlleval_lists_them():
    assert run(stdin=b"a B B\nb I I\n").stdout.count("                 : precision: 100.00%") == 2


def test_names_of_types_have_their_width_in_bytes_as_conlleval_counts():
    assert f"\n{15 * ' '}Ä: precision: 100.00%" in run(stdin="a B-Ä B-Ä\n").stdout
    assert f"\nÄ{5 * ' '} &  100.00" in run("-l", stdin="a B-Ä B-Ä\n").stdout


@pytest.mark.parametrize("data", [
    EXAMPLE.replace(" ", "\t").encode(),
    EXAMPLE.replace("\n", "\r\n").encode(),
    b"\xef\xbb\xbf" + EXAMPLE.encode(),
    gzip.compress(EXAMPLE.encode(), mtime=0),
    bz2.compress(EXAMPLE.encode()),
    lzma.compress(EXAMPLE.encode()),
    EXAMPLE.rstrip("\n").encode(),
    b"\n \t \n" + EXAMPLE.replace("\n\n", "\n\n  \n\t\n").encode() + b"\n\n",
    b"# columns = word pos gold predicted\n" + EXAMPLE.encode(),
    EXAMPLE.replace("\n\n", "\n-X- x O O\n").encode(),
    EXAMPLE.replace(" ", ",").encode(),
], ids=["tabs", "CRLF", "BOM", "gzip", "bzip2", "xz", "no final newline", "blank lines", "header", "boundary", "commas"])
def test_forms_of_input(data):
    delimiter = ["-d", ","] if b"," in data and data.isascii() else []
    assert run(text_file("in", data), *delimiter).stdout_bytes == EXPECTED
    assert run(*delimiter, stdin=data).stdout_bytes == EXPECTED


def test_headers_and_further_analyses_are_not_tokens():
    first, second = EXAMPLE.replace(" ", "\t").replace("\n", "/0.975\n").replace("\n/0.975\n", "\n\n").split("\n\n")
    for mark in ("", "\ufeff"):  # as in the midst of files that were joined
        assert run(stdin=f"# 0.407045\n{first}\n\n{mark}# 1.5e-07\n{second}".encode()).stdout_bytes == EXPECTED
    several = "\n\n".join(
        f"# {rank} 0.27{rank}742\n{sentence if rank == 0 else sentence.replace('B-NP', 'O')}"
        for sentence in (first, second)
        for rank in range(12)
    )
    assert run(stdin=several.encode()).stdout_bytes == EXPECTED


def test_a_token_may_be_a_hash():
    text = b"# # B-NP B-NP\n# 0.5 O O\n\n# 1 O O\n# x O O\n\n# columns = O\n"
    assert run(stdin=text).stdout.startswith("processed 5 tokens with 1 phrases")


def test_iobes_is_counted_with_a_note():
    text = text_file("x.out", "a S-A S-A\nb S-A S-A\n")
    result = run(text)
    assert result.stdout.startswith("processed 2 tokens with 2 phrases; found: 2 phrases; correct: 2.")
    assert result.stderr == (
        "crfkit: x.out: counted as IOBES; conlleval.pl does not know it, would merge neighbouring chunks of a type "
        "and report FB1 100.00\n"
    )
    result = run(text, "--scheme", "bio")
    assert (result.stdout.split(";")[0], result.stderr) == ("processed 2 tokens with 1 phrases", "")
    assert run(text, "--scheme", "IOB2").stdout == result.stdout
    for other in ("--tokens", "--segments"):  # they count something else
        assert run(text, other).stderr == ""


def test_strict_refuses_labels_outside_the_scheme():
    text = b"a I-A I-A\nb B-A B-A\n"
    assert run("--strict", "--scheme", "bio", stdin=text).stdout.startswith("processed 2 tokens with 1 phrases")
    result = run("--strict", "--scheme", "bio", stdin=text + b"\nc O E-A\n", code=1)
    assert result.stderr == (
        "crfkit: error: <stdin>:4: the label 'E-A' is not one of the scheme bio: expected the prefix O, B, I\n"
    )


def test_gold_chunks_that_strict_does_not_count_are_named():
    text = b"a B-X B-X\nb O O\nc S-X S-X\nd B-X B-X\ne E-X E-X\nf B-X B-X\ng E-Y E-Y\n"
    result = run("--strict", stdin=text)
    assert result.stdout.startswith("processed 7 tokens with 2 phrases")
    assert result.stderr == "crfkit: <stdin>: 2 of 4 gold chunks are not well-formed iobes, and do not count\n"
    assert "well-formed" not in run("--strict", stdin=b"a B-X B-X\nb I-X I-X\nc B-X B-X\n").stderr + run(stdin=text).stderr


def test_the_report_on_tokens():
    lines = run("--tokens", stdin=EXAMPLE.encode()).stdout.splitlines()
    assert lines[:2] == [
        "processed 10 tokens in 2 sentences; correct: 6 tokens, 0 sentences.",
        "accuracy:  60.00%; inside chunks:  55.56%; sentences:   0.00%",
    ]
    assert "             B-NP: precision:  66.67%; recall:  66.67%; FB1:  66.67  3" in lines
    assert lines[-5:] == [
        "errors, most frequent first (tokens, gold label, predicted label):",
        "        1 B-ADVP O",
        "        1 B-CONJP B-PP",
        "        1 B-NP I-NP",
        "        1 I-NP B-NP",
    ]
    assert len(run("--tokens", stdin=b"a O O\n").stdout.splitlines()) == 3  # nothing is confused


def test_many_confusions_are_summed_up():
    text = "".join(f"w O B-{i}\n" for i in range(25)).encode()
    report = run("--tokens", stdin=text).stdout
    assert report.endswith("        1 O B-4\n        5 in 5 other pairs; --json lists them all\n") and report.count(" O B-") == 20
    assert len(json.loads(run("--json", stdin=text).stdout)["confusion"]) == 25


def test_the_report_on_segments():
    text = b"a B B\nb E E\nc S B\nd S E\n\na B S\nb E S\n"
    assert run("--segments", "--lexicon", text_file("words", "ab\nx\n"), stdin=text).stdout == (
        "processed 6 tokens with 4 words; found: 4 words; correct: 1.\n"
        "accuracy:  33.33%; precision:  25.00%; recall:  25.00%; FB1:  25.00\n"
        "not in the lexicon: 2 words (50.00%); recall:   0.00%; recall of the others:  50.00%\n"
    )
    assert "lexicon" not in run("--segments", stdin=text).stdout
    error = run("--segments", stdin=text + b"\na X S\n", code=1).stderr
    assert error == (
        "crfkit: error: <stdin>:9: the label 'X' is not one of a word segmentation: "
        "expected the prefix O, B, I, E, S, L, U, M, W\n"
    )
    assert "--segments needs a scheme that knows prefixes" in run("--segments", "--raw", stdin=text, code=2).stderr
    error = run("--segments", "--lexicon", "words", stdin=b"B B\n", code=1).stderr
    assert error == (
        "crfkit: error: <stdin>:1: 2 columns; expected at least 3, the last of them a token, a gold and a predicted label\n"
    )


def test_scores_as_json():
    result = json.loads(
        run("--json", "--segments", "--lexicon", text_file("w", ""), stdin=b"\xc3\xa9 B-\xc3\xa9 B-\xc3\xa9\n").stdout
    )
    assert (result["tokens"], result["f1"], result["file"]) == (1, 1.0, "<stdin>")
    assert result["types"]["é"] == {"gold": 1, "found": 1, "correct": 1, "precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert result["words"]["correct"] == result["unknown_words"]["correct"] == 1


def test_several_files():
    text_file("a.out", EXAMPLE)
    text_file("b.out", EXAMPLE.replace("B-NP I-NP", "B-NP B-NP").replace("B-CONJP B-PP", "B-CONJP B-CONJP"))
    table = run("a.out", "b.out").stdout.splitlines()
    assert table[0].split() == ["a.out", "b.out"]
    assert table[2].split() == ["overall:", "57.14", "57.14", "57.14", "71.43", "71.43", "71.43"]
    assert table[4].split() == ["CONJP:", "0.00", "0.00", "0.00", "100.00", "100.00", "100.00"]
    assert table[-1].split() == ["accuracy:", "60.00", "80.00"]
    assert {line.index(":") for line in table[2:]} == {17} and {len(line) for line in table} == {18 + 2 * 24}
    text_file("a" * 30, EXAMPLE)
    assert {len(line) for line in run("a" * 30, "b.out").stdout.splitlines()} == {18 + 2 * 32}
    assert run("-l", "a.out", "b.out").stdout.startswith("==> a.out <==\n        & Precision")
    result = run("a.out", "b.out", "--compare", "--shuffles", "99", "--seed", "5")
    assert "b.out against a.out: 99 shuffles of 2 sentences, seed 5\n" in result.stdout
    assert re.findall(r"(\w+): +[-+][0-9.]+  p = ", result.stdout) == ["precision", "recall", "FB1", "accuracy"]
    assert "              FB1:  +14.29  p = 1.0000\n" in result.stdout
    as_json = json.loads(run("a.out", "b.out", "--compare", "--json").stdout)
    assert [file["correct"] for file in as_json["files"]] == [4, 5]
    assert as_json["comparisons"][0]["differences"]["accuracy"] == pytest.approx(0.2)
    as_json = json.loads(run("a.out", "b.out", "a.out", "--compare", "--json").stdout)
    assert [(one["first"], one["second"]) for one in as_json["comparisons"]] == [("a.out", "b.out"), ("a.out", "a.out")]


def test_intervals():
    text_file("a.out", EXAMPLE + "\nIt PRP B-NP O\nsaid VBD B-VP B-VP\nso RB O B-ADVP\n! . O B-NP\n")
    text_file("b.out", EXAMPLE.replace("B-NP I-NP", "B-NP B-NP"))
    plain = run("a.out").stdout
    widths = json.loads(run("a.out", "--intervals", "--json").stdout)["intervals"]
    precision, recall, f1, accuracy = (f"{100 * widths[name]:.2f}" for name in ("precision", "recall", "f1", "accuracy"))
    assert len({precision, recall, f1, accuracy}) == 4
    last = f"95% intervals: accuracy: +/-{accuracy}%; precision: +/-{precision}%; recall: +/-{recall}%; FB1: +/-{f1}\n"
    assert run("a.out", "--intervals").stdout == plain + last and float(f1) > 0
    assert run("a.out", "--intervals", "--tokens").stdout == run("a.out", "--tokens").stdout + last.partition(";")[0] + "\n"
    table = run("a.out", "b.out", "--intervals").stdout.splitlines()
    assert [line for line in table if "+/-" not in line] == run("a.out", "b.out").stdout.splitlines()
    assert table[3].split()[:5] == ["95%", "+/-:", precision, recall, f1] and table[-1].split()[:3] == ["95%", "+/-:", accuracy]
    assert len({len(line) for line in table}) == 1


def test_names_of_files_stay_on_one_line():
    for name in ("a\nb.out", "c.out"):
        text_file(name, EXAMPLE)
    assert run("a\nb.out", "c.out").stdout.splitlines()[0].split() == ["a\\nb.out", "c.out"]
    assert "c.out against a\\nb.out: " in run("a\nb.out", "c.out", "--compare", "--shuffles", "9").stdout
    assert run("--tokens", "a\nb.out", "c.out").stdout.startswith("==> a\\nb.out <==\n")


@pytest.mark.parametrize(("text", "message"), [
    ("a O O\n\nb O O x\n", "in:3: 4 columns, but line 1 has 3"),
    ("a O O\nb O\n", "in:2: 2 columns, but line 1 has 3"),
    ("\nO\n", "in:2: 1 column; expected at least 2, the last of them a gold and a predicted label (--gold takes the gold labels from another file)"),
    ("a O O\nO\n", "in:2: 1 column; expected at least 2, the last of them a gold and a predicted label"),
    ("a\t\tO\n", "in:1: the gold label is empty"),
    (b"a O O\nb \xe9 O\n", r"in:2: the label b'\xe9' is not valid UTF-8"),
    ("# 0.9\na O/0.9 B/0.1\n", "in:2: the last two columns are labels with probabilities, as `-v 2` writes them; "
     "expected a gold and a predicted label (`-v 0` or `-v 1`)"),
    ("a O O 0.912345 0.800000\n", "in:1: the last two columns are probabilities, as `--probability` adds them; "
     "expected a gold and a predicted label (`-v 0` or `-v 1`)"),
    (gzip.compress(b"a O O\n" * 1000, mtime=0)[:-9], "in: the gzip file ends too early"),
])
def test_errors_are_one_line_and_exit_1(text, message):
    result = run(text_file("in", text), code=1)
    assert (result.stdout, result.stderr) == ("", f"crfkit: error: {message}\n")


@pytest.mark.parametrize("text", [b"", b"\n", b" \t\r\n\n"])
def test_no_tokens(text):
    result = run(stdin=text)
    assert result.stdout == "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
    assert result.stderr == "crfkit: <stdin>: no tokens\n"
    for options in (["--tokens"], ["--segments"], ["--json"], ["-l"], ["--strict"]):
        run(*options, stdin=text)


@pytest.mark.parametrize(("args", "message"), [
    (["--scheme", "iob3"], "'iob3' is not one of"),
    (["-r", "--scheme", "bio"], "--raw contradicts --scheme bio"),
    (["--compare", "x"], "--compare needs two files or more"),
    (["--intervals", "--segments", "x"], "--intervals is for the reports on chunks and on tokens"),
    (["--intervals", "--latex", "x"], "--intervals is for the reports on chunks and on tokens"),
    (["--mistakes", "--tokens", "x"], "--mistakes is a report of its own on chunks"),
    (["--mistakes", "--segments", "x"], "--mistakes is a report of its own on chunks"),
    (["--mistakes", "--latex", "x"], "--mistakes is a report of its own on chunks"),
    (["--seed", "1", "x"], "--seed is of use with --compare only"),
    (["--shuffles", "10", "x"], "--shuffles is of use with --compare only"),
    (["--compare", "--shuffles", "2147483648", "x", "y"], "2147483648 is larger than 2147483647"),
    (["-l", "--json"], "--latex is for the report on chunks alone"),
    (["-r", "--strict"], "--strict needs a scheme with chunks"),
    (["-", "-"], "standard input can be read only once"),
    (["--segments", "--lexicon", "-"], "standard input can be read only once"),
    (["-o", ""], "--outside needs a label"),
    (["-o", "\udcff"], "'--outside': expected UTF-8, found b'\\xff'"),
    (["-d", "\udcff"], "'--delimiter': expected UTF-8, found b'\\xff'"),
    (["-d", "(a"], "the delimiter '(a' is not a regular expression"),
    (["--format", "conllu"], "--format conllu needs --label: the name of the column to predict, such as upos or xpos; for trees, eval has --heads"),
    (["--format", "crfsuite", "--label", "upos"], "--label is of no use with --format crfsuite, whose columns have no names"),
    (["--format", "crfsuite", "-d", ""], "--delimiter and --lexicon are for --format columns"),
    (["--segments", "--lexicon", "x", "--gold", "y"], "--gold and --lexicon exclude each other"),
])
def test_usage_errors_exit_2(args, message):
    assert message in run(*args, code=2).stderr


def test_debug_shows_the_traceback():
    for args in (["--debug", "eval", "nowhere"], ["eval", "--debug", "nowhere"]):
        result = command(*args, code=1)
        assert "Traceback" in result.stderr
        assert result.stderr.endswith("crfkit: error: nowhere: cannot be read: No such file or directory\n")


@pytest.mark.parametrize(("error", "code", "message"), [
    (KeyboardInterrupt(), 130, ""),
    (MemoryError(), 1, "crfkit: error: out of memory\n"),
    (RuntimeError("two\nlines"), 1, "crfkit: error: unexpected RuntimeError: two lines (--debug shows where)\n"),
    (OSError(24, "Too many open files"), 1, "crfkit: error: Too many open files\n"),
    (PermissionError(13, "Permission denied", "f"), 1, "crfkit: error: f: Permission denied\n"),
    (ImportError("a.so: failed to map segment from shared object"), 1, "crfkit: error: out of memory: there is none for a compiled module\n"),
])
def test_exceptions_become_one_line_and_an_exit_code(monkeypatch, error, code, message):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr("crfkit.cli.eval.Outputs", fail)
    monkeypatch.setattr("crfkit.errors.re", None)  # there may be no memory for a regular expression
    assert run(code=code).stderr == message


def test_an_import_that_ctrl_c_interrupts(monkeypatch):
    """Some modules make another error of it, as Python itself does in the class statement."""
    error = RuntimeError("Error calling __set_name__ on 'Field' instance 'l2' in 'Adf'")
    error.__cause__ = KeyboardInterrupt()
    test_exceptions_become_one_line_and_an_exit_code(monkeypatch, error, 130, "")


def test_help_and_version():
    shown = command("--help").stdout
    assert all(f"  {name} " in shown for name in ("learn", "tag", "eval", "dump"))
    assert command("--version").stdout.startswith("crfkit ")
    command("evil", code=2)
    assert "conlleval" in command("eval", "-h").stdout


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_closed_pipe_is_no_error():
    read, write = os.pipe()
    os.close(read)
    with start("eval", "--json", stdout=write) as process:
        os.close(write)
        _, errors = process.communicate(EXAMPLE)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes")
def test_a_name_that_is_not_utf_8():
    name = os.fsdecode(b"\xff")
    try:
        with open(name, "w") as file:
            file.write(EXAMPLE)
    except OSError:
        pytest.skip("not on this file system")
    assert "\\udcff" in run(name, name).stdout
    assert json.loads(run("--json", name).stdout)["file"] == name


def test_starting_does_not_import_what_is_not_needed():
    code = "import sys, crfkit.cli, crfkit.cli.eval; print([m for m in ('numpy', 'tqdm', 'yaml') if m in sys.modules])"
    assert python(code).stdout == "[]\n"
