"""Learning from Python: what data and templates may be, and which features come of them."""

import bz2
import gzip
import io
import lzma
from collections import Counter
from pathlib import Path

import numpy
import pytest
from commands import log_lines, text_of, write
from liars import Frame
from trainers.samples import named_weights, sentences, template
from workers import use_local_workers

from crfkit import CRF, constants, parallel, threads
from crfkit.errors import CrfkitError, DataError, FileError, ModelFileError, OptionError, TemplateError
from crfkit.learning.corpus import read_corpus
from crfkit.learning.learn import learn, learn_path
from crfkit.learning.reader import Reader
from crfkit.model import load
from crfkit.options import Run
from crfkit.tagging import Tagger
from crfkit.template.meaning import expand
from crfkit.template.parsing import Template

ROWS = [[["the", "DT", "B"], ["dog", "NN", "I"]], [["dogs", "NNS", "B"]], [["the", "DT", "B"], ["old", "JJ", "I"], ["dog", "NN", "I"]]]
TEMPLATE = Template.parse("U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB\nB1:%x[0,1]\n")


def seen(rows, lines, min_freq=1):
    """{(attribute, previous label, label)} seen in the data."""
    found, counts = set(), Counter()
    for sentence in rows:
        for t, row in enumerate(sentence):
            previous = sentence[t - 1][-1] if t else None
            for line in lines:
                name = expand(line, sentence, t)
                if name is None:
                    continue
                if "U" in line.kinds:
                    counts["U", name] += 1
                    found.add((name, None, row[-1]))
                if "B" in line.kinds and line.macros and t:
                    counts["B", name] += 1
                    found.add((name, previous, row[-1]))
                elif "B" in line.kinds and t:
                    found.add((None, previous, row[-1]))
    return {(name, i, j) for name, i, j in found if name is None or counts["U" if i is None else "B", name] >= min_freq}


@pytest.mark.parametrize("min_freq", [1, 2, 3])
@pytest.mark.parametrize("rules", ["chunking", "chunking-rich"])
def test_observed_features_are_those_seen_in_the_data(rules, min_freq):
    rows = sentences("chunking", limit=30)
    model = learn(rows, template(rules), min_freq=min_freq, max_iter=3)
    expected = seen(rows, template(rules).lines, min_freq)
    assert set(named_weights(model)) <= expected
    corpus = read_corpus(Reader(rows, template(rules), Run(min_freq=min_freq)))
    assert corpus.layout.n_features == len(expected)


def test_all_features_are_every_attribute_with_every_label():
    corpus = read_corpus(Reader(ROWS, TEMPLATE, Run(features="all")))
    kinds = seen(ROWS, TEMPLATE.lines)
    attributes = {name for name, i, _ in kinds if i is None}
    pairs = {expand(TEMPLATE.lines[3], s, t) for s in ROWS for t in range(1, len(s))}
    assert corpus.layout.n_features == 2 * len(attributes) + 4 * len(pairs) + 4


def test_lines_can_say_otherwise():
    lines = "U0:%x[0,0] @all\nU1:%x[0,1] @minfreq=2\nB @all\nB1:%x[0,1]\n"
    corpus = read_corpus(Reader(ROWS, Template.parse(lines), Run()))
    words, tags = 4, {"DT": {"B"}, "NN": {"I"}}
    rich = {("NN", "B", "I"), ("JJ", "B", "I"), ("NN", "I", "I")}
    assert corpus.layout.n_features == 2 * words + sum(map(len, tags.values())) + 4 + len(rich)
    observed = "U0:%x[0,0] @observed\nB @observed\n"
    assert read_corpus(Reader(ROWS, Template.parse(observed), Run(features="all"))).layout.n_features == 4 + 2


def test_data_from_anywhere(tmp_path):
    expected = learn(ROWS, TEMPLATE).to_bytes()
    plain, *packed = (tmp_path / name for name in ("plain", "gz", "bz2", "xz"))
    plain.write_text(text_of(ROWS))
    for path, compress in zip(packed, (gzip.compress, bz2.compress, lzma.compress), strict=True):
        path.write_bytes(compress(text_of(ROWS).encode()))
    write(one=text_of(ROWS[:1]), two=text_of(ROWS[1:]), template=TEMPLATE.text)
    for train in (str(plain), plain, *packed, [plain], [tmp_path / "one", str(tmp_path / "two")], io.BytesIO(text_of(ROWS).encode())):
        assert learn(train, TEMPLATE).to_bytes() == expected
    assert learn(plain, tmp_path / "template").to_bytes() == learn(plain, str(tmp_path / "template")).to_bytes() == expected


