"""crfkit-wapiti: Wapiti's options, log and output, against Wapiti itself and what it once printed."""

import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import text_of, unheard, write
from compat.wapiti_runs import PATTERNS, TIMES, TWICE, dumped, observations, run, sentences, trained, write_files
from inputs import filled

import crfkit
from crfkit import foreign
from crfkit.compat.wapiti.algorithms import trainer_of
from crfkit.compat.wapiti.progress import Windows
from crfkit.foreign.wapiti import read_file
from crfkit.template.patterns import Patterns
from crfkit.testing import said_by

PEERS = Path(os.environ.get("CRFKIT_PEERS", "-"), "wapiti")
peers = pytest.mark.skipif(not PEERS.is_dir(), reason="CRFKIT_PEERS does not name a folder with outputs of Wapiti")


@pytest.fixture(autouse=True)
def files():
    write_files()


# What Wapiti once printed


@peers
@pytest.mark.parametrize(("name", "options"), [("out", []), ("out.s", ["-s"]), ("out.p", ["-p", "-s"]), ("out.n3", ["-n", "3", "-s"]), ("out.c", ["-c"])])
def test_label_prints_what_wapiti_prints(name, options):
    done = run("label", "-m", str(PEERS / "model.txt"), *options, str(PEERS / "chunk.test"))
    assert done.stdout == (PEERS / name).read_text()
    if name == "out.c":
        assert done.stderr == (PEERS / "out.c.err").read_text()


@peers
def test_dump_prints_what_wapiti_prints():
    assert run("d", str(PEERS / "model.txt")).stdout == (PEERS / "dump.txt").read_text()


@peers
def test_compact_models():
    """-c, at the end of training and as `update`, leaves what Wapiti leaves: the same observations, in the same order."""
    log = run("update", "-c", "-m", str(PEERS / "model.txt"), os.devnull, "compact").stderr
    assert "    1645 observations removed\n       24675 features removed\n" in log
    kept = {name for name, _, features in observations(foreign.read(PEERS / "model.txt")) if any(weight for _, _, weight in features)}
    assert list(foreign.read("compact").places) == [name for name in foreign.read(PEERS / "model.txt").places if name in kept]


# By other means


def slow_scores(parts, rows, labels):
    """What each step of a labelling scores, from the file's doubles: the strings of all patterns, looked up."""
    weights = {(name, bigram): {(i, j): w for i, j, w in features} for name, bigram, features in observations(parts)}
    parsed = filled([rows])
    numbers, scores = [parts.labels.index(label) for label in labels], []
    for t, strings in enumerate(said_by(Patterns([line.text for line in parts.template.lines]), parsed)):
        scores.append(0.0)
        for name in strings:
            scores[-1] += weights.get((name, False), {}).get((0, numbers[t]), 0.0)
            if t:
                scores[-1] += weights.get((name, True), {}).get((numbers[t - 1], numbers[t]), 0.0)
    return scores


@pytest.mark.parametrize("patterns", [PATTERNS, TWICE, [*TWICE[:3], "*"], [*TWICE[:3], "b"], ["*", '*%m[0,0,"^a"]'], ["bDT", "b%x[0,1]", "u:%x[0,0]"]])
def test_scores_are_those_of_doubles(patterns):
    """Observations count as often as patterns make them."""
    Path("patterns").write_text("\n".join(patterns) + "\n", encoding="utf-8")
    trained("-i", "8", "-1", "0.01")
    patch = re.sub(r"\S+$", lambda found: f"{found[0]}12345678", dumped(), flags=re.M)  # no weight is single precision
    Path("patch").write_text(patch, encoding="utf-8", errors="surrogateescape")
    run("update", "-m", "model", "patch", "fine")
    parts = foreign.read("fine")
    assert any(weight for _, bigram, features in observations(parts) for *_, weight in features if bigram)
    printed = run("label", "-m", "fine", "-s", "plain").stdout
    for block, rows in zip(printed.strip().split("\n\n"), sentences(4, 60, 2), strict=True):
        head, *body = block.split("\n")
        scores = slow_scores(parts, rows, [line.split("\t")[1] for line in body])
        assert head == f"# 0 {sum(scores):.6f}"
        assert [line.rpartition("/")[2] for line in body] == [f"{score:.6f}" for score in scores]


