"""One pass over a stream: compared with a slow twin, in constant memory, and its errors."""

import io
import json
import random
import signal
import subprocess
import sys
import warnings
from collections import Counter

import pytest
from commands import crfkit as command
from commands import log_lines, memory_told, text_of
from hypothesis import given
from hypothesis import strategies as st
from inputs import OneByOne
from trainers.samples import ROOT, named_weights, sentences, template
from trainers.twins import Corpus, Sample, likelihood
from trainers.twins_online import shares

import crfkit
from crfkit.errors import CrfkitWarning, DataError
from crfkit.learning.learn import learn
from crfkit.template.meaning import expand
from crfkit.template.parsing import Template

PRECISION = {"rel": 1e-4, "abs": 2e-6}  # weights are stored in single precision

RICH = "U0:%x[0,0]\nU1:%x[-1,0]\nB2:%x[0,0]\nB\n"
WORDS = st.tuples(st.sampled_from("abcd"), st.sampled_from("XYZ"))
CORPORA = st.lists(st.lists(WORDS, min_size=1, max_size=3), min_size=2, max_size=12).filter(
    lambda found: len({label for rows in found for _, label in rows}) > 1
)


class Twin:
    """Weights by the strings of their features; all of them are visited at every step. `pairs`: plain label pairs are features, too."""

    def __init__(self, l2, rate, alpha, beta, window, pairs=True):
        self.l2, self.rate, self.alpha, self.beta, self.window, self.pairs = l2, rate, alpha, beta, window, pairs
        self.weights, self.rates, self.numbers, self.labels = {}, {("T",): rate}, {}, {}
        self.loss, self.seen = 0.0, 0

    def sample(self, rules, rows):
        labels = [self.labels.setdefault(row[-1], len(self.labels)) for row in rows]
        found = {"U": [[] for _ in rows], "B": [[] for _ in rows]}
        for t in range(len(rows)):
            for line in rules.lines:
                for kind in line.kinds if line.macros else ():
                    if kind == "U" or t:
                        number = self.numbers.setdefault((kind, expand(line, rows, t)), len(self.numbers))
                        found[kind][t].append((number, 1.0))
        return Sample(labels, found["U"], found["B"])

    def learn(self, rules, stream):
        for first in range(0, len(stream), self.window):
            self.learn_window([self.sample(rules, rows) for rows in stream[first : first + self.window]])

    def learn_window(self, window):
        self.seen += len(window)
        for sample in window:
            for t, j in enumerate(sample.labels):
                features = [("U", a, j) for a, _ in sample.unigrams[t]]
                if t:
                    i = sample.labels[t - 1]
                    features += [*[("T", i, j)] * self.pairs, *(("B", b, i, j) for b, _ in sample.bigrams[t])]
                for feature in features:
                    self.weights.setdefault(feature, 0.0)
                    self.rates.setdefault(row_of(feature), self.rate)
        used = Counter()
        for sample in window:
            nll, gradient = likelihood(self.weights, sample, len(self.labels))
            self.loss += nll
            for feature, w in self.weights.items():
                g = gradient.get(feature, 0.0) + self.l2 / self.seen * w
                self.weights[feature] = w - self.rates[row_of(feature)] * g
            used.update({("U", a) for items in sample.unigrams for a, _ in items} | {("B", b) for items in sample.bigrams for b, _ in items})
            used["T",] += len(sample) > 1
        for row in self.rates:
            self.rates[row] *= self.alpha - used[row] / len(window) * (self.alpha - self.beta)

    def named(self):
        labels = {j: label for label, j in self.labels.items()}
        attributes = {number: text for (_, text), number in self.numbers.items()}
        found = {}
        for (kind, *key), w in self.weights.items():
            attribute = None if kind == "T" else attributes[key.pop(0)]
            found[attribute, None if kind == "U" else labels[key[0]], labels[key[-1]]] = w
        return found


def row_of(feature):
    return feature[:1] if feature[0] == "T" else feature[:2]


def stream(found):
    return io.BytesIO(text_of(found).encode())


def assert_equal(model, twin):
    weights = named_weights(model)
    expected = twin.named()
    assert weights.keys() <= expected.keys()
    assert {feature: weights.get(feature, 0.0) for feature in expected} == pytest.approx(expected, **PRECISION)


