"""Online trainers over shards: the same bytes with any number of workers, even if some die, and when resumed."""

import array
import itertools
import math
import random
import warnings
from functools import partial
from types import SimpleNamespace

import pytest
from commands import text_of
from workers import TEMPLATE, LocalWorkers, corpus, items, use_local_workers, with_workers

import crfkit
from crfkit import errors, modelfile
from crfkit import options as algorithms
from crfkit.learning.shards import driver, service
from crfkit.learning.shards.mixing import Mixing
from crfkit.template.parsing import Template
from crfkit.trainers.online.sgd import Sgd

CASES = [
    ("perceptron", {}),
    ("perceptron", {"average": False, "batch_size": 3}),
    ("mira", {"nbest": 2, "train_accuracy": True, "dropout": 0.2}),
    ("sgd", {"rate": 0.1, "l1": 0.1}),
    ("sgd", {"decay": 0.0}),
    ("adf", {}),
    ("sapo", {"batch_size": 2}),
    ("lookahead", {"direction": "backward"}),
]
HISTORY = TEMPLATE + "U10:%y[-1]/%x[0,0]\nU11:%y[-2]\nT12:%x[0,1]\nU13:%y[-1]/%y[-2]\n"


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize(("algorithm", "options"), CASES)
def test_same_bytes_for_any_number_of_workers(tmp_path, monkeypatch, algorithm, options):
    train = corpus(tmp_path / "train.txt", 80)
    template = HISTORY if algorithm == "lookahead" else TEMPLATE
    options = {"passes": 2, "shards": 5, "dev": corpus(tmp_path / "dev.txt", 20, 3), **options}
    one, _ = with_workers(monkeypatch, train, template, algorithm, 1, **options)
    rng = random.Random(2)
    again, workers = with_workers(monkeypatch, train, template, algorithm, 4, lambda *_: "after" if rng.random() < 0.1 else None, **options)
    assert again == one
    assert workers.verbs.count("learn") >= 4  # of two passes, so that there are several shards


@pytest.mark.parametrize("flaw", [
    lambda answer: answer["sums"].update(average=["x"] * len(answer["sums"]["average"])),
    lambda answer: answer["sums"].update(average=[[1.0, 2.0]] * len(answer["sums"]["average"])),
    lambda answer: answer["records"].pop(),
], ids=["texts", "rows", "records"])
def test_of_an_answer_that_is_wrong_in_part_nothing_is_added(tmp_path, monkeypatch, flaw):
    learn, train, answers = service.Service.learn, corpus(tmp_path / "train.txt", 80), []

    def flawed(self, *given, **named):
        answer = learn(self, *given, **named)
        answers.append(answer)
        if len(answers) == 1:
            flaw(answer)
        return answer

    one, _ = with_workers(monkeypatch, train, TEMPLATE, "perceptron", 2, passes=2)
    monkeypatch.setattr(service.Service, "learn", flawed)
    again, workers = with_workers(monkeypatch, train, TEMPLATE, "perceptron", 2, passes=2)
    assert again == one
    assert workers.started > 2


@pytest.mark.parametrize("algorithm", ["sgd", "perceptron", "adf", "mira"])
@pytest.mark.filterwarnings("ignore:(values of the features reach|the loss)")
def test_values_and_weights(tmp_path, monkeypatch, algorithm):
    train = items(tmp_path / "train.txt", 150)
    models = {with_workers(monkeypatch, train, None, algorithm, n, format="crfsuite", passes=2)[0] for n in (1, 3)}
    assert len(models) == 1


def test_a_run_that_is_to_stop_at_once_can_be_resumed(tmp_path, monkeypatch):
    """The first pass is made as a whole, with the rate that was found as always."""
    train, options = corpus(tmp_path / "train.txt", 60), {"passes": 3}
    expected, _ = with_workers(monkeypatch, train, TEMPLATE, "sgd", **options)
    with_workers(monkeypatch, train, TEMPLATE, "sgd", checkpoint="run", stop=lambda: True, **options)
    again, workers = with_workers(monkeypatch, train, TEMPLATE, "sgd", checkpoint="run", resume=True, **options)
    assert again == expected and "find_rate" not in workers.verbs


