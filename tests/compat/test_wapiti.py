"""crfkit-wapiti: Wapiti's options, log and output, against Wapiti itself and what it once printed."""

import os
import random
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from commands import invoked, text_of
from compat.wapiti_peer import wapiti

import crfkit
from crfkit import foreign
from crfkit.compat.wapiti.commands import cli
from crfkit.compat.wapiti.progress import Windows
from crfkit.foreign.wapiti import observations, read
from crfkit.template.patterns import Patterns
from crfkit.testing import said_by
from crfkit.text.rows import Rows

PEERS = Path(os.environ.get("CRFKIT_PEERS", "-"), "wapiti")
peers = pytest.mark.skipif(not PEERS.is_dir(), reason="CRFKIT_PEERS does not name a folder with outputs of Wapiti")

PATTERNS = ["u0:%x[-1,0]", "*:%X[0,0]", "U1 %x[0,1]", "u2:%x[@1,0]/%x[1,1]", "*4:%m[0,0,\"^.?.?\"]", "u5:%t[0,0,\"^\\u\"]", "b6:%x[0,1]", "b"]
WORDS = ["Dog", "a", "aan", "an", "Été", "x1", "12", "U.", "日本n", "ABC9", "a-b", "on"]
TWICE = ["b", 'b%m[0,0,"^a"]', "u:%x[0,0]", "bb", "u%x[-1,0]", "u%x[0,0]"]  # a match may be empty: then two of them say "b"
TIMES = re.compile(r"time=\S+")


run = partial(invoked, cli)


def sentences(seed, n, columns=3):
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        words = rng.choices(WORDS, k=rng.randint(1, 8))
        made.append([[word, rng.choice(("DT", "NN", "é")), "BIO"[(len(word) + t) % 3] if rng.random() < 0.9 else "X"][:columns] for t, word in enumerate(words)])
    return made


@pytest.fixture(autouse=True)
def files():
    """Patterns, and data to learn from and to label."""
    Path("patterns").write_text("# patterns\n" + "   # a comment\n\n".join(PATTERNS) + "\n", encoding="utf-8")
    for name, seed, columns in (("train", 1, 3), ("dev", 2, 3), ("test", 3, 3), ("plain", 4, 2)):
        Path(name).write_text(text_of(sentences(seed, 60, columns)), encoding="utf-8")


def trained(*options, name="model"):
    return run("train", "-p", "patterns", *options, "train", name).stderr


def dumped():
    """Not all of it is UTF-8: patterns cut bytes."""
    return run("dump", "model").stdout_bytes.decode("utf-8", "surrogateescape")


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


# Against Wapiti


@pytest.mark.parametrize("options", ["", "-l", "-s", "-p -s", "-n 3 -s", "-n 2 -l", "-p -n 2 -s", "-c", "-c -p", "--force", "--force -s", "--force -p -s"])
@pytest.mark.parametrize("kind", ["crf", "maxent"])
def test_label(options, kind):
    if kind == "maxent" and "-n" in options:
        pytest.skip("labellings of equal scores have no order")
    wapiti("train", "-T", kind, "-1", "0.01", "-2", "0.01", "-i", "12", "-p", "patterns", "train", "model")
    for data in ("test",) if "-c" in options or "--force" in options else ("test", "plain"):
        expected, log = wapiti("label", "-m", "model", *options.split(), data)
        done = run("label", "-m", "model", *options.split(), data)
        assert (done.stdout, done.stderr) == (expected, log)


@pytest.mark.parametrize("patterns", [TWICE, ["bDT", "b%x[0,1]", "u:%x[0,0]"]])
def test_observations_that_several_patterns_make(patterns):
    Path("patterns").write_text("\n".join(patterns) + "\n", encoding="utf-8")
    wapiti("train", "-1", "0.01", "-2", "0.1", "-i", "12", "-p", "patterns", "train", "model")
    assert run("label", "-p", "-s", "-m", "model", "test").stdout == wapiti("label", "-p", "-s", "-m", "model", "test")[0]


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
def test_the_log(options):
    """The first iterations are the same to the last digit; so is all else that both say."""
    ours, theirs = trained(*options.split(), "-i", "1"), wapiti("train", "-p", "patterns", *options.split(), "-i", "1", "train", "peer")[1]
    said = [TIMES.sub("", log).splitlines() for log in (ours, theirs)]
    names = [list(foreign.read(name).places) for name in ("model", "peer")]
    if "maxent" in options:  # Wapiti counts those of pairs, too
        said = [[line for line in log if not re.search("nb (features|blocks)", line)] for log in said]
        names = [[name for name in some if not name.startswith(b"b")] for some in names]
    assert said[0] == said[1] and names[0] == names[1]
    assert foreign.read("model").labels == foreign.read("peer").labels


