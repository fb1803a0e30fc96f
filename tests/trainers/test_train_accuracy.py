"""--train-accuracy: the accuracy on the training data that trainers report."""


import pytest
from commands import log_lines
from trainers.samples import sentences, template

from crfkit.learning.learn import learn
from crfkit.learning.progress import Progress
from crfkit.tagging import Tagger


class Heard(Progress):
    def __init__(self):
        super().__init__(quiet=True)
        self.records = []

    def prepared(self, record):
        self.records.append(record)


def shares(model, data):
    """Right labels, and sentences with no other."""
    tagger = Tagger(model)
    right = [[a == row[-1] for a, row in zip(tagger.tag([row[:-1] for row in rows]), rows, strict=True)] for rows in data]
    return sum(map(sum, right)) / sum(map(len, right)), sum(map(all, right)) / len(right)


def taken(record):
    return record["train_accuracy"], record["train_sentence_accuracy"]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("algorithm", "name", "chosen"), [
    ("lbfgs", "chunking", {"max_iter": 2}), ("lbfgs", "chunking-rich", {"max_iter": 2, "l2": 30.0, "warm_up": 0}),
    ("owlqn", "chunking-rich", {"max_iter": 12}),
])
def test_batch_trainers_report_their_weights(algorithm, name, chosen, threads, tmp_path):
    data, heard = sentences("chunking", limit=80), Heard()
    given = {"template": template(name), "algorithm": algorithm, "threads": threads, **chosen}
    model = learn(data, **given, train_accuracy=True, log=tmp_path / "log", progress=heard)
    last = log_lines()[-1]
    assert taken(last) == pytest.approx(shares(model, data), abs=1e-12)
    assert last["active"] == model.header["features"] and last["train_accuracy"] > 0.5
    # Before anything is learned all paths are as good as the one of the first label.
    first = heard.records[0]
    label = model.labels[0]
    assert taken(first) == pytest.approx(
        (sum(row[-1] == label for rows in data for row in rows) / sum(map(len, data)), sum({row[-1] for row in rows} == {label} for rows in data) / 80)
    )
    assert learn(data, **given).weights == model.weights


def test_the_warm_up_reports_what_it_met():
    """Weights that no longer change are those that were met."""
    data, heard = sentences("chunking", limit=40), Heard()
    model = learn(data, template=template("chunking"), l2=4.0, train_accuracy=True, progress=heard)
    met = [taken(record) for record in heard.records[1:]]
    assert len(met) > 5 and all("loss" in record for record in heard.records[1:])
    assert met[0][0] < met[-1][0] and met[-1] == pytest.approx(shares(model, data), abs=0.02)


def test_mira_reports_what_it_met(tmp_path):
    data = sentences("chunking", limit=40)
    learn(data, template=template("chunking"), algorithm="mira", passes=30, shrinking=2, average=False, train_accuracy=True, log=tmp_path / "log")
    records = log_lines()
    assert len(records) < 30 and taken(records[-1]) == (1.0, 1.0) and records[-1]["violation"] == 0
    assert records[0]["active_sequences"] == 40 and min(record["active_sequences"] for record in records) < 40
    assert records[-1]["active_sequences"] == 40  # it does not end before all have been asked once more
