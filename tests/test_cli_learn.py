"""`crfkit learn` from the outside: options, what it writes and says, errors, signals, limits."""

import gzip
import json
import os
import resource
import signal
from dataclasses import fields

import pytest
import yaml
from commands import TEMPLATES, crfkit, error, start, write_part

from crfkit import options
from crfkit.model import load
from crfkit.trainers import trainer_class

TEMPLATE = TEMPLATES / "chunking.txt"
BATCH = {name for name, cls in options.TRAINERS.items() if hasattr(cls, "max_iter")}
SMALL = "U00:%x[0,0]\nU01:%x[0,1]\nB\n"


@pytest.fixture
def train(tmp_path):
    (tmp_path / "template").write_text(SMALL)
    return write_part(tmp_path / "train", "chunking", 60)


def learn(*arguments, **how):
    """crfkit learn on the usual files."""
    return crfkit("learn", *arguments, "template", "train", "model", **how)


def trained(tmp_path, *arguments, files=("train",), target="model", **how):
    """The bytes of a model."""
    crfkit("learn", "-q", *arguments, "template", *files, target, **how)
    return (tmp_path / target).read_bytes()


# --- what it says and writes --------------------------------------------------------------------------------------


def test_what_is_said(train):
    result = learn("--max-iter", 3)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith("60 sequences, ") and " weights; read in " in lines[0]
    assert lines[1].startswith("training will take about ")
    passes = [line.split()[:3] for line in lines[2:-1] if not line.startswith("done")]
    warm_up = len(passes) - 3
    assert passes == [["warm-up", str(n), "loss"] for n in range(1, warm_up + 1)] + [["pass", str(n), "objective"] for n in (1, 2, 3)]
    assert warm_up > 0
    assert " weights in " in lines[-1] and lines[-1].endswith(" s in all")
    assert learn("-q").output == ""


def test_a_bar_when_asked_for(train):
    assert "pass/s" in learn("--max-iter", 3, "--progress", "always").stderr
    assert "pass    1" in learn("--max-iter", 3, "--progress", "never").stderr


def test_the_header_says_how_it_was_made(train):
    learn("-a", "sgd", "--passes", 2, "--l2", 0.5, "--seed", 3, "--min-freq", 2, "--features", "all")
    header = json.loads(crfkit("dump", "--header", "model").stdout)
    assert header["algorithm"] == "sgd"
    assert header["options"] == {"l2": 0.5, "l1": 0.0, "passes": 2, "rate": None, "decay": 0.85, "batch_size": 1, "crf_loss": False, "features": "all", "min_freq": 2, "seed": 3, "select": None, "prune": None}
    assert header["template"] == SMALL
    assert header["sequences"] == 60


@pytest.mark.parametrize(
    ("algorithm", "kind"), [(name, "objective" if name in BATCH else "loss") for name in options.TRAINERS]
)
def test_the_log_has_a_line_a_pass(train, algorithm, kind):
    limit = "--max-iter" if algorithm in BATCH else "--passes"
    write_part(train.parent / "dev", "chunking", 20, part="dev")
    learn("-a", algorithm, limit, 4, "--log", "log", "--dev", "dev")
    records = [json.loads(line) for line in (train.parent / "log").read_text().splitlines()]
    assert [record["pass"] for record in records] == [1, 2, 3, 4]
    wanted = {"pass", "seconds", "cpu", "elapsed", kind, "mean_abs_weight", "active"}
    scores = {f"dev_{score}" for score in ("accuracy", "sentence_accuracy", "precision", "recall", "f1")}
    for record in records:
        assert record.keys() >= wanted | scores
        assert all(0 <= record[name] <= 1 for name in scores)
        assert 0 <= record["seconds"] <= record["elapsed"]
    assert [r["elapsed"] for r in records] == sorted(r["elapsed"] for r in records)
    assert sum(r["seconds"] for r in records) <= records[-1]["elapsed"]


