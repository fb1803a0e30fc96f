"""Numbers that are hard: huge values, long sequences, many labels, rates that diverge. Finite, or an error with advice."""

import array
import io
import math
import random
from functools import cache

import pytest
from commands import crfkit, error, limit, log_lines, write, write_part
from workers import use_local_workers

from crfkit.data.dataset import Dataset
from crfkit.errors import CrfkitWarning, TrainingError
from crfkit.learning.divergence import Divergence
from crfkit.learning.learn import learn
from crfkit.learning.progress import Progress
from crfkit.options import trainers as options
from crfkit.tagging import Tagger
from crfkit.template.parsing import Template
from crfkit.trainers.base import all_finite

pytestmark = pytest.mark.filterwarnings("ignore::crfkit.errors.CrfkitWarning")  # large values are the subject

every_trainer = pytest.mark.parametrize("algorithm", options.TRAINERS)


def values(scale, sequences=60):
    """Attribute lines: the sign of one value goes with the label, the others are noise."""
    source, lines = random.Random(1), []
    for _ in range(sequences):
        for _ in range(source.randint(1, 8)):
            sign = source.choice((-1, 1))
            signal = sign * source.random() * scale + source.gauss(0, scale / 4)
            lines.append(f"{'yes' if sign > 0 else 'no'}\ta:{signal:.6g}\tb:{source.gauss(0, 1) * scale:.6g}\tw{source.randrange(9)}")
        lines.append("")
    return "\n".join(lines).encode() + b"\n"


def right(model, data):
    gold, predicted = Tagger(model).tag_with_gold(io.BytesIO(data))
    return sum(a == b for x, y in zip(gold, predicted, strict=True) for a, b in zip(x, y, strict=True)) / sum(map(len, gold))


@every_trainer
@pytest.mark.parametrize("scale", [1e-6, pytest.param(1e3, marks=pytest.mark.long), 1e6])
def test_values_of_any_size(algorithm, scale, tmp_path):
    data = values(scale)
    model = learn(io.BytesIO(data), format="crfsuite", algorithm=algorithm, log=tmp_path / "log", **limit(algorithm, 30))
    assert all_finite(model.weights)
    assert all(math.isfinite(value) for record in log_lines() for value in record.values())
    if scale >= 1:
        assert right(model, data) > 0.8  # half of the labels are right by chance


def warnings(data, algorithm, **given):
    """A model of attribute lines, or of a file of them, and what `learn` warned of."""

    class Heard(Progress):
        def warn(self, text):
            heard.extend([text] * (text is not None))

    heard = []
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    return learn(source, format="crfsuite", algorithm=algorithm, progress=Heard(quiet=True), **given), heard


@every_trainer
@pytest.mark.parametrize("scale", [1e12, 1e20])
def test_values_beyond_all_measure(algorithm, scale):
    """A model that is not worse than chance, or an error with advice, or a warning that nothing was learned."""
    data = values(scale)
    try:
        model, heard = warnings(data, algorithm, **limit(algorithm, 30))
    except TrainingError as error:
        assert "scale down the values of the features" in str(error)
        return
    assert all_finite(model.weights)
    assert heard[0].startswith("values of the features reach ") and heard[0].endswith(": scale them down")
    assert right(model, data) > 0.8 or heard[-1].startswith("all weights are zero: every token will have the same label")
    if scale == 1e12:
        assert any(model.weights)


def test_nothing_is_said_of_values_as_they_should_be():
    assert warnings(values(1e6 / 4), "lbfgs", max_iter=5)[1] == []


@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn", "sbcd", "sgd", "adf", "sapo"])
def test_the_penalty_that_is_lowered_is_the_one_that_leaves_nothing(algorithm):
    model, heard = warnings(values(1.0), algorithm, l2=1e300, **limit(algorithm, 3))
    assert not any(model.weights)
    assert heard == ["all weights are zero: every token will have the same label; lower --l2, which is 1e+300"]


def test_values_of_a_stream():
    """adf with one pass trains on standard input as it comes."""
    command = ("learn", "--format", "crfsuite", "-a", "adf", "--passes", 1, "-", "model")
    said = crfkit(*command, stdin=values(1e9)).stderr
    assert "crfkit: warning: values of the features reach " in said and "crfkit: warning: the loss, " not in said
    assert "crfkit: warning: the loss, " in crfkit(*command[:-2], "--rate", 0.01, *command[-2:], stdin=values(1e9)).stderr
    assert "training diverged" in crfkit(*command[:-2], "--rate", 1e300, *command[-2:], stdin=values(1e6), code=1).stderr


