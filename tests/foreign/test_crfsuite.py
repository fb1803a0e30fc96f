"""CRFsuite's models, compared with CRFsuite: labels, probabilities, dump and file; and damaged files."""

import random
import struct
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pycrfsuite
import pytest
from compat import pycrfsuite_runs
from compat.pycrfsuite_runs import opened
from problems import apart

import crfkit
from crfkit import foreign
from crfkit.errors import CrfkitError, ModelFileError, UnsupportedError
from crfkit.features.strings import StringTable
from crfkit.foreign import crfsuite
from crfkit.foreign.parts import FeatureRows, Parts
from crfkit.template.meaning import expand

ODD = ["a b", "a:b", "a\\b", "a\\:b", "é", "日本", "__BOS__", "#", "=", "a" * 300]
LINE_ENDS = ["a\nb", "\t", "\r\n"]


def corpus(seed, n_labels=4, n_sentences=40, odd=ODD):
    """Sentences of random attributes, some with values, and labels that depend on them."""
    rng = random.Random(seed)
    names = [f"w{k}" for k in range(30)] + list(odd)
    labels = [f"L{k}" for k in range(n_labels)]
    made = []
    for _ in range(n_sentences):
        tokens = []
        for _ in range(rng.randint(1, 9)):
            chosen = rng.sample(names, rng.randint(0, 6))
            tokens.append({name: rng.choice((1.0, 1.0, 0.5, -2.0, 3.25)) for name in chosen})
        made.append((tokens, [labels[(len(token) + len(tokens) * k) % n_labels] for k, token in enumerate(tokens)]))
    return made


def trained(path, data, algorithm="lbfgs", **params):
    pycrfsuite_runs.trained(pycrfsuite, path, algorithm, data, **{"max_iterations": 30, **params})
    return Path(path).read_bytes(), opened(pycrfsuite, path)


def rows(tokens):
    return [list(token.items()) for token in tokens]


def test_labels_have_the_order_of_the_peer():
    model, theirs = trained("model", corpus(0, 100, 200))
    assert foreign.load(model).labels == theirs.labels()


@pytest.mark.parametrize("params", [{}, {"c1": 1.0}, {"feature.possible_states": 1, "feature.possible_transitions": 1}, {"feature.minfreq": 20}])
def test_labels_and_probabilities_are_those_of_crfsuite_for_every_option(params):
    _, theirs = trained("model", corpus(3), **params)
    agree(crfkit.load("model"), theirs, [tokens for tokens, _ in corpus(4, n_sentences=60)])


def agree(ours, theirs, sentences):
    for tokens in sentences:
        labels = theirs.tag(tokens)
        assert ours.tag(rows(tokens)) == labels
        marginals = [[theirs.marginal(label, t) for label in ours.labels] for t in range(len(tokens))]
        assert not apart(ours.marginals(rows(tokens)), marginals, rel=1e-6, abs=1e-5).any()
        assert ours.probability(rows(tokens), labels) == pytest.approx(theirs.probability(labels), rel=1e-3, abs=1e-5)


def test_the_dump_is_that_of_crfsuite():
    _, theirs = trained("model", corpus(5, odd=ODD + LINE_ENDS))
    theirs.dump("dump")
    assert b"".join(foreign.dump("model")) == Path("dump").read_bytes()


def test_writing_what_was_read_gives_the_same_bytes():
    for seed, n_labels in ((6, 2), (7, 9), (8, 60)):
        model, _ = trained("model", corpus(seed, n_labels, 100, ODD + LINE_ENDS))
        assert crfsuite.write(foreign.read(model)) == model