def test_log_and_model_agree(train):
    learn("--log", "log")
    last = json.loads((train.parent / "log").read_text().splitlines()[-1])
    weights = [abs(weight) for *_, weight in load("model").features()]
    assert last["active"] == len(weights)
    assert last["mean_abs_weight"] * json.loads(crfkit("dump", "--header", "model").stdout)["features"] == pytest.approx(sum(weights), rel=1e-4)


# --- the same bytes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", options.TRAINERS)
def test_the_same_bytes_again_and_with_any_number_of_threads(train, algorithm):
    write_part(train, "chunking", 400)
    limit = ("--max-iter", 15) if algorithm in BATCH else ("--passes", 2)
    # without locks, models differ from run to run: tests/trainers/test_threads.py
    numbers = (1, 0) if trainer_class(algorithm).lock_free else (1, 0, 2, 3)
    first, *others = (trained(train.parent, "-a", algorithm, *limit, "--threads", n) for n in numbers)
    assert all(other == first for other in others)
    if algorithm not in BATCH:
        assert trained(train.parent, "-a", algorithm, *limit, "--seed", 1) != first


def test_however_the_data_come(train, tmp_path):
    text = train.read_bytes()
    expected = trained(tmp_path)
    (tmp_path / "crlf").write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n").rstrip())
    (tmp_path / "gz").write_bytes(gzip.compress(text))
    middle = text.index(b"\n\n", len(text) // 2) + 2
    (tmp_path / "one").write_bytes(text[:middle].rstrip())
    (tmp_path / "two").write_bytes(gzip.compress(text[middle:]))
    assert trained(tmp_path, files=["crlf"]) == expected
    assert trained(tmp_path, files=["gz"]) == expected
    assert trained(tmp_path, files=["one", "two"]) == expected
    assert trained(tmp_path, files=["-"], stdin=text) == expected
    assert trained(tmp_path, files=["one", "-"], stdin=gzip.compress(text[middle:])) == expected


# --- forms of data and templates ----------------------------------------------------------------------------------


def test_attribute_lines(tmp_path):
    (tmp_path / "train").write_text("yes\ta:2\tb\nno\tc\n\n@weight:3\nno\tc:0.5\nyes\ta\n\n")
    crfkit("learn", "-q", "--format", "crfsuite", "train", "model")
    assert crfkit("dump", "--header", "model").stdout.count('"crfsuite"') == 1
    names = {line.split("\t")[0] for line in crfkit("dump", "model").stdout.splitlines()}
    assert names == {"a", "b", "c", "*"}


def test_conllu(tmp_path):
    rows = [("1-2", "_", "_"), ("1", "the", "DET"), ("2", "dog", "NOUN"), ("2.1", "x", "X"), ("3", "barks", "VERB")]
    lines = ["# sent_id = 1", *("\t".join([i, form, "_", upos, *["_"] * 6]) for i, form, upos in rows)]
    (tmp_path / "train").write_text("\n".join(lines) + "\n\n")
    (tmp_path / "template").write_text("U:%x[0,form]\nB\n")
    learn("--format", "conllu", "--label", "upos")
    assert crfkit("dump", "--labels", "model").stdout.split() == ["DET", "NOUN", "VERB"]
    assert {line.split("\t")[0] for line in crfkit("dump", "model").stdout.splitlines()} == {"U:the", "U:dog", "U:barks", "*"}
    for text, warns in (("U:%x[0,form]\nU:%x[-1,0]\n", True), ("U:%x[0,id]\nU:%x[0,1]\n", False)):
        (tmp_path / "template").write_text(text)
        said = learn("--format", "conllu", "--label", "upos").stderr
        assert ("template:2: %x[-1,0] is the number of a token in CoNLL-U; words are in column 1, or form" in said) == warns


def test_a_column_by_name(train):
    train.write_text("# columns = word pos chunk\n" + train.read_text())
    (train.parent / "template").write_text("U:%x[0,word]\n")
    learn("--label", "pos")
    assert "NNP" in crfkit("dump", "--labels", "model").stdout.split()
    assert "there is no column 'tag': the columns are word pos chunk" in error("learn", "--label", "tag", "template", "train", "model")
    (train.parent / "template").write_text("U:%x[0,pos]\n")
    assert "which holds the label" in error("learn", "--label", "pos", "template", "train", "model")


def test_columns_without_a_name_among_those_that_have_one(train):
    """The label may be one of them, but no feature: it was refused when the model was made, after training."""
    train.write_text("# columns = word\n" + train.read_text())
    (train.parent / "template").write_text("U:%x[0,word]\nB\n")
    learn("-q")
    assert "B-NP" in crfkit("dump", "--labels", "model").stdout.split()
    (train.parent / "template").write_text("U:%x[0,word]\nU:%x[0,1]\n")
    said = error("learn", "template", "train", "model")
    assert said == "template:2: %x[0,1] uses column 1, but the data name only the first 1: word"


@pytest.mark.parametrize("algorithm", options.TRAINERS)
@pytest.mark.parametrize(("text", "kinds"), [("B\n", {"*"}), ("U:%x[0,1]\n", {"U"}), ("B:%x[0,1]\n", {"B"}), ("*:%x[0,1]\n", {"*"})])
def test_templates_of_one_kind(train, algorithm, text, kinds):
    (train.parent / "template").write_text(text)
    learn("-q", "-a", algorithm)
    assert {line[0] for line in crfkit("dump", "model").stdout.splitlines()} == kinds


# --- options ------------------------------------------------------------------------------------------------------


def test_print_config_gives_what_config_takes(train):
    given = ("-a", "sgd", "--l2", 0.25, "--passes", 3, "--features", "all", "--min-freq", 2, "--seed", 9, "-q")
    printed = crfkit("learn", *given, "--print-config").stdout
    (train.parent / "config").write_text(printed)
    assert crfkit("learn", "--config", "config", "--print-config").stdout == printed
    in_force = yaml.safe_load(printed)
    assert (in_force["algorithm"], in_force["l2"], in_force["quiet"], in_force["rate"]) == ("sgd", 0.25, True, None)
    assert trained(train.parent, "--config", "config") == trained(train.parent, *given)
    assert yaml.safe_load(crfkit("learn", "--config", "config", "--l2", 7, "--print-config").stdout) == {**in_force, "l2": 7.0}


def test_config_files(train):
    (train.parent / "config").write_text("algorithm: perceptron\npasses: 2\naverage: false\nmin-freq: 2\n")
    in_force = yaml.safe_load(crfkit("learn", "--config", "config", "--average", "--print-config").stdout)
    assert (in_force["algorithm"], in_force["average"], in_force["min_freq"]) == ("perceptron", True, 2)
    learn("-q", "--config", "config")
    assert load("model").header["options"]["average"] is False
    (train.parent / "config").write_text("l2: 1e-3\n")  # for YAML a text
    assert yaml.safe_load(crfkit("learn", "--config", "config", "--print-config").stdout)["l2"] == 0.001
    (train.parent / "config").write_text("# nothing\n")
    learn("-q", "--config", "config")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unheard: 1\n", "config: unknown option 'unheard'"),
        ("- a\n- b\n", "config: expected options as `name: value`"),
        ("a: [\n", "config:2: not YAML"),
        ("progress: maybe\n", "config: progress: expected one of auto, always, never, found 'maybe'"),
        ("dev: 5\n", "config: dev: expected a text, found 5"),
        ('dev: "a\\0b"\n', "config: dev: expected a text"),
        ("log: true\n", "config: log: expected a text, found True"),
        ("init: [a]\n", "config: init: expected a text"),
        ("algorithm: {}\nlabel: {a: 1}\n", "config: label: expected a text"),
        ("l2: 1\nseed: 3\nl2: 2\n", "config:3: l2: given twice, first in line 1"),
        ("min-freq: 1\nmin_freq: 2\n", "config:2: min_freq: given twice, first in line 1"),
        ("select: 5\n", "config: select: expected a text, found 5"),
        ("quiet: 'no'\n", "config: quiet: expected true or false"),
        ("progress: [auto]\n", "config: progress: expected a text"),
        ("l2: " + "[" * 5000, "config: not options: lists in lists without end"),
        ("l2: &a 1\nl1: *a\n", "config:2: *a: expected a value, not the name of another one"),
        ("l2: &a {x: 1}\n" + "".join(f"{k}: &{k} {{<<: [{','.join([f'*{k - 1}' if k else '*a'] * 10)}]}}\n" for k in range(30)), "config:2: *a: expected a value"),
        ("l2: 2001-99-99\n", "config: not YAML: month must be in 1..12"),
        ("l2: !!bool x\n", "config: not YAML: "),
        ("l2: !!timestamp x\n", "config: not YAML: "),
        ("l2: \0\n", "config: not YAML: "),
    ],
)
def test_faults_in_config_files(train, text, message):
    (train.parent / "config").write_text(text)
    assert message in error("learn", "--config", "config", "template", "train", "model")