@pytest.mark.parametrize(("options", "warned"), [({}, False), ({"rate": 0.1}, True), ({"l1": 0.1}, True)])
def test_values_too_large_for_one_rate(options, warned):
    heard = warnings(values(1e3), "sgd", **options)[1]
    assert any("may learn next to nothing with one rate for all" in text for text in heard) == warned


@pytest.mark.parametrize(("algorithm", "warned"), [("perceptron", True), ("mira", True), ("lookahead", True), ("arow", False), ("lbfgs", False)])
def test_values_too_large_for_steps_of_their_size(algorithm, warned):
    heard = warnings(values(1e3), algorithm, **limit(algorithm, 2))[1]
    assert any("may learn little, as its steps are as large as the values" in text for text in heard) == warned


def measured(rng, unit, far, sequences=30):
    """Of two attributes the second one goes with the label; how far both are from 0, and the unit of the first, say whether it can be learned."""
    texts = []
    for _ in range(sequences):
        labels = rng.choices((-1, 1), k=6)
        rows = [f"{'yes' if label > 0 else 'no'}\ta:{unit * (rng.gauss(0, 1) + far):.6g}\tb:{label + rng.gauss(0, 0.3) + far:.6g}\n" for label in labels]
        texts.append("".join(rows) + "\n")
    return "".join(texts).encode()


@pytest.mark.parametrize(("unit", "far", "uneven"), [(1, 0, False), (8, 0, False), (1, 2, False), (100, 0, True), (1, 8, True), (8, 8, True)])
@pytest.mark.parametrize("algorithm", ["perceptron", "mira", "lookahead", "arow", "lbfgs"])
def test_values_far_from_zero_or_of_different_sizes(algorithm, unit, far, uneven):
    """Only where a trainer makes steps as large as the values, and learns less than from the same values in one unit around 0."""
    data, standardized = measured(random.Random(3), unit, far), measured(random.Random(3), 1, 0)
    model, heard = warnings(data, algorithm, **limit(algorithm, 5))
    warned = uneven and algorithm in ("perceptron", "mira", "lookahead")
    assert any("far from 0, or of very different sizes" in text and "divide by its standard deviation" in text for text in heard) == warned
    if warned:
        assert right(model, data) < right(warnings(standardized, algorithm, **limit(algorithm, 5))[0], standardized) - 0.05


def without_words(data):
    return b"".join(line.rpartition(b"\tw")[0] + b"\n" for line in data.splitlines())


@pytest.mark.parametrize("algorithm", ["lbfgs", "sgd", "adf", "sapo", "arow", "cw"])
def test_the_unit_of_small_values_does_not_matter(algorithm):
    """Neither for the penalty and the first rate, where they are chosen, nor for first variances."""
    models = [learn(io.BytesIO(without_words(values(scale))), format="crfsuite", algorithm=algorithm) for scale in (2**-10, 2**-16)]
    data = without_words(values(2**-10))
    found = [Tagger(model).tag_with_gold(io.BytesIO(without_words(values(scale))))[1] for model, scale in zip(models, (2**-10, 2**-16), strict=True)]
    assert sum(a != b for x, y in zip(*found, strict=True) for a, b in zip(x, y, strict=True)) < 10
    assert right(models[0], data) > 0.85


@pytest.mark.parametrize(("scale", "warned"), [(0.01, True), (1.0, False)])
def test_values_that_are_all_small(scale, warned, tmp_path, monkeypatch):
    """In one process, in several, and on a stream. Attributes without a value have the value 1."""
    use_local_workers(monkeypatch)
    data = without_words(values(scale))
    (tmp_path / "data").write_bytes(data)
    heard = [warnings(data, "lbfgs", max_iter=2)[1], warnings(str(tmp_path / "data"), "lbfgs", max_iter=2, warm_up=0, workers=1)[1]]
    heard.append(crfkit("learn", "--format", "crfsuite", "-a", "adf", "--passes", 1, "-", "model", stdin=data).stderr.splitlines())
    assert [any("values of the features reach only 0.0" in text for text in each) for each in heard] == [warned] * 3
    assert not any("reach only" in text for text in warnings(values(scale), "lbfgs", max_iter=2)[1])


