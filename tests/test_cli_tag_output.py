"""Where `crfkit tag` writes: files, pipes, terminals, full disks."""

import bz2
import os
import struct
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from commands import invoked, memory_told, python, tag
from models import model

from crfkit.cli import cli
from crfkit.compat.crfpp.crf_learn import crf_learn
from crfkit.compat.crfpp.crf_test import crf_test
from crfkit.compat.crfsuite import cli as crfsuite
from crfkit.compat.wapiti.commands import cli as wapiti

PROGRAMS = {"crfkit": cli, "crf_learn": crf_learn, "crf_test": crf_test, "crfsuite": crfsuite, "wapiti": wapiti}

WORDS = 'the DT\nold JJ\ndog NN\n\nher PRP$\nwork VB\n\n'


@pytest.fixture
def run(tmp_path):
    model("chunking").save(tmp_path / "m")
    return tag


def program(*args, **kwargs):
    return subprocess.Popen(
        [sys.executable, "-m", "crfkit", "tag", *args],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs,
    )


@contextmanager
def descriptors(*files):
    """Let files be standard input and output, for those who look at the descriptors 0 and 1; None leaves one as it is."""
    kept = [os.dup(number) for number in range(len(files))]
    try:
        for number, file in enumerate(files):
            if file is not None:
                os.dup2(file.fileno(), number)
        yield
    finally:
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)


def test_an_output_may_have_the_name_of_a_scheme(run, tmp_path):
    (tmp_path / "in").write_text(WORDS)
    run("--constraints", "bio", "-o", "bio", "m", "in")
    assert (tmp_path / "bio").read_text() == run("--constraints", "bio", "m", "in")
    (tmp_path / "pairs").write_text("O O\n")
    assert "pairs has another use" in run("--constraints", "pairs", "-o", "pairs", "m", "in", code=2).stderr


def test_output_file_appears_whole_or_not_at_all(run, tmp_path):
    (tmp_path / "in").write_text(WORDS)
    assert run("-o", "out", "m", "in") == ""
    assert (tmp_path / "out").read_text() == run("m", "in")
    before = sorted(os.listdir())
    run("-o", "out", "m", stdin=WORDS + "x\n", code=1)
    run("-o", "new", "m", stdin=WORDS + "x\n", code=1)
    assert (tmp_path / "out").read_text() == run("m", "in")
    assert sorted(os.listdir()) == before
    assert "create it first" in run("-o", "no/where", "m", stdin=WORDS, code=1).stderr
    assert "names a folder" in run("-o", tmp_path, "m", stdin=WORDS, code=1).stderr
    assert run("-o", os.devnull, "m", stdin=WORDS) == ""


@pytest.mark.parametrize("line", [
    *("crfkit tag m in", "crfkit tag m < in", "crfkit tag m other - < in", "crfkit tag -o - m in"),
    *("crfkit eval in", "crfkit eval < in", "crfkit eval --gold in other", "crfkit dump in", "crfkit learn --print-config --config in"),
    *("crf_test -m m in", "crf_test -m m < in", "crf_learn other in new"),
    *("crfsuite tag -m m in", "crfsuite dump in", "crfsuite learn in", "crfsuite learn < in"),
    *("wapiti label -m m in", "wapiti label -m m < in", "wapiti train -p other in"),
])
def test_what_is_written_is_not_read_again(run, tmp_path, line):
    """It might never end, or spoil the file."""
    for name in ("in", "other"):
        (tmp_path / name).write_text(WORDS)
    program, *arguments = line.removesuffix(" < in").split()
    with open("in", "rb") if line.endswith("< in") else nullcontext() as source, open("in", "ab") as target, descriptors(source, target):
        done = invoked(PROGRAMS[program], *arguments, code=2 if program == "crfkit" else 1)
    assert "standard output is one of the files that are read here" in done.stderr and (tmp_path / "in").read_text() == WORDS