def test_config_files_that_cannot_be_read(train):
    assert "absent: cannot be read: No such file" in error("learn", "--config", "absent", "template", "train", "model")
    (train.parent / "config").write_bytes(b"a: \xff\n")
    assert "config: not YAML" in error("learn", "--config", "config", "template", "train", "model")


ALL_OPTIONS = [(name, item, users) for name, (item, users) in options.all_fields().items()]


@pytest.mark.parametrize(("name", "item", "users"), ALL_OPTIONS, ids=[name for name, *_ in ALL_OPTIONS])
def test_an_option_of_others_is_refused(train, name, item, users):
    value = {int: ["2"], float: ["0.75"], bool: [], tuple: ["3,1"], str: list((item.metadata["choices"] or ())[:1])}[item.metadata["kind"]]
    for algorithm in options.TRAINERS:
        arguments = ("learn", "-a", algorithm, options.flag(name), *value, "template", "train", "model")
        if algorithm in users:
            assert yaml.safe_load(crfkit(*arguments, "--print-config").stdout)[name] is not None
        else:
            said = error(*arguments, code=2)
            assert said == f"{options.flag(name)} is not used by {algorithm} (it belongs to {', '.join(users)})"
    assert not (train.parent / "model").exists()


def test_every_option_has_a_line_of_help():
    text = crfkit("learn", "--help").stdout
    names = {field.name for cls in options.TRAINERS.values() for field in fields(cls)}
    assert all(options.flag(name) in text for name in names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-a", "nonesuch"), "unknown algorithm 'nonesuch'; expected one of lbfgs, "),
        (("--l2", "-1"), "--l2: expected at least 0, found -1"),
        (("--l2", "nan"), "--l2: expected a finite number"),
        (("--l2", "much"), "Invalid value for '--l2'"),
        (("--max-iter", "0"), "--max-iter: expected at least 1, found 0"),
        (("--memory", "65"), "--memory: expected at most 64, found 65"),
        (("-a", "sgd", "--rate", "0"), "--rate: expected more than 0, found 0"),
        (("-a", "sgd", "--decay", "1.5"), "--decay: expected at most 1, found 1.5"),
        (("--min-freq", "0"), "--min-freq: expected a whole number of at least 1, found 0"),
        (("--threads", "-1"), "--threads: expected a whole number of at least 0, found -1"),
        (("-a", "owlqn", "--path", "1,3"), "--path: expected falling numbers of at least 0, such as 10,3,1, found '1,3'"),
        (("-a", "owlqn", "--path", "3,1", "--l1", "1"), "--l1 and --path exclude each other"),
        (("--path", "3,1"), "--path is not used by lbfgs (it belongs to owlqn, sbcd)"),
        *((("--select", text), f"--select: expected mi:N, to keep the N attributes that tell most of the label, found '{text}'") for text in ("mi", "mi:0", "mi:-1", "10", "mi:1.5", "chi:3")),
        *((("--prune", text), f"--prune: expected a number above 0 and at most 1e30, found {text}") for text in ("0", "-1", "nan", "inf")),
        (("--patience", "2"), "--patience needs --dev"),
        (("--dev", "train", "--patience", "0"), "--patience: expected a whole number of at least 1"),
        (("--dev", "-"), "--dev cannot be standard input"),
        (("--format", "conll"), "Invalid value for '--format'"),
        (("--format", "crfsuite", "--label", "a"), "--label is of no use with --format crfsuite"),
        (("--nonesuch",), "No such option"),
        (("--max-iter", 10**22), "--max-iter: expected at most 2147483647"),
        (("--threads", 2**31), "--threads: expected at most 1024"),
        (("--seed", 2**63), "--seed: expected a whole number of 64 bits"),
        (("--log", "train"), "--log: train has another use in this command and would be overwritten"),
        (("--log", "./model"), "--log: ./model has another use"),
        (("--dev", "model"), "MODEL: model has another use"),
        (("train", "-", "-"), "standard input can be read only once"),
    ],
)
def test_options_out_of_range(train, arguments, message):
    assert message in error("learn", *arguments, "template", "train", "model", code=2)