@pytest.mark.parametrize("algorithm", ["arow", "cw", "sgd", "adf", "sapo"])
def test_the_unit_of_large_values_does_not_matter(algorithm):
    models = [learn(io.BytesIO(values(scale)), format="crfsuite", algorithm=algorithm) for scale in (1e3, 1e6)]
    assert right(models[0], values(1e3)) == pytest.approx(right(models[1], values(1e6)), abs=0.05)
    assert right(models[0], values(1e3)) > 0.85


def far_from_zero(offset):
    """Three classes, told by three values near `offset`."""
    source, lines = random.Random(3), []
    for k in range(400):
        means = ((1, 0, -1), (-1, 1, 0), (0, -1, 1))[k % 3]
        lines.append(f"L{k % 3}\t" + "\t".join(f"{name}:{offset + mean + source.gauss(0, 0.7):.4f}" for name, mean in zip("abc", means, strict=True)) + "\n\n")
    return "".join(lines).encode()


@pytest.mark.parametrize(("algorithm", "offset"), [*((name, offset) for name in ("sgd", "adf", "sapo") for offset in (0, 100)), ("adf", 1000)])
def test_values_far_from_zero(algorithm, offset):
    """With a share of the rate for each attribute the short trials of adf see no good rate where all values are near 1000; one rate for all has one."""
    data = far_from_zero(offset)
    assert right(learn(io.BytesIO(data), format="crfsuite", algorithm=algorithm), data) > 0.8


@pytest.mark.parametrize("algorithm", ["sgd", "sapo"])
def test_what_was_not_learned_is_mentioned(algorithm):
    """No one rate is good both for what values near 1000 have in common and for their differences."""
    with pytest.warns(CrfkitWarning, match=r"is no better than that of no training at all, 439\.4: .* they reach 1003$"):
        learn(io.BytesIO(far_from_zero(1000)), format="crfsuite", algorithm=algorithm)


@every_trainer
def test_tokens_that_are_all_the_same(algorithm):
    rows = [[["a", "x", "XY"[k % 3 == 0]] for k in range(n)] for n in (1, 2, 50)]
    model = learn(rows, Template.parse("U:%x[0,0]\nU:%x[0,1]\nB\nB:%x[0,0]\n"), algorithm, **limit(algorithm, 10))
    assert all_finite(model.weights)
    assert set(Tagger(model).tag([["a", "x"]] * 5)) <= {"X", "Y"}


@pytest.mark.parametrize(
    ("algorithm", "labels"),
    [*((name, 200) for name in options.TRAINERS), *(pytest.param(name, 1000, marks=pytest.mark.long) for name in options.TRAINERS), ("perceptron", 1500)],
)
def test_many_labels(algorithm, labels):
    """Each on a word of its own; there is one token of most of them."""
    rows = [[[f"w{k}", f"L{k}"]] for k in range(labels)] + [[["w3", "L3"], ["w77", "L77"]]]
    quick = {"rate": 1.0, "warm_up": 0}  # choosing a rate and warming up take many rounds
    quick = {name: value for name, value in quick.items() if hasattr(options.TRAINERS[algorithm], name)}
    model = learn(rows, Template.parse("U:%x[0,0]\nB\n"), algorithm, **quick, **limit(algorithm, 2))
    assert len(model.labels) == labels and all_finite(model.weights)
    assert Tagger(model).tag([["w3"], ["w77"]]) == ["L3", "L77"]


@cache
def one_sequence(tokens):
    """With labels, and without."""
    rows = [["ab"[k % 7 % 2], "XY"[k % 7 == 3]] for k in range(tokens)]
    return rows, [row[:1] for row in rows]


@every_trainer
@pytest.mark.parametrize("tokens", [10_000, pytest.param(10**6, marks=pytest.mark.long)])
def test_a_long_sequence(algorithm, tokens):
    rate = {"rate": 0.1} if getattr(options.TRAINERS[algorithm], "rate", 0) is None else {}
    labelled, rows = one_sequence(tokens)
    model = learn([labelled], Template.parse("U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB\n"), algorithm, **rate, **limit(algorithm, 1))
    assert all_finite(model.weights)
    assert len(Tagger(model).tag(rows)) == tokens
    if algorithm == "lbfgs":
        assert Tagger(model).marginals(rows).sum(axis=1) == pytest.approx(1)


# --- rates that diverge -------------------------------------------------------------------------------------------

WITH_RATE = [name for name, cls in options.TRAINERS.items() if hasattr(cls, "rate")]