@pytest.mark.parametrize("options", [[], ["-c"]])
def test_update(options):
    trained("-1", "0.1", "-i", "5")
    lines = [line for line in dumped().splitlines(keepends=True) if " " not in line]  # which Wapiti cannot read again
    rng = random.Random(5)
    patch = "".join(re.sub(r"\S+$", f"{rng.choice((0, 1.5, -2))}", line) if rng.random() < 0.3 else line for line in lines)
    Path("patch").write_text(patch, encoding="utf-8", errors="surrogateescape")
    log = run("update", "-m", "model", *options, "patch", "ours").stderr
    assert log == wapiti("update", "-m", "model", *options, "patch", "theirs")[1]
    assert Path("ours").read_bytes() == Path("theirs").read_bytes()


def test_single_lines():
    """--me: each line is a sequence and lists its features."""
    Path("me").write_text("foo bar A\nx y B\nx bar A\nfoo y q B\nz:\\1 y B\n@w y B\n")
    Path("met").write_text("foo y\nbar y y\n\nnothing\nq z:\\1\n")
    log = run("train", "--me", "-1", "0.01", "-2", "0.1", "-e", "0.00001", "-w", "0", "me", "model").stderr
    _, peer = wapiti("train", "--me", "-1", "0.01", "-2", "0.1", "-e", "0.00001", "-w", "0", "me", "peer")
    assert re.findall(r"obj=(\S+) +act=(\d+)", log)[-1] == re.findall(r"obj=(\S+) +act=(\d+)", peer)[-1]
    assert re.findall(r"nb .*", log) == re.findall(r"nb .*", peer)
    for options in ("", "-s", "-p -s -n 2", "-l"):
        assert run("label", "-m", "model", *options.split(), "met").stdout == wapiti("label", "-m", "model", *options.split(), "met")[0]
    done = run("label", "-m", "model", "-c", "me")
    assert (done.stdout, done.stderr) == wapiti("label", "-m", "model", "-c", "me")
    assert run("label", "-m", "model", "--force", "-l", "me").stdout.split() == list("ABABBB")


