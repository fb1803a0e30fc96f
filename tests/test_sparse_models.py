"""Ways to small models: paths of L1 penalties, attributes selected before training, weights pruned after it."""

import io
import signal

import pytest
import yaml
from commands import crfkit, error, interrupted, limit, log_lines, start, write_part
from data.test_selection import plain
from trainers.samples import named_weights, sentences, template
from trainers.twins import Corpus, Sample

from crfkit import learn, learn_path
from crfkit.errors import OptionError
from crfkit.model import load
from crfkit.template.parsing import Template

PATH = (5.0, 1.0, 0.25)
EXACT = {"epsilon": 0, "delta": 1e-8, "max_iter": 3000}


@pytest.fixture
def train(tmp_path):
    (tmp_path / "template").write_text("U00:%x[0,0]\nU01:%x[0,1]\nU02:%x[-1,1]\nB\n")
    write_part(tmp_path / "dev", "chunking", 30, part="dev")
    return write_part(tmp_path / "train", "chunking", 60)


def files(folder):
    return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []


# --- paths --------------------------------------------------------------------------------------------------------


def test_a_path_ends_where_cold_starts_do():
    rows, rules = sentences("chunking", limit=50), template("chunking")
    models = list(learn_path(rows, rules, path=PATH, l2=0.1, log="log", **EXACT))
    assert [model.header["options"]["l1"] for model in models] == list(PATH)
    records = log_lines()
    assert [record["pass"] for record in records] == list(range(1, len(records) + 1))
    counts = []
    for l1, model in zip(PATH, models, strict=True):
        cold = learn(rows, rules, "owlqn", l1=l1, l2=0.1, log="cold", **EXACT)
        last, cold_passes = [record for record in records if record["l1"] == l1], log_lines("cold")
        assert last[-1]["objective"] == pytest.approx(cold_passes[-1]["objective"], rel=1e-4)
        own, other = named_weights(model), named_weights(cold)
        assert max(abs(own.get(name, 0.0) - other.get(name, 0.0)) for name in own.keys() | other.keys()) < 2e-2
        if l1 < PATH[0]:
            assert last[0]["objective"] < cold_passes[0]["objective"]  # it does not start from zero
        counts.append(len(own))
    assert counts == sorted(counts) and 0 < counts[0] < counts[-1] / 2


def test_models_of_a_path_are_named_after_their_values(train):
    said = crfkit("learn", "-a", "owlqn", "--path", "5,1,0.25", "template", "train", "out.model").stderr
    names = [f"out.l1-{value}.model" for value in ("5", "1", "0.25")]
    assert files(train.parent) == sorted(["dev", "template", "train", *names])
    assert [line for line in said.splitlines() if line.startswith("l1 ")] == ["l1 5", "l1 1", "l1 0.25"]
    for name, l1 in zip(names, PATH, strict=True):
        assert load(name).header["options"]["l1"] == l1
    crfkit("learn", "-q", "-a", "owlqn", "--path", "1,0.1234567", "template", "train", "m")
    assert {"m.l1-1", "m.l1-0.1234567"} <= set(files(train.parent))


def test_with_development_data_the_best_value_is_kept(train):
    crfkit("learn", "-q", "-a", "owlqn", "--path", "50,5,0.25", "--dev", "dev", "--log", "log", "template", "train", "model")
    records = log_lines()
    assert {record["l1"] for record in records} == {50, 5, 0.25}
    best = max(records, key=lambda record: record["dev_f1"])
    model = load("model")
    assert model.header["options"]["l1"] == best["l1"] < 50
    assert len(list(model.features())) == best["active"]
    assert files(train.parent) == ["dev", "log", "model", "template", "train"]
    assert named_weights(learn("train", "template", "owlqn", path=[50, 5, 0.25], dev="dev")) == named_weights(model)


def test_patience_counts_for_each_value(train):
    crfkit("learn", "-q", "-a", "owlqn", "--path", "5,1,0.25", "--dev", "dev", "--patience", 2, "--log", "log", "template", "train", "model")
    assert {record["l1"] for record in log_lines()} == set(PATH)


def test_one_model_cannot_be_several():
    with pytest.raises(OptionError, match="use learn_path"):
        learn(sentences("chunking", limit=20), template("chunking"), "owlqn", path=PATH)


def test_a_path_in_a_configuration(train):
    printed = crfkit("learn", "-a", "owlqn", "--path", "3,1", "--print-config").stdout
    assert yaml.safe_load(printed)["path"] == [3.0, 1.0]
    assert "l1" not in yaml.safe_load(printed)
    (train.parent / "config").write_text(printed)
    assert crfkit("learn", "--config", "config", "--print-config").stdout == printed
    crfkit("learn", "-q", "--config", "config", "template", "train", "m")
    assert {"m.l1-3", "m.l1-1"} <= set(files(train.parent))


def test_no_model_of_a_path_takes_the_place_of_an_input(train):
    (train.parent / "m.l1-1").write_text("mine")
    arguments = ("learn", "-a", "owlqn", "--path", "3,1", "--format", "columns")
    assert error(*arguments, "template", "train", "m.l1-1", "m", code=2).startswith("MODEL: m.l1-1 has another use")
    assert error(*arguments, "--log", "m.l1-3", "template", "train", "m", code=2).startswith("--log: m.l1-3 has another use")