@pytest.mark.parametrize("kind", ["crf", "maxent"])
def test_observations_stand_as_first_seen(kind):
    """Those of pairs of labels, too, although maxent has no weights for them."""
    trained("-i", "1", "-T", kind)
    found = {}
    for rows in sentences(1, 60):
        parsed = filled([rows])
        for strings in said_by(Patterns([line[:1].lower() + line[1:] for line in PATTERNS]), parsed):
            found.update(dict.fromkeys(strings))
    assert list(foreign.read("model").places) == list(found)


def test_a_line_in_the_log_for_every_thousand():
    write(many="a X\n\n" * 1999 + "a Y\n\n", pattern="u:%x[0,0]\n")
    assert "\n   1000 sequences loaded\n   2000 sequences loaded\n" in run("train", "-i", "2", "-p", "pattern", "many", "model").stderr
    assert "\n      2000 sequences labeled\t 0.05%/ 0.05%\n" in run("label", "-c", "-m", "model", "many").stderr
    assert run("label", "-m", "model", "many").stderr.endswith("      1000 sequences labeled\n      2000 sequences labeled\n* Done\n")


def test_labels_of_single_lines_stand_as_first_seen():
    """Where all scores are equal, the first label is the answer."""
    write(lines="a Z\nb Y\nc X\n", unknown="nothing\n")
    run("train", "--me", "lines", "single")
    assert read_file(Path("single").read_bytes(), "single").labels == ["Z", "Y", "X"]
    assert run("label", "-l", "-n", "3", "-m", "single", "unknown").stdout.split() == ["Z", "Y", "X"]
    assert b"".join(foreign.dump("single")).decode() == run("dump", "single").stdout != ""


@pytest.mark.parametrize("options", ["", "-1 0.2 -2 0.3", "-1 0 -2 0.5", "-a bcd -1 0.2", "-T maxent -1 0.2 -2 0.1"])
def test_the_objective_and_the_errors_are_those_of_the_model(options):
    """The last line of the log is true of the model that is written."""
    log = trained("-i", "6", *options.split())
    given = dict(zip(options.split()[::2], options.split()[1::2], strict=True))
    rho1, rho2 = float(given.get("-1", 0.5)), float(given.get("-2", 0.0001))
    weights = [w for _, _, features in observations(foreign.read("model")) for _, _, w in features if w]
    tagger, likelihood, wrong, tokens, missed = crfkit.load("model"), 0.0, 0, 0, 0
    for sentence in sentences(1, 60):
        rows, gold = [row[:2] for row in sentence], [row[2] for row in sentence]
        likelihood += tagger.log_probability(rows, gold)
        mistakes = sum(a != b for a, b in zip(gold, tagger.tag(rows), strict=True))
        wrong, tokens, missed = wrong + mistakes, tokens + len(gold), missed + (mistakes > 0)
    objective = rho1 * sum(map(abs, weights)) + rho2 / 2 * sum(w * w for w in weights) - likelihood
    last = re.findall(r"obj=(\S+) +act=(\d+) +err= ?(\S+)%/ ?(\S+)% ", log)[-1]
    assert float(last[0]) == pytest.approx(objective, abs=0.006)
    assert int(last[1]) == len(weights)
    assert last[2:] == (f"{100 * wrong / tokens:.2f}", f"{100 * missed / 60:.2f}")


def test_warnings_name_the_options_of_wapiti():
    assert "crfkit: warning: all weights are zero: every token will have the same label; lower --rho1, which is 1000" in trained("-1", "1000", "-i", "2")


def test_sgd_l1_logs_no_objective_and_ignores_rho2():
    log = trained("-a", "sgd-l1", "-i", "20", "-w", "0")
    assert "obj=NA act=" in log
    assert float(re.findall(r"err= ?([\d.]+)%", log)[-1]) < float(re.findall(r"err= ?([\d.]+)%", log)[0])
    done = run("train", "-p", "patterns", "-a", "sgd-l1", "-2", "1", "--maxls", "3", "-i", "1", "train", "model")
    assert "crfkit: note: sgd-l1 has no l2 penalty: --rho2 is ignored, as in Wapiti; --maxls: crfkit decides by itself\n" in done.stderr


