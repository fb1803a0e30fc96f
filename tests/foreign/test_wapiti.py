"""Wapiti's models: labels as printed by Wapiti, patterns compared with Wapiti, and damaged files."""

import os
import random
import re
import tracemalloc
from itertools import islice, product
from pathlib import Path

import pytest
from commands import plain_build, python
from foreign.hostile import WAPITI, use
from inputs import filled

import crfkit
from crfkit import foreign
from crfkit.errors import CrfkitError, ModelFileError, TemplateError, UnsupportedError
from crfkit.features.strings import StringTable
from crfkit.foreign import translating
from crfkit.foreign.names import renamed
from crfkit.foreign.wapiti import write
from crfkit.template.macros import Line
from crfkit.template.parsing import Template
from crfkit.template.pattern_syntax import plain_pattern
from crfkit.template.patterns import Patterns
from crfkit.testing import said_by

PEERS = Path(os.environ.get("CRFKIT_PEERS", "-"), "wapiti")
peers = pytest.mark.skipif(not PEERS.is_dir(), reason="CRFKIT_PEERS does not name a folder with outputs of Wapiti")

PATTERNS = [
    "u:%x[-1,0]", "*:%X[0,0]", "U1 %x[0,1] # comment", "u2:%x[@1,0]/%x[@-1,1]", "u3:%x[-5,0]%x[4,0]%x[7,1]", "*4:%m[0,0,\"^.?.?\"]", "u5:%t[0,0,\"^\\u\"]",
    "b6:%x[0,1]", "*", "b", "u7:%m[0,0,\".*n\"]", "u8:%M[0,0,\"\\u*\\d$\"]", "u9:%T[-1,0,\"\\p\"]%x[ 0, 1]", "uA:%m[0,0,\"\\W?\\w\"]%x[0,0]", "uB:%m[0,0,\"a?an\"]|%x[0,1]",
    "uC:%x[010,0]%x[0x1,1]", "uD:%m[0,0,\"\\L\\l\\A*\"]", "uE:%t[1,0,\"\\s\"]%t[0,0,\"^\\\\.$\"]", "uF:%m[0,0,\"o$\"]x%m[0,0,\"$o\"]", "uG:%t[0,0,\"\\D\\\"\"]",
]
WORDS = ["Dog", "a", "aan", "an", "Été", "x1", "12", "_x-1", "U.", "日本n", "ABC9", "a-b", "on", "$o", "\"1\"", ".", "nn"]


def sentences(seed, n):
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        words = rng.choices(WORDS, k=rng.randint(1, 8))
        made.append([[word, rng.choice(("DT", "NN", "é")), "BIO"[(len(word) + t) % 3]] for t, word in enumerate(words)])
    return made


def trained(patterns, data, **options):
    """The bytes of a model of Wapiti, and a function that labels as Wapiti does."""
    wapiti = pytest.importorskip("wapiti")
    model = wapiti.Model(patterns="\n".join(patterns) + "\n", nthread=1, **{"maxiter": 15, "rho1": 0.001, "rho2": 0.1, **options})
    for rows in data:
        model.add_training_sequence("\n".join(" ".join(row) for row in rows))
    model.train()
    model.save("model")
    return Path("model").read_bytes(), lambda rows: model.label_sequence("\n".join(" ".join(row[:2]) for row in rows)).decode().split()


@plain_build
@pytest.mark.parametrize("seed", range(8))
def test_labels_are_those_of_wapiti(seed):
    rng = random.Random(seed)
    patterns = PATTERNS if seed == 0 else rng.sample(PATTERNS, 6)
    model, label = trained(patterns, sentences(seed, 30))
    ours = crfkit.load(model)
    for rows in sentences(seed + 100, 60):
        assert ours.tag([row[:2] for row in rows]) == label(rows)
    assert write(foreign.read(model)) == model
    ours.model.save("ours")
    again = crfkit.load("ours")
    for rows in sentences(seed + 100, 20):
        assert again.score(rows, ["O"] * len(rows)) == ours.score(rows, ["O"] * len(rows))