def test_several_models_need_names(train):
    """Beside a device there is no place for them."""
    arguments = ("learn", "-q", "-a", "owlqn", "--path", "3,1")
    message = "MODEL: /dev/null is no file, and --path writes several, named after it: give a name, or --dev to write the best model alone"
    assert error(*arguments, "template", "train", "/dev/null", code=2) == message
    crfkit(*arguments, "--dev", "train", "template", "train", "/dev/null")


def test_a_signal_on_the_way_saves_the_value_at_hand(train):
    endless = ("--delta", 0, "--epsilon", 0, "--period", 10**6, "--max-iter", 10**7, "--l2", 1e-9)
    with start("learn", "-a", "owlqn", "--path", "1e-6,1e-7", *map(str, endless), "template", "train", "m") as process:
        _, said = interrupted(process, signal.SIGINT)
    assert process.returncode == 130
    assert "stopped; the weights so far are kept" in said
    assert files(train.parent) == ["dev", "m.l1-1e-06", "template", "train"]
    assert load("m.l1-1e-06").header["features"] > 0


# --- selection ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 20, 10**9])
def test_the_attributes_that_tell_most_are_left(n):
    """Words and tags, and tags on edges, against mutual information from strings."""
    rows = sentences("chunking", limit=40)
    ids, names, labels = {}, [], sorted({row[-1] for sentence in rows for row in sentence})

    def number(name):
        if name not in ids:
            ids[name] = len(names)
            names.append(name)
        return (ids[name], 1.0)

    samples = []
    for sentence in rows:
        items = [[number(f"U0:{word}"), number(f"U1:{tag}")] + ([number(f"B1:{tag}")] if t else []) for t, (word, tag, _) in enumerate(sentence)]
        samples.append(Sample([labels.index(row[-1]) for row in sentence], items, [[] for _ in sentence]))
    scores = plain(Corpus(samples, len(labels), len(names)), False)
    ranked = sorted(scores.values(), reverse=True)
    least = ranked[n - 1] if n < len(ranked) else -1.0

    model = learn(rows, Template.parse("U0:%x[0,0]\nU1:%x[0,1]\nB1:%x[0,1]\n"), select=f"mi:{n}", features="all")
    found = {name for name, *_ in named_weights(model)}
    assert found <= {name for name in names if scores[names.index(name)] >= least - 1e-12}
    assert found >= {name for name in names if scores[names.index(name)] > least + 1e-12}
    assert len(found) == min(n, len(names))
    assert model.header["options"]["select"] == f"mi:{n}"


def test_selection_of_named_attributes_after_the_frequency_cut_off():
    lines = ["yes\ta\tb:2\tc", "no\tb\td", "yes\ta\tc", "no\td\tb:0.5", "no\te"]
    data = "".join(f"{line}\n\n" for line in lines).encode()
    model = learn(io.BytesIO(data), format="crfsuite", select="mi:2", min_freq=2, features="all")
    assert {name for name, *_ in named_weights(model)} == {"a", "c"}


# --- pruning ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["lbfgs", "sgd", "perceptron"])
def test_small_weights_are_dropped(algorithm):
    rows, rules = sentences("chunking", limit=60), template("chunking")
    passes = limit(algorithm, 3, 20)
    full = named_weights(learn(rows, rules, algorithm, **passes))
    threshold = sorted(map(abs, full.values()))[len(full) // 2]
    pruned = learn(rows, rules, algorithm, prune=threshold, **passes)
    assert named_weights(pruned) == {name: w for name, w in full.items() if abs(w) >= threshold}
    assert 0 < len(named_weights(pruned)) < len(full)


def test_small_weights_are_dropped_where_data_are_a_stream(train):
    full, pruned = (named_weights(learn(io.BytesIO(train.read_bytes()), "template", "adf", passes=1, prune=least)) for least in (None, 0.1))
    assert pruned == {name: w for name, w in full.items() if abs(w) >= 0.1} and 0 < len(pruned) < len(full)


def test_a_model_of_which_nothing_is_left(train):
    said = crfkit("learn", "--prune", 1e6, "template", "train", "model").stderr
    assert "\ncrfkit: warning: all weights are zero: every token will have the same label; lower --prune, which is 1e+06\n0 weights in " in said
    assert crfkit("dump", "model").stdout == ""
    assert crfkit("tag", "model", "train").stdout.count("\n") == train.read_text().count("\n")


def test_features_of_weight_zero_take_no_room(train, tmp_path):
    """Some models of other programs are as large with most weights zero as without."""
    crfkit("learn", "-q", "template", "train", "all")
    crfkit("learn", "-q", "-a", "owlqn", "--l1", 2, "template", "train", "few")
    sizes = {name: ((tmp_path / name).stat().st_size, load(name).header["features"]) for name in ("all", "few")}
    assert sizes["few"][1] < sizes["all"][1] / 5
    assert sizes["few"][0] < sizes["all"][0] / 3
