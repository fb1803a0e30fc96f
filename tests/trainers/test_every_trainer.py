"""What all trainers must do. The tests run for all of options.TRAINERS, so a new trainer needs no change here."""

import hashlib
import json
import os
import random
import tempfile
from functools import cache
from io import BytesIO

import pytest
from commands import BATCH, limit, log_lines, python, write_part
from trainers.samples import ROOT, accuracy_of, options_of, read, sentences, template

import crfkit
from crfkit import constants, options, threads
from crfkit.evaluation.evaluate import evaluate
from crfkit.learning.learn import learn
from crfkit.tagging import Tagger
from crfkit.template.parsing import Template
from crfkit.trainers import trainer_class

pytestmark = pytest.mark.parametrize("algorithm", options.TRAINERS)


@cache
def small(algorithm):
    """A model of 120 sentences with rich edges."""
    return learn(sentences("chunking", limit=120), template("chunking-rich"), algorithm, **limit(algorithm, 12 if algorithm in BATCH else 4))


def test_rich_edges(algorithm):
    """New text is tagged well, and some pairs of labels have weights at attributes."""
    assert accuracy_of(small(algorithm), sentences("chunking", "test", 60)) > 0.92
    assert any(attribute is not None and previous is not None for attribute, previous, _, _ in small(algorithm).features())


def test_dev_with_patience_keeps_the_best_weights(algorithm, tmp_path):
    """Training data with some wrong labels, so that more passes do not always help."""
    train = [[list(row) for row in rows] for rows in sentences("chunking", limit=60)]
    for k, rows in enumerate(train):
        rows[k % len(rows)][-1] = train[k - 1][0][-1]
    dev = [[list(row) for row in rows] for rows in sentences("chunking", "dev", 25)]
    log = tmp_path / "log"
    model = learn(train, template("chunking"), algorithm, dev=dev, patience=3, log=log, **limit(algorithm, 60))
    scores = [record["dev_f1"] for record in log_lines(log)]
    best = scores.index(max(scores))
    assert len(scores) == min(best + 4, 60) or algorithm in BATCH
    gold = [[row[-1] for row in rows] for rows in dev]
    assert evaluate(gold, Tagger(model).tag_many([[row[:-1] for row in rows] for rows in dev])).f1 == max(scores)


def test_a_warm_start_is_not_worse(algorithm, tmp_path):
    """One pass from a finished model leaves it about as good, and has a lower loss than a first pass from zero."""
    rows, rules = sentences("chunking", limit=40), template("chunking")

    def one_pass(**chosen):
        model = learn(rows, rules, algorithm, log=tmp_path / "log", **chosen, **limit(algorithm, 1))
        record = json.loads((tmp_path / "log").read_text())
        return model, record.get("objective", record.get("loss"))

    done = learn(rows, rules, algorithm, **limit(algorithm, 20 if algorithm in BATCH else 6))
    (again, less), (_, more) = one_pass(init=done), one_pass()
    assert accuracy_of(again, rows) > accuracy_of(done, rows) - 0.01
    assert less < more


def test_stopped_at_once_there_are_weights_to_use(algorithm):
    """A stop request in the first pass, as by Ctrl-C; a batch trainer ends after the iteration."""
    rows = sentences("chunking", limit=100)
    model = learn(rows, template("chunking"), algorithm, stop=lambda: True, **limit(algorithm, 10**9))
    most = max(sum(row[-1] == label for s in rows for row in s) for label in model.labels) / sum(map(len, rows))
    assert accuracy_of(model, rows) > most


def test_a_pass_ends_early(algorithm):
    if algorithm in BATCH:
        pytest.skip("iterations of batch trainers are not cut short")
    corpus = read("chunking", sentences=300)
    trainer = trainer_class(algorithm)(corpus.dataset, corpus.layout, options_of(algorithm))
    asked = []
    trainer.run_pass(lambda: asked.append(trainer.steps) or len(asked) == 2)
    assert trainer.steps == asked[-1] < 300