def test_attributes_without_weights_are_left_out():
    """Wherever they are, and whether they have none or only zeros."""
    given = [(b"z", []), (b"a", [(0, 0, 1.5), (0, 1, 0.0)]), (b"b", [(0, 1, 0.0)]), (b"c", []), (b"d", [(0, 0, -2.0), (0, 1, 3.0)]), (b"e", [])]
    for left in (given, [(name, [one for one in row if one[2]]) for name, row in given]):
        rows = FeatureRows.empty()
        for name, row in left:
            rows.append(name, row)
        again = crfsuite.read(crfsuite.write(Parts("crfsuite", ["A", "B"], rows, FeatureRows.empty(), None))).unigrams
        found = [(name, again.features(number)) for number, name in enumerate(again.names)]
        assert found == [(b"a", [(0, 0, 1.5)]), (b"d", [(0, 0, -2.0), (0, 1, 3.0)])]


def test_a_file_is_written_in_memory_for_two_of_them():
    """While a model is made that is as large as the data, it is the most memory that a training run takes."""
    rows = FeatureRows.empty()
    for number in range(5000):
        rows.append(b"attribute %d" % number, [(0, label, number + 0.5) for label in range(1 + number % 4)])
    parts = Parts("crfsuite", list("abcd"), rows, FeatureRows.empty(), None)
    crfsuite.write(parts)  # imports what it needs
    tracemalloc.start()
    size = len(crfsuite.write(parts))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * size


def test_crfsuite_opens_what_crfkit_has_learned():
    data = [[(list(token.items()), label) for token, label in zip(*sentence, strict=True)] for sentence in corpus(9, odd=())]
    model = crfkit.learn(data, format="crfsuite")
    Path("model").write_bytes(foreign.model_bytes(foreign.read(model.to_bytes()), "crfsuite"))
    agree(crfkit.load(model.to_bytes()), opened(pycrfsuite, "model"), [tokens for tokens, _ in corpus(10, odd=())])


def test_there_and_back_is_the_same_model():
    trained("model", corpus(11))
    foreign.convert("model", "ours")
    foreign.convert("ours", "theirs", "crfsuite")
    ours, back = foreign.load("ours"), foreign.load("theirs")
    assert set(ours.features()) == set(back.features())
    agree(crfkit.load("theirs"), opened(pycrfsuite, "model"), [tokens for tokens, _ in corpus(12)])


def test_a_model_without_pairs_of_labels():
    model, theirs = trained("model", [([{"a": 1.0}], ["X"]), ([{"b": 1.0}], ["Y"])])
    agree(crfkit.load(model), theirs, [[{"a": 1.0}, {"b": 1.0}, {}], [{"c": 1.0}]])
    assert crfsuite.write(foreign.read(model)) == model


def test_learning_goes_on_from_it():
    data = corpus(13, odd=())
    trained("model", data)
    train = [[(list(token.items()), label) for token, label in zip(*sentence, strict=True)] for sentence in data]
    model = crfkit.learn(train, format="crfsuite", init="model", algorithm="sgd", passes=1, rate=1e-9, l2=1e-9)
    known = {feature[:3]: feature[3] for feature in foreign.load("model").features()}
    learned = {feature[:3]: feature[3] for feature in model.features()}
    assert len(known) > 50
    for feature, weight in known.items():
        assert learned[feature] == pytest.approx(weight, abs=1e-4)


@pytest.mark.parametrize("line", [
    "U:%=[0,0,-1,0]", "U:%=[0,0,0,1]", "U:%=[0,0,1,0]/%x[0,0]", "U:%x[0,0]%=[0,0,1,0]", "U:%=[0,0,1,0]%=[0,1,1,1]", 'U:%t[0,0,"a"]', 'U:%m[0,0,"^a"]%S[0,1]', "U:%p[0,0,1]", "U:%x[0,0]/%x[0,1]",
])
def test_templates_of_all_macros(line):
    """What equality gives is known without any cell. What stands between macros may be in cells, too: other cells make the same attribute then."""
    parsed = crfkit_template(line)
    rng = random.Random(8)
    corpus = [[rng.choices(["a", "b", "c", "a/b", "b/a"], k=2) for _ in range(rng.randint(1, 5))] for _ in range(30)]
    made = [[[expand(parsed.lines[0], rows, t)] for t in range(len(rows))] for rows in corpus]
    crfkit.learn([[(names, str(rng.randint(1, 3))) for names in items] for items in made], format="crfsuite").save("items")
    Path("template").write_text(f"{line}\nB\n")
    foreign.convert("items", "columns", template="template")
    items, columns = crfkit.load("items"), crfkit.load("columns")
    for rows, named in zip(corpus, made, strict=True):
        assert not apart(columns.marginals(rows), items.marginals(named)).any()


