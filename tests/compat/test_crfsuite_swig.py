"""CRFsuite's own module for Python: what its examples do, beside python-crfsuite."""

import pytest

from crfkit.compat import crfsuite_swig as crfsuite

pycrfsuite = pytest.importorskip("pycrfsuite")

DATA = [([[("walk", 1.0)], [("shop", 0.5), ("rain", 1.0)]], ["sunny", "rainy"]), ([[("walk", 1.0)], [("clean", 1.0)]], ["sunny", "sunny"])] * 4


def sequence(items):
    made = crfsuite.ItemSequence()
    for names in items:
        item = crfsuite.Item()
        for name, value in names:
            item.append(crfsuite.Attribute(name) if value == 1 else crfsuite.Attribute(name, value))
        made.push_back(item)
    assert made.size() == len(items)
    return made


class Heard(crfsuite.Trainer):
    def __init__(self):
        super().__init__()
        self.log = ""

    def message(self, s):
        self.log += s


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd"])
def test_the_examples(tmp_path, capsys, algorithm):
    ours, theirs = Heard(), pycrfsuite.Trainer(verbose=False)
    assert ours.select(algorithm, "crf1d") is True and not ours.select("none", "crf1d") and not ours.select(algorithm, "crf2d")
    theirs.select(algorithm)
    for items, labels in DATA:
        ours.append(sequence(items), crfsuite.StringList(labels), 0)
        theirs.append([dict(names) for names in items], labels)
    assert ours.params() == theirs.params() and ours.get("c2") == "1.000000" and ours.help("c2") == theirs.help("c2")
    ours.set("c2", "0.1")
    theirs.set("c2", 0.1)
    assert ours.train(str(tmp_path / "ours"), -1) == 0
    theirs.train(str(tmp_path / "theirs"))
    assert "c2: 0.100000" in ours.log and not capsys.readouterr().out

    own, other = crfsuite.Tagger(), pycrfsuite.Tagger()
    assert not own.open(str(tmp_path / "none")) and own.open(str(tmp_path / "ours"))
    other.open(str(tmp_path / "theirs"))
    assert own.labels() == other.labels()
    for items, _ in DATA[:2]:
        found, expected = own.tag(sequence(items)), other.tag([dict(names) for names in items])
        own.set(sequence(items))
        assert found == own.viterbi() == expected
        assert own.probability(found) == pytest.approx(other.probability(expected), abs=1e-2)
        assert own.marginal(found[1], 1) == pytest.approx(other.marginal(expected[1], 1), abs=1e-2)


def test_what_fails(tmp_path):
    with pytest.raises(ValueError, match="The tagger is not opened"):
        crfsuite.Tagger().viterbi()
    with pytest.raises(ValueError, match="The numbers of items and labels differ"):
        crfsuite.Trainer().append(sequence(DATA[0][0]), ["sunny"], 0)
    with pytest.raises(OSError, match="no usable folder"):
        trainer = crfsuite.Trainer()
        trainer.append(sequence(DATA[0][0]), DATA[0][1])
        trainer.train(str(tmp_path / "none" / "m"))
    assert crfsuite.version() == "0.12.2"