def test_an_unwritable_output_is_found_before_work(run):
    """The output is checked before the model is read."""
    assert "no/where" in run("-o", "no/where", "no-model", stdin=WORDS, code=1).stderr


@pytest.mark.parametrize(("options", "message"), [
    (["--separator", "x", "-v1"], "--separator is of no use"),
    (["--separator", ""], "--separator: expected"),
    (["--separator", "\n"], "--separator: expected"),
    (["--separator", "\udcff"], "'--separator': expected UTF-8, found b'\\xff'"),
    (["--probability", "-n2"], "--probability adds columns"),
    (["--posterior", "-n2"], "--posterior finds one"),
    (["-v3"], "'-v'"),
    (["-m"], "No such option '-m'; the model is the first argument"),
    (["-c"], "No such option '-c'; crfkit-crf-test has CRF++'s cost factor; crfkit eval counts errors"),
    (["-p"], "No such option '-p'; --posterior is Wapiti's post"), (["-i"], "No such option '-i'; --probability is Wapiti's score and CRFsuite's marginal"),
    (["--force"], "No such option '--force'; --partial is Wapiti's force"), (["-qt"], "No such option '-t'; crfkit eval is CRFsuite's test"),
    (["--format", "conllu"], "No such option '--format'; the model knows the format of the data that it learned from"),
    (["--label", "upos"], "No such option '--label'; the model knows which column it predicts"),
    (["-n0"], "'-n'"),
    (["-o", "m"], "would be overwritten"),
])
def test_options_that_contradict_each_other(run, options, message):
    assert message in run(*options, "m", stdin=WORDS, code=2).stderr


def test_a_separator_in_a_locale_without_utf_8(run):
    """Python then escapes the bytes of the command line."""
    assert run("--separator", "\udcc2\udcb7", "m", stdin=WORDS) == run("--separator", "·", "m", stdin=WORDS)


def test_errors_name_the_file_or_the_stream(run, tmp_path):
    assert "-: cannot be read: No such file or directory (- is standard input only where data are read)" in run("-", stdin=WORDS, code=1).stderr
    assert "nowhere" in run("m", "nowhere", code=1).stderr
    assert "nowhere" in run("nowhere", code=1).stderr
    (tmp_path / "text").write_text(WORDS)
    assert "crfkit: error: text: " in run("text", code=1).stderr
    assert "standard input can be read only once" in run("m", "-", "-", code=2).stderr


def test_a_sentence_is_written_before_the_next_one_is_read(run):
    with program("--unbuffered", "m") as process:
        for _ in range(3):
            process.stdin.write(b"the DT\ndog NN\n\n")
            process.stdin.flush()
            assert [process.stdout.readline() for _ in range(3)] == [b"the DT B-NP\n", b"dog NN I-NP\n", b"\n"]
        assert process.communicate() == (b"", b"")
        assert process.returncode == 0


@pytest.mark.parametrize("command", [cli, crf_test])
@pytest.mark.parametrize("layout", [[], ["-v", 1], ["-v", 2], ["-n", 3], ["-n", 2, "-v", 2]])
def test_lines_end_as_those_of_the_input(run, command, layout):
    begin = ["tag", *layout, "m"] if command is cli else [*layout, "-m", "m"]
    plain = invoked(command, *begin, stdin=WORDS).stdout_bytes
    assert plain.count(b"\n") > 6
    for text in (WORDS, WORDS.rstrip("\n"), "\n\n" + WORDS):
        windows = invoked(command, *begin, stdin=text.replace("\n", "\r\n")).stdout_bytes
        assert windows.replace(b"\r\n", b"\n") == plain and windows.count(b"\r\n") == windows.count(b"\n")


@pytest.mark.steady
def test_a_terminal_is_served_sentence_by_sentence(run):
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "crfkit", "tag", "m"], stdin=subprocess.PIPE, stdout=slave) as process:
        os.close(slave)
        process.stdin.write(b"the DT\ndog NN\n\n")
        process.stdin.flush()
        seen = b""
        while seen.count(b"\n") < 3:
            seen += os.read(master, 1000)
        assert seen == b"the DT B-NP\r\ndog NN I-NP\r\n\r\n"
        process.stdin.close()
        assert process.wait() == 0
    os.close(master)