@pytest.mark.parametrize("arguments", [(), ("template",), ("template", "train"), ("--format", "crfsuite", "train")])
def test_missing_arguments(train, arguments):
    assert "MODEL, found" in error("learn", *arguments, code=2)


def test_a_model_that_is_also_an_input(train):
    text = train.read_text()
    assert "would be overwritten" in error("learn", "template", "train", "./train", code=2)
    assert "would be overwritten" in error("learn", "template", "train", "template", code=2)
    assert train.read_text() == text
    os.symlink("train", "link")
    assert "would be overwritten" in error("learn", "template", "train", "link", code=2)
    assert "found -, which is standard input" in error("learn", "template", "train", "-", code=2)


# --- bad input ----------------------------------------------------------------------------------------------------

BAD_DATA = [
    (b"", "train: no tokens"),
    (b"\n \n\t\n\r\n", "train: no tokens"),
    (b"a b O\nc d\n", "train:2: "),
    (b"a b O\n\nc d e f\n", "train:3: "),
    (b"a b O\n\xff b O\n", "train:2: "),
    (b"a b O\na\0 b O\n", "train:2: "),
    (b"a b O\nc d O\n", "train: only one label, 'O'"),
    (b"a\tb\tO\nc\td\t\n", "train:2: column 3 is empty: expected a label"),
    (b"word\nword\n", "train:1: found 1 column, expected at least two"),
    (b"\xff\xfea\0", "train:1: the text is in UTF-16"),
    (gzip.compress(b"a b O\n" * 99)[:-12], "train: "),
]