def test_a_template_that_made_other_attributes_is_refused():
    trained("model", corpus(14))
    Path("template").write_text("U00:%x[0,0]\n")
    with pytest.raises(CrfkitError, match=r"^template: no attribute of the model, such as .*, begins"):
        foreign.convert("model", "out", template="template")
    for text, fault in (("U00:%x[0,word]\n", "names columns"), ("U00:%y[-1]\n", "has features of earlier labels")):
        Path("template").write_text(text)
        with pytest.raises(CrfkitError, match=f"^template: the template {fault}"):
            foreign.convert("model", "out", template="template")
    assert not Path("out").exists()


def test_any_template_may_have_made_no_attributes():
    trained("model", corpus(14), **{"feature.minfreq": 1e9})
    Path("template").write_text("U00:%x[0,0]\n")
    foreign.convert("model", "out", template="template")
    labels = crfkit.load("model").tag([["x"]] * 3)
    assert crfkit.load("out").tag([["a"]] * 3) == labels


def test_a_model_with_a_template_cannot_become_one():
    crfkit.learn([[["a", "X"], ["b", "Y"]]] * 3, template=crfkit_template("U:%x[0,0]\nB\n")).save("ours")
    with pytest.raises(UnsupportedError, match="ours: a CRFsuite model has no template") as caught:
        foreign.convert("ours", "theirs", "crfsuite")
    with open("ours", "rb") as file, pytest.raises(UnsupportedError, match=r"^ours: a CRFsuite model has no template"):
        foreign.convert(file, "theirs", "crfsuite")
    assert "(--format crfsuite)" in caught.value.message and "(format='crfsuite')" in str(caught.value)


def crfkit_template(text):
    from crfkit.template.parsing import Template

    return Template.parse(text)


def test_the_version_of_a_fork_has_a_longer_header():
    """CRFsuite does not look at the version, and finds all chunks by their offsets, too."""
    data = corpus(16)
    old, _ = trained("model", data)
    magic, size, *kind, zero, n_labels, n_attributes = struct.unpack_from("<4sI4s4I", old)
    offsets = struct.unpack_from("<5I", old, 28)
    new = bytearray(old)
    for at, n in ((offsets[3], n_labels + 2), (offsets[4], n_attributes)):  # where lists stand counts from the start of the file
        places = np.frombuffer(old, "<u4", n, at + 12)
        new[at + 12 : at + 12 + 4 * n] = np.where(places, places + 4, 0).astype("<u4").tobytes()
    new[:48] = struct.pack("<4sI4s10I", magic, size + 4, kind[0], 101, zero, n_labels, n_attributes, *(at + 4 for at in offsets), 0)
    Path("fork").write_bytes(new)
    assert foreign.read("fork").pairs == foreign.read("model").pairs
    agree(crfkit.load("fork"), opened(pycrfsuite, "fork"), [tokens for tokens, _ in data])
    assert b"version: 101\n" in b"".join(foreign.dump("fork"))


# Files that are not sound


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("crfsuite") / "model", corpus(15, 3, 6))[0]


