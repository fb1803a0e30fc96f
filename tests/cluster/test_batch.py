"""lbfgs and owlqn over shards: the same model as on one machine, byte for byte, whichever worker dies, and when."""

import random
import re
from functools import cache, partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from commands import limit
from models import ROOT
from workers import TEMPLATE, LocalWorkers, compared, corpus, items, on_one_machine, use_local_workers, with_workers

import crfkit
from crfkit import errors
from crfkit.cluster import serving
from crfkit.learning.shards import batch
from crfkit.learning.shards.service import READ, Service
from crfkit.template.parsing import Template

CASES = [
    ("lbfgs", {}),
    ("owlqn", {"l1": 0.5, "l2": 0.1}),
    ("owlqn", {"path": (3, 1), "dev": "dev.txt"}),
    ("lbfgs", {"min_freq": 3, "l2": 0.5, "train_accuracy": True}),
    ("lbfgs", {"features": "all"}),
]


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.long), 3])
@pytest.mark.parametrize(("algorithm", "options"), CASES)
def test_same_bytes_as_one_machine(tmp_path, monkeypatch, algorithm, options, n):
    train = corpus(tmp_path / "train.txt", 250)
    corpus(tmp_path / "dev.txt", 20, 5)
    workers = compared(monkeypatch, train, TEMPLATE, algorithm, n, shards=7, **{"max_iter": 6, **options})
    assert workers.verbs.count("read") >= 4


@pytest.mark.parametrize(("attribute", "options"), [
    ("%x[-1,1]/%x[0,1]", {}), ("%x[-1,1]/%x[0,1]", {"min_freq": 2}), ("%x[-1,1]/%x[0,1]", {"features": "all", "min_freq": 2}), ("%x[0,1]", {})
])
def test_the_penalty_is_chosen_as_on_one_machine(monkeypatch, attribute, options):
    """From labels of attributes that were met in different shards, and with the bound where these have label pairs."""
    train = [str(Path(__file__).parents[2] / "data" / "chunking.train.txt")]
    template = Template.parse(f"U00:{attribute}\nB\n")
    one = on_one_machine(train, template, "lbfgs", max_iter=2, **options)
    assert 0.03 < crfkit.load(one).model.header["chosen"]["l2"] < 1
    assert with_workers(monkeypatch, train, template, "lbfgs", shards=7, max_iter=2, **options)[0] == one


def test_same_bytes_where_numpy_counts_in_4_bytes(tmp_path, monkeypatch):
    """As on 32-bit machines."""
    found = np.flatnonzero
    monkeypatch.setattr(np, "flatnonzero", lambda values: found(values).astype(np.int32))
    compared(monkeypatch, corpus(tmp_path / "train.txt", 100), TEMPLATE, "lbfgs", 2, shards=3, max_iter=3)


@pytest.mark.usefixtures("_small_chunks")
def test_steps_that_are_too_long_are_given_up(tmp_path, monkeypatch):
    """By a worker that has all data, as by one machine."""
    collect, found = batch.DistributedObjective.collect, []
    monkeypatch.setattr(batch.DistributedObjective, "collect", lambda *given: found.append(collect(*given)) or found[-1])
    compared(monkeypatch, items(tmp_path / "train.txt"), None, "owlqn", 1, shards=4, format="crfsuite", l1=0.1, l2=0.01, max_iter=8, threads=1)
    assert None in found


@cache
def alone():
    return on_one_machine(corpus(Path("alone.txt"), 200), TEMPLATE, "owlqn", max_iter=2)


STEPS = ["look", "begin", "count", "read", "share_layout", "number", "look_around", "share_whole", "group", "evaluate"]
FORGOTTEN = {"error": "Forgotten", "arguments": ["all"]}
NONSENSE = [{"nonsense": 1}, {"value": 3}, {"error": "DataError", "arguments": 7}]


def answers(verb, which):
    """What workers do (see LocalWorkers) in answer to some of the requests with this verb, by their number."""
    numbers = count(1)
    return lambda _worker, asked, _n: which.get(next(numbers)) if asked == verb else None


