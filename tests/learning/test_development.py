"""Development data in every form they come in: each is read once, and scored the same after every pass."""

import array
import os
import threading
import warnings

import pytest
from commands import named_pipes, text_of
from hypothesis import given
from hypothesis import strategies as st
from trainers.samples import sentences

from crfkit import learn
from crfkit.errors import DataError, FileError
from crfkit.evaluation.evaluate import evaluate
from crfkit.learning.checkpoint import Standing

TEMPLATE = "U:%x[0,0]\nB\n"
ROWS = [[["the", "D"], ["cat", "N"]], [["cat", "N"], ["runs", "V"]]]
ITEMS = [[(["the"], "D"), (["cat"], "N")], [(["cat"], "N"), (["runs"], "V")]]


def scores(dev, rows=ROWS, template=TEMPLATE, **options):
    records = []
    learn(rows, template, "perceptron", **{"passes": 3, **options}, dev=dev, progress=records.append)
    return [record["dev_accuracy"] for record in records]


def test_iterators_are_read_once():
    expected = scores(ROWS)
    assert len(set(expected)) == 1
    assert scores((row for row in rows) for rows in ROWS) == expected
    assert scores([[iter(row) for row in rows] for rows in ROWS]) == expected
    items = scores(ITEMS, ITEMS, None, format="crfsuite")
    assert items == expected
    assert scores([[(iter(names), label) for names, label in rows] for rows in ITEMS], ITEMS, None, format="crfsuite") == items


@pytest.mark.parametrize("form", ["columns", "conllu"])
def test_rows_from_python_have_the_columns_of_the_training_data(tmp_path, form):
    """The label, too, stands where it does in the file."""
    path, wide = tmp_path / "train", "_" * 6
    rows = [[[str(t), word, "x", label, *wide] if form == "conllu" else [label, word, "x"] for t, (word, label) in enumerate(sentence, 1)] for sentence in ROWS]
    names = "" if form == "conllu" else "# columns = upos form last\n"
    path.write_text(names + text_of(rows, "\t"))
    given = {"template": "U:%x[0,form]\n", "rows": str(path), "format": form, "label": "upos"}
    assert scores(rows, **given) == scores(str(path), **given) == [1.0] * 3
    short = {"columns": "found 2 columns in the development data, expected 3 as in the training data",
             "conllu": "sentence 1, token 1: found 2 columns, expected at least 4, of which this is the label"}
    with pytest.raises(DataError, match=f"^{short[form]}$"):
        scores([[["the", "D"]]], **given)


@pytest.mark.parametrize(("labels", "said"), [("NN", None), ("XV", "one token of the development data has a label that no training data have, 'X': it counts as wrong"),
    ("XY", "2 tokens of the development data have labels that no training data have, such as 'X': they count as wrong")])
@pytest.mark.parametrize("form", ["columns", "crfsuite"])
def test_labels_that_training_data_lack_are_mentioned(labels, said, form):
    if form == "columns":
        train, dev = (ROWS, TEMPLATE), [[[name, label] for name, label in zip(("the", "cat"), labels, strict=True)]]
    else:
        train, dev = (ITEMS, None), [[([name], label) for name, label in zip(("the", "cat"), labels, strict=True)]]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        learn(*train, "perceptron", passes=1, dev=dev, format=form)
    assert [str(one.message) for one in heard] == ([said] if said else [])


def test_a_checkpoint_takes_what_training_takes(tmp_path):
    """Names as bytes, and sets: a run is resumed with the same data in another form, and not with others."""
    path = str(tmp_path / "state")
    dev = [[({b"the": 2.0}, "D"), ({"cat", "dog"}, "N")]]
    given = {"template": None, "format": "crfsuite", "checkpoint": path}
    scores(dev, ITEMS, **given)
    scores([[([("the", 2)], "D"), (["cat", "dog"], "N")]], ITEMS, resume=True, **given)
    for other in ([[([("the", 3)], "D"), (["cat", "dog"], "N")]], [[([("the", 2)], "N"), (["cat", "dog"], "N")]]):
        with pytest.raises(ValueError, match="different dev data"):
            scores(other, ITEMS, resume=True, **given)


@named_pipes
def test_a_named_pipe(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_text, args=("the D\ncat N\n\ncat N\nruns V\n\n",), daemon=True)
    writer.start()
    assert scores(str(fifo)) == scores(ROWS)
    writer.join()