@pytest.mark.parametrize(("data", "message"), BAD_DATA)
def test_bad_data(tmp_path, data, message):
    (tmp_path / "template").write_text("U:%x[0,0]\n")
    (tmp_path / "train").write_bytes(data)
    assert error("learn", "template", "train", "model").startswith(message)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["template", "train"]


def test_files_of_attributes_without_an_attribute(tmp_path):
    (tmp_path / "good").write_text("yes\ta\nno\tb\n\n")
    (tmp_path / "bad").write_text("yes a\nno b\n\nyes\n")
    for files in (["bad"], ["good", "bad"]):
        said = error("learn", "--format", "crfsuite", *files, "model")
        assert said == "bad: no line has an attribute: expected a label, a tab, and attributes with tabs between"


@pytest.mark.parametrize("rate", ["1e300", "1e39"])
@pytest.mark.parametrize("algorithm", ["sgd", "adf", "sapo"])
def test_a_rate_beyond_all_bounds(train, algorithm, rate):
    said = error("learn", "-q", "-a", algorithm, "--rate", rate, "template", "train", "model")
    assert said.startswith("training diverged at ") and "lower --rate" in said
    assert not (train.parent / "model").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "template: the template is empty"),
        (b"# nothing\n\n", "template: the template has only comments"),
        (b"U:%x[0,0]\nU:%x[0,2]\n", "template:2: %x[0,2] uses column 2, but the data have 2 feature columns"),
        (b"U:%x[0,lemma]\n", "template:1: %x[0,lemma] names column 'lemma', but the data do not name their columns"),
        (b"\nU:%q[0,0]\n", "template:2: unknown macro '%q'"),
        (b"U:%x[0,0\n", "template:1: "),
        (b"X:%x[0,0]\n", "template:1: "),
        (b"U:%y[-1]\n", "template:1: %y macros see labels given before, which only the trainer lookahead can use"),
        (b"U:\xff\n", "template:1: byte 0xff is not valid UTF-8"),
    ],
)
def test_bad_templates(train, text, message):
    (train.parent / "template").write_bytes(text)
    assert error("learn", "template", "train", "model").startswith(message)
    assert not (train.parent / "model").exists()