@pytest.mark.parametrize(("verb", "how"), [
    *((verb, "after") for verb in STEPS),
    *((verb, {"value": 3}) for verb in ("look", "count", "read", "number", "look_around", "evaluate")),
    ("look", {"value": {}}),
    ("look", {"value": {"columns": [3, None, None, None], "files": [["x", 3]]}}),
    ("count", {"value": {"piece": [float("inf"), 1, [], 1], "marks": [False, False]}}),
    ("count", {"value": {"piece": [1, 1, ["one"], 1], "marks": [False, False]}}),
    ("number", {"value": ["0" * 32, [float("inf"), 1]]}),
    *(pytest.param(verb, how, marks=pytest.mark.long) for verb in STEPS for how in ("dies", *NONSENSE)),
])
def test_a_worker_dies_or_answers_nonsense(tmp_path, monkeypatch, verb, how):
    train = corpus(tmp_path / "train.txt", 200)
    many, workers = with_workers(monkeypatch, train, TEMPLATE, "owlqn", 2, answers(verb, {1: how, 4: how}), max_iter=2)
    assert many == alone()
    if not (verb in ("begin", "share_layout", "share_whole", "group") and how == {"value": 3}):
        assert workers.started > 2


def test_nonsense_that_comes_before_its_turn(tmp_path, monkeypatch):
    """The worker that answers then is not to blame."""
    train, early = corpus(tmp_path / "train.txt", 200), answers("read", {1: "dies", 2: {"value": {}}})
    one = on_one_machine(train, TEMPLATE, "owlqn", max_iter=2)
    assert with_workers(monkeypatch, train, TEMPLATE, "owlqn", 2, early, max_iter=2)[0] == one


def test_tables_that_contradict_themselves_end_the_run(tmp_path, monkeypatch):
    """A part of them has been added by then: with the next answer the numbers would be others."""
    train = corpus(tmp_path / "train.txt", 200)
    tables = {"value": {**dict.fromkeys(READ, 0), "tables": {"columns": [], "views": []}}}
    with pytest.raises(errors.TrainingError, match=r"^what a worker tells of shard 1 contradicts itself: .*; start the run again$"):
        with_workers(monkeypatch, train, TEMPLATE, "owlqn", 1, answers("read", {1: tables}), max_iter=2)


@pytest.mark.parametrize("wrong", [{"n_tokens": None}, {"n_tokens": float("inf")}, {"pairs": [0]}, {"pairs": [0, 99]}, {"attributes": 3}])
def test_what_is_wrong_beside_tables_ends_the_run(tmp_path, monkeypatch, wrong):
    read, train = Service.read, corpus(tmp_path / "train.txt", 200)
    monkeypatch.setattr(Service, "read", lambda self, shard, *given, **named: {**read(self, shard, *given, **named), **(wrong if shard == 1 else {})})
    with pytest.raises(errors.TrainingError, match=r"^what a worker tells of shard 2 contradicts itself: .*; start the run again$"):
        with_workers(monkeypatch, train, TEMPLATE, "owlqn", 2, max_iter=2)


@pytest.mark.parametrize(("template", "some"), [(TEMPLATE, True), (Template.parse("U:%x[0,0]\nB:%x[0,0]\n"), False)])
def test_pairs_of_labels_are_sought_where_they_are_features(tmp_path, monkeypatch, template, some):
    """That takes a table of all of them: gigabytes where labels are tens of thousands."""
    read, train, told = Service.read, corpus(tmp_path / "train.txt", 200), []
    monkeypatch.setattr(Service, "read", lambda self, *given, **named: told.append(read(self, *given, **named)) or told[-1])
    many, _ = with_workers(monkeypatch, train, template, "lbfgs", 1, max_iter=2)
    assert many == on_one_machine(train, template, "lbfgs", max_iter=2)
    assert {len(answer["pairs"]) > 0 for answer in told} == {some}


def test_one_that_has_forgotten_everything_begins_anew(tmp_path, monkeypatch):
    train = corpus(tmp_path / "train.txt", 200)
    one = on_one_machine(train, TEMPLATE, "lbfgs", max_iter=6)
    many, workers = with_workers(monkeypatch, train, TEMPLATE, "lbfgs", 2, answers("evaluate", {3: FORGOTTEN, 6: FORGOTTEN}), max_iter=6)
    assert many == one
    assert workers.started == 2