def test_values_matter(algorithm):
    """The sign of a value decides the class, so what ignores values is no better than chance."""
    values = [(k % 7 + 1) / 4 * (-1) ** k for k in range(40)]
    text = "".join(f"{'yes' if v > 0 else 'no'}\ta:{v}\n\n" for v in values)
    model = learn(BytesIO(text.encode()), format="crfsuite", algorithm=algorithm)
    gold, predicted = Tagger(model).tag_with_gold(BytesIO(text.encode()))
    assert gold == predicted


@pytest.mark.steady
def test_how_many_threads_are_at_work(algorithm, monkeypatch):
    """Of three: all, where threads make the same weights or work without locks; else one. The caller is the third."""
    monkeypatch.setattr(constants, "CHUNK_TOKENS", 256)
    started = []
    start = threads.start_new_thread
    monkeypatch.setattr(threads, "start_new_thread", lambda *thread: started.append(thread) or start(*thread))
    learn(sentences("chunking", limit=100), template("chunking"), algorithm, threads=3, **limit(algorithm, 1))
    cls = trainer_class(algorithm)
    assert len(started) == (2 if cls.threaded or cls.lock_free else 0)


PROGRAM = """
import hashlib, sys
from crfkit import load, options, threads
from crfkit.loops.kernels import variant
from crfkit.decode.printing import Printer
from crfkit.learning.learn import learn
from crfkit.text.reading import Source
from crfkit.trainers import trainer_class
print(variant())
for train, rules in (sys.argv[1:3], (sys.argv[3], None)):
    form = "columns" if rules else "crfsuite"
    for algorithm, own in options.TRAINERS.items():
        limit = {"max_iter" if hasattr(own, "max_iter") else "passes": 2}
        threads = 2 if trainer_class(algorithm).threaded else 1
        model = learn(train, rules, algorithm, format=form, threads=threads, **limit).to_bytes()
        tagger = load(model)
        chosen = {"verbose": 2} if tagger.has_probabilities else {}
        tagged = {b"".join(tagger.text(Source(train, form), Printer(**chosen), threads=n)) for n in (1, 2, 3)}
        assert len(tagged) == 1
        print(form, algorithm, hashlib.sha256(model).hexdigest(), hashlib.sha256(*tagged).hexdigest())
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Columns with their template, and attribute lines: values of all sizes, weights of sequences, more labels than the widest
    vectors hold."""
    source, lines = random.Random(1), []
    for _ in range(40):
        lines.append(f"@weight:{source.choice(['0.5', '1', '7.25', '1e-3'])}")
        for _ in range(source.randint(1, 7)):
            label = source.randrange(11)
            value, noise = source.gauss(1, 1), source.gauss(0, 1) * 10 ** source.uniform(-3, 4)
            lines.append(f"l{label}\ta{label}:{value:.5g}\tb{source.randrange(9)}:{noise:.5g}\tc{source.randrange(50)}")
        lines.append("")
    folder = tmp_path_factory.mktemp("files")
    (folder / "items").write_text("\n".join(lines) + "\n")
    return str(write_part(folder / "columns", "chunking", 20, part="dev")), str(ROOT / "templates/chunking-rich.txt"), str(folder / "items")


@cache
def digests(variant, files):
    """Of models of columns and of attribute lines trained with these loops, and of text that they tagged, for every
    trainer; None where the processor lacks the loops. By a process of its own, in which Python's sets have an order of
    their own."""
    done = python(PROGRAM, *files, env={**os.environ, "CRFKIT_SIMD": variant, "PYTHONHASHSEED": str(len(variant))}, cwd=tempfile.gettempdir(), code=None)
    if done.returncode and "no such variant" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    used, *lines = done.stdout.splitlines()
    assert used == variant
    return {(form, algorithm): found for form, algorithm, *found in map(str.split, lines)}