def test_patterns_say_what_wapiti_says():
    """Every observation of the training data is in Wapiti's model, and nothing else is."""
    usable = [line for line in PATTERNS if "comment" not in line]
    model, _ = trained(usable, sentences(1, 40))
    patterns = Patterns([line[:1].lower() + line[1:] for line in usable])
    said = set()
    for sentence in sentences(1, 40):
        rows = filled([sentence])
        for strings in said_by(patterns, rows):
            said.update(strings)
    assert said == set(foreign.read(model).places)


def test_memm_is_refused():
    model, _ = trained(["u:%x[0,0]"], sentences(5, 5), type="memm")
    with pytest.raises(ModelFileError, match=r"^model in memory: a Wapiti model of type memm, which normalises each token separately"):
        foreign.load(model)


@plain_build
def test_maxent_is_a_crf_without_pairs():
    model, label = trained(["u:%x[0,0]", "*1:%x[0,1]", "b2:%x[0,0]", "b"], sentences(5, 30), type="maxent")
    assert model.startswith(b"#mdl#0#")
    ours = crfkit.load(model)
    for rows in sentences(6, 40):
        assert ours.tag([row[:2] for row in rows]) == label(rows)
    assert write(foreign.read(model)) == model
    foreign.convert("model", "text", "crfpp-text")
    assert crfkit.load("text").model.template.text == "U:%x[0,0]\nU1:%x[0,1]\n"


@plain_build
@pytest.mark.parametrize("kind", [0, 3, -7, 9404684])
@pytest.mark.parametrize("pattern", ["b", "b2:%x[0,0]", "*1:%x[0,1]"])
def test_a_model_with_weights_of_pairs_is_a_crf_whatever_number_stands_for_its_type(kind, pattern):
    """Wapiti's Ruby library wrote what stood in memory: as in a model of AnyStyle, or zero, which Wapiti writes for maxent."""
    model, _ = trained(["u:%x[0,0]", pattern], sentences(5, 30))
    numbered = model.replace(b"#mdl#2#", b"#mdl#%d#" % kind)
    Path("numbered").write_bytes(numbered)
    wapiti, ours = pytest.importorskip("wapiti").Model(model="numbered"), crfkit.load(numbered)
    found = [(ours.tag([row[:2] for row in rows]), wapiti.label_sequence("\n".join(" ".join(row[:2]) for row in rows)).decode().split()) for rows in sentences(6, 40)]
    assert all(ours == theirs for ours, theirs in found)
    assert write(foreign.read(numbered)) == model


@peers
@pytest.mark.parametrize("name", ["model.txt", "model.compact.txt"])
def test_written_as_wapiti_writes_it(name):
    data = (PEERS / name).read_bytes()
    assert write(foreign.read(data)) == data


@peers
def test_what_wapiti_prints():
    tagger = crfkit.load(PEERS / "model.txt")
    test = [part.split("\n") for part in (PEERS / "chunk.test").read_text().strip("\n").split("\n\n")]
    rows = [[line.split() for line in sentence] for sentence in test]
    printed = "".join("".join(f"{line}\t{label}\n" for line, label in zip(s, tagger.tag(r), strict=True)) + "\n" for s, r in zip(test, rows, strict=True))
    assert printed == (PEERS / "out").read_text()
    assert b"".join(foreign.dump(PEERS / "model.txt")) == (PEERS / "dump.txt").read_bytes()
    posterior = iter(line for line in (PEERS / "out.p").read_text().split("\n") if line and not line.startswith("# "))
    for sentence in rows:
        marginals = tagger.marginals(sentence)
        for t, line in enumerate(islice(posterior, len(sentence))):
            label, _, probability = line.split("\t")[2].rpartition("/")
            assert marginals[t][tagger.labels.index(label)] == pytest.approx(float(probability), abs=1e-5)


