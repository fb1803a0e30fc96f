"""crfkit.compat.pycrfsuite beside python-crfsuite itself: the same calls, the same answers."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pycrfsuite
import pytest
from compat.kept import appended
from compat.pycrfsuite_runs import BOTH, opened, sentences, trained
from hypothesis import given
from hypothesis import strategies as st
from liars import Sips

from crfkit.compat import pycrfsuite as compat


@pytest.fixture
def model(tmp_path):
    trained(pycrfsuite, tmp_path / "peer.crfsuite")
    return str(tmp_path / "peer.crfsuite")


# --- Items ------------------------------------------------------------------------------------------------------------

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)  # at a zero byte the peer's names end
leaves = st.one_of(st.booleans(), st.integers(-9, 9), st.floats(-9, 9), names, st.lists(names, max_size=3), st.sets(names, max_size=3))
mappings = st.dictionaries(names, st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=2), max_leaves=4), max_size=4)


@given(st.one_of(names, st.lists(st.one_of(mappings, names, st.lists(names, max_size=4), st.sets(names, max_size=4)), max_size=4)))
def test_item_sequences_are_those_of_the_peer(sequence):
    ours, theirs = compat.ItemSequence(sequence), pycrfsuite.ItemSequence(sequence)
    assert ours.items() == theirs.items()
    assert len(ours) == len(theirs) and repr(ours) == repr(theirs)
    assert compat.ItemSequence(ours).items() == ours.items()


def test_bytes_and_whatever_is_iterable():
    assert compat.ItemSequence([{b"a": b"x"}, [b"y"], {"k": 1}.keys(), (name for name in "ab")]).items() == [
        {"a:x": 1.0}, {"y": 1.0}, {"k": 1.0}, {"a": 1.0, "b": 1.0},
    ]


def test_names_that_are_not_utf_8_come_back_as_text():
    assert compat.ItemSequence([[b"caf\xc3\xa9", b"\xff"]]).items() == [{"caf\xe9": 1.0, "\udcff": 1.0}]


class Indexed:
    """Parts that are found by index alone, as in map-style data sets."""

    def __init__(self, *parts):
        self.parts = parts

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, k):
        return self.parts[k]


def test_sequences_items_and_labels_may_have_indexes_only():
    sequence, labels = Indexed(["a"], {"b": 2.0}, Indexed("c", "a")), Indexed("X", "Y", "X")
    assert compat.ItemSequence(sequence).items() == pycrfsuite.ItemSequence(sequence).items() == [{"a": 1.0}, {"b": 2.0}, {"c": 1.0, "a": 1.0}]
    found = []
    for module in (compat, pycrfsuite):
        trained(module, "model", data=[(sequence, labels)])
        tagger = opened(module, "model")
        found.append((sorted(tagger.info().state_features), tagger.tag(sequence)))
    assert found[0] == found[1]


@pytest.mark.parametrize("sequence", ["ab", "", ["ab", ["c"], "é中"], [""]])
def test_a_str_is_its_characters(sequence, tmp_path):
    found = []
    for module in (compat, pycrfsuite):
        trained(module, tmp_path / "model", data=[("ab", "XY"), (["ac", "b"], "YX"), ("é", "X")])
        tagger = opened(module, tmp_path / "model")
        found.append((sorted(tagger.info().state_features), tagger.tag(sequence)))
    assert found[0] == found[1]


@pytest.mark.parametrize("bad", [5, None, b"ab", [b"ab"], [5], [None], [[5]], [{"a": None}], [{"a": {1, 2}}], [{1: 2}], [{"a": object()}]])
def test_faulty_items_are_refused(bad):
    with pytest.raises(ValueError, match=r"expected|not iterable"):
        compat.ItemSequence(bad)


# --- Tagger -----------------------------------------------------------------------------------------------------------


def test_the_answers_of_the_peer_on_its_model(model):
    ours, theirs = opened(compat, model), opened(pycrfsuite, model)
    assert ours.labels() == theirs.labels()
    for items, labels in sentences(seed=2):
        assert ours.tag(items) == theirs.tag(items)
        assert ours.probability(labels) == pytest.approx(theirs.probability(labels), abs=1e-5)
        for place in range(len(items)):
            for label in ours.labels():
                assert ours.marginal(label, place) == pytest.approx(theirs.marginal(label, place), abs=1e-5)


def test_sequences_that_ask_the_tagger_themselves(model):
    """A generator may use the tagger that reads it; each gets the answers of its own sequence."""
    tagger = opened(compat, model)
    sequences = [items for items, _ in sentences(8, seed=4)]
    alone = [tagger.tag(items) for items in sequences]

    def nested(items, other):
        for item in items:
            assert tagger.tag(other) == alone[1]
            yield item

    assert tagger.tag(nested(sequences[0], sequences[1])) == alone[0]
    trainer = compat.Trainer(verbose=False)
    trainer.append((trainer.append([["b"]], ["B"]) or item for item in (["a"], ["c"])), ["A", "C"])
    assert sorted(len(tokens) for _, tokens in appended(trainer.sequences)) == [1, 1, 2]


def test_answers_in_any_order(model):
    tagger = opened(compat, model)
    items, labels = next(iter(sentences(1, seed=6)))
    sequence = compat.ItemSequence(items)
    tagger.set(sequence)
    expected = tagger.marginals()
    assert tagger.tag(items) == tagger.tag(sequence) == tagger.tag()
    before = tagger.probability(labels)
    assert tagger.tag() and tagger.marginals() == expected and tagger.probability([label.encode() for label in labels]) == before
    assert tagger.marginal(b"A", 0) == expected[0]["A"]
    for bad in ([5], [["x"], [5]], 5):
        with pytest.raises(ValueError, match="expected"):
            tagger.set(bad)


def test_dump_and_info_are_those_of_the_peer(model, tmp_path, capsys, monkeypatch):
    ours, theirs = opened(compat, model), opened(pycrfsuite, model)
    ours.dump(tmp_path / "ours")
    theirs.dump(str(tmp_path / "theirs"))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    ours.dump()
    assert capsys.readouterr().out == (tmp_path / "ours").read_text()
    unbuffered = Sips(7)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=unbuffered, flush=lambda: None))
    ours.dump()
    assert unbuffered.held == (tmp_path / "ours").read_bytes()
    lines = []
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(write=lines.append))
    ours.dump()
    assert "".join(lines) == (tmp_path / "ours").read_text()
    assert len(lines) == 1  # a call for each line takes longer than the rest
    assert vars(ours.info()) == vars(theirs.info())


def test_dump_replaces_a_longer_file(model, tmp_path):
    """Python-crfsuite writes over the beginning of the file, and leaves its end."""
    ours, theirs = opened(compat, model), opened(pycrfsuite, model)
    theirs.dump(str(tmp_path / "alone"))
    text = (tmp_path / "alone").read_bytes()
    (tmp_path / "longer").write_bytes(b"x" * (len(text) + 9))
    ours.dump(tmp_path / "longer")
    assert (tmp_path / "longer").read_bytes() == text


def test_info_of_names_that_break_lines(tmp_path):
    trained(compat, tmp_path / "m", data=[([["x --> y: 1"], ["b"]], ["A", "B"])])
    with compat.Tagger().open(tmp_path / "m"):
        pass
    tagger = compat.Tagger()
    tagger.open_inmemory((tmp_path / "m").read_bytes())
    assert tagger.info().state_features["x --> y: 1", "A"] > 0


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks for the file in /proc")
def test_a_tagger_holds_no_file(model):
    with compat.Tagger().open(model):
        assert model not in Path("/proc/self/maps").read_text()


@BOTH
def test_a_tagger_that_is_closed(library, model):
    tagger = library.Tagger()
    with tagger.open(model) as found:
        assert found is tagger
        assert tagger.tag() == [] == tagger.tag([])
    for call in (tagger.labels, tagger.tag, lambda: tagger.set([["a"]]), lambda: tagger.probability(["A"]), lambda: tagger.marginal("A", 0)):
        with pytest.raises(ValueError, match="The tagger is not opened"):
            call()
    for call in (tagger.info, tagger.dump):
        with pytest.raises(RuntimeError, match="Tagger is closed"):
            call()
    tagger.close()


@BOTH
def test_files_that_are_no_models_are_refused(library, tmp_path):
    tagger = library.Tagger()
    with pytest.raises(IOError, match="No such file"):
        tagger.open("absent")
    for content in (b"foo", b"lCRFfoo", b""):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(ValueError, match=r"odel file '.*bad'"):
            tagger.open(str(tmp_path / "bad"))
        with pytest.raises(ValueError, match="Invalid model"):
            tagger.open_inmemory(content)
    with pytest.raises(TypeError):
        tagger.open_inmemory("text")


@BOTH
@pytest.mark.parametrize("length", [4, 14, 47])
def test_a_file_that_ends_within_its_header(library, length, tmp_path):
    """NLTK's tests know it by these words."""
    content = b"lCRF".ljust(length, b"\0")
    (tmp_path / "m").write_bytes(content)
    for task in (lambda: library.Tagger().open(str(tmp_path / "m")), lambda: library.Tagger().open_inmemory(content)):
        with pytest.raises(ValueError, match=r"^(Invalid model|Model file).*complete header"):
            task()