@pytest.mark.long
@pytest.mark.parametrize("form", ["columns", "crfsuite"])
@pytest.mark.parametrize("variant", ["avx2", "avx512"])
def test_the_same_bytes_with_every_instruction_set(algorithm, variant, form, files):
    """Models, and what they tag with any number of threads."""
    found = digests(variant, files)
    if found is None:
        pytest.skip(f"this processor has no {variant}")
    assert found[form, algorithm] == digests("base", files)[form, algorithm]


@pytest.mark.filterwarnings("ignore::crfkit.errors.CrfkitWarning")  # so few passes over such values
@pytest.mark.parametrize("form", ["columns", "crfsuite"])
def test_the_same_bytes_in_another_process(algorithm, form, files):
    """And on one thread, where the other one had two."""
    train = files[:2] if form == "columns" else files[2:]
    model = learn(*train, algorithm=algorithm, format=form, threads=1, **limit(algorithm, 2)).to_bytes()
    assert hashlib.sha256(model).hexdigest() == digests("base", files)[form, algorithm][0]


def test_sequences_without_tokens_teach_nothing(algorithm):
    rows, labels = [[["a"], ["b"]], [["b"], ["a"]]], [["x", "y"], ["y", "x"]]
    alone = crfkit.CRF(algorithm=algorithm).fit(rows, labels)
    among = crfkit.CRF(algorithm=algorithm).fit([[], rows[0], [], rows[1], []], [[], labels[0], [], labels[1], []])
    assert among.model_.to_bytes() == alone.model_.to_bytes()
    assert among.predict([[], *rows]) == [[], *alone.predict(rows)]


@pytest.mark.parametrize("features", ["all", "observed"])
def test_data_of_one_label(algorithm, features, tmp_path):
    """A model gives the only label that it knows, and is sure of it; also from weights that others left, where none are needed."""
    one, two = [[["a", "X"], ["b", "X"]], [["c", "X"]]], [[["a", "X"], ["b", "Y"]], [["c", "X"]]]
    rules = Template.parse("U:%x[0,0]\nB\n")
    before = learn(two, rules, algorithm, features=features)
    for initial in None, before:
        with pytest.warns(crfkit.CrfkitWarning) as heard:
            model = learn(one, rules, algorithm, features=features, dev=one, init=initial, log=tmp_path / "log", **limit(algorithm, 3))
        assert "only one label, 'X': the model will give it to every token" in [str(warning.message) for warning in heard]
        assert not any("weights" in str(warning.message) or "loss" in str(warning.message) for warning in heard)
        tagger = Tagger(model)
        assert tagger.labels == ["X"] and tagger.tag([["a"], ["new"]]) == ["X", "X"]
        if algorithm not in constants.WITHOUT_PROBABILITIES:
            assert tagger.marginals([["a"], ["new"]]) == pytest.approx(1)
            assert tagger.nbest([["a"], ["new"]], 3) == [(pytest.approx(1), ["X", "X"])]


def test_values_of_zero_alone_teach_nothing(algorithm):
    """Without them the other features get the same weights."""
    rows = [[({word: value, f"{word}{t % 2}": 1.0}, label) for t, (word, value, label) in enumerate(tokens)] for tokens in (
        [("a", 2.0, "X"), ("b", 0.5, "Y"), ("c", 1.0, "X")], [("b", -0.5, "Y"), ("c", 3.0, "Y")], [("c", 1.0, "X"), ("a", -1.0, "X")]
    ) * 5]
    more = [[({**items, "zero": 0.0}, label) for items, label in tokens] for tokens in rows]
    given = {name: value for name, value in {"l1": 0.1, "l2": 0.5, "rate": 0.1, "margin": 3.0}.items() if hasattr(options.TRAINERS[algorithm], name)}
    with_it, without = (
        {feature[:3]: feature[3] for feature in learn(data, None, algorithm, format="crfsuite", **given, **limit(algorithm, 5)).features() if feature[3]}
        for data in (more, rows)
    )
    assert with_it == pytest.approx(without, rel=1e-5) and without