class Restarted(LocalWorkers):
    """Before the request that is the n-th with this step, one begins anew without anybody's knowledge, as a scheduler's workers may."""

    def __init__(self, n, service, verb, number):
        self.verb, self.left = verb, number
        super().__init__(n, service)

    def send(self, worker, request):
        if self.verb in dict(request["steps"]):
            self.left -= 1
            if self.left == 0:
                self.all[worker] = serving.service(self.service)
        super().send(worker, request)


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.filterwarnings("ignore:the loss")
@pytest.mark.parametrize(
    ("algorithm", "verb", "number"),
    [("lbfgs", "count", 3), ("lbfgs", "read", 3), ("lbfgs", "number", 2), ("lbfgs", "look_around", 2), ("lbfgs", "sums", 2), ("lbfgs", "share_whole", 2),
     ("lbfgs", "evaluate", 3), ("sgd", "find_rate", 1), ("sgd", "learn", 3)],
)
def test_one_that_was_restarted_says_what_it_has_forgotten(tmp_path, monkeypatch, algorithm, verb, number):
    train, how = items(tmp_path / "train.txt"), {"format": "crfsuite", **limit(algorithm, 2)}
    one, _ = with_workers(monkeypatch, train, None, algorithm, 2, **how)
    again, workers = with_workers(monkeypatch, train, None, algorithm, 2, kind=partial(Restarted, verb=verb, number=number), **how)
    assert again == one
    assert workers.started == 2 and workers.left <= 0


class Few(LocalWorkers):
    def replace(self):
        return self.started < 2 and super().replace()

    def close(self):
        self.left = self.workers()


def test_one_that_has_forgotten_everything_takes_over_more(tmp_path, monkeypatch):
    """The cells of its weights are others then."""
    train = corpus(tmp_path / "train.txt", 200)
    one = on_one_machine(train, TEMPLATE, "lbfgs", max_iter=6)
    kind = partial(Few, on_step=answers("evaluate", {5: "dies", 6: FORGOTTEN}))
    many, workers = with_workers(monkeypatch, train, TEMPLATE, "lbfgs", 2, kind=kind, max_iter=6)
    assert many == one
    assert len(workers.left) == 1


@pytest.mark.usefixtures("_small_chunks")
def test_one_that_has_taken_over_sums_up_all_that_it_has(tmp_path, monkeypatch):
    """What has come in its second group, too."""
    kind = partial(Few, on_step=answers("look_around", {2: "dies"}))
    workers = compared(monkeypatch, items(tmp_path / "train.txt"), None, "lbfgs", 2, shards=4, kind=kind, format="crfsuite", max_iter=2)
    assert len(workers.left) == 1


def test_deaths_at_any_time(tmp_path, monkeypatch):
    train = corpus(tmp_path / "train.txt", 200)
    one = on_one_machine(train, TEMPLATE, "lbfgs", max_iter=6)
    for seed in range(4):
        rng = random.Random(seed)
        many, _ = with_workers(monkeypatch, train, TEMPLATE, "lbfgs", 3, lambda *_, rng=rng: rng.choice(["dies", "after"]) if rng.random() < 0.06 else None, max_iter=6)
        assert many == one


def test_who_always_dies_ends_the_run(tmp_path, monkeypatch):
    train = corpus(tmp_path / "train.txt", 100)
    with pytest.raises(errors.CrfkitError, match="workers died at the same work"):
        with_workers(monkeypatch, train, TEMPLATE, "owlqn", 2, lambda _, verb, n: "dies" if verb == "evaluate" else None)