def test_faulty_development_data_are_refused(tmp_path):
    path = tmp_path / "dev"
    path.write_text("the D\n\n")
    with open(path) as text, pytest.raises(DataError, match="open it in binary mode"):
        scores(text)
    for closed in ("train", "dev"):
        with open(path, "rb") as file:
            pass
        with pytest.raises(FileError, match=r"dev: cannot be read: .*closed"):
            scores(file if closed == "dev" else ROWS, file if closed == "train" else ROWS)
    with pytest.raises(DataError, match=r"^found int, expected a path or an open file$"):
        scores([str(path), 3])


@pytest.mark.filterwarnings("ignore:.* of the development data have labels that no training data have:crfkit.errors.CrfkitWarning")
def test_of_labels_of_chunks_the_best_f1_is_kept():
    """Each pass is scored as the model is that ends there."""
    train, dev, rules, records = sentences("chunking", limit=10), sentences("chunking", "dev", 20), "U:%x[0,0]\nU:%x[-1,1]/%x[0,1]\nB\n", []
    kept = learn(train, rules, "perceptron", passes=8, average=False, dev=dev, progress=records.append)
    models = [learn(train, rules, "perceptron", passes=n, average=False) for n in range(1, 9)]
    gold, words = [[row[-1] for row in rows] for rows in dev], [[row[:-1] for row in rows] for rows in dev]
    scores = [evaluate(gold, [model.tagger().tag(rows) for rows in words]) for model in models]
    for name in ("accuracy", "sentence_accuracy", "precision", "recall", "f1"):
        assert [record[f"dev_{name}"] for record in records] == [getattr(score, name) for score in scores]
    best, most_accurate = (max(range(8), key=lambda n, name=name: getattr(scores[n], name)) for name in ("f1", "accuracy"))
    assert best != most_accurate
    assert list(kept.weights) == list(models[best].weights)


def renamed(rows, name, only_plain=False):
    """Sentences with another label for O, with or without types of the chunks."""
    return [[[*cells, name if label == "O" else label[:1] if only_plain else label] for *cells, label in sentence] for sentence in rows]


@pytest.mark.filterwarnings("ignore:.* of the development data have labels that no training data have:crfkit.errors.CrfkitWarning")
@pytest.mark.parametrize("only_plain", [False, True])
def test_another_label_outside_of_chunks(only_plain):
    """Scores and the weights that are kept are those with O."""
    train, dev, found = sentences("chunking", limit=10), sentences("chunking", "dev", 20), {}
    for name, options in (("O", {}), ("_", {"outside": "_"}), ("_ as a chunk", {})):
        records, data = [], [renamed(rows, name[0], only_plain) for rows in (train, dev)]
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            kept = learn(data[0], "U:%x[0,0]\nB\n", "perceptron", passes=6, average=False, dev=data[1], progress=records.append, **options)
        found[name] = [{key: value for key, value in record.items() if key.startswith("dev_")} for record in records], list(kept.weights)
        said = "no label is 'O': if '_' is the label outside of chunks, name it with outside"
        assert (said in [str(one.message) for one in heard]) == (name == "_ as a chunk" and not only_plain)
    assert found["_"] == found["O"]
    assert found["_ as a chunk"][0] != found["O"][0]


@pytest.mark.parametrize(("outside", "told"), [("N", 0), ("X", 0), ("O", 0), ("o", 1)])
def test_a_label_outside_of_chunks_that_does_not_occur(outside, told):
    """Neither in training data nor in development data."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        scores([[["the", "D"], ["cat", "X"]]], outside=outside)
    assert [str(one.message) for one in heard].count(f"no label is {outside!r}, which outside names") == told


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_passes_without_a_better_score(patience):
    """The first pass labels everything right."""
    assert scores(ROWS, patience=patience, passes=9) == [1.0] * (1 + patience)


@given(st.lists(st.sampled_from([0.2, 0.5, 0.7]), min_size=1, max_size=9))
def test_passes_are_counted_from_the_best_score_on(found):
    """The first of equal ones."""
    standing = Standing()
    for standing.passes, score in enumerate(found, 1):
        standing.offer(score, array.array("f", [standing.passes]), None)
    best = 1 + found.index(max(found))
    assert (standing.best_pass, standing.waited, list(standing.best)) == (best, len(found) - best, [best])