def test_files_that_are_missing_or_unreadable(train):
    assert error("learn", "absent", "train", "model") == "absent: cannot read the template: No such file or directory"
    assert error("learn", "template", "train", "absent", "model") == "absent: cannot be read: No such file or directory"
    assert error("learn", "template", ".", "model") == ".: cannot be read: Is a directory"
    assert error("learn", "--dev", "absent", "template", "train", "model") == "absent: cannot be read: No such file or directory"
    assert error("learn", "--init", "absent", "template", "train", "model") == "absent: cannot be read: No such file or directory"
    assert "no usable folder" in error("learn", "--log", "absent/log", "template", "train", "model")
    assert not (train.parent / "model").exists()


def test_no_feature_is_left(train):
    (train.parent / "template").write_text("U:%x[0,0]\n")
    assert error("learn", "--min-freq", 10**6, "template", "train", "model") == "train: no feature is left: lower --min-freq"


@pytest.fixture
def fifo(train):
    """Training data that never come: who reads them waits for ever."""
    os.mkfifo(train.parent / "fifo")
    return train.parent / "fifo"


@pytest.mark.parametrize(
    ("arguments", "target", "message"),
    [
        ((), "absent/model", "absent/model: no usable folder "),
        ((), "train/model", "train/model: no usable folder "),
        ((), ".", ".: names a folder"),
        (("--init", "absent"), "model", "absent: cannot be read"),
        (("--dev", "absent"), "model", "absent: cannot be read"),
        (("--log", "absent/log"), "model", "absent/log: no usable folder "),
    ],
)
def test_faults_that_are_found_before_reading(fifo, arguments, target, message):
    with start("learn", *arguments, "template", "fifo", target) as process:
        output, said = process.communicate(timeout=600)
    assert (process.returncode, output) == (1, "")
    assert said.startswith(f"crfkit: error: {message}") and said.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_write_protected_folder(train):
    (train.parent / "locked").mkdir(mode=0o500)
    assert "cannot create a file in" in error("learn", "template", "train", "locked/model")


def test_a_full_disk_leaves_the_old_model(train):
    learn("-q", "--l2", 3)
    old = (train.parent / "model").read_bytes()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    with start("learn", "-q", "template", "train", "model", preexec_fn=limit) as process:
        _, said = process.communicate()
    assert process.returncode == 1
    assert said == "crfkit: error: model: cannot be written: File too large\n"
    assert (train.parent / "model").read_bytes() == old
    assert sorted(entry.name for entry in train.parent.iterdir()) == ["model", "template", "train"]