def test_the_page_shows_what_wapiti_prints():
    """docs/wapiti.md; that crfkit-wapiti prints the same is for tests/test_docs.py."""
    page = (Path(__file__).parents[2] / "docs" / "wapiti.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"^\$ cat (\S+)\n((?:(?!\$).*\n)*?)(?=\$ )", page, re.M):
        Path(name).write_text(content, encoding="utf-8")
    shown = re.search(r"^```text\n(.*?)^```$", page, re.M | re.S)[1]
    for command, printed in re.findall(r"^\$ wapiti (.*)\n((?:[^$].*\n|\n)*)", shown, re.M):
        words = command.partition(" 2> ")[0].split()
        out, log = wapiti(*words)
        told = out if " 2> " in command else log + out
        assert re.sub(r"time=\S+", "time=...s/...s", told).strip() == printed.strip()


# By other means


def slow_scores(parts, rows, labels):
    """What each step of a labelling scores, from the file's doubles: the strings of all patterns, looked up."""
    weights = {(name, bigram): {(i, j): w for i, j, w in features} for name, bigram, features in observations(parts)}
    parsed = Rows("columns")
    parsed.fill([rows])
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
        labels = [line.split("\t")[1] for line in body]
        scores = slow_scores(parts, rows, labels)
        assert head == f"# 0 {sum(scores):.6f}"
        assert [line.rpartition("/")[2] for line in body] == [f"{score:.6f}" for score in scores]


def test_observations_stand_as_first_seen():
    trained("-i", "1")
    found = {}
    for rows in sentences(1, 60):
        parsed = Rows("columns")
        parsed.fill([rows])
        for strings in said_by(Patterns([line[:1].lower() + line[1:] for line in PATTERNS]), parsed):
            found.update(dict.fromkeys(strings))
    assert list(foreign.read("model").places) == list(found)


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


def test_sgd():
    log = trained("-a", "sgd-l1", "-i", "20", "-w", "0")
    assert "obj=NA act=" in log
    assert float(re.findall(r"err= ?([\d.]+)%", log)[-1]) < float(re.findall(r"err= ?([\d.]+)%", log)[0])
    done = run("train", "-p", "patterns", "-a", "sgd-l1", "-2", "1", "--maxls", "3", "-i", "1", "train", "model")
    assert "crfkit: note: sgd-l1 has no l2 penalty: --rho2 is ignored, as in Wapiti; --maxls: crfkit decides by itself\n" in done.stderr


def test_an_answer_to_each_sentence_at_once():
    trained("-i", "10", "-1", "0.1")
    program = "from crfkit.compat.wapiti import main; main()"
    with subprocess.Popen([sys.executable, "-c", program, "label", "-m", "model"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        expected = run("label", "-m", "model", "plain").stdout.encode().split(b"\n\n")
        for rows, answer in zip(sentences(4, 20, 2), expected, strict=False):
            process.stdin.write(text_of([rows]).encode())
            process.stdin.flush()
            got = b""
            while not got.endswith(b"\n\n"):
                got += process.stdout.readline()
            assert got == answer + b"\n\n"
        rest, log = process.communicate()
    assert (rest, process.returncode) == (b"", 0) and log.endswith(b"* Done\n")


def test_going_on_from_a_state():
    trained("-i", "6", "-w", "0", "-o", "0", name="whole")
    trained("-i", "3", "--sstate", "state")
    before = Path("state").read_bytes()
    trained("-i", "6", "-w", "0", "-o", "0", "--rstate", "state")
    assert Path("model").read_bytes() == Path("whole").read_bytes() and Path("state").read_bytes() == before
    trained("-i", "6", "-w", "0", "-o", "0", "--rstate", "state", "--sstate", "state")
    assert Path("state").read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sstate", "train", "train", "m"), "--sstate: train has another use in this command and would be overwritten"),
        (("--sstate", "patterns", "train", "m"), "--sstate: patterns has another use in this command and would be overwritten"),
        (("--sstate", "m", "train", "m"), "OUTPUT: m has another use in this command and would be overwritten"),
        (("--sstate", "kept", "train", "m"), "kept: holds something else than a state; give another name to --sstate"),
        (("--sstate", "state", "absent", "m"), "absent: cannot be read: No such file or directory"),
        (("--rstate", "state", "-1", "0.7", "train", "m"), "state: was written with --l1 0.5, not 0.7; resume with what it was written with"),
    ],
)
def test_a_state_takes_the_place_of_nothing_but_a_state(arguments, message):
    """And only when there is another one: whatever goes wrong, all files are what they were."""
    trained("-i", "3", "--sstate", "state")
    Path("kept").write_text("precious")
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    done = run("train", "-p", "patterns", "-i", "5", *arguments, code=1)
    assert f"crfkit: error: {message}\n" in done.stderr
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


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


def test_layout_of_the_data():
    trained("-i", "5")
    done = run("label", "-m", "model", stdin="Dog NN\r\na DT\r\n\r\n\n \n  x1 NN \n\nan\té").stdout_bytes.decode()
    assert re.sub(r"\t[BIOX](\r?)$", r"\t?\1", done, flags=re.M) == "Dog NN\t?\r\na DT\t?\r\n\r\n  x1 NN \t?\n\nan\té\t?\n\n"
    assert run("label", "-m", "model", stdin="").stdout == ""


def test_windows():
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


@pytest.mark.parametrize("name", ["train", "t", "tr", "label", "l", "dump", "d", "update", "u"])
def test_modes_may_be_shortened(name):
    assert run(name, "-h").stdout.startswith("Usage: cli ")
    assert run("-h").stdout.count("INPUT") >= 1


def test_lists():
    assert run("train", "-a", "list").stderr == "Available training algorithms:\n\tl-bfgs\n\tsgd-l1\n\tbcd\n\trprop\n\trprop+\n\trprop-\n"
    assert run("train", "-T", "list").stderr == "Available types of models:\n\tmaxent\n\tmemm\n\tcrf\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train train model", "--pattern: crfkit needs patterns; data that name their features go to `crfkit learn --format crfsuite`"),
        ("train -T memm -p patterns train model", "--type memm: its steps are normalised one by one, as those of no CRF; crfkit trains crf and maxent"),
        ("train -T nb -p patterns train model", "--type: expected one of maxent, memm, crf, found 'nb'"),
        ("train -a x -p patterns train model", "--algo: expected one of l-bfgs, sgd-l1, bcd, rprop, rprop+, rprop-, found 'x'"),
        ("train --clip -p patterns train model", "--clip is not one of crfkit's ways: shrink the model with `update -c` and train it again without --clip"),
        ("train --me -p patterns train model", "--me is for lines that name their features: it takes no --pattern"),
        ("train -p none train model", "none: cannot be read: No such file or directory"),
        ("train -p bad train model", "bad:3: '%z[0,0]' is no macro of Wapiti: %x[row,column], %t or %m[row,column,\"regex\"]"),
        ("train -p far train model", "far:1: %x[0,7] uses column 7, but the data have 2 feature columns (counted from 0)"),
        ("train -m patterns train model", "patterns: expected a model of Wapiti, which begins with #mdl#"),
        ("train -p patterns --rstate none train model", "none: cannot be used: No such file or directory"),
        ("train -p patterns empty model", "empty: no tokens: expected one token a line and a blank line after each sentence"),
        ("label test", "--model: label needs a model"),
        ("label -m none test", "none: cannot be read: No such file or directory"),
        ("label -m good --check --force test", "--check and --force exclude each other"),
        ("label -m good -c plain", "plain:1: found 1 column, expected 2 or more: line 3 of the model's template has %x[0,1]"),
        ("dump none", "none: cannot be read: No such file or directory"),
        ("update patch", "--model: update needs a model"),
        ("update -m good patch", "patch:2: the model has no observation 'zz', and can get no new ones"),
    ],
)
def test_messages(words, message):
    Path("bad").write_text("u:%x[0,0]\n\nu:%z[0,0]\n")
    Path("far").write_text("u:%x[0,7]\n")
    Path("empty").write_text("\n")
    Path("patch").write_text("\nzz\t#\tB\t1\n")
    trained("-i", "1", name="good")
    assert run(*words.split(), code=1).stderr.splitlines()[-1] == f"crfkit: error: {message}"
    assert not Path("model").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("u0:a", "expected an observation, the label before or #, the label, and the weight, with tabs between"),
        ("u0:a\tB\tB\t1", "'u0:a' is an observation of single labels: expected # in the place of the label before"),
        ("b\t#\tB\t1", "'b' is an observation of pairs: expected a label before, not #"),
        ("u0:a\t#\tQ\t1", "the model has no label 'Q'"),
        ("u0:a\t#\tB\tone", "expected a weight, found 'one'"),
        ("u0:a\t#\tB\tinf", "expected a weight, found 'inf'"),
    ],
)
def test_patches_that_are_none(line, message):
    trained("-i", "1", name="good")
    done = run("update", "-m", "good", code=1, stdin=line + "\n")
    assert done.stderr.splitlines()[-1] == f"crfkit: error: <stdin>:1: {message}"


