"""`crfkit learn` from the outside: options, what it writes and says, errors, signals, limits."""

import gzip
import json
import os
import re
from pathlib import Path

import pytest
import yaml
from commands import BATCH, SMALL, crfkit, error, learn, limit_flags, log_lines, trained, write, write_part

import crfkit as library
from crfkit import constants, options
from crfkit.cli import COMMANDS
from crfkit.errors import OptionError
from crfkit.learning.judging import DISTRIBUTED
from crfkit.model import load
from crfkit.trainers import trainer_class
from crfkit.values import flag

# --- what it says and writes --------------------------------------------------------------------------------------


def test_the_lines_on_standard_error(train):
    result = learn("--max-iter", 3, "--epsilon", 0)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith("60 sequences, ") and " weights; read in " in lines[0]
    assert lines[1].startswith("training will take about ")
    assert re.fullmatch(r"warm-up, [0-9]+ passes  loss [0-9.]+  [0-9.]+ s", lines[3])
    assert re.fullmatch(r"--l2 [0-9.]+, by how often attributes occur, and with how many labels", lines[2])
    assert [line.split()[:3] for line in lines[4:-3]] == [["pass", str(n), "objective"] for n in (1, 2, 3)]
    assert re.fullmatch(r"objective [0-9.]+, at most 0[0-9.]* % above the optimum", lines[-3])
    assert lines[-2] == "all passes of --max-iter are made: the optimum may lie below"
    assert " weights in " in lines[-1] and lines[-1].endswith(" s in all")
    assert learn("-q").output == ""


@pytest.mark.parametrize(("sentences", "digits"), [(60, 3), (600, 1)])
def test_the_size_is_that_of_the_file(train, sentences, digits):
    """Rounded, but never to nothing."""
    write_part(train, "chunking", sentences)
    size = re.search(r" in ([0-9]+\.([0-9]+)) MB: model;", learn("--features", "all").stderr)
    assert len(size[2]) == digits and float(size[1]) == round(os.path.getsize("model") / 1e6, digits) > 0


def test_sbcd_says_where_it_cannot_win(train, monkeypatch):
    """The note comes for two labels, if the data are large enough to matter. With many labels and few attributes both are about as fast."""
    train.write_text("\n".join(f"w{k % 97} P X{k % 2}" if k % 20 else "" for k in range(1, 2000)))
    for least, told in ((1_000_000, 0), (1000, 1)):
        monkeypatch.setattr("crfkit.trainers.batch.sbcd.MANY", least)
        assert learn("-a", "sbcd", "--max-iter", 1).stderr.count("takes several times as long here as owlqn") == told
    assert "owlqn" not in learn("-a", "owlqn", "--max-iter", 1).stderr
    train.write_text("\n".join(f"w P X{k % 99 if k > 99 else k}" for k in range(2000)))
    assert "owlqn" not in learn("-a", "sbcd", "--max-iter", 1).stderr


@pytest.mark.parametrize(("algorithm", "sequences", "told"), [("sgd", 2, 1), ("perceptron", 9, 1), ("adf", 20, 1), ("arow", 40, 0), ("lbfgs", 2, 0), ("lookahead", 2, 0)])
def test_a_handful_of_long_sequences(algorithm, sequences, told, tmp_path):
    """Trainers that make one step per sequence get a warning where there are few for their length."""
    write(template="U:%x[0,0]\n", train="\n".join("a x\nb y\n" * 500 for _ in range(sequences)))
    said = crfkit("learn", "-a", algorithm, *limit_flags(algorithm, 1), tmp_path / "template", tmp_path / "train", tmp_path / "model").stderr
    assert said.count(f"{algorithm} makes one step for each sequence, and there are {sequences} of 1,000 tokens") == told