@pytest.mark.parametrize("progress", ["auto", "always"])
@pytest.mark.parametrize("stderr", ["/dev/full", "closed"])
def test_messages_that_nobody_hears_do_not_stop_it(train, progress, stderr):
    if stderr == "closed":
        how = {"preexec_fn": lambda: os.close(2), "stderr": None}
    elif os.path.exists(stderr):
        how = {"stderr": os.open(stderr, os.O_WRONLY)}
    else:
        pytest.skip(f"needs {stderr}")
    with start("learn", "--progress", progress, "template", "train", "model", **how) as process:
        assert process.wait() == 0
    assert load("model").labels


# --- models to start from -----------------------------------------------------------------------------------------


def passes(said):
    return sum(line.startswith("pass ") for line in said.splitlines())


def test_a_warm_start_from_the_result_is_done_at_once(train):
    first = passes(learn().stderr)
    (train.parent / "model").rename(train.parent / "first")
    again = passes(learn("--init", "first").stderr)
    assert again <= max(11, first / 2)  # --delta looks back 10 passes
    weights = {feature[:3]: feature[3] for feature in load("first").features()}
    for *feature, weight in load("model").features():
        assert weight == pytest.approx(weights[tuple(feature)], abs=0.02)


def test_a_warm_start_on_other_data_takes_what_both_have(train):
    learn("-q")
    (train.parent / "model").rename(train.parent / "first")
    (train.parent / "template").write_text("U00:%x[0,0]\nU99:%x[0,1]\nB\nB:%x[0,1]\n")
    write_part(train, "chunking", 60, skip=40)
    learn("-q", "--init", "first", "-a", "perceptron", "--passes", 1, "--no-average")
    header = load("model").header
    assert header["bigram_attributes"] > 0
    old = {feature[:3]: feature[3] for feature in load("first").features()}
    fractions = {feature[:3]: weight % 1 for *feature, weight in map(list, load("model").features()) for feature in [tuple(feature)]}
    shared = [feature for feature in fractions if feature in old]
    assert len(shared) > 50
    # the perceptron adds whole numbers: what is behind the point comes from the first model
    assert all(abs(fractions[f] - old[f] % 1) < 1e-5 or abs(abs(fractions[f] - old[f] % 1) - 1) < 1e-5 for f in shared)


def test_how_much_a_warm_start_takes_is_said(train):
    learn("-q")
    count = load("model").header["features"]
    (train.parent / "model").rename(train.parent / "first")
    said = learn("--init", "first").stderr
    assert f"\n{count:,} of the {count:,} weights of first are taken over\n" in said and "warning" not in said
    said = learn("--init", "first", "-a", "lookahead", "--direction", "backward", "--passes", 1).stderr
    assert "warning: first has the other --direction" in said
    (train.parent / "train").write_text("a b X\na b Y\n\n")
    said = learn("--init", "first").stderr
    assert f"\n0 of the {count:,} weights of first are taken over\n" in said
    assert "crfkit: warning: no feature of first exists here: training starts from zero\n" in said
    assert crfkit("dump", "--labels", "model").stdout.split() == ["X", "Y"]


# --- signals ------------------------------------------------------------------------------------------------------