def test_attributes_named_by_the_data():
    """Without patterns the data name their features; only those of single labels are possible here."""
    text = b"#mdl#2#2\n#rdr#0/0/0\n#qrk#2\n1:X,\n1:Y,\n#qrk#2\n2:ua,\n2:uc,\n0=0x1p+0\n3=0x1.8p+1\n"
    assert crfkit.load(text).tag([["ua"], ["uc", "ub"]]) == ["X", "Y"]
    with pytest.raises(ModelFileError, match="in crfkit's data, attributes are of single labels"):
        foreign.load(text.replace(b"2:uc,", b"2:bc,"))


TEMPLATE = "U0:%x[-1,0]\nU1:%x[0,0]/%x[1,1]\nU2 %x[-2,1]%x[2,0]\n*3:%x[0,1]/%x[-3,0]\nB\nB4:%x[0,1]/%x[4,0]\nU:%x[-1,0]\nU:%x[1,0]\n"


def learned(template):
    data = [[[row[0].replace("_x-1", "_B-1"), *row[1:]] for row in sentence] for sentence in sentences(20, 40)]
    return crfkit.learn(data, template=Template.parse(template), l2=0.1)


@plain_build
def test_crfkit_s_models_for_wapiti():
    """The cell _B-1 also occurs in the data."""
    wapiti = pytest.importorskip("wapiti")
    learned(TEMPLATE).save("ours")
    foreign.convert("ours", "theirs", "wapiti")
    ours, read, model = crfkit.load("ours"), crfkit.load("theirs"), wapiti.Model(model="theirs")
    for sentence in sentences(21, 60):
        rows = [[row[0].replace("_x-1", "_B-1"), row[1]] for row in sentence]
        expected = ours.tag(rows)
        assert read.tag(rows) == expected
        assert read.score(rows, expected) == pytest.approx(ours.score(rows, expected), abs=1e-6)
        assert model.label_sequence("\n".join(" ".join(row) for row in rows)).decode().split() == expected


@plain_build
def test_a_model_without_weights_for_wapiti():
    """Wapiti ends the program where it opens a model without observations."""
    pytest.importorskip("wapiti")
    with pytest.warns(crfkit.CrfkitWarning, match="all weights are zero: .*; lower prune, which is 1e\\+30$"):
        crfkit.learn([[["a", "A"], ["b", "B"]]], template="U:%x[0,0]\n", prune=1e30).save("ours")
    foreign.convert("ours", "theirs", "wapiti")
    label_all = "import wapiti; print(wapiti.Model(model='theirs').label_sequence('a\\nb').decode())"
    assert python(label_all).stdout.split() == crfkit.load("ours").tag([["a"], ["b"]]) == crfkit.load("theirs").tag([["a"], ["b"]])


def test_wapiti_s_models_for_crfpp():
    trained(["u0:%x[-1,0]", "u1:%x[0,0]/%x[1,1]", "*2:%x[0,1]%x[-2,0]", "b", "b3:%x[0,1]"], sentences(22, 30))
    foreign.convert("model", "text", "crfpp-text")
    foreign.convert("text", "back", "wapiti")
    ours, theirs, back = crfkit.load("model"), crfkit.load("text"), crfkit.load("back")
    assert theirs.model.template.text == "U0:%x[-1,0]\nU1:%x[0,0]/%x[1,1]\nU2:%x[0,1]%x[-2,0]\nB2:%x[0,1]%x[-2,0]\nB\nB3:%x[0,1]\n"
    for sentence in sentences(23, 40):
        rows = [row[:2] for row in sentence]
        assert ours.tag(rows) == theirs.tag(rows) == back.tag(rows)
        labels = ["O"] * len(rows)
        assert ours.score(rows, labels) == pytest.approx(theirs.score(rows, labels), abs=1e-6) == pytest.approx(back.score(rows, labels), abs=1e-6)