@pytest.mark.filterwarnings("ignore:all weights are zero")  # where labels are as frequent as the model expects; the twin's are zero, too
@given(CORPORA, st.integers(1, 4), st.sampled_from([0.0, 1.0, 4.0]), st.sampled_from([(0.995, 0.6), (0.9, 0.1)]), st.sampled_from([RICH, "U0:%x[0,0]\n", "U0:%x[0,0]\nB\n"]))
def test_the_model_is_that_of_the_twin(found, window, l2, bounds, rules):
    rules = Template.parse(rules)
    twin = Twin(l2, 0.2, *bounds, window, pairs=any(not line.macros for line in rules.lines))
    chosen = {"l2": l2, "rate": 0.2, "alpha": bounds[0], "beta": bounds[1], "window": window}
    model = crfkit.learn(stream(found), rules, "adf", passes=1, **chosen)
    twin.learn(rules, found)
    assert_equal(model, twin)


def test_windows_across_blocks_of_the_input(tmp_path):
    """A megabyte is read at once; where a block ends must not matter. Attributes rest for many windows."""
    found = sentences("chunking", limit=40)
    rules, twin = template("chunking"), Twin(1.0, 0.05, 0.995, 0.6, 7)
    twin.learn(rules, found)
    log, first = tmp_path / "log", tmp_path / "first"
    first.write_text(text_of(found[:25]))
    models = [
        crfkit.learn(source, rules, "adf", passes=1, window=7, rate=0.05, log=log)
        for source in (stream(found), OneByOne(text_of(found).encode(), 97), [first, stream(found[25:])])
    ]
    assert models[0].to_bytes() == models[1].to_bytes() == models[2].to_bytes()
    assert_equal(models[0], twin)
    record = json.loads(log.read_text())
    assert record["loss"] == pytest.approx(twin.loss, rel=1e-4)
    assert {"pass", "seconds", "elapsed", "mean_abs_weight", "active"} <= record.keys()
    assert models[0].header["sequences"] == 40 and models[0].header["tokens"] == sum(map(len, found))


def test_the_first_window_finds_the_rate_of_all():
    """A power of two, with which windows after the first, and their new attributes, go on."""
    found, rules = sentences("chunking", limit=60), template("chunking")
    models = [crfkit.learn(stream(found), rules, "adf", passes=1, window=25, **given) for given in ({}, *({"rate": 2.0**k} for k in range(-9, 4)))]
    chosen, *others = [named_weights(model) for model in models]
    assert sum(chosen == other for other in others) == 1


def test_the_rate_that_was_found_is_told():
    found, log = sentences("chunking", limit=50), io.StringIO()
    rate = crfkit.learn(stream(found), template("chunking"), "adf", passes=1, log=log).header["chosen"]["rate"]
    record = json.loads(log.getvalue())
    assert rate > 0 and record["rate"] == rate and record["cpu"] > 0
    assert "chosen" not in crfkit.learn(stream(found), template("chunking"), "adf", passes=1, rate=rate).header


def test_values_that_come_later_have_lower_rates():
    """Of the first window, where the rate is found, all values are 1."""
    rng, text, samples = random.Random(0), "", []
    for s in range(60):
        labels = [rng.randrange(2) for _ in range(2)]
        values = [1.0 if s < 20 else float(rng.choice([1, 7, 50])) for _ in labels]
        text += "".join(f"L{j}\tx{j if rng.random() < 0.8 else 0}:{v:g}\n" for j, v in zip(labels, values, strict=True)) + "\n"
    log = io.StringIO()
    model = crfkit.learn(io.BytesIO(text.encode()), format="crfsuite", algorithm="adf", passes=1, window=20, log=log)
    twin = Twin(1.0, json.loads(log.getvalue())["rate"], 0.995, 0.6, 20)
    for sequence in text.split("\n\n")[:-1]:
        rows = [line.split("\t") for line in sequence.split("\n")]
        attributes = [attribute.split(":") for _, attribute in rows]
        labels = [twin.labels.setdefault(label, len(twin.labels)) for label, _ in rows]
        items = [[(twin.numbers.setdefault(("U", name), len(twin.numbers)), float(value))] for name, value in attributes]
        samples.append(Sample(labels, items, [[], []]))
    for first in range(0, 60, 20):
        window = samples[first : first + 20]
        for row, share in shares(Corpus(window, 2, len(twin.numbers))).items():
            twin.rates[row] = min(twin.rates.get(row, twin.rate), share * twin.rate)
        twin.learn_window(window)
    assert_equal(model, twin)
    assert min(share for share in shares(Corpus(samples[20:], 2, len(twin.numbers))).values()) < 1e-2