@pytest.mark.parametrize("single", [pytest.param(False, marks=pytest.mark.long), True])
def test_an_answer_to_each_sentence_at_once(single):
    """For models of --me, to each line."""
    if single:
        run("train", "--me", "-i", "10", "train", "model")
        asked = Path("plain").read_text(encoding="utf-8").replace("\n\n", "\n").splitlines(keepends=True)[:20]
    else:
        trained("-i", "10", "-1", "0.1")
        asked = [text_of([rows]) for rows in sentences(4, 20, 2)]
    program = "from crfkit.programs import wapiti; wapiti()"
    with subprocess.Popen([sys.executable, "-c", program, "label", "-m", "model"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        expected = run("label", "-m", "model", "plain").stdout.encode().split(b"\n\n")
        for text, answer in zip(asked, expected, strict=False):
            process.stdin.write(text.encode())
            process.stdin.flush()
            got = b""
            while not got.endswith(b"\n\n"):
                got += process.stdout.readline()
            assert got == answer + b"\n\n"
        rest, log = process.communicate()
    assert (rest, process.returncode) == (b"", 0) and log.endswith(b"* Done\n")


def test_nobody_reads_the_log():
    trained("-i", "3", name="whole")
    run("label", "-m", "whole", "plain", "labelled")
    assert unheard("wapiti", "train", "-p", "patterns", "-i", "3", "train", "model") == 0 == unheard("wapiti", "label", "-m", "whole", "plain", "again")
    assert Path("model").read_bytes() == Path("whole").read_bytes() and Path("again").read_bytes() == Path("labelled").read_bytes()


def test_going_on_from_a_state():
    trained("-i", "6", "-w", "0", "-o", "0", name="whole")
    trained("-i", "3", "--sstate", "state")
    before = Path("state").read_bytes()
    trained("-i", "6", "-w", "0", "-o", "0", "--rstate", "state")
    assert Path("model").read_bytes() == Path("whole").read_bytes() and Path("state").read_bytes() == before
    trained("-i", "6", "-w", "0", "-o", "0", "--rstate", "state", "--sstate", "state")
    assert Path("state").read_bytes() != before


def test_a_state_of_a_run_that_was_near_enough_goes_on_to_where_a_smaller_stopeps_ends():
    nearer = ("-1", "0", "-2", "1", "-w", "0", "-e", "0.0000001")
    whole = trained(*nearer, name="whole")
    log = trained(*nearer[:-2], "-o", "0", "--sstate", "state")
    assert log.count("obj=") < whole.count("obj=")  # it ended by itself
    trained(*nearer, "--rstate", "state")
    assert Path("model").read_bytes() == Path("whole").read_bytes()


@pytest.mark.parametrize(("arguments", "message"), [
    (("--sstate", "train", "train", "m"), "--sstate: train has another use here and would be overwritten"),
    (("--sstate", "patterns", "train", "m"), "--sstate: patterns has another use here and would be overwritten"),
    (("--sstate", "m", "train", "m"), "OUTPUT: m has another use here and would be overwritten"),
    (("--sstate", "kept", "train", "m"), "kept: contains something other than a state; give another name to --sstate"),
    (("--sstate", "state", "absent", "m"), "absent: cannot be read: No such file or directory"),
    (("--rstate", "state", "-1", "0.7", "train", "m"), "state: was written with --rho1 0.5, not 0.7; resume with what it was written with"),
    (("--rstate", "state", "-i", "1", "train", "m"), "state: 3 passes have been made already, more than --maxiter 1"),
])
def test_a_state_takes_the_place_of_nothing_but_a_state(arguments, message):
    """And only when there is another one: whatever goes wrong, all files are what they were."""
    trained("-i", "3", "--sstate", "state")
    Path("kept").write_text("precious")
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    assert f"crfkit: error: {message}\n" in run("train", "-p", "patterns", "-i", "5", *arguments, code=1).stderr
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


def test_no_output_takes_the_place_of_what_is_read():
    trained()
    run("dump", "model", "patch")
    before = {name: Path(name).read_bytes() for name in ("model", "patch", "train")}
    for arguments in (("dump", "model", "model"), ("update", "-m", "model", "patch", "./patch"), ("label", "-m", "model", "train", "train")):
        assert "has another use here and would be overwritten\n" in run(*arguments, code=1).stderr
    assert {name: Path(name).read_bytes() for name in before} == before
    run("update", "-m", "model", "patch", "model")  # a model may be changed in its place


def test_going_on_from_a_model():
    """With its labels and observations, and no others."""
    trained("-c", "-e", "0.00001", "-w", "0", "-1", "1", "-i", "200", name="old")
    log = run("train", "-m", "old", "-e", "0.00001", "-w", "0", "-1", "1", "train", "new").stderr
    old, new = foreign.read("old"), foreign.read("new")
    assert list(new.places) == list(old.places) and new.labels == old.labels
    first, last = (float(value) for value in re.findall(r"obj=(\S+)", log)[:: max(log.count("obj=") - 1, 1)])
    assert last <= first < 1.01 * last and "* Load previous model\n* Load training data\n* Resync the model\n* Summary" in log
    Path("train").write_text("Dog NN Z\na DT B\n")
    done = run("train", "-m", "old", "train", "new", code=1)
    assert "crfkit: error: train: the older model has no label 'Z', and can learn no new ones\n" in done.stderr
    Path("train").write_text("Dog NN I\na DT B\n")  # labels that do not occur stay labels
    run("train", "-m", "old", "-i", "2", "train", "new")
    assert foreign.read("new").labels == old.labels


def test_forced_labels_may_have_no_probability():
    """Doubles end at 1e-308; of what lies below, Wapiti makes labels at random."""
    trained("-i", "8")
    model = Path("model").read_text(encoding="utf-8", errors="surrogateescape")
    model = re.sub(r"(?m)^(\d+=)(\S+)$", lambda found: found[1] + (1e5 * float.fromhex(found[2])).hex(), model)
    Path("model").write_text(model, encoding="utf-8", errors="surrogateescape")
    found = run("label", "--force", "-p", "-s", "-m", "model", "test").stdout
    assert found.count("/0.000000\n") > 20 and all(row.split()[2] == row.split()[3] for row in found.split("\n") if "\t" in row)


def test_layout_of_the_data():
    trained("-i", "5")
    done = run("label", "-m", "model", stdin="Dog NN\r\na DT\r\n\r\n\n \n  x1 NN \n\nan\té").stdout_bytes.decode()
    assert re.sub(r"\t[BIOX](\r?)$", r"\t?\1", done, flags=re.M) == "Dog NN\t?\r\na DT\t?\r\n\r\n  x1 NN \t?\n\nan\té\t?\n\n"
    assert run("label", "-m", "model", stdin="").stdout == ""


@pytest.mark.parametrize("rho1", [0.0, 0.3])
def test_a_small_stopeps_comes_near_the_optimum(rho1):
    """In sentences of one token, the expected count of a feature at the optimum is the observed one less what the penalties ask for. With
    rho2 = 1, the objective exceeds its minimum by at most half the squared norm of what is amiss."""
    tokens = [row for rows in sentences(1, 60) for row in rows]
    write(patterns="u0:%x[0,0]\nu1:%x[0,1]\nu2\n", train="\n".join(" ".join(row) + "\n" for row in tokens))

    def excess(*options):
        log = trained("-1", str(rho1), "-2", "1", "-w", "0", *options)
        weights = {(name.decode(), j): w for name, _, features in observations(foreign.read("model")) for _, j, w in features}
        labels = foreign.read("model").labels
        slopes = dict.fromkeys(weights, 0.0)
        for word, tag, label in tokens:
            names = f"u0:{word}", f"u1:{tag}", "u2"
            powers = [math.exp(sum(weights.get((name, j), 0.0) for name in names)) for j in range(len(labels))]
            for name in names:
                for j, power in enumerate(powers):
                    if (name, j) in weights:
                        slopes[name, j] += power / sum(powers) - (labels[j] == label)
        amiss = [slopes[key] + w + math.copysign(rho1, w) if w else max(abs(slopes[key]) - rho1, 0.0) for key, w in weights.items()]
        return sum(x * x for x in amiss) / 2 / float(re.findall(r"obj=(\S+)", log)[-1])

    assert excess("-e", "0.0000001") < 1e-6 < excess("-e", "0.00001")


@pytest.mark.parametrize(("rho1", "stopeps", "epsilon"), [(0.0, 0.02, 1e-5), (0.5, 0.02, 1e-4), (0.5, 1e-5, 1e-5), (0.0, 0.0, 1e-7)])
def test_a_stopeps_may_only_bring_training_nearer_to_the_optimum(rho1, stopeps, epsilon):
    """Than crfkit's own trainers come by default, and no nearer than weights in single precision can."""
    given = {"algo": "l-bfgs", "maxiter": 0, "clip": False, "rho1": rho1, "rho2": 1.0, "histsz": 5, "stopeps": stopeps}
    assert trainer_of(given)[1]["epsilon"] == epsilon


def test_training_ends_when_a_window_of_values_is_flat():
    def over(values, objwin=0, stopwin=0, stopeps=0.02):
        windows = Windows(objwin, stopwin, stopeps)
        for number, (objective, error) in enumerate(values, 1):
            windows.look(objective, error)
            if windows.over:
                return number
        return None

    falling = [(100 * 0.9**k, 50 - k) for k in range(9)] + [(38.0 - k / 100, 40.0) for k in range(9)]
    assert over(falling) is None
    assert over(falling, objwin=5) == over(falling, stopwin=5) == 14  # the first whose last five are all of the second kind
    assert over(falling, objwin=2) == 11
    assert over([(None, 1.0)] * 3, objwin=2) is None
    assert (over(falling, objwin=1), over(falling, stopwin=1)) == (None, 1)


@pytest.mark.parametrize("name", ["train", "t", "tr", "label", "l", "dump", "d", "update", "u"])
def test_modes_may_be_shortened(name):
    assert run(name, "-h").stdout.startswith("Usage: cli ")
    assert run("-h").stdout.count("INPUT") >= 1


def test_list_in_place_of_a_name_prints_the_names():
    assert run("train", "-a", "list").stderr == "Available training algorithms:\n\tl-bfgs\n\tsgd-l1\n\tbcd\n\trprop\n\trprop+\n\trprop-\n"
    assert run("train", "-T", "list").stderr == "Available types of models:\n\tmaxent\n\tmemm\n\tcrf\n"


@pytest.mark.steady
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_data_are_read(number, code):
    """There is nothing to save yet, and the exit code is that of the signal."""
    command = [sys.executable, "-c", "from crfkit.programs import wapiti; wapiti()", "train", "-p", "patterns", "-", "model"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
        process.stdin.write(b"the D O\n" * (1 << 17))  # more than a pipe holds: it reads
        process.send_signal(number)
        assert process.wait(timeout=60) == code
    assert not Path("model").exists()


def test_a_model_from_a_pipe_is_named():
    said = run("dump", code=1, stdin="B I\n").stderr.splitlines()[-1]
    assert said == "crfkit: error: <stdin>: not a crfkit model: a text file; the model is what crfkit learn writes"


def test_usage_errors():
    assert "--foo" in run("train", "--foo", code=2).stderr
    assert "No such command 'x'" in run("x", code=2).stderr
    assert "is not a valid integer" in run("train", "-i", "x", code=2).stderr
    for option in ("-1", "-2", "-e", "--eta0", "--kappa"):
        for value in ("nan", "inf"):
            assert f"'{value}' is not a finite number." in run("train", option, value, code=2).stderr
    for mode, option in [("train", name) for name in ("-p", "-m", "-d", "--rstate", "--sstate")] + [("label", "-m"), ("update", "-m")]:
        assert "expected the name of a file, found ''" in run(mode, option, "", code=2).stderr


def test_help_names_no_range_where_there_is_none():
    shown = run("train", "--help").stdout
    assert "x>=0]" in shown and "None" not in shown


def test_whole_numbers_may_have_a_decimal_point():
    """Wapiti reads 5.0 as 5. It also reads 1e3 as 1 and 0.9 as 0, which nobody means: those are errors."""
    logs = [TIMES.sub("", trained(*words.split())) for words in ("-i 3", "-i 3.0 -t 1. -o +5")]
    assert "[   3]" in logs[0] and "[   4]" not in logs[0] and logs[0] == logs[1]
    for value in ("1e3", "0.9", "3x", "x", "."):
        assert f"Invalid value for '-i' / '--maxiter': {value!r} is not a valid integer" in run("train", "-i", value, code=2).stderr
    for option, value, found in (("-t", "0.0", "0 is not in the range 1<=x"), ("--alpha", "0", "0.0 is not in the range 0<x<=1")):
        assert found in run("train", option, value, code=2).stderr