@pytest.mark.parametrize("name", ["text", "te\nxt"])
def test_a_file_that_is_no_model_is_named_once(name, tmp_path):
    (tmp_path / name).write_text("word\n")
    with pytest.raises(ValueError, match=f"^Invalid model file {re.escape(repr(str(tmp_path / name)))}: not a crfkit model: a text file"):
        compat.Tagger().open(tmp_path / name)
    with pytest.raises(ValueError, match=r"^Invalid model: not a crfkit model: a text file"):
        compat.Tagger().open_inmemory(b"word\n")


@BOTH
def test_questions_that_have_no_answer(library, model):
    tagger = opened(library, model)
    tagger.set([["bias"], ["w:1"]])
    for labels, error, message in ((["A"], ValueError, r"\|x\| = 2, \|y\| = 1"), (["A", "none"], RuntimeError, "label identifier: none")):
        with pytest.raises(error, match=message):
            tagger.probability(labels)
    with pytest.raises(RuntimeError, match="label identifier: none"):
        tagger.marginal("none", 0)
    for place in (-1, 2):
        with pytest.raises(ValueError, match="out of range of 2"):
            tagger.marginal("A", place)


def test_the_only_name_may_be_empty(tmp_path):
    """Then there is no memory of names to copy it from."""
    trained(compat, tmp_path / "model", data=[([[]], [""])])
    tagger = opened(compat, tmp_path / "model")
    assert tagger.labels() == tagger.tag([[]]) == [""]