@pytest.mark.parametrize(("train", "algorithm", "options", "words"), [
    ("-", "lbfgs", {}, "need TRAIN as files"),
    ([[["a", "b"]]], "lbfgs", {}, "need TRAIN as files"),
    ("t", "cw", {}, "needs all data in one process"),
    ("t", "lbfgs", {"select": "mi:5"}, "select needs all data"),
    ("t", "lbfgs", {"warm_up": 5}, "warm_up needs all data in one process"),
    ("t", "mira", {"shrinking": 5}, "shrinking needs all data in one process"),
    ("t", "sgd", {"crf_loss": True}, "crf_loss cannot be computed where workers hold the data"),
    ("t", "lbfgs", {"partial": True}, "partial does not go with workers"),
    ("t", "perceptron", {"threads": 2}, "perceptron takes one thread a worker"),
    ("t", "lbfgs", {"cluster": "tcp://h:1"}, "exclude each other"),
])
def test_what_cannot_be(train, algorithm, options, words):
    with pytest.raises(errors.OptionError, match=words):
        crfkit.learn(train, "U:%x[0,0]\n", algorithm, workers=2, **options)
    page = re.sub(r"\s+", " ", (ROOT / "docs/scale.md").read_text(encoding="utf-8"))
    [named] = re.findall(r"\* \*\*sbcd, arow and cw\*\*,(.+?)\* All other options work", page)
    assert all(f"`--{name.replace('_', '-')}`" in named for name in options if name != "cluster")


@pytest.mark.usefixtures("_small_chunks")
def test_cells_of_groups_that_no_worker_has_are_forgotten(tmp_path, monkeypatch):
    """They are as many numbers as weights: a driver whose workers died now and then held more of them each time."""
    objectives, start = [], batch.DistributedObjective.__init__
    monkeypatch.setattr(batch.DistributedObjective, "__init__", lambda self, *given: objectives.append(self) or start(self, *given))
    rng, held = random.Random(1), []
    use_local_workers(monkeypatch, lambda worker, verb, step: "dies" if verb == "evaluate" and rng.random() < 0.2 else None)
    options = {"max_iter": 20, "epsilon": 0.0, "delta": 0.0, "workers": 4, "shards": 24}
    crfkit.learn(corpus(tmp_path / "train.txt", 700), TEMPLATE, "lbfgs", progress=lambda _: held.append(len(objectives[0].cells)), **options)
    assert len(held) == 20 and max(held) < 8  # it was 23


CHANGES = {
    "labels": lambda text: text.replace(" O\n", " B-x\n"),
    "words": lambda text: text.replace("the ", "of "),
    "order": lambda text: "\n\n".join(reversed(text.strip().split("\n\n"))) + "\n\n",
    "only the name": lambda text: text.replace("42", "43"),
    "behind": lambda text: text + "a N O\n\n",
}


@pytest.mark.parametrize(("algorithm", "verb", "change"), [
    *(("lbfgs", "number", change) for change in CHANGES), *(("perceptron", "learn", change) for change in CHANGES), ("lbfgs", "evaluate", "words"),
    *(pytest.param("lbfgs", "evaluate", change, marks=pytest.mark.long) for change in CHANGES if change != "words"),
])
def test_who_takes_over_must_find_the_same_data(tmp_path, monkeypatch, algorithm, verb, change):
    train = corpus(tmp_path / "train.txt", 500)
    passes = limit(algorithm, 3)
    seen = []

    def on_step(worker, asked, n):
        seen.append(asked)
        if asked != verb or seen.count(verb) != 2:
            return None
        (tmp_path / "new").write_text(CHANGES[change](Path(train).read_text()))
        (tmp_path / "new").replace(train)
        return "dies"

    if change in ("only the name", "behind"):  # the numbers are the same; the last stretch is another worker's
        same, _ = with_workers(monkeypatch, corpus(tmp_path / "same.txt", 500), TEMPLATE, algorithm, 2, shards=4, **passes)
        assert with_workers(monkeypatch, train, TEMPLATE, algorithm, 2, on_step, shards=4, **passes)[0] == same
        return
    with pytest.raises(errors.DataError) as error:
        with_workers(monkeypatch, train, TEMPLATE, algorithm, 2, on_step, shards=4, **passes)
    assert error.value.path == train
    assert "changed since training began" in str(error.value)


def test_data_that_change_while_they_are_read(tmp_path, monkeypatch):
    train = corpus(tmp_path / "train.txt", 200)

    size = Path(train).stat().st_size

    def on_step(worker, asked, n):
        if asked == "read" and Path(train).stat().st_size == size:
            with open(train, "a") as file:
                file.write("a N O\n\n" * 100)

    with pytest.raises(errors.DataError, match=r"^the data changed while they were read: [\d,]+ tokens, [\d,]+ before$"):
        with_workers(monkeypatch, train, TEMPLATE, "lbfgs", 2, on_step, shards=4)