def test_warm_starts_from_models_and_files(tmp_path):
    first = learn(ROWS, TEMPLATE)
    first.save(tmp_path / "model")
    for init in (first, tmp_path / "model", str(tmp_path / "model"), first.to_bytes()):
        model = learn(ROWS, TEMPLATE, "perceptron", passes=1, average=False, init=init)
        assert named_weights(model) == named_weights(first)  # nothing is wrong, nothing changes


def test_instance_weights_count_as_repetition():
    once = "yes\ta\tb\nno\tb\n\nno\ta\n\n"
    heavy = io.BytesIO(once.replace("no\ta", "@weight:3\nno\ta").encode())
    often = io.BytesIO((once + 2 * "no\ta\n\n").encode())
    options = {"format": "crfsuite", "l2": 0.5, "epsilon": 1e-8, "delta": 0.0}  # the penalty that is chosen counts what was read
    one, two = (named_weights(learn(data, None, **options)) for data in (heavy, often))
    assert one == pytest.approx(two, abs=1e-4)


@pytest.mark.parametrize(("train", "rules", "given", "error", "message"), [
    ([], TEMPLATE, {}, CrfkitError, "no tokens"),
    ([[]], TEMPLATE, {}, DataError, "no tokens"),
    (ROWS, None, {}, OptionError, "format='columns' needs a template; attributes need none with format='crfsuite'"),
    (ROWS, TEMPLATE, {"format": "crfsuite"}, OptionError, "takes no template"),
    (ROWS, TEMPLATE, {"format": "xml"}, OptionError, "format: expected columns or conllu or crfsuite"),
    (ROWS, TEMPLATE, {"max_iter": 5.0}, OptionError, "max_iter: expected a whole number of at least 1, found 5.0"),
    (ROWS, Template.parse("U:%x[0,2]\n"), {}, TemplateError, "uses column 2"),
    (ROWS, Template.parse("U:%x[0,word]\n"), {}, TemplateError, "names column 'word', but the data do not name their columns; use numbers"),
    (ROWS, Template.parse("U:%x[0,0]\n"), {"min_freq": 100}, DataError, "no feature is left: lower min_freq"),
    ([[["a", "b", "X"]], [["a", "X"]]], TEMPLATE, {}, DataError, "columns"),
    ([[["a", "b", "X"], ["a", "b", "Y\tZ"]]], TEMPLATE, {}, DataError, r"^the label 'Y\\tZ' holds a tab, a line end or a zero byte"),
    ("absent", TEMPLATE, {}, FileError, "absent: cannot be read"),
    (ROWS, "absent", {}, FileError, "absent: cannot read the template"),
    ("a X\nb Y\n", TEMPLATE, {}, FileError, r"^'a X\\nb Y\\n': cannot be read"),
    (ROWS, b"absent\n", {}, FileError, r"^'absent\\n': not a file name; Template.parse takes the text of a template"),
    (ROWS, "U:%x[0,0]\nV\n", {}, TemplateError, "^template:2: a line starts with 'V'"),
    (ROWS, "U:%z[0,0]", {}, TemplateError, "^template:1: "),
    (ROWS, "\n", {}, TemplateError, "^template: the template is empty"),
    (ROWS, "", {}, TemplateError, "^template: the template is empty"),
    (ROWS, "U0:%x[0,0]\nU:\udc80", {}, TemplateError, "^template:2: expected text that UTF-8 can encode"),
    (ROWS, "B", {}, FileError, "^B: cannot read the template: No such file"),
    (ROWS, Path("U:%x[0,0]"), {}, FileError, r"^U:%x\[0,0\]: cannot read the template"),
    (ROWS, 3, {}, OptionError, "template: expected a path, a text or a Template, found 3"),
    (None, TEMPLATE, {}, DataError, "found NoneType, expected a path, paths, or sentences"),
    (["absent", 3], TEMPLATE, {}, FileError, "absent: cannot be read"),
    ([3], TEMPLATE, {}, DataError, "sentence 1: found 3, expected a sentence: a list of rows"),
    ([numpy.array(3)], TEMPLATE, {}, DataError, r"sentence 1: found array\(3\), expected a sentence: a list of rows"),
    ([numpy.array(3)], None, {"format": "crfsuite"}, DataError, r"sentence 1: found array\(3\), expected a sentence"),
    (Frame(["word", "label"]), TEMPLATE, {}, DataError, "found Frame, expected a path, paths, or sentences"),
    ([Frame(["word", "label"])], TEMPLATE, {}, DataError, "sentence 1: found a Frame, whose rows are in its .values, expected a sentence: a list of rows"),
    ({"word": "label"}, TEMPLATE, {}, DataError, "found dict, expected a path, paths, or sentences"),
    (numpy.array(3), TEMPLATE, {}, DataError, "found ndarray, expected a path, paths, or sentences"),
    ([io.BytesIO(b"a b X\n"), numpy.array([])], TEMPLATE, {}, DataError, "found ndarray, expected a path or an open file"),
    ([io.BytesIO(b"a b X\n"), 3], TEMPLATE, {}, DataError, "found int, expected a path or an open file"),
    (ROWS, TEMPLATE, {"algorithm": ["sgd"]}, OptionError, "unknown algorithm"),
    (ROWS, TEMPLATE, {"dev": []}, DataError, "no tokens in the development data"),
    (ROWS, TEMPLATE, {"dev": [[]]}, DataError, "no tokens in the development data"),
    (ROWS, TEMPLATE, {"init": 3}, ModelFileError, "found int, expected the path of a model, an open file or its bytes"),
    ([[["X", "a", "b"]]], None, {"format": "crfsuite"}, DataError, "sentence 1, token 1: found .* a pair .attributes, label."),
    ([[(["a"], 1)]], None, {"format": "crfsuite"}, DataError, "sentence 1, token 1: found 1, expected a label: a str"),
    ([[(["a"], b"X")]], None, {"format": "crfsuite"}, DataError, "sentence 1, token 1: found b'X', expected a label: a str"),
    (ROWS, Template.parse("U:%x[0,0] @minfreq=9\n"), {}, DataError, "^no feature is left: the lines of the template find nothing in these data, or too rarely .@minfreq.$"),
    (ROWS, TEMPLATE, {"init": "absent"}, FileError, "absent: cannot be read"),
])
def test_faulty_data_and_templates_are_refused(train, rules, given, error, message):
    with pytest.raises(error, match=message) as caught:
        learn(train, rules, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [{}, {"dev": ["bad", "absent"]}])