@pytest.mark.parametrize("algorithm", ["sgd", "adf"])
def test_one_rate_for_all_where_one_machine_has_it(tmp_path, monkeypatch, algorithm):
    """Of values far from zero, shares of the rate learn next to nothing. Each pass goes on from what a checkpoint would have."""
    def resumed(mixing, stop=None, own=Mixing.run_pass):
        state, mixing.shares = mixing.state(), True
        mixing.restore(state)
        return own(mixing, stop)

    rng = random.Random(0)
    draw = {"low": -1, "high": 1}
    lines = [f"{label}\tx:{300 + 10 * draw[label] + rng.random()}\tbias:300" for label in rng.choices(list(draw), k=600)]
    (tmp_path / "train.txt").write_text("".join(line + "\n" * rng.choice((1, 2)) for line in lines))
    train, how = str(tmp_path / "train.txt"), {"format": "crfsuite", "passes": 20, "seed": 3}
    alone = crfkit.learn(train, None, algorithm, **how)
    monkeypatch.setattr(Mixing, "run_pass", resumed)
    with_workers(monkeypatch, train, None, algorithm, 2, shards=1, **how)
    tagger = crfkit.load("model")
    assert tagger.model.header["chosen"] == alone.header["chosen"]
    assert [tagger.tag([{"x": value, "bias": 300}]) for value in (290, 310)] == [["low"], ["high"]]