@pytest.mark.steady
@pytest.mark.parametrize(("name", "shown"), [("in", b"0.00/14.0"), ("-", b"0.00B"), ("packed", b"0.00B"), ("plain.gz", b"0.00/14.0")])
def test_a_bar_shows_the_bytes_that_are_read(run, name, shown):
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))
    for plain in "in", "plain.gz":
        Path(plain).write_text("the DT\ndog NN\n")
    Path("packed").write_bytes(bz2.compress(Path("in").read_bytes()))
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    with open("in", "rb") as file:
        assert subprocess.run([sys.executable, "-m", "crfkit", "tag", "-o", "out", "m", name], stdin=file, stderr=slave).returncode == 0
    os.close(slave)
    assert shown in os.read(master, 1000) and Path("out").read_text() == "the DT B-NP\ndog NN I-NP\n\n"
    os.close(master)


@pytest.mark.parametrize("command", ["tag -o out m in", pytest.param("learn -a perceptron --passes 2 template train out", marks=pytest.mark.long)])
def test_without_a_bar_the_work_is_done(run, command, monkeypatch):
    """tqdm takes numbers from the environment when it is imported, and fails if they are none."""
    pty = pytest.importorskip("pty")
    monkeypatch.setenv("TQDM_MININTERVAL", "abc")
    for name, text in (("in", "the DT\n"), ("template", "U:%x[0,0]\n"), ("train", "a X\nb Y\n")):
        Path(name).write_text(text)
    master, slave = pty.openpty()
    done = subprocess.run([sys.executable, "-m", "crfkit", *command.split()], stderr=slave)
    os.close(slave)
    os.close(master)
    assert done.returncode == 0 and Path("out").exists()


@pytest.mark.parametrize("options", [(), ("-o", "/dev/stdout")])
def test_a_reader_that_goes_away_is_no_error(run, tmp_path, options):
    (tmp_path / "text").write_text(WORDS * 100000)
    with program(*options, "m", "text") as process:
        process.stdin.close()
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("options", "unbuffered"), [((), "1"), (("-o", "out"), ""), *(pytest.param(*one, marks=pytest.mark.long) for one in (((), ""), (("-o", "out"), "1")))]
)
def test_a_disk_that_is_full_is_an_error(run, tmp_path, unbuffered, options):
    """With PYTHONUNBUFFERED a write to standard output takes what there is room for, and says so in its result only."""
    resource = pytest.importorskip("resource")
    (tmp_path / "text").write_text(WORDS * 1000)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONDONTWRITEBYTECODE": "1"}  # Python would not notice that a module's was cut off
    with open("stdout", "wb") as stdout:
        done = subprocess.run(
            [sys.executable, "-m", "crfkit", "tag", *options, "m", "text"],
            stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000)),
        )
    where = "out" if options else "standard output"
    assert (done.returncode, done.stderr) == (1, f"crfkit: error: {where}: cannot be written: File too large\n")
    assert sorted(os.listdir()) == ["m", "stdout", "text"]


def test_a_dash_is_standard_output(run):
    assert run("m", "-o", "-", stdin=WORDS) == run("m", stdin=WORDS)
    assert not os.path.exists("-")


@pytest.mark.long
@memory_told
def test_memory_does_not_grow_with_the_input(run, tmp_path):
    code = (
        "import sys; from crfkit.cli import cli; cli.main(['tag', '--threads', '2', 'm', 'text'], standalone_mode=False); "
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0], file=sys.stderr)"
    )
    peak = []
    for times in (40_000, 250_000):
        (tmp_path / "text").write_text(WORDS * times)
        done = python(code)
        assert done.stdout.count("\n") == 7 * times
        peak.append(int(done.stderr))
    assert peak[1] < 1.2 * peak[0]