def test_files_that_are_not_there_are_missed_before_others_are_read(given):
    Path("bad").write_text("a X\nb\n")
    with pytest.raises(FileError, match=r"^absent: cannot be read"):
        learn("bad" if given else ["bad", "absent"], TEMPLATE, **given)


def test_a_text_in_the_place_of_a_path_is_not_repeated_in_full():
    text = "word X\n" * 20_000
    for ask in (lambda: learn(text, TEMPLATE), lambda: learn(ROWS, text.encode()), lambda: load(text), lambda: Tagger(learn(ROWS, TEMPLATE, max_iter=1), Path(text))):
        with pytest.raises(FileError, match=r"^'word X\\nword X.*\.\.\..*'") as caught:
            ask()
        assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)


def test_arrays_iterators_and_numbers_of_numpy():
    expected = learn(ROWS, TEMPLATE, max_iter=5, seed=3, l2=0.5, dev=ROWS).to_bytes()
    for kinds in (lambda rows: [numpy.array(sentence) for sentence in rows], iter, lambda rows: numpy.array(rows, object)):
        given = {"max_iter": numpy.int64(5), "seed": numpy.int32(3), "l2": numpy.float32(0.5)}
        assert learn(kinds(ROWS), TEMPLATE, **given, dev=kinds(ROWS)).to_bytes() == expected
        assert learn(kinds(ROWS), TEMPLATE, "adf", passes=1).to_bytes() == learn(ROWS, TEMPLATE, "adf", passes=1).to_bytes()


def test_attribute_rows(tmp_path):
    """The same model as from a file: names and values, escapes, and labels that look like a name with a value."""
    path = tmp_path / "train"
    path.write_text("X:1\ta\tb\\:c:2\nY\t\n\nY\td\\\\:0.5\ta\n")
    rows = [[(["a", ("b:c", 2)], "X:1"), ([], "Y")], [({"d\\": numpy.float32(0.5), "a": 1}, "Y")]]
    model = learn(rows, format="crfsuite", dev=rows)
    assert model.to_bytes() == learn(path, format="crfsuite", dev=path).to_bytes()
    assert Tagger(model).tag_with_gold(rows)[0] == [["X:1", "Y"], ["Y"]]