def test_usage_errors():
    assert "--foo" in run("train", "--foo", code=2).stderr
    assert "No such command 'x'" in run("x", code=2).stderr
    assert "is not a valid integer" in run("train", "-i", "x", code=2).stderr
    for option in ("-1", "-2", "-e", "--eta0", "--kappa"):
        for value in ("nan", "inf"):
            assert f"'{value}' is not a finite number." in run("train", option, value, code=2).stderr


def test_other_programs_models_are_labelled_with():
    Path("template").write_text("U:%x[0,0]\nB\n")
    crfkit.learn("train", template="template", l2=1.0).save("crfkit.model")
    tagger = crfkit.load("crfkit.model")
    printed = run("label", "-l", "-m", "crfkit.model", "plain").stdout
    assert [part.split() for part in printed.strip().split("\n\n")] == [tagger.tag(rows) for rows in sentences(4, 60, 2)]
    assert run("dump", "crfkit.model").stdout.startswith("b\tB\tB\t")


def test_models_that_are_read(tmp_path):
    assert read(memoryview(b"#mdl#0#0\n#rdr#1/0/0\n1:b,\n#qrk#1\n1:X,\n#qrk#0\n")).pairs is None


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no file that opens and cannot be read")
@pytest.mark.parametrize("words", ["train -p MEM train", "train -p patterns MEM", "label -m MEM test", "dump MEM", "update -m model MEM", "update -m MEM"])
def test_files_that_cannot_be_read_are_named(words):
    if "-m model" in words:
        trained("-i", "1")
    result = run(*words.replace("MEM", "/proc/self/mem").split(), code=1)
    assert result.stderr.endswith("\ncrfkit: error: /proc/self/mem: cannot be read: Input/output error\n")


def test_a_model_that_wapiti_has_no_room_for_is_named():
    Path("items").write_text("X\ta\nY\tb\n\n", encoding="utf-8")
    crfkit.learn("items", format="crfsuite", max_iter=1).save("ours")
    assert "crfkit: error: ours: a Wapiti model needs patterns" in run("dump", "ours", code=1).stderr