@pytest.mark.parametrize(("line", "message"), [
    ("U:%X[0,0]", r"line 1 of the template: %X\[0,0\] has another meaning in Wapiti"),
    ("U:%t[0,0,\"a\"]", "has another meaning in Wapiti"),
    ("U:%x[5,0]", "looks further than 4 tokens"),
    ("U:100%%%x[0,0]", "Wapiti has no way to write a percent sign"),
    ("U1:%x[0,0]\nu1:%x[1,0]", "and another feature would get the same name"),
    ("U1:%x[0,0]\nu1:%x[1,0] @minfreq=999", "and another feature would get the same name"),
])
def test_what_wapiti_has_no_room_for(line, message):
    learned(f"{line}\nU:%x[0,0]\nB\n").save("ours")
    with pytest.raises(UnsupportedError, match=f"^ours: .*{message}"):
        foreign.convert("ours", "theirs", "wapiti")


@pytest.mark.parametrize(("pattern", "message"), [
    ("x:%x[0,0]", "starts with 'x'"),
    ("u:%y[0,0]", "is not a macro of Wapiti"),
    ("u:%x[0,0", "is not a macro of Wapiti"),
    ("u:%x[0,0,\"a\"]", "is not a macro of Wapiti"),
    ("u:%t[0,0]", "is not a macro of Wapiti"),
    ("u:%t[0,0,\"a**\"]", "nothing precedes its \\*"),
    ("u:%t[0,0,\"?\"]", "nothing precedes its \\?"),
    ("u:%t[0,0,\"" + 201 * "a?" + "\"]", "a regex with 201 operators \\* and \\?, at most 200 are supported"),
    ("u:%x[09,0]", "is not a number"),
    ("b:%x[0", "is not a macro of Wapiti"),
])
def test_patterns_that_wapiti_could_not_read(pattern, message):
    with pytest.raises(TemplateError, match=f"^patterns:2: .*{message}"):
        Patterns(["b", pattern])


@pytest.mark.parametrize(
    ("constant", "other", "plain"),
    [("b", "b%x[0,0]", True), ("b", 'b%m[0,0,"a"]', False), ("bDT", "b%x[0,1]", False), ("b1", "b2%x[0,0]", True), ("*", 'b%m[0,0,"a"]', True),
     ("b" + 30 * "a", "b" + 12 * '%m[0,0,"a"]' + "z", True), ("b" + 30 * "a", "b" + 12 * '%m[0,0,"a"]', False)],
)
def test_plain_pairs_are_what_no_other_pattern_can_say(constant, other, plain):
    """The last two patterns would take exponential time."""
    assert plain_pattern([constant, other, "u:%x[0,0]", "u1"]) == (constant if plain else None)


def test_a_pattern_that_takes_for_ever():
    rows = filled([[["a" * 40]]])
    assert said_by(Patterns(["u:%t[0,0,\"^" + 200 * "b?" + "a\"]"]), rows) == [[b"u:true"]]
    with pytest.raises(CrfkitError, match="takes too many steps"):
        said_by(Patterns(["u:%t[0,0,\"" + "a?" * 40 + "b\"]"]), rows)


# Files that are not sound
def test_the_small_model_is_sound():
    assert use(WAPITI)
    assert write(foreign.read(WAPITI)) == write(foreign.read(WAPITI.replace(b"\n", b"\r\n"))) == WAPITI


@pytest.mark.parametrize("kind", [b"", b"3#", b"9404684#", b"-2#"])
def test_a_kind_that_wapiti_does_not_know_is_a_crf(kind):
    """As in its own eyes. Its Ruby library writes what was in memory: AnyStyle's first models say 9404684."""
    assert write(foreign.read(WAPITI.replace(b"#mdl#2#", b"#mdl#" + kind))) == WAPITI