def test_a_template_may_be_its_text(tmp_path):
    text = "U0:%x[0,0]\nU1:%x[-1,1]\nB\n"
    (tmp_path / "template").write_text(text)
    expected = learn(ROWS, "template", "sgd", passes=2)
    for given in (text, text.replace("\n", "\r\n"), text[:-1], Template.parse(text)):
        assert list(learn(ROWS, given, "sgd", passes=2).features()) == list(expected.features())
    assert learn(ROWS, text, "sgd", passes=2).to_bytes() == expected.to_bytes()
    assert learn(ROWS, "U:%x[0,0]", "sgd", passes=1).template.text == "U:%x[0,0]"
    (tmp_path / "U:%x[0,0]").write_text(text)  # what is a file is a path
    assert learn(ROWS, "U:%x[0,0]", "sgd", passes=2).to_bytes() == expected.to_bytes()


@pytest.mark.filterwarnings("ignore:all weights are zero")
@pytest.mark.parametrize("given", [{}, {"dev": [[["x", "B"], ["x", "A"]]]}], ids=["plain", "dev"])
@pytest.mark.parametrize("workers", [{}, {"workers": 2, "shards": 1}], ids=["here", "far"])
@pytest.mark.parametrize(("algorithm", "options"), [("lbfgs", {}), ("owlqn", {"l1": 5}), ("owlqn", {"path": [9, 5]})])
def test_what_starts_at_its_optimum_is_a_model_after_one_pass(tmp_path, monkeypatch, algorithm, options, workers, given):
    """Both labels are equally likely, so zero weights are the optimum."""
    use_local_workers(monkeypatch)
    (tmp_path / "train.txt").write_text("x B\nx A\n\n" if not workers else "x B\nx A\n\n" * 2)
    log = tmp_path / "log"
    *_, model = learn_path(
        str(tmp_path / "train.txt"), "U:%x[0,0]\n", algorithm, train_accuracy=True, log=str(log), **options, **workers, **given
    )
    records = log_lines(log)
    assert not any(model.weights)
    assert [record["pass"] for record in records] == list(range(1, 1 + len(options.get("path", [None]))))
    assert all(record["active"] == 0 and record["train_accuracy"] == 0.5 for record in records)


def test_rows_in_memory_whose_columns_the_template_names():
    named = Template.parse("U0:%x[0,word]\nU1:%x[-1,pos]/%x[0,pos]\nB\nB1:%x[0,pos]\n", columns={"word": 0, "pos": 1})
    model = learn(ROWS, named, "perceptron")
    assert model.to_bytes() == learn(ROWS, TEMPLATE, "perceptron").to_bytes()
    X, y = [[row[:2] for row in rows] for rows in ROWS], [[row[2] for row in rows] for rows in ROWS]
    assert CRF("perceptron", named).fit(X, y).predict(X) == model.tagger().tag_many(X)


@pytest.mark.steady
def test_not_all_of_many_processors_work_where_that_does_not_pay(monkeypatch):
    """Each thread has a gradient of its own. As many as are asked for work, but fewer by default, the fewer the more weights there are."""
    started = []
    start = threads.start_new_thread
    monkeypatch.setattr(threads, "start_new_thread", lambda *thread: started.append(thread) or start(*thread))
    monkeypatch.setattr(parallel, "available_cpus", lambda: 40)
    monkeypatch.setattr(constants, "CHUNK_TOKENS", 20)

    def at_work(**given):
        started.clear()
        model = learn(sentences("chunking", limit=120), template("chunking"), max_iter=2, warm_up=0, l2=1, **given)
        return len(started) + 1, model.to_bytes()

    assert at_work(threads=40)[0] == 40
    few, many = at_work(), at_work(features="all")
    assert 2 <= many[0] < few[0] < 40
    assert few[1] == at_work(threads=1)[1] == at_work(threads=20)[1]


def test_weights_to_start_from_of_labels_that_the_data_lack():
    """They are passed over, also where they are the first of a pair; all others come, to the features that both have."""
    lines = "U:%x[0,0]\nB:%x[0,0]\nB\n"
    first = learn([[["a", "Z"], ["b", "X"], ["a", "Y"]], [["b", "X"], ["a", "X"], ["b", "Z"]]], lines, max_iter=3)
    assert any(previous == "Z" for _, previous, *_ in first.features())
    rows = [[["b", "X"], ["a", "Y"], ["b", "X"]], [["c", "X"], ["a", "X"]]]
    corpus = read_corpus(Reader(rows, Template.parse(lines), Run()))
    weights = corpus.weights_of(first)
    taken = {weight for *_, weight in corpus.layout.features(weights)}
    seen = {(name, previous, label) for name, previous, label, _ in learn(rows, lines, max_iter=1).features()}
    assert taken == {weight for name, previous, label, weight in first.features() if (name, previous, label) in seen}
    assert len(taken) > 4