@pytest.mark.parametrize(("algorithm", "before", "after"), [("lbfgs", "", "if it has several sentences, put an empty line after each\n"), ("sgd", "sgd makes one step for each sequence, and ", "put an empty line after each sentence, or use lbfgs")])
def test_no_empty_line_ends_a_sentence(algorithm, before, after, train):
    short = ("-a", algorithm, *limit_flags(algorithm, 1))
    for tokens, told in ((998, 1), (498, 0)):
        train.write_text("a x X\nb y Y\n" * (tokens // 2))
        said = f"warning: {before}all {tokens} tokens are one sequence: {after}"
        assert learn(*short).stderr.count(said) == told
    train.write_text("\n".join(["a x X\nb y Y\n" * 2000] * 2))
    assert ("put an empty line after each sentence" in learn(*short).stderr) == bool(before)
    train.write_text("X\ta\nY\tb\n" * 500)
    assert ("one sequence" in crfkit("learn", *short, "--format", "crfsuite", train, "model").stderr) == bool(before)


def test_a_bar_when_asked_for(train):
    assert "pass/s" in learn("--max-iter", 3, "--progress", "always").stderr
    assert "pass    1" in learn("--max-iter", 3, "--progress", "never").stderr


def test_the_header_says_how_it_was_made(train):
    learn("-a", "sgd", "--passes", 2, "--l2", 0.5, "--seed", 3, "--min-freq", 2, "--features", "all")
    header = json.loads(crfkit("dump", "--header", "model").stdout)
    assert header["algorithm"] == "sgd"
    assert header["options"] == {"l2": 0.5, "l1": 0.0, "passes": 2, "rate": None, "decay": None, "batch_size": 1, "crf_loss": False, "dropout": None, "features": "all", "min_freq": 2, "partial": False, "seed": 3, "select": None, "prune": None}
    assert header["template"] == SMALL
    assert header["sequences"] == 60


@pytest.mark.parametrize(
    ("algorithm", "chosen"), [("lbfgs", ["l2"]), ("sgd", ["l2", "rate"]), ("adf", ["l2", "rate"]), ("sapo", ["l2", "rate"]), ("arow", ["regularization"])]
)
def test_what_is_chosen_for_the_data_is_told(train, algorithm, chosen):
    """The choice is on standard error, in the log and in the header; giving it as an option makes the same model."""

    def made(*more):
        run = learn("-a", algorithm, *limit_flags(algorithm, 2), "--window" if algorithm == "adf" else "--seed", 7, "--log", "log", *more)
        header = json.loads(crfkit("dump", "--header", "model").stdout)
        records = log_lines()
        weights = crfkit("dump", "model").stdout
        return run.stderr, header, [{option: record[option] for option in chosen if option in record} for record in records], weights

    told, header, logged, weights = made()
    found = header["chosen"]
    assert [*found] == chosen and all(value > 0 for value in found.values()) and logged and all(record == found for record in logged)
    for option, value in found.items():
        of_l2 = "by how many attributes a token has" if algorithm == "sapo" else "by how often attributes occur, and with how many labels"
        assert f"--{option} {value:g}, {of_l2 if option == 'l2' else 'the best one on a sample'}\n" in told
    again, header, logged, same = made(*(word for option, value in found.items() for word in (f"--{option}", value)))
    assert "chosen" not in header and not any(logged) and ", the best one" not in again and ", by how" not in again
    assert same == weights


@pytest.mark.parametrize(
    ("algorithm", "kind"), [(name, "objective" if name in BATCH else "loss") for name in options.TRAINERS]
)
def test_the_log_has_a_line_a_pass(train, algorithm, kind):
    write_part(train.parent / "dev", "chunking", 20, part="dev")
    learn("-a", algorithm, *limit_flags(algorithm, 4), *(("--epsilon", 0) if algorithm in BATCH else ()), "--log", "log", "--dev", "dev")
    records = log_lines()
    assert [record["pass"] for record in records] == [1, 2, 3, 4]
    wanted = {"pass", "seconds", "cpu", "elapsed", kind, "mean_abs_weight", "active"}
    scores = {f"dev_{score}" for score in ("accuracy", "sentence_accuracy", "precision", "recall", "f1")}
    for record in records:
        assert record.keys() >= wanted | scores
        assert all(0 <= record[name] <= 1 for name in scores)
        assert 0 <= record["seconds"] <= record["elapsed"]
    assert [r["elapsed"] for r in records] == sorted(r["elapsed"] for r in records)
    assert sum(r["seconds"] for r in records) <= records[-1]["elapsed"]
    assert len(list(load("model").features())) in {record["active"] for record in records}  # the model is that of a pass


def test_log_and_model_agree(train):
    learn("--log", "log")
    last = log_lines()[-1]
    weights = [abs(weight) for *_, weight in load("model").features()]
    assert last["active"] == len(weights)
    assert last["mean_abs_weight"] * json.loads(crfkit("dump", "--header", "model").stdout)["features"] == pytest.approx(sum(weights), rel=1e-4)


# --- the same bytes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", options.TRAINERS)
def test_the_same_bytes_again_and_with_any_number_of_threads(train, algorithm, monkeypatch):
    monkeypatch.setattr(constants, "CHUNK_TOKENS", 128)  # so that there is work for three
    short = ("-a", algorithm, *limit_flags(algorithm, 2, 4))
    # without locks, models differ from run to run: tests/trainers/test_threads.py
    cls = trainer_class(algorithm)
    numbers = (1, 0) if cls.lock_free else (1, 0, 2, 3) if cls.threaded else (1, 2)
    first, *others = (trained(train.parent, *short, "--threads", n) for n in numbers)
    assert all(other == first for other in others)
    if algorithm not in BATCH:
        assert trained(train.parent, *short, "--seed", 1) != first


def test_line_ends_compression_and_splitting_do_not_change_the_model(train, tmp_path):
    text = train.read_bytes()
    expected = trained(tmp_path)
    write(crlf=b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n").rstrip(), gz=gzip.compress(text))
    middle = text.index(b"\n\n", len(text) // 2) + 2
    write(one=text[:middle].rstrip(), two=gzip.compress(text[middle:]))
    assert trained(tmp_path, files=["crlf"]) == expected
    assert trained(tmp_path, files=["gz"]) == expected
    assert trained(tmp_path, files=["one", "two"]) == expected
    assert trained(tmp_path, files=["-"], stdin=text) == expected
    assert trained(tmp_path, files=["one", "-"], stdin=gzip.compress(text[middle:])) == expected


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


@pytest.mark.parametrize("algorithm", DISTRIBUTED)
def test_print_config_gives_what_config_takes_of_workers(algorithm, train):
    Path("config").write_text(crfkit("learn", "-a", algorithm, "--workers", 2, "--print-config").stdout)
    assert crfkit("learn", "--config", "config", "--print-config").stdout == Path("config").read_text()


def test_config_files(train):
    (train.parent / "config").write_text("algorithm: perceptron\npasses: 2\naverage: false\nmin-freq: 2\n")
    in_force = yaml.safe_load(crfkit("learn", "--config", "config", "--average", "--print-config").stdout)
    assert (in_force["algorithm"], in_force["average"], in_force["min_freq"]) == ("perceptron", True, 2)
    learn("-q", "--config", "config")
    assert load("model").header["options"]["average"] is False
    (train.parent / "config").write_text("--l2: 1e-3\n")  # for YAML a text
    assert yaml.safe_load(crfkit("learn", "--config", "config", "--print-config").stdout)["l2"] == 0.001
    (train.parent / "config").write_text("# nothing\n")
    learn("-q", "--config", "config")
    (train.parent / "config").write_text("algorithm: mira\nnbest: 5000\n")  # too many for mira
    assert yaml.safe_load(crfkit("learn", "-a", "sapo", "--config", "config", "--print-config").stdout)["nbest"] == 5000


def test_all_models_of_a_path_can_be_written_before_the_first_is_learned(train):
    os.mkdir("model.l1-1")
    assert "model.l1-1: names a folder" in error("learn", "-a", "owlqn", "--path", "3,1", "template", "train", "model")
    assert not os.path.exists("model.l1-3")


@pytest.mark.parametrize(("text", "message"), [
    ("unheard: 1\n", "config:1: unknown option unheard"),
    ("--unheard: 1\n", "config:1: unknown option unheard"),
    ("-a: sgd\n", "config:1: unknown option a"),
    ("l2: 1\n--l2: 1\n", "config:2: --l2: given twice, first in line 1"),
    ("seed: 1\n<<: {l2: -1}\n", "config: l2: expected a number of at least 0, found -1"),
    ("seed: '3x'\n", "config:1: seed: expected a whole number of 64 bits, found '3x'"),
    ("- a\n- b\n", "config: expected options as `name: value`"),
    ("seed: 1\n2: 3\n", "config: expected options as `name: value`"),
    ("a: [\n", "config:2: not YAML"),
    ("progress: maybe\n", "config:1: progress: expected auto or always or never, found 'maybe'"),
    ("dev: 5\n", "config:1: dev: expected a text, found 5"),
    ('dev: "a\\0b"\n', "config:1: dev: expected a text"),
    ("init: [a]\n", "config:1: init: expected a text"),
    ("l2: -1\n", "config:1: l2: expected a number of at least 0, found -1"),
    ("algorithm: mira\nnbest: 5000\n", "config:2: nbest: expected a whole number from 1 to 1000, found 5000"),
    ("l2: 1\nseed: 3\nl2: 2\n", "config:3: l2: given twice, first in line 1"),
    ("min-freq: 1\nmin_freq: 2\n", "config:2: min_freq: given twice, first in line 1"),
    ("select: 5\n", "config:1: select: expected mi:N, to keep the N attributes that tell most of the label, found 5"),
    ("quiet: 'no'\n", "config:1: quiet: expected true or false"),
    ("l2: " + "[" * 1000, "config: not options: nested too deeply"),
    ("l2: &a 1\nl1: *a\n", "config:2: *a: expected a value, not the name of another one"),
    ("l2: &a {x: 1}\n" + "".join(f"{k}: &{k} {{<<: [{','.join([f'*{k - 1}' if k else '*a'] * 10)}]}}\n" for k in range(30)), "config:2: *a: expected a value"),
    ("l2: 2001-99-99\n", "config: not YAML: month must be in 1..12"),
    ("l2: !!bool x\n", "config: not YAML: "),
    ("l2: !!timestamp x\n", "config: not YAML: "),
    ("l1: 1\nl2: \0\n", "config:2: not YAML: unacceptable character #x0000: special characters are not allowed"),
    ("l2: 1:30.5\n", "config:1: l2: expected a number of at least 0, found '1:30.5'"),
    ("a b c\n" * 200_000, "config: more than 1,048,576 characters: expected options as `name: value`"),
])
def test_faults_in_config_files(train, text, message):
    (train.parent / "config").write_text(text)
    assert message in error("learn", "--config", "config", "template", "train", "model")


@pytest.mark.parametrize(("text", "options", "message"), [
    ("algorithm: sgd\nmemory: 3\n", (), "config:2: --memory is not used by sgd (it belongs to lbfgs, owlqn)"),
    ("algorithm: sgd\n", ("--memory", 3), "config:1: --memory is not used by sgd (it belongs to lbfgs, owlqn)"),
    ("memory: 3\n", ("-a", "sgd"), "config:1: --memory is not used by sgd (it belongs to lbfgs, owlqn)"),
    ("memory: 3\n", ("-a", "sgd", "--memory", 5), "--memory is not used by sgd (it belongs to lbfgs, owlqn)"),
    ("seed: 3\n\npatience: 3\n", (), "config:3: --patience needs --dev: it counts passes without a better score there"),
    ("seed: 3\n", ("--patience", 3), "--patience needs --dev: it counts passes without a better score there"),
    ("seed: 3\nalgorithm: lbfg\n", (), "config:2: unknown algorithm 'lbfg'"),
    ("seed: 3\nlog: train\n", (), "config:2: --log: train has another use here and would be overwritten"),
])
def test_conflicts_name_the_config_file(train, text, options, message):
    (train.parent / "config").write_text(text)
    assert error("learn", "--config", "config", *options, "template", "train", "model", code=2).startswith(message)


@pytest.mark.parametrize("number", ["10", '"10"', "010", '"010"', "+10", "1_0"])
def test_numbers_in_config_files_are_decimal(train, number):
    """010 is 8 in YAML 1.1, but 10 in YAML 1.2 and for people."""
    (train.parent / "config").write_text(f"algorithm: sgd\nmin-freq: {number}\npasses: 08\nl2: {number}\n")
    in_force = yaml.safe_load(crfkit("learn", "--config", "config", "--print-config").stdout)
    assert (in_force["min_freq"], in_force["passes"], in_force["l2"]) == (10, 8, 10.0)


@pytest.mark.parametrize(("word", "value"), [("true", True), ("yes", True), ('"true"', True), ("'False'", False)])
def test_what_is_true_in_config_files(train, word, value):
    (train.parent / "config").write_text(f"comments: {word}\n")
    assert yaml.safe_load(crfkit("learn", "--config", "config", "--print-config").stdout)["comments"] is value


def test_config_files_that_cannot_be_read(train):
    assert "absent: cannot be read: No such file" in error("learn", "--config", "absent", "template", "train", "model")
    assert error("learn", "--config", "-", "template", "train", "model").endswith(" (- is standard input only where data are read)")
    (train.parent / "config").write_bytes(b"a: \xff\n")
    assert "config: not YAML" in error("learn", "--config", "config", "template", "train", "model")


ALL_OPTIONS = [option for option in options.declared().values() if not {*option.defaults} <= {""}]


@pytest.mark.parametrize("option", ALL_OPTIONS, ids=[option.name for option in ALL_OPTIONS])
def test_an_option_of_others_is_refused(train, option):
    value = {int: ["2"], float: ["0.75"], bool: [], tuple: ["3,1"], str: list((option.expected.choices or ())[:1])}[option.expected.kind]
    others = [name for name in options.TRAINERS if name not in option.defaults]
    for algorithm in (next(iter(option.defaults)), *others[:1], *others[-1:]):
        needed = ("--search", "beam") if (algorithm, option.name) == ("sapo", "beam") else ()
        arguments = ("learn", "-a", algorithm, *needed, flag(option.name), *value, "template", "train", "model")
        if algorithm in option.defaults:
            assert yaml.safe_load(crfkit(*arguments, "--print-config").stdout)[option.name] is not None
        else:
            said = error(*arguments, code=2)
            assert said == f"{flag(option.name)} is not used by {algorithm} (it belongs to {', '.join(option.defaults)})"
    assert not (train.parent / "model").exists()


@pytest.mark.parametrize(("name", "hint"), [("train", "did you mean learn? There are"), ("predict", "did you mean tag? There are"), ("crf_test", "did you mean tag? There are"), ("update", "did you mean convert? There are"), ("evel", "did you mean eval? There are"), ("", "there are")])
def test_a_command_of_others_is_refused(name, hint):
    assert error(name, code=2) == f"no command {name!r}; {hint} {', '.join(COMMANDS)}"


@pytest.mark.parametrize(("arguments", "message"), [
    (("-a", "nonesuch"), "unknown algorithm 'nonesuch'; expected one of lbfgs, "),
    (("--l2", "-1"), "--l2: expected a number of at least 0, found -1"),
    (("--l2", "much"), "Invalid value for '--l2'"),
    (("-a", "sgd", "--rate", "0"), "--rate: expected a number above 0, found 0"),
    (("-a", "sgd", "--decay", "1.5"), "--decay: expected a number from 0 to 1, found 1.5"),
    (("--threads", "-1"), "--threads: expected a whole number from 0 to 1024, found -1"),
    (("-a", "owlqn", "--path", "3,1", "--l1", "1"), "--l1 and --path exclude each other"),
    *((("--select", text), f"--select: expected mi:N, to keep the N attributes that tell most of the label, found '{text}'") for text in ("mi", "mi:0", "mi:-1", "10", "mi:1.5", "chi:3")),
    *((("--prune", text), f"--prune: expected a {finite}number above 0 and at most 1e30, found {text}") for finite, text in (("", "0"), ("", "-1"), ("finite ", "nan"), ("finite ", "inf"))),
    (("--dev", "train", "--patience", "0"), "--patience: expected a whole number of at least 1"),
    (("--worker-timeout", "3"), "--worker-timeout needs --workers or --cluster"),
    (("--shards", "3"), "--shards needs --workers or --cluster"),
    (("-a", "sgd", "--l1", "1", "--threads", "2"), "sgd with --l1 needs --threads 1"),
    (("-a", "owlqn", "--path", "3,1", "--checkpoint", "state"), "--checkpoint does not go with --path"),
    (("-a", "sapo", "--beam", "3"), "--beam needs --search beam"),
    (("--dev", "-"), "--dev cannot be standard input"),
    (("--format", "conll"), "Invalid value for '--format'"),
    (("--nonesuch",), "No such option"), (("--model", "m"), "No such option '--model'; the model is the last argument"),
    (("-c", "1"), "No such option '-c'; l2 is 1 / c of CRF++"),
    (("-C", "m.txt"), "No such option '-C'; crfkit convert reads CRF++'s text models"),
    (("-f", "3"), "No such option '-f'; --min-freq is CRF++'s freq"),
    (("-1", "0.5"), "No such option '-1'; l1 is Wapiti's rho1"),
    (("-d", "dev"), "No such option '-d'; --dev is Wapiti's devel"),
    (("-t", "4"), "No such option '-t'; --threads is Wapiti's nthread"),
    (("-H", "5"), "No such option '-H'; --shrinking is CRF++'s shrinking-size"),
    (("-x",), "No such option '-x'; crfkit-crfsuite learn splits data as CRFsuite does"),
    (("-e2",), "No such option '-e'; --dev takes the file that CRFsuite would hold out"),
    (("-a", "rprop", "t", "d", "m"), "did you mean owlqn?"),
    (("--learning-rate", "1"), "No such option '--learning-rate'; did you mean --rate?"),
    (("--seed", 2**63), "--seed: expected a whole number of 64 bits"),
    (("--log", "-"), "--log: expected the name of a file, found -"),
    (("--checkpoint", "-"), "--checkpoint: expected the name of a file, found -"),
    (("--log", "train"), "--log: train has another use here and would be overwritten"),
    (("--log", "./model"), "--log: ./model has another use"),
    (("--dev", "model"), "MODEL: model has another use"),
    (("--init", "first", "--log", "./first"), "--log: ./first has another use"),
    (("--init", "first", "--checkpoint", "first"), "--checkpoint: first has another use"),
    (("--log", "passes", "--checkpoint", "./passes"), "--checkpoint: ./passes has another use"),
    (("--checkpoint", "model"), "--checkpoint: model has another use"),
    (("train", "-", "-"), "standard input can be read only once"),
])
def test_options_out_of_range(train, arguments, message):
    assert message in error("learn", *arguments, "template", "train", "model", code=2)


def test_files_that_match_a_pattern_of_train_are_not_overwritten(train):
    before = Path("train").read_bytes()
    for arguments, target in ((("template", "tr*n", "train"), "MODEL"), (("--log", "train", "template", "tr*n", "model"), "--log")):
        assert error("learn", "--workers", 2, *arguments, code=2).startswith(f"{target}: train has another use here")
    with pytest.raises(OptionError, match="log: train has another use here"):
        library.learn("tr*n", "template", workers=2, log="train")
    assert Path("train").read_bytes() == before


@pytest.mark.parametrize("arguments", [(), ("template",), ("template", "train"), ("--format", "crfsuite", "train")])
def test_missing_arguments(train, arguments):
    """Users of CRFsuite may give none but data and model."""
    message = error("learn", *arguments, code=2)
    assert "MODEL, found" in message and ("(no template is needed with --format crfsuite)" in message) == (arguments == ("template", "train"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_part_of_the_data_in_the_place_of_the_model(train, packed):
    """`learn TEMPLATE part*.txt` names no model."""
    content = gzip.compress(train.read_bytes()) if packed else b"\n" + train.read_bytes()
    Path("part2").write_bytes(content)
    assert "MODEL: part2 holds data and would be overwritten" in error("learn", "template", "train", "part2", code=2)
    assert Path("part2").read_bytes() == content
    Path("part2").write_bytes(b"# a comment of some words\n" + train.read_bytes())
    assert "MODEL: part2 holds data and would be overwritten" in error("learn", "--comments", "template", "train", "part2", code=2)


@pytest.mark.parametrize(("form", "text"), [*((form, "") for form in ("crfkit", "crfpp", "crfpp-text", "wapiti", None)), (None, "what stood here before\n")])
def test_models_of_all_programs_are_replaced(train, form, text):
    learn("--max-iter", 2)
    crfkit("convert", "--to", form, "model", "old") if form else Path("old").write_text(text)
    crfkit("learn", "--max-iter", 2, "template", "train", "old")
    assert Path("old").read_bytes() == Path("model").read_bytes()


def test_a_model_that_is_also_an_input(train):
    text = train.read_text()
    assert "would be overwritten" in error("learn", "template", "train", "./train", code=2)
    assert "would be overwritten" in error("learn", "template", "train", "template", code=2)
    assert train.read_text() == text
    os.symlink("train", "link")
    assert "would be overwritten" in error("learn", "template", "train", "link", code=2)
    assert "found -, which stands for standard input or output" in error("learn", "template", "train", "-", code=2)