@pytest.mark.parametrize(("at", "number", "message"), [
    (4, 5, "the header says 5"),
    (8, int.from_bytes(b"TREE", "little"), "a model of trees by a fork of CRFsuite: crfkit reads those of sequences"),
    (8, int.from_bytes(b"HOSM", "little"), "a model of segments by a fork of CRFsuite: crfkit reads those of sequences"),
    (8, int.from_bytes(b"COMF", "little"), "not a first-order model of CRFsuite"),
    (12, 102, "version 102, expected 100 or 101"),
    (20, 0, "has no labels"),
    (20, 70000, "70000 labels"),
    (24, 10**9, "a table of .* strings, expected 1000000000 attributes"),
    (28, 10**9, "the chunk FEAT should begin at byte 1000000000"),
    (32, 30, "no chunk CQDB at byte 30"),
    (56, 10**9, "1000000000 features do not fit"),
])
def test_messages(small, at, number, message):
    changed = bytearray(small)
    changed[at : at + 4] = struct.pack("<I", number)
    with pytest.raises(ModelFileError, match=f"^model in memory: .*{message}"):
        foreign.load(bytes(changed))


class Tables:
    def __init__(self, data):
        self.data = bytearray(data)
        self.n_labels, _, self.features, self.labels, _, self.lists = (self[at] for at in range(20, 44, 4))
        self.by_id = self.labels + self[self.labels + 20]
        self.name = self.labels + self[self.by_id]  # of the first label: its number, its length, its bytes
        self.n_features = self[self.features + 8]
        self.end = self.lists + self[self.lists + 4]
        self.list = self[self.lists + 12]  # of its features: how many, and their numbers

    def __getitem__(self, at):
        return struct.unpack_from("<I", self.data, at)[0]

    def __setitem__(self, at, number):
        struct.pack_into("<I", self.data, at, number)