@pytest.mark.parametrize("algorithm", ["sgd", "adf"])
@pytest.mark.parametrize("sequence", ["A\tx:30\ty\nB\tx:2\ty\nB\ty\n\n", "A\tx:.03\nB\tx:-.02\ty:.01\n\n"], ids=["large", "small"])
@pytest.mark.filterwarnings("ignore:values of the features reach only")
def test_values_have_rates_that_suit_them_as_on_one_machine(tmp_path, monkeypatch, algorithm, sequence):
    """Large ones have lower rates, small ones higher, where the rate is found. All sequences are the same, so that their order is nothing."""
    (tmp_path / "train.txt").write_text(sequence * 40)
    how = {"format": "crfsuite", "passes": 2}
    alone = crfkit.learn(tmp_path / "train.txt", None, algorithm, **how)
    with_workers(monkeypatch, str(tmp_path / "train.txt"), None, algorithm, 1, shards=1, **how)
    model = crfkit.load("model").model
    assert model.header["chosen"] == alone.header["chosen"]
    assert weights_of(model) == pytest.approx(weights_of(alone), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("options", [
    {},                                     # 100 sequences: two and a half passes of 40
    {"window": 64, "batch_size": 8},        # eight updates, of five
    {"rate": 0.5, "l2": 3.0, "passes": 6},  # 4 sequences, of 47
])
def test_windows_of_adf_go_on_where_a_pass_ends(tmp_path, monkeypatch, options):
    """As on one machine, also where a run is resumed with more passes. All sequences are the same, so that their order is nothing."""
    train, how = tmp_path / "train.txt", {"format": "crfsuite", "passes": 9, **options}
    train.write_text("A\tx:30\ty\nB\tx:2\ty\nB\ty\n\n" * (47 if "l2" in options else 40))
    alone = crfkit.learn(train, None, "adf", **how)
    with_workers(monkeypatch, str(train), None, "adf", 1, shards=1, **how)
    assert weights_of(crfkit.load("model").model) == pytest.approx(weights_of(alone), rel=1e-5, abs=1e-6)


def test_with_more_passes_windows_of_adf_are_as_before(tmp_path, monkeypatch):
    """They follow from the passes that a run began with: in ten passes over 600 sequences they would be three times as long."""
    train = tmp_path / "train.txt"
    train.write_text("A\tx\ty\nB\tx\ty\nB\ty\n\n" * 600)
    for passes in (3, 5, 10):
        how = {"format": "crfsuite", "passes": passes, "resume": passes > 3}
        alone = crfkit.learn(train, None, "adf", checkpoint=tmp_path / "alone", **how)
        with_workers(monkeypatch, str(train), None, "adf", 1, shards=1, checkpoint=str(tmp_path / "run"), **how)
        assert weights_of(crfkit.load("model").model) == pytest.approx(weights_of(alone), rel=1e-4, abs=1e-6)


def test_with_more_passes_the_rate_falls_as_before(tmp_path, monkeypatch):
    train = corpus(tmp_path / "train.txt", 20)
    with_workers(monkeypatch, train, TEMPLATE, "sgd", 2, rate=0.5, passes=40, checkpoint="run")
    with_workers(monkeypatch, train, TEMPLATE, "sgd", 2, rate=0.5, passes=42, checkpoint="run", resume=True)
    more = crfkit.load("model").model
    assert more.header["chosen"]["decay"] == 0.885
    with_workers(monkeypatch, train, TEMPLATE, "sgd", 2, rate=0.5, passes=42, decay=0.885)
    assert list(more.weights) == list(crfkit.load("model").model.weights)


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("algorithm", ["perceptron", "adf", pytest.param("sapo", marks=pytest.mark.long), "owlqn"])
def test_resumed_with_another_number_of_workers(tmp_path, monkeypatch, algorithm):
    train = corpus(tmp_path / "train.txt", 60)
    limit = "max_iter" if algorithm == "owlqn" else "passes"
    whole, _ = with_workers(monkeypatch, train, TEMPLATE, algorithm, 2, **{limit: 4})
    with_workers(monkeypatch, train, TEMPLATE, algorithm, 3, checkpoint="run", **{limit: 2})
    numbers = itertools.count()  # who gets the first shard dies, so that others come before it
    kind = partial(LocalWorkers, on_step=lambda _, verb, __: "dies" if verb == "number" and next(numbers) == 0 else None)
    again, workers = with_workers(monkeypatch, train, TEMPLATE, algorithm, 2, kind=kind, checkpoint="run", resume=True, **{limit: 4})
    assert again == whole and workers.started == 3
    more = {"checkpoint": "run", "resume": True, limit: 7}
    with pytest.raises(errors.OptionError, match="was written without shards, not with 7"):
        with_workers(monkeypatch, train, TEMPLATE, algorithm, 1, shards=7, **more)
    with pytest.raises(errors.OptionError, match="was written by a run with workers or cluster; resume"):
        crfkit.learn(train, TEMPLATE, algorithm, **more)
    with pytest.raises(errors.OptionError, match="different training data"):
        with_workers(monkeypatch, corpus(tmp_path / "other.txt", 100, 1), TEMPLATE, algorithm, 1, checkpoint="run", resume=True, **{limit: 7})


@pytest.mark.parametrize(("algorithm", "name"), [("perceptron", "weights"), ("perceptron", "average"), ("adf", "rates")])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_checkpoint_of_numbers_that_are_none_is_damaged(tmp_path, monkeypatch, algorithm, name, value):
    train = corpus(tmp_path / "train.txt", 20)
    path = str(tmp_path / "run")
    with_workers(monkeypatch, train, TEMPLATE, algorithm, 1, checkpoint=path, passes=1)
    file = modelfile.read(path)
    sections = {key: array.array(values.format, values.tolist()) for key, values in file.contents().items()}
    sections[f"trainer.{name}"][0] = value
    modelfile.write(path, file.header, sections)
    with pytest.raises(errors.ModelFileError, match=r"damaged: .*a number is not finite"):
        with_workers(monkeypatch, train, TEMPLATE, algorithm, 1, checkpoint=path, resume=True, passes=2)


@pytest.mark.parametrize("rate", [None, 0.5])
def test_a_rate_that_is_given_is_not_looked_for(tmp_path, monkeypatch, rate):
    _, workers = with_workers(monkeypatch, corpus(tmp_path / "train.txt", 20), TEMPLATE, "sgd", 1, passes=1, rate=rate)
    assert ("find_rate" in workers.verbs) == (rate is None)


def test_what_a_trial_tells_is_said_as_on_one_machine(tmp_path, monkeypatch):
    """Of six thousand tokens with one of five labels each, five label sequences say nothing."""
    train = str(tmp_path / "train.txt")
    (tmp_path / "train.txt").write_text(text_of([[[f"w{(7 * s + t * t) % 5}", f"l{(s + t * s) % 5}"] for t in range(40)] for s in range(150)]))
    said = []
    for options in ({}, {"workers": 1, "shards": 1}):
        use_local_workers(monkeypatch)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            crfkit.learn(train, Template.parse("U:%x[0,0]\nB\n"), "sapo", passes=1, **options)
        said.append([str(one.message) for one in heard if issubclass(one.category, errors.CrfkitWarning)])
    assert said[0] == said[1] and said[0][0].startswith("the candidates of sapo (nbest=5) have at most ")


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize(("algorithm", "unit", "expected"), [
    ("perceptron", 100, ["values of the features are far from 0"]), ("mira", 100, ["values of the features are far from 0"]),
    ("perceptron", 1, []), ("mira", 1, []), ("sgd", 100, []), ("adf", 100, []),
    ("lookahead", 1, ["labels seldom change: each follows itself 95 times in 100, on average"]),
    ("lookahead", 100, ["labels seldom change: each follows itself 95 times in 100, on average", "values of the features are far from 0"]),
])
def test_what_a_trainer_learns_little_from_is_said_as_on_one_machine(tmp_path, monkeypatch, algorithm, unit, expected):
    """Of one shard values are in one unit, and of the other in another one; labels stay the same twenty times. A worker dies in between."""
    rng, lines = random.Random(1), []
    for sequence in range(20):
        scale = unit if sequence < 10 else 1
        lines += [f"{'AB'[t // 20 % 2]}\tx:{scale * rng.choice((-1, 1))}\ty:{rng.gauss(0, 1):.6f}\n" for t in range(400)] + ["\n"]
    (tmp_path / "train.txt").write_text("".join(lines))
    said, dead = [], []

    def dies(_, verb, __):
        if verb == "tally" and not dead:
            dead.append(True)
            return "dies"
        return None

    for options in ({}, {"workers": 2, "shards": 2}):
        made = use_local_workers(monkeypatch, dies)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            crfkit.learn(str(tmp_path / "train.txt"), None, algorithm, format="crfsuite", passes=1, **options)
        said.append([str(one.message) for one in heard if issubclass(one.category, errors.CrfkitWarning)])
    assert said[0] == said[1]
    of_data = [text for text in said[0] if text.startswith(("values", "labels"))]
    assert all(text.startswith(start) for text, start in zip(of_data, expected, strict=True))
    kinds = {"sgd": 0, "adf": 0, "lookahead": 2}.get(algorithm, 1)  # of tallies that are asked for
    assert made[0].verbs.count("tally") == 2 * kinds + len(dead) and bool(dead) == bool(kinds)


TALLIES = [[0.0], array.array("d", [0.0] * 5), array.array("q", [0] * 10), None]
RATES = [[0.0, False, None], [math.nan, False, None], [math.inf, False, None], ["fast", False, None], [1.0, False, 1.0]]


@pytest.mark.parametrize(
    ("algorithm", "asked", "wrong"), [*(("lookahead", "tally", value) for value in TALLIES), *(("sgd", "find_rate", value) for value in RATES)]
)
def test_what_is_no_answer_is_asked_of_another_worker(tmp_path, monkeypatch, algorithm, asked, wrong):
    train = corpus(tmp_path / "train.txt", 20)
    one, _ = with_workers(monkeypatch, train, TEMPLATE, algorithm, 1, passes=1)
    answers = iter([{"value": wrong}])
    again, workers = with_workers(monkeypatch, train, TEMPLATE, algorithm, 1, lambda _, verb, n: next(answers, None) if verb == asked else None, passes=1)
    assert again == one and workers.started == 2


@pytest.mark.filterwarnings("ignore::crfkit.errors.CrfkitWarning")  # that there are few steps
@pytest.mark.parametrize("algorithm", ["perceptron", "lookahead"])
def test_steps_as_large_as_they_come_are_no_divergence(tmp_path, monkeypatch, algorithm):
    """One weight gets a value, or one, for each of very many tokens in a sequence."""
    length = 70_000
    (tmp_path / "long.txt").write_text("a X\nb Y\n" * (length // 2))
    (tmp_path / "values.txt").write_text("".join(f"X\ta:{value}\nY\ta:-{value}\n\n" for value in (4e5, 4e5 + 1)))
    _, workers = with_workers(monkeypatch, str(tmp_path / "long.txt"), "U:%x[0,0]\nB\n", algorithm, 1, passes=1, average=False)
    assert workers.started == 1
    data, _ = with_workers(monkeypatch, str(tmp_path / "values.txt"), None, algorithm, 1, passes=3, average=False, format="crfsuite")
    assert crfkit.load(data).tag([["a"], [("a", -1)]]) == ["X", "Y"]


def weights_of(model):
    return {(name, before, label): weight for name, before, label, weight in model.features()}


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize(
    ("algorithm", "options"),
    [("sgd", {"rate": 0.5, "decay": 0.0}), ("sgd", {"rate": 0.5, "decay": 0.7}), ("sgd", {"rate": 0.5, "decay": 0.0, "batch_size": 2}),
     ("sgd", {"rate": 0.5, "decay": 0.0, "batch_size": 30}), ("sgd", {"rate": 0.5, "decay": 0.7, "l1": 4.0, "passes": 1}), ("sapo", {"rate": 0.5, "decay": 0.5}),
     ("adf", {"rate": 0.5}), ("perceptron", {}), ("perceptron", {"average": False}), ("mira", {}), ("lookahead", {})],
)
def test_where_all_sequences_are_the_same_shards_are_so_many_machines(tmp_path, monkeypatch, algorithm, options, shards):
    """Then their order is nothing. Each shard learns what one machine learns from so many sequences with its part of the penalty, and
    the mean of the same is the same."""
    rules = "U:%x[0,0]\nU:%x[-1,0]\nB\n" + "U1:%y[-1]/%x[0,0]\nU2:%y[-2]\n" * (algorithm == "lookahead")
    sequence, n = "a X\na Y\na X\nb Y\nb X\nb Y\nb Y\n\n", 40
    for name, copies in (("all", n), ("part", n // shards)):
        (tmp_path / name).write_text("\n" * 20 + sequence * copies)  # half of the bytes end within the first half
    given = {"passes": 4, **({"l2": 8.0} if hasattr(algorithms.TRAINERS[algorithm], "l2") else {}), **options}
    penalty = {name: given.pop(name) for name in ("l1", "l2") if name in given}
    alone = crfkit.learn(tmp_path / "part", rules, algorithm, **given, **{name: value / shards for name, value in penalty.items()})
    monkeypatch.setattr(driver, "CHUNK_TOKENS", 7)
    with_workers(monkeypatch, str(tmp_path / "all"), rules, algorithm, 1, shards=shards, **given, **penalty)
    model = crfkit.load("model").model
    assert weights_of(model) == pytest.approx(weights_of(alone), rel=1e-4, abs=1e-6)
    assert model.header.get("chosen") == alone.header.get("chosen")


def test_shares_of_right_labels_count_by_tokens_and_sequences():
    """Of two shards, the second one three times as long; all else is added up."""
    mixing = SimpleNamespace(n=2, corpus=SimpleNamespace(data=SimpleNamespace(tokens=[5, 15], sequences=[2, 2])))
    names = ("train_accuracy", "train_sentence_accuracy", "updates", "loss")
    found = Mixing._summed(mixing, [dict(zip(names, record, strict=True)) for record in ((1.0, 1.0, 2.0, 0.5), (0.2, 0.0, 3.0, 1.0))])
    assert found == dict(zip(names, (pytest.approx(8 / 20), 0.5, 5, 1.5), strict=True))


def test_init_and_prune(tmp_path, monkeypatch):
    train = corpus(tmp_path / "train.txt", 200)
    crfkit.learn(train, TEMPLATE, "perceptron", passes=1).save("first")
    assert len({with_workers(monkeypatch, train, TEMPLATE, "sgd", n, init="first", prune=0.01, passes=1, rate=0.01)[0] for n in (1, 2)}) == 1


def test_before_the_first_pass_there_is_no_average(tmp_path, monkeypatch):
    train, seen = corpus(tmp_path / "train.txt", 40), []
    first = crfkit.learn(train, TEMPLATE, "perceptron", passes=1)
    monkeypatch.setattr(Mixing, "run_pass", lambda self, stop=None, own=Mixing.run_pass: seen.append(self.weights()) or own(self, stop))
    with_workers(monkeypatch, train, TEMPLATE, "perceptron", 1, passes=1, init=first)
    assert sorted(weight for weight in seen[0] if weight) == sorted(weight for *_, weight in first.features() if weight)


@pytest.mark.filterwarnings("ignore:the loss")
def test_the_largest_shard_has_no_large_values(tmp_path, monkeypatch):
    """Where the first rate is found on it, attributes of the other shards with large values have lower ones all the same."""
    rng, lines = random.Random(0), []
    for s in range(400):
        label = rng.choice("AB")
        lines.append(f"{label}\tx{label if rng.random() < 0.9 else 'A'}:{1 if s < 300 else 300}\ty:1\n\n")
    (tmp_path / "train.txt").write_text("".join(lines))
    asked = []
    monkeypatch.setattr(Mixing, "_job", lambda self, shard, own=Mixing._job: asked.append(self.shares) or own(self, shard))
    monkeypatch.setattr(driver, "CHUNK_TOKENS", 1)
    with_workers(monkeypatch, str(tmp_path / "train.txt"), None, "adf", 1, format="crfsuite", passes=2, shards=2)
    assert all(asked)


def test_rates_that_fall_to_nothing_stay_there(tmp_path, monkeypatch):
    train = corpus(tmp_path / "train.txt", 100)
    models = [with_workers(monkeypatch, train, TEMPLATE, "sgd", 1, passes=passes, decay=0.001, rate=0.1)[0] for passes in (20, 112)]
    first, second = (crfkit.load(model).model for model in models)
    assert list(first.features()) == list(second.features())


def test_it_says_in_which_pass_and_where_training_diverged(tmp_path, monkeypatch):
    class Late(Sgd):
        def run_pass(self, should_stop=None):
            if self.passes == 2:
                raise self.diverged(" at sequence 3")
            return super().run_pass(should_stop)

    train = corpus(tmp_path / "train.txt", 100)
    monkeypatch.setattr(service, "trainer_class", lambda name: Late)
    with pytest.raises(errors.TrainingError, match=r"^shard 1: training diverged at sequence 3 of pass 3: "):
        with_workers(monkeypatch, train, TEMPLATE, "sgd", 1, passes=5)


def test_weights_without_bounds_are_an_error(tmp_path, monkeypatch):
    train = items(tmp_path / "train.txt", 300)
    text = (tmp_path / "train.txt").read_text().replace("all", "all:1e9")
    (tmp_path / "train.txt").write_text(text)
    with pytest.warns(errors.CrfkitWarning), pytest.raises(errors.TrainingError, match="diverged"):
        with_workers(monkeypatch, train, None, "perceptron", 2, format="crfsuite", passes=2)