@pytest.mark.parametrize("rate", ["1e300", "1e39"])
@pytest.mark.parametrize("algorithm", WITH_RATE)
def test_a_rate_beyond_all_bounds(algorithm, rate, tmp_path):
    write(train=values(1e6), model="old")
    said = error("learn", "--format", "crfsuite", "-a", algorithm, "--rate", rate, "train", "model")
    assert said.startswith("training diverged at ") and "lower --rate, or scale down the values of the features" in said
    assert (tmp_path / "model").read_text() == "old"


def test_weights_that_grow_from_pass_to_pass():
    """The penalty overshoots: each step makes the weights larger than they were."""
    with pytest.raises(TrainingError, match=r"training diverged.*; lower rate, or scale down"):
        learn(io.BytesIO(values(1.0)), format="crfsuite", algorithm="adf", alpha=1.0, beta=1.0, l2=60.0, rate=2.03, passes=20)


def test_growth_and_absurdity():
    watch, of_values = (Divergence(options.Sgd(), tokens=100, labels=2, largest=largest) for largest in (1.0, 1000.0))
    for loss, least in ((70.0, None), (1e6, None), (1e6, 9e5), (6e4, 70.0)):
        watch.check({"pass": 2, "loss": loss}, least)
    with pytest.raises(TrainingError, match="in pass 2: the loss is 1e\\+06, it has been 70; lower rate"):
        watch.check({"pass": 2, "loss": 1e6}, 70.0)
    for record in ({"loss": math.nan}, {"loss": math.inf}, {"objective": math.inf}, {"loss": 1.0, "mean_abs_weight": math.inf}):
        with pytest.raises(TrainingError, match="in pass 3: not all numbers are finite"):
            watch.check({"pass": 3, **record}, None)
    for weight in (math.nan, -math.inf):
        with pytest.raises(TrainingError, match=r"^training diverged: a weight is not finite; lower rate, or scale down the values"):
            watch.finish(array.array("f", [0.0, weight, 1.0]), 1.0, None, None, Progress(quiet=True))
    assert watch.warning(6e2) is None and of_values.warning(60.0) is None
    assert "next to nothing was learned; bring the values of the features near 0" in of_values.warning(70.0)
    assert "probabilities will mean nothing; lower --rate" in watch.warning(1e3)
    perceptron = Divergence(options.Perceptron(), tokens=100, labels=2)
    perceptron.check({"pass": 2, "loss": 1e9}, 1.0)
    assert perceptron.warning(1e9) is None
    assert perceptron.advice == "scale down the values of the features"
    single = Divergence(options.Sgd(), tokens=100, labels=1)  # whose loss is what rounding leaves of 0
    single.check({"pass": 2, "loss": 1e-9}, 1e-16)
    assert single.warning(1e-9) is None


@pytest.mark.parametrize("algorithm", ["sgd", "sapo"])
def test_a_rate_that_makes_a_poor_model_is_mentioned(algorithm, tmp_path):
    """Numbers stay finite, and the loss falls from pass to pass, but nowhere near that of no training at all."""
    write_part(tmp_path / "train", "chunking", 300)
    (tmp_path / "template").write_text("U:%x[0,0]\nU:%x[0,1]\nB\n")
    given = ("learn", "-a", algorithm, "--passes", 2, "template", "train", "model")
    assert "lower --rate" in crfkit(*given, "--rate", 100).stderr
    assert "warning" not in crfkit(*given).stderr


# --- constraints that leave nothing -------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{"algorithm": "sgd"}, {"algorithm": "adf", "passes": 1}, {"algorithm": "sgd", "workers": 1}])
def test_weights_of_sequences_are_no_divergence(given, tmp_path):
    """A loss is compared with that of weights of zero, where each sequence counts as many times as well."""
    rng = random.Random(0)
    lines = [f"@weight:1000\n{label}\tx{label if rng.random() < 0.8 else 'A'}\n\n" for label in rng.choices("AB", k=300)]
    (tmp_path / "train").write_text("".join(lines))
    source = tmp_path / "train" if "workers" in given else (tmp_path / "train").read_bytes()
    assert warnings(source, rate=1e-5, **{"passes": 3, **given})[1] == []


def test_tokens_by_the_weights_of_their_sequences():
    data = Dataset([0, 2, 3, 3], [0, 1, 2, 3], [0, 0, 0], label=[0, 1, 0], seq_weight=[0.5, 2, 7], n_u=1, labels=["a", "b"])
    assert data.weight == 2 * 0.5 + 2
    data = Dataset([0, 2, 3], [0, 1, 2, 3], [0, 0, 0], label=[0, 1, 0], n_u=1, labels=["a", "b"])
    assert data.weight == 3