@pytest.mark.steady
@pytest.mark.parametrize("algorithm", ["sgd", "owlqn"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_training_saves_the_model(train, algorithm, number, code):
    endless = ("--passes", 10**7) if algorithm == "sgd" else ("--delta", 0, "--epsilon", 0, "--period", 10**6, "--l1", 1e-6, "--l2", 1e-9, "--max-iter", 10**7)
    write_part(train, "chunking", 300)
    with start("learn", "-a", algorithm, *endless, "--log", "log", "template", "train", "model") as process:
        said = ""
        while "pass    2" not in said:
            said = process.stderr.readline()
            assert said, "ended too early"
        process.send_signal(number)
        output, said = process.communicate(timeout=600)
    assert (process.returncode, output) == (code, "")
    assert "stopped; the weights so far are kept" in said
    assert "Traceback" not in said
    assert load("model").header["features"] > 0
    assert all(json.loads(line) for line in (train.parent / "log").read_text().splitlines())


@pytest.mark.steady
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_reading_writes_nothing(fifo, number, code):
    with start("learn", "template", "fifo", "model") as process, open(fifo, "w") as data:  # open when both sides are
        data.write("a b X\n" * 10)
        data.flush()
        process.send_signal(number)
        output, said = process.communicate(timeout=600)
    assert (process.returncode, output) == (code, "")
    assert said == "crfkit: interrupted, no model was written\n"
    assert sorted(entry.name for entry in fifo.parent.iterdir()) == ["fifo", "template", "train"]


# --- development data ---------------------------------------------------------------------------------------------


def test_the_best_weights_are_kept(train):
    """Scores of the passes go up and down: what is saved is the first of the best, not the last."""
    write_part(train, "chunking", 30)
    write_part(train.parent / "dev", "chunking", 30, part="dev")
    said = learn("-a", "perceptron", "--no-average", "--passes", 12, "--dev", "dev", "--log", "log").stderr
    scores = [json.loads(line)["dev_f1"] for line in (train.parent / "log").read_text().splitlines()]
    best = scores.index(max(scores)) + 1
    assert best < 12, "the last pass is the best: choose other data"
    assert f"\nthe weights of pass {best} are kept, the best on the development data\n" in said
    kept = list(load("model").features())
    learn("-q", "-a", "perceptron", "--no-average", "--passes", best)
    assert list(load("model").features()) == kept


def test_labels_that_mark_no_chunks_are_judged_by_accuracy(train):
    """conlleval finds no chunk among parts of speech, or that of -LRB-: all passes would be equally bad."""
    (train.parent / "template").write_text("U00:%x[0,0]\nU01:%s[0,0,2]\nB\n")
    write_part(train, "pos", 60)
    write_part(train.parent / "dev", "pos", 60, part="dev")
    for path in (train, train.parent / "dev"):
        path.write_text(path.read_text().replace(" ,\n", " -LRB-\n"))
    learn("-q", "-a", "perceptron", "--no-average", "--passes", 12, "--dev", "dev", "--log", "log")
    records = [json.loads(line) for line in (train.parent / "log").read_text().splitlines()]
    best = max(records, key=lambda record: record["dev_accuracy"])
    assert 1 < best["pass"] < 12, "choose other data"
    assert len(list(load("model").features())) == best["active"]
    assert best["dev_f1"] == best["dev_accuracy"]


def test_patience(train):
    write_part(train.parent / "dev", "chunking", 30, part="dev")
    said = learn("-a", "perceptron", "--no-average", "--passes", 100, "--dev", "dev", "--patience", 2, "--log", "log").stderr
    assert "done: stopped by --patience" in said
    scores = [json.loads(line)["dev_f1"] for line in (train.parent / "log").read_text().splitlines()]
    assert len(scores) < 100
    assert len(scores) == scores.index(max(scores)) + 1 + 2


def test_labels_that_only_the_development_data_have(train):
    (train.parent / "dev").write_text("Their PRP$ B-NP\nx NN B-UNHEARD\n\nMore JJR I-UNHEARD\n\n")
    learn("-q", "--dev", "dev", "--log", "log", "--max-iter", 5)
    record = json.loads((train.parent / "log").read_text().splitlines()[-1])
    assert 0 <= record["dev_accuracy"] <= 1 / 3 and record["dev_sentence_accuracy"] == 0


def test_development_data_without_a_column(train):
    (train.parent / "dev").write_text("word B-NP\n")
    said = error("learn", "-q", "--dev", "dev", "template", "train", "model")
    assert said.startswith("dev:1: ")