@pytest.mark.parametrize(("change", "message"), [
    (lambda t: (t.labels + 4, 23), "the chunk CQDB has 23 bytes, from 2072"),
    (lambda t: (t.labels + 12, 0), "a table of strings in another byte order"),
    (lambda t: (t.labels + 16, t.n_labels - 1), "a table of 2 strings, expected 3 labels"),
    (lambda t: (t.labels + 20, t[t.labels + 4] - 4 * t.n_labels + 1), "a table of 3 strings, expected 3 labels"),
    (lambda t: (t.by_id, 2071), "label 0 has no name"),
    (lambda t: (t.by_id, t[t.labels + 4] - 7), "label 0 has no name"),
    (lambda t: (t.name, 1), "the name of label 0 is not where it should be"),
    (lambda t: (t.name + 4, 0), "the name of label 0 is not where it should be"),
    (lambda t: (t.name + 4, 1), "the name of label 0 is not where it should be"),
    (lambda t: (t.features + 8, (t[t.features + 4] - 12) // 20 + 1), "[0-9]+ features do not fit into [0-9]+ bytes"),
    (lambda t: (t.lists + 8, t.n_labels - 1), "the chunk LFRF has 2 lists, expected 3"),
    (lambda t: (t.lists + 12, t.lists - 4), "list 0 of the chunk LFRF lies outside it"),
    (lambda t: (t.lists + 12, t.end - 3), "list 0 of the chunk LFRF lies outside it"),
    (lambda t: (t.list, (t.end - t.list) // 4), "list 0 of the chunk LFRF is longer than the chunk"),
    (lambda t: (t.list + 4, t.n_features), r"a list names feature ([0-9]+), but there are \1"),
    (lambda t: (t.features + 20, t.n_labels), "feature 0 names label 3, but there are 3"),
])
def test_each_fault_of_a_table_has_its_message(small, change, message):
    """The first number that is too small or too large."""
    tables = Tables(small)
    place, number = change(tables)
    tables[place] = number
    with pytest.raises(ModelFileError, match=f"^model in memory: damaged: {message}"):
        foreign.load(bytes(tables.data))


def test_lists_that_share_their_bytes_are_refused(small):
    """They could add up to more than the memory."""
    tables = Tables(small)
    tables[tables.list] = (tables.end - tables.list) // 4 - 1
    for label in range(tables.n_labels):
        tables[tables.lists + 12 + 4 * label] = tables.list
    with pytest.raises(ModelFileError, match=r"damaged: the lists of the chunk LFRF overlap$"):
        foreign.load(bytes(tables.data))


def test_names_of_any_length_are_found_by_the_peer():
    """Its table is searched by a hash of twelve bytes at a time."""
    names = ["abcdefghijklmnopqrstuvwxyzabcdefghijkl"[:n] for n in range(1, 39)]
    model = crfkit.learn([[(names[: k + 1], "XYZ"[k % 3])] for k in range(len(names))] * 2, format="crfsuite")
    Path("model").write_bytes(foreign.model_bytes(foreign.read(model.to_bytes()), "crfsuite"))
    theirs = opened(pycrfsuite, "model")
    for name in names:
        theirs.set([[name]])
        assert [theirs.marginal(label, 0) for label in model.labels] == pytest.approx(model.tagger().marginals([[name]])[0].tolist(), abs=1e-6)


def test_names_with_a_zero_byte_have_no_place():
    model = crfkit.learn([[(["a\0b"], "X"), (["c"], "Y")]] * 2, format="crfsuite")
    with pytest.raises(ModelFileError, match=r"b'a\\x00b' contains a zero byte, which ends a string in CRFsuite's format"):
        foreign.model_bytes(foreign.read(model.to_bytes()), "crfsuite")


@pytest.mark.parametrize(("weight", "message"), [
    (1e39, "beyond 3.4e38, the most that single precision holds"),
    (-1e300, "beyond 3.4e38, the most that single precision holds"),
    (float("inf"), "not a finite number"),
    (float("nan"), "not a finite number"),
])
def test_weights_that_single_precision_does_not_hold(small, weight, message):
    at = small.index(b"FEAT") + 12 + 12
    with pytest.raises(ModelFileError, match=f"^model in memory: a weight is {message}$"):
        foreign.load(small[:at] + struct.pack("<d", weight) + small[at + 8 :])


def test_a_weight_that_single_precision_takes_for_zero_is_no_feature(small):
    """The least positive number of single precision is 1.4e-45; less than half of it is zero."""
    at = small.index(b"FEAT") + 12 + 12
    n = [len(list(foreign.load(small[:at] + struct.pack("<d", weight) + small[at + 8 :]).features())) for weight in (1, 8e-46, -8e-46, 6e-46, -6e-46)]
    assert n == [n[0], n[0], n[0], n[0] - 1, n[0] - 1]


def test_a_weight_of_single_precision_among_others_is_kept_with_them(small):
    """Where weights are doubles, what single precision leaves over of each has a place of its own, even if that is nothing."""
    at = small.index(b"FEAT") + 12 + 12
    model = foreign.load(small[:at] + struct.pack("<d", 0.5) + small[at + 8 :], exact=True)
    assert 0.5 in model.weights and [w != 0 for w in model.weights] == [x != 0 for x in model.rest]


def test_a_label_that_is_no_utf8(small):
    data = small.replace(b"L1\0", b"\xff1\0")
    assert "\udcff1" in foreign.load(data).labels
    tagger, rows = foreign.load(data).tagger(), [[], []]
    assert tagger.tag(rows, allowed=["\udcff1"] * 2) == ["\udcff1"] * 2
    assert 0 < tagger.probability(rows, ["\udcff1"] * 2) < 1
    assert foreign.model_bytes(foreign.read(foreign.load(data).to_bytes()), "crfsuite").count(b"\xff1\0") == 1


@pytest.mark.parametrize("features", [214_748_365, 1 << 40])
def test_features_beyond_the_offsets_of_the_format(features):
    """As many as take four gigabytes and more than 32 bits can count: seen before there is room for them."""
    rows = SimpleNamespace(names=StringTable([b"a"]), ptr=[0, features], weight=range(features))
    rows.without_zeros = lambda: rows
    with pytest.raises(UnsupportedError, match=f"^a CRFsuite model of {12 + 20 * features} bytes or more: its offsets end at 4 GB$"):
        crfsuite.write(Parts("crfsuite", ["A"], rows, FeatureRows.empty(), None))