PEAK = """
import sys
import crfkit
crfkit.learn(sys.stdin.buffer, sys.argv[1], "adf", passes=1, window=200).save("model")
print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.long
@memory_told
def test_memory_does_not_grow_with_the_same_data_again():
    """To hold 20 MB of text with its attributes would take 200 MB."""
    data = (ROOT / "data/chunking.train.txt").read_bytes().strip() + b"\n\n"
    peaks = []
    for copies in (20, (20 << 20) // len(data)):
        program = [sys.executable, "-c", PEAK, str(ROOT / "templates/chunking.txt")]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            for _ in range(copies):
                process.stdin.write(data)
            process.stdin.close()
            peaks.append(int(process.stdout.read()))
    assert peaks[1] - peaks[0] < 20 << 10  # KB


@pytest.mark.parametrize(
    ("chosen", "named"),
    [({"min_freq": 2}, "min_freq"), ({"features": "all"}, "features"), ({"batch_size": 2}, "batch_size"), ({"threads": 2}, "threads"),
     ({"crf_loss": True}, "crf_loss"), ({"dev": [[["a", "X"]]]}, "dev"), ({"workers": 2}, "workers"), ({"cluster": "tcp://nowhere:1"}, "cluster"),
     ({"workers": 2, "shards": 3}, "workers")],
)
def test_options_that_need_all_data_are_refused(chosen, named):
    with pytest.raises(crfkit.CrfkitError, match=f"stream.*{named}"):
        crfkit.learn(io.BytesIO(b"a X\nb Y\n\n"), Template.parse("U0:%x[0,0]\n"), "adf", passes=1, **chosen)


@pytest.mark.parametrize("line", ["U0:%x[0,0] @all\n", "U0:%x[0,0] @minfreq=2\n"])
def test_lines_that_need_all_data(line):
    with pytest.raises(crfkit.CrfkitError, match="@all and @minfreq"):
        crfkit.learn(io.BytesIO(b"a X\nb Y\n\n"), Template.parse(line), "adf", passes=1)


@pytest.mark.parametrize(("text", "message"), [(b"", "no tokens"), (b"a\tX\ra\nb\tY\n", "holds a tab, a line end or a zero byte")])
def test_a_stream_without_data_is_refused(text, message):
    with pytest.raises(crfkit.CrfkitError, match=message):
        crfkit.learn(io.BytesIO(text), Template.parse("U0:%x[0,0]\n"), "adf", passes=1)


def test_a_stream_with_one_label():
    with pytest.warns(crfkit.CrfkitWarning, match="^only one label, 'X': the model will give it to every token$"):
        model = crfkit.learn(io.BytesIO(b"a X\n\nb X\n\n"), Template.parse("U0:%x[0,0]\nB\n"), "adf", passes=1, window=1)
    assert model.tagger().tag([["a"], ["c"]]) == ["X", "X"]


def test_other_trainers_hold_their_input():
    """Trainers of several passes hold their input in memory."""
    for name, passes in (("sgd", 1), ("adf", 2)):
        model = crfkit.learn(stream(sentences("chunking", limit=20)), template("chunking"), name, passes=passes, min_freq=2)
        assert model.header["sequences"] == 20


def test_from_the_command_line():
    data = (ROOT / "data/chunking.train.txt").read_bytes()
    command("learn", "-a", "adf", "--passes", 1, ROOT / "templates/chunking.txt", "-", "model", stdin=data)
    assert crfkit.load("model").header["sequences"] == len(data.strip().split(b"\n\n"))


class Silent:
    """A stream that gives so many sentences one by one, and then blocks until Ctrl-C."""

    def __init__(self, n):
        self.pieces = [text_of([rows]).encode() for rows in sentences("chunking", limit=n)]

    def read(self, _):
        if self.pieces:
            return self.pieces.pop(0)
        signal.raise_signal(signal.SIGINT)
        pytest.fail("still waiting")


@pytest.mark.parametrize("window", [7, 1000])
def test_a_signal_while_the_stream_is_silent(window):
    """The model is trained on all sequences that have arrived, also on those that do not fill a window."""
    with pytest.raises(crfkit.Interrupted) as stopped:
        crfkit.learn(Silent(20), template("chunking"), "adf", passes=1, window=window)
    straight = crfkit.learn(stream(sentences("chunking", limit=20)), template("chunking"), "adf", passes=1, window=window)
    assert stopped.value.model.to_bytes() == straight.to_bytes()
    with pytest.raises(KeyboardInterrupt) as nothing:
        crfkit.learn(Silent(0), template("chunking"), "adf", passes=1, window=window)
    assert getattr(nothing.value, "model", None) is None


def test_a_handler_of_the_program_interrupts():
    """What it raises is not taken for the end of the stream."""

    def handler(*_):
        raise KeyboardInterrupt("of the program")

    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt, match=r"^of the program$"):
            crfkit.learn(Silent(20), template("chunking"), "adf", passes=1, window=7)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_was_learned_from_is_counted_where_training_stops():
    asked = iter([False, False, True])
    found = sentences("chunking", limit=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the loss is no reason to complain
        header = crfkit.learn(stream(found), template("chunking"), "adf", passes=1, window=10, stop=lambda: next(asked, True)).header
    assert header["sequences"] == 30
    assert header["tokens"] == sum(map(len, found[:30]))


@pytest.mark.parametrize(("text", "given", "message"), [
    (b"yes\n\nno\n", {"format": "crfsuite"}, "no line has an attribute"),
    (b"a X\n\nb Y\n", {"template": Template.parse('U:%t[0,0,"c"]\n')}, None),
    (b"a X\n\nb Y\n", {"template": Template.parse("U:%p[0,0,2]\n")}, "the template gives no feature"),
])
def test_a_stream_without_features(text, given, message):
    """The template with %t has a feature, which says that nothing matches; the one with %p has none."""
    if message is None:
        assert learn(io.BytesIO(text), algorithm="adf", passes=1, **given).labels == ["X", "Y"]
    else:
        with pytest.raises(DataError, match=message):
            learn(io.BytesIO(text), algorithm="adf", passes=1, **given)


def test_each_window_leaves_out_other_attributes():
    """Of 20 attributes that mean the same, half are left out of each of 40 windows, but none of all."""
    lines = "".join(f"U{k}:%x[0,0]\n" for k in range(20))

    def weights(seed):
        model = learn(io.BytesIO(b"a\tX\n\nb\tY\n\n" * 20), Template.parse(lines), "adf", passes=1, window=1, rate=0.1, dropout=0.5, seed=seed)
        return named_weights(model)

    assert len(weights(0)) == 2 * 20 and all(weights(0).values())
    assert weights(0) == weights(0) != weights(1)


@pytest.mark.filterwarnings("ignore:the loss")
def test_a_stream_whose_first_window_asks_for_one_rate_has_one(tmp_path):
    """Where all values are far from zero: what was chosen then makes the same model if it is given."""
    chance = random.Random(0)
    centre = [[30 + chance.gauss(0, 1) for _ in range(8)] for _ in range(4)]
    text = "".join(f"l{k % 4}\t" + "\t".join(f"a{d}:{x + chance.gauss(0, 0.3):.6f}" for d, x in enumerate(centre[k % 4])) + "\n\n" for k in range(1200))

    def learned(**given):
        return learn(io.BytesIO(text.encode()), None, "adf", format="crfsuite", passes=1, window=400, l2=0.01, log=str(tmp_path / "log"), **given)

    model = learned()
    (rate,) = {record["rate"] for record in log_lines()}
    assert named_weights(model) == named_weights(learned(rate=rate))


@pytest.mark.filterwarnings("ignore:the loss")
def test_large_values_of_an_early_window_are_warned_of():
    lines = b"X\ta:1e7\nY\tb\n\n" + b"X\ta\nY\tb\n\n" * 5
    with pytest.warns(CrfkitWarning, match=r"values of the features reach 1e\+07"):
        crfkit.learn(io.BytesIO(lines), None, "adf", format="crfsuite", passes=1, window=2, rate=1e-9)