@pytest.mark.parametrize(("old", "new", "message"), [
    (b"10:u0", b"11:u0", "4: damaged: expected a string with a comma behind it|3: damaged: expected a string with a comma behind it"),
    (b"#qrk#2\n2", b"#qrk#9\n2", "damaged: expected the length of a string"),
    (b"21=", b"99=", "damaged: weight 99 of 22"),
    (b"0=0x1p+0", b"0=one", "damaged: expected number=weight, found '0=one'"),
    (b"#mdl#2#9", b"#mdl#2#8", "25: damaged: expected the end of the file"),
    (b"/1/0", b"/1/1", "a model of Wapiti for single lines"),
    (b"2:BB", b"1:O", "the labels are not different names"),
    (b"6:u0:the", b"6:x0:the", "begins with none of u, b and"),
    (b"6:u0:a/b", b"6:u0:the", "a second observation 'u0:the'"),
    (b"10:u0:%x[0,0]", b"10:u0:%z[0,0]", "its patterns cannot be read: patterns:1: "),
    (b"10:u0:%x[0,0]", b"10:u0\n%x[0,0]", "damaged: a line end in a pattern"),
    (b"10:u0:%x[0,0]", b"10:u0\0%x[0,0]", "damaged: a line end in a pattern"),
    (b"0=0x1p+0", b"0=1.2.3", "damaged: '1.2.3' is not a weight"),
    (b"0=0x1p+0", b"0=0x1p+9999", "damaged: '0x1p\\+9999' is not a weight"),
])
def test_messages(old, new, message):
    assert old in WAPITI
    with pytest.raises(ModelFileError, match=f"^model in memory:(?! [0-9]).*(?:{message})"):
        foreign.load(WAPITI.replace(old, new, 1))


@pytest.mark.parametrize(("weights", "matrices"), [([0], 0), ([0, 1500], 2)])
def test_pairs_without_weights_take_little_room(weights, matrices):
    """Few labels are named in few bytes, but have many pairs."""
    labels = "".join(f"{len(str(k))}:{k},\n" for k in range(400))
    lines = "".join(f"{place}=0x1p+0\n" for place in weights)
    model = f"#mdl#2#{len(weights)}\n#rdr#2/0/0\n9:u:%x[0,0],\n1:b,\n#qrk#400\n{labels}#qrk#2\n3:u:a,\n1:b,\n{lines}".encode()
    tracemalloc.start()
    printed = b"".join(foreign.dump(model)).count(b"\n\n")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert printed == len(weights) and peak < (matrices + 0.5) * 8 * 400**2
    assert write(foreign.read(model)) == model


@pytest.mark.parametrize("macros", range(4))
def test_names_that_a_line_makes(macros):
    names = [b"U" + bytes(rest) for size in range(6) for rest in product(b"ab", repeat=size)]
    table = StringTable()
    for name in names:
        table.intern_bytes(name)
    for others in product((b"", b"a", b"b", b"ab"), repeat=macros):
        line = Line(1, "", "U", (b"U", *others), ())
        pattern = re.compile(b".*".join(line.literals))
        found, numbers, clashes = renamed(table, [(1, line.literals)], b"u", b"U", (b"_B",), print)
        assert list(found) == [b"u" + name[1:] for name in names if pattern.fullmatch(name)]
        assert [names[number][1:] for number in numbers] == [name[1:] for name in found]
        assert not clashes


def test_templates_of_many_lines_are_compared_with_few_names(monkeypatch):
    """Those that look beyond the sentence are taken apart by the lines that begin as they do, alone."""
    asked = []
    names = translating._names
    monkeypatch.setattr(translating, "_names", lambda *how: asked.append(how[:2]) or names(*how))
    template = "".join(f"U{n}:%x[-1,0]\n" for n in range(100)) + "".join(f"U{n}:\n" for n in range(1000, 1100)) + "U1:%x[0,0]\nB\n"
    ours = learned(template)
    ours.save("ours")
    foreign.convert("ours", "theirs", "wapiti")
    n_names = sum(ours.layout.n_attributes)
    assert n_names > 200 and 100 <= len(asked) <= 2 * n_names
    for sentence in sentences(21, 20):
        rows = [[row[0].replace("_x-1", "_B-1"), row[1]] for row in sentence]
        expected = ours.tagger().tag(rows)
        assert crfkit.load("theirs").tag(rows) == expected


def test_too_many_names_of_one_feature():
    line = "U:" + "/".join("%x[-1,0]" for _ in range(13))
    learned(f"{line}\nB\n").save("ours")
    with pytest.raises(UnsupportedError, match="line 1 of the template: too many of its macros look beyond the sentence at once"):
        foreign.convert("ours", "theirs", "wapiti")
