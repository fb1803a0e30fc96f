"""`crfkit learn` and what it is given: forms of data, faults in them, models to start from, development data."""

import bz2
import gzip
import lzma
import os
from types import SimpleNamespace

import pytest
from commands import crfkit, error, learn, limit_flags, log_lines, write, write_part
from workers import use_local_workers

from crfkit import options
from crfkit.learning.doubts import _labels
from crfkit.learning.judging import check_files
from crfkit.model import load

# --- forms of data and templates ----------------------------------------------------------------------------------


def test_attribute_lines(tmp_path):
    (tmp_path / "train").write_text("yes\ta:2\tb\nno\tc\n\n@weight:3\nno\tc:0.5\nyes\ta\n\n")
    crfkit("learn", "-q", "--format", "crfsuite", "train", "model")
    assert crfkit("dump", "--header", "model").stdout.count('"crfsuite"') == 1
    names = {line.split("\t")[0] for line in crfkit("dump", "model").stdout.splitlines()}
    assert names == {"a", "b", "c", "*"}


def test_names_in_config_files_are_shortened(tmp_path):
    name = "x" * 100_000
    for config in (f"{name}: 1\n", f"l2: *{name}\n", f"? {name}\n: 1\n? {name}\n: 1\n"):
        (tmp_path / "config").write_text(config)
        assert len(error("learn", "--config", "config", "template", "train", "model")) < 500


NAMES = "word\ttag\n"
TOKENS = "a\tX\nb\tY\n\n"


@pytest.mark.parametrize(("files", "found"), [
    ([NAMES + 50 * TOKENS], "one:1: the label 'tag' of this line occurs nowhere else: if the line names the columns, begin it with '# columns ='"),
    (["\n\n" + NAMES + "\n" + 50 * TOKENS], "one:3: the label 'tag' of this line occurs nowhere else"),
    ([NAMES + 50 * TOKENS, NAMES + TOKENS], "one:1: the label 'tag' of this line occurs once for each file"),
    ([50 * TOKENS, TOKENS], None),
    ([NAMES + 50 * TOKENS + NAMES], None),  # a label like others
    ([NAMES + 49 * TOKENS], None),  # less than a hundred tokens
    ([NAMES + 99 * TOKENS + "a\tZ\n"], "the label 'tag'"),  # one label in a hundred tokens is as rare, no more
    ([NAMES + 99 * TOKENS + "a\tZ\na\tV\n"], None),
    (["# columns = word tag\nb\tZ\n" + 50 * TOKENS], None),  # the columns have names
])
def test_a_first_line_that_seems_to_name_the_columns(tmp_path, monkeypatch, files, found):
    use_local_workers(monkeypatch)
    (tmp_path / "template").write_text("U:%x[0,0]\nB\n")
    names = ["one", "two"][: len(files)]
    for name, text in zip(names, files, strict=True):
        (tmp_path / name).write_text(text)
    for more in ((), ("--workers", 2)):
        said = crfkit("learn", "-a", "perceptron", "--passes", 1, *more, "template", *names, "model").stderr
        assert found in said if found else "names the columns" not in said


@pytest.mark.parametrize(("first", "second", "hinted"), [
    ("Ada/NNP runs/VBZ", "Ada/NNP runs/VBZ 1/2/CD ./.", True),
    ("Ada_NNP runs_VBZ ._.", "Ada_NNP runs_VBZ home_RB ._.", True),
    ("Ada NNP", "Ada/NNP runs VBZ", False),
    ("Ada NNP", "runs / VBZ", False),
    ("1/2 CD X", "km/h B_NP", False),  # a cell is missing
])
def test_a_sentence_in_a_line_is_told_from_a_row(first, second, hinted):
    write(template="U:%x[0,0]\n", train=f"{first}\n{second}\n")
    hint = " (expected one token per line, and its tag in another column, not a sentence of word/TAG)" * hinted
    expected = f"train:2: found {len(second.split())} columns, expected {len(first.split())} as in train:1{hint}"
    assert error("learn", "template", "train", "m") == expected


def test_conllu_without_words():
    write(train="# text = a\n1-2\ta" + "\t_" * 8 + "\n\n", template="U:%x[0,form]\n")
    assert error("learn", "--format", "conllu", "--label", "upos", "template", "train", "m") == "train: no tokens to learn from"


@pytest.mark.parametrize(("form", "label"), [("form", "upos"), ("FORM", "UPOS")])
def test_conllu_words_are_learned_from(tmp_path, form, label):
    rows = [("1-2", "_", "_"), ("1", "the", "DET"), ("2", "dog", "NOUN"), ("2.1", "x", "X"), ("3", "barks", "VERB")]
    lines = ["# sent_id = 1", *("\t".join([i, form, "_", upos, *["_"] * 6]) for i, form, upos in rows)]
    write(train="\n".join(lines) + "\n\n", template=f"U:%x[0,{form}]\nB\n")
    learn("--format", "conllu", "--label", label)
    assert crfkit("dump", "--labels", "model").stdout.split() == ["DET", "NOUN", "VERB"]
    assert {line.split("\t")[0] for line in crfkit("dump", "model").stdout.splitlines()} == {"U:the", "U:dog", "U:barks", "*"}
    for text, warns in (("U:%x[0,form]\nU:%x[-1,0]\n", True), ("U:%x[0,id]\nU:%x[0,1]\n", False)):
        (tmp_path / "template").write_text(text)
        said = learn("--format", "conllu", "--label", "upos").stderr
        assert ("template:2: %x[-1,0] is the number of a token in CoNLL-U; words are in column 1, or form" in said) == warns


def test_a_regular_expression_of_another_language_is_mentioned(train):
    for line, said in (
        (r'U:%t[0,0,"\bThe\b"]', r"""\b in %t[0,0,"\bThe\b"] is the character 'b' here; kinds are \d \a \w \l \u \p \s"""),
        ('B:%m[-1,1,"[[:upper:]]+"]', r"""[:upper:] in %m[-1,1,"[[:upper:]]+"] is no kind of characters here; kinds are \d \a \w \l \u \p \s"""),
    ):
        (train.parent / "template").write_text(f"U:%x[0,0]\n{line}\n")
        assert f"crfkit: warning: template:2: {said}\n" in learn("--max-iter", 1).stderr


def test_a_column_by_name(train):
    write(train="# columns = word pos chunk\n" + train.read_text(), template="U:%x[0,word]\n")
    learn("--label", "pos")
    assert "NNP" in crfkit("dump", "--labels", "model").stdout.split()
    assert "there is no column 'tag': the columns are word pos chunk" in error("learn", "--label", "tag", "template", "train", "model")
    (train.parent / "template").write_text("U:%x[0,word]\nU:%x[-1,pos]\n")
    assert "template:2: %x[-1,pos] uses column 1 (counted from 0), which holds the label" in error("learn", "--label", "pos", "template", "train", "model")


def test_columns_without_a_name_among_those_that_have_one(train):
    """A column without a name may be the label, but not a feature. This is an error before training, not after it."""
    write(train="# columns = word\n" + train.read_text(), template="U:%x[0,word]\nB\n")
    learn("-q")
    assert "B-NP" in crfkit("dump", "--labels", "model").stdout.split()
    (train.parent / "template").write_text("U:%x[0,word]\nU:%x[0,1]\n")
    said = error("learn", "template", "train", "model")
    assert said == "template:2: %x[0,1] uses column 1, but the data name only the first 1: word"


@pytest.mark.parametrize("algorithm", options.TRAINERS)
@pytest.mark.parametrize(("text", "kinds"), [("B\n", {"*"}), ("U:%x[0,1]\n", {"U"}), ("B:%x[0,1]\n", {"B"}), ("*:%x[0,1]\n", {"*"})])
def test_templates_of_one_kind(train, algorithm, text, kinds):
    (train.parent / "template").write_text(text)
    write_part(train, "chunking", 5)
    learn("-q", "-a", algorithm, *limit_flags(algorithm, 2))
    assert {line[0] for line in crfkit("dump", "model").stdout.splitlines()} == kinds


# --- bad input ----------------------------------------------------------------------------------------------------

BAD_DATA = [
    (b"", "train: no tokens"),
    (b"\n \n\t\n\r\n", "train: no tokens"),
    (b"a b O\nc d\n", "train:2: "),
    (b"a b O\n\nc d e f\n", "train:3: "),
    (b"a b O\n\xff b O\n", "train:2: "),
    (b"a b O\na\0 b O\n", "train:2: "),
    (b"a\tb\tO\nc\td\t\n", "train:2: column 3 is empty: expected a label"),
    (b"# columns = word pos chunk\na\tb\tO\nc\td\t\n", "train:3: column 3 (chunk) is empty: expected a label"),
    (b"# columns = word pos\na\tb\tO\nc\td\t\n", "train:3: column 3 is empty: expected a label"),
    (b"word\nword\n", "train:1: found 1 column, expected at least two, with tabs or blanks between, not commas"),
    (b"\xff\xfea\0", "train:1: the text is in UTF-16: expected UTF-8; `iconv -f utf-16 -t utf-8` converts it"),
    ("a X\n".encode("utf-16-be"), "train:1: the text is in UTF-16BE: expected UTF-8; `iconv -f utf-16be -t utf-8` converts it"),
    ("a X\n".encode("utf-32"), "train:1: the text is in UTF-32: expected UTF-8; `iconv -f utf-32 -t utf-8` converts it"),
    (b"PK\x03\x04", "train:1: the data are a zip archive, as .xlsx files are: expected UTF-8, plain or"),
    (b"\x28\xb5\x2f\xfd\0\0", "train:1: the data are compressed by zstd: expected UTF-8, plain or compressed by gzip, bzip2 or xz"),
    (bz2.compress(lzma.compress(b"a X\n")), "train:1: the data are compressed twice: expected UTF-8, plain or"),
    (gzip.compress(b"a b O\n" * 99, mtime=0)[:-12], "train: "),
]


@pytest.mark.parametrize(("form", "token"), [("columns", "a b L{}\n"), ("crfsuite", "L{}\ta\n")])
def test_the_first_label_that_is_too_many_is_shown(tmp_path, form, token):
    (tmp_path / "template").write_text("U:%x[0,0]\n")
    (tmp_path / "train").write_text("".join(token.format(label) + "\n" * (label % 2) for label in range(65540)))
    words = ["learn", "--format", form, *["template"][: form == "columns"], "train", "m"]
    assert error(*words) == f"train:{65536 + 65535 // 2}: more than 65535 different labels; is another column the label?"


@pytest.mark.parametrize(("data", "message"), BAD_DATA)
def test_bad_data_are_refused_with_file_and_line(tmp_path, data, message):
    write(template="U:%x[0,0]\n", train=data)
    assert error("learn", "template", "train", "model").startswith(message)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["template", "train"]


@pytest.mark.parametrize("arguments", [("--dev", "none", "template", "train", "m"), ("template", "train", "none", "m")])
def test_empty_files_are_found_before_data_are_read(arguments):
    write(template="U:%x[0,0]\n", train="a b O\nc d\n", none="")
    assert error("learn", *arguments) == "none: no tokens: expected one token per line and a blank line after each sentence"


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="no file of unknown size")
def test_a_file_of_unknown_size_is_not_empty():
    assert os.path.getsize("/proc/version") == 0
    check_files("/proc/version")


def test_files_of_attributes_without_an_attribute():
    write(good="yes\ta\nno\tb\n\n", bad="yes a\nno b\n\nyes\n")
    for files in (["bad"], ["good", "bad"]):
        said = error("learn", "--format", "crfsuite", *files, "model")
        assert said == "bad: no line has an attribute: expected a label, a tab, and attributes with tabs between"


@pytest.mark.parametrize(("text", "message"), [
    (b"", "template: the template is empty"),
    (b"# nothing\n\n", "template: the template has only comments"),
    (b"U:%x[0,0]\nU:%x[0,2]\n", "template:2: %x[0,2] uses column 2 (counted from 0), which holds the label"),
    (b"U:%x[0,0]\nU:%x[0,3]\n", "template:2: %x[0,3] uses column 3, but the data have 2 feature columns"),
    (b"U:%x[0,lemma]\n", "template:1: %x[0,lemma] names column 'lemma', but the data do not name their columns"),
    (b"U:%x[0,0\n", "template:1: "),
    (b"U:%y[-1]\n", "template:1: %y macros see labels given before, which only the trainer lookahead can use"),
    (b"U:\xff\n", "template:1: byte 0xff is not valid UTF-8"),
])
def test_bad_templates(train, text, message):
    (train.parent / "template").write_bytes(text)
    assert error("learn", "template", "train", "model").startswith(message)
    assert not (train.parent / "model").exists()


@pytest.mark.parametrize(("template", "options", "why"), [
    ("U:%x[0,0]\nB\n", ("--min-freq", 10**6), "lower --min-freq"),
    ("U:%x[0,0] @minfreq=999999\nB\n", (), "the lines of the template find nothing in these data, or too rarely (@minfreq)"),
    ("U:%x[0,0]\nB\n", (), None),
    ("B\n", (), None),
])
def test_no_attribute_is_left(train, template, options, why):
    (train.parent / "template").write_text(template)
    said = [line for line in learn("--max-iter", 1, *options).stderr.splitlines() if "attribute is left" in line]
    assert said == ([f"crfkit: warning: no attribute is left: {why}; labels will depend on their neighbours alone"] if why else [])


@pytest.mark.parametrize(("words", "copies", "told"), [(200, 1, 0), (201, 1, 1), (201, 8, 0), (300, 7, 1)])
def test_labels_that_seem_to_be_words(words, copies, told, tmp_path):
    """More than 200 labels, and on average fewer than eight tokens with the same one: a warning asks for the right column."""
    (tmp_path / "template").write_text("U:%x[0,0]\n")
    train = tmp_path / "train"
    train.write_text("".join(f"N word{k:04}\n\n" for _ in range(copies) for k in range(words)))
    said = crfkit("learn", "-a", "perceptron", "--passes", 1, tmp_path / "template", train, tmp_path / "model").stderr
    last = ", ".join(f"'word{words - k:04}'" for k in (3, 2, 1))
    assert said.count(f"{words:,} labels for {words * copies:,} tokens, such as {last}: is the last column the label?") == told
    train.write_text(train.read_text().replace("N word", "word").replace("\n\n", "\tx\n\n"))
    said = crfkit("learn", "-a", "perceptron", "--passes", 1, "--format", "crfsuite", train, tmp_path / "model").stderr
    assert said.count("is the first field of a line the label?") == told


@pytest.mark.parametrize(("words", "told"), [(4010, True), (3990, False)])
def test_in_more_text_each_label_needs_more_tokens(words, told):
    """A 500th of their number."""
    corpus = SimpleNamespace(dataset=SimpleNamespace(labels=[f"word{k}" for k in range(words)]), summary={"tokens": 8 * words})
    assert bool(_labels(corpus, options.Run())) == told


@pytest.mark.parametrize("start", ["version: 100\n", "\ufeffmaxid: 4\n"])
def test_a_model_of_crfpp_with_as_many_columns_as_the_data_is_replaced(start):
    write(train="a X\nb Y\n\n", template="U:%x[0,0]\n", model=start)
    crfkit("learn", "template", "train", "model")
    assert load("model").labels == ["X", "Y"]


# --- models to start from -----------------------------------------------------------------------------------------


def passes(said):
    return sum(line.startswith("pass ") for line in said.splitlines())


def test_a_warm_start_from_the_result_is_done_at_once(train):
    first = passes(learn().stderr)
    (train.parent / "model").rename(train.parent / "first")
    assert passes(learn("--init", "first").stderr) <= max(11, first / 2)  # --delta looks back 10 passes
    weights = {feature[:3]: feature[3] for feature in load("first").features()}
    for *feature, weight in load("model").features():
        assert weight == pytest.approx(weights[tuple(feature)], abs=0.02)


def test_a_warm_start_on_other_data_takes_what_both_have(train):
    learn("-q")
    (train.parent / "model").rename(train.parent / "first")
    (train.parent / "template").write_text("U00:%x[0,0]\nU99:%x[0,1]\nB\nB:%x[0,1]\n")
    write_part(train, "chunking", 60, skip=40)
    learn("-q", "--init", "first", "-a", "perceptron", "--passes", 1, "--no-average")
    assert load("model").header["bigram_attributes"] > 0
    old = {feature[:3]: feature[3] for feature in load("first").features()}
    fractions = {feature[:3]: weight % 1 for *feature, weight in map(list, load("model").features()) for feature in [tuple(feature)]}
    shared = [feature for feature in fractions if feature in old]
    assert len(shared) > 50
    # the perceptron adds whole numbers: what is behind the point comes from the first model
    assert all(abs(fractions[f] - old[f] % 1) < 1e-5 or abs(abs(fractions[f] - old[f] % 1) - 1) < 1e-5 for f in shared)


def test_how_much_a_warm_start_takes_is_said(train):
    learn("-q")
    count = load("model").header["features"]
    (train.parent / "model").rename(train.parent / "first")
    said = learn("--init", "first").stderr
    assert f"\n{count:,} of the {count:,} weights of first are taken over\n" in said and "warning" not in said
    said = learn("--init", "first", "-a", "lookahead", "--direction", "backward", "--passes", 1).stderr
    assert "warning: first has the other --direction" in said
    (train.parent / "train").write_text("a b X\na b Y\n\n")
    said = learn("--init", "first").stderr
    assert f"\n0 of the {count:,} weights of first are taken over\n" in said
    assert "crfkit: warning: no feature of first exists here: training starts from zero\n" in said
    assert crfkit("dump", "--labels", "model").stdout.split() == ["X", "Y"]


# --- development data ---------------------------------------------------------------------------------------------


def test_the_best_weights_are_kept(train):
    """Scores go up and down from pass to pass: the first of the best passes is saved, not the last pass."""
    write_part(train, "chunking", 30)
    write_part(train.parent / "dev", "chunking", 30, part="dev")
    said = learn("-a", "perceptron", "--no-average", "--passes", 12, "--dev", "dev", "--log", "log").stderr
    scores = [record["dev_f1"] for record in log_lines()]
    best = scores.index(max(scores)) + 1
    assert best < 12, "the last pass is the best: choose other data"
    assert f"\nthe weights of pass {best} are kept, the best on the development data\n" in said
    kept = list(load("model").features())
    learn("-q", "-a", "perceptron", "--no-average", "--passes", best)
    assert list(load("model").features()) == kept


def test_labels_that_mark_no_chunks_are_judged_by_accuracy(train):
    """conlleval finds no chunks in parts of speech, except in -LRB-. By F1 all passes would be equally bad."""
    (train.parent / "template").write_text("U00:%x[0,0]\nU01:%s[0,0,2]\nB\n")
    write_part(train, "pos", 60)
    write_part(train.parent / "dev", "pos", 60, part="dev")
    for path in (train, train.parent / "dev"):
        path.write_text(path.read_text().replace(" ,\n", " -LRB-\n"))
    learn("-q", "-a", "perceptron", "--no-average", "--passes", 12, "--dev", "dev", "--log", "log")
    records = log_lines()
    best = max(records, key=lambda record: record["dev_accuracy"])
    assert 1 < best["pass"] < 12, "choose other data"
    assert len(list(load("model").features())) == best["active"]
    assert best["dev_f1"] == best["dev_accuracy"]


def test_development_data_are_looked_at_before_training(train):
    (train.parent / "dev").write_text("one\n\n")
    said = learn("--dev", "dev", code=1).stderr
    assert said.endswith("crfkit: error: dev:1: found 1 column, expected 3 as in the training data, the label last\n")
    assert "warm-up" not in said and "pass" not in said


def test_patience_counts_passes_without_a_better_score(train):
    write_part(train.parent / "dev", "chunking", 30, part="dev")
    said = learn("-a", "perceptron", "--no-average", "--passes", 100, "--dev", "dev", "--patience", 2, "--log", "log").stderr
    assert "done: stopped by --patience" in said
    scores = [record["dev_f1"] for record in log_lines()]
    assert len(scores) < 100
    assert len(scores) == scores.index(max(scores)) + 1 + 2


def test_labels_that_only_the_development_data_have(train):
    (train.parent / "dev").write_text("Their PRP$ B-NP\nx NN B-UNHEARD\n\nMore JJR I-UNHEARD\n\n")
    learn("-q", "--dev", "dev", "--log", "log", "--max-iter", 5)
    record = log_lines()[-1]
    assert 0 <= record["dev_accuracy"] <= 1 / 3 and record["dev_sentence_accuracy"] == 0


@pytest.mark.parametrize(("line", "message"), [
    ("passes: 5.7", "config:1: passes: expected a whole number of at least 1, found 5.7"),
    ("passes: true", "config:1: passes: expected a whole number of at least 1, found True"),
    ("l2: true", "config:1: l2: expected a number of at least 0, found True"),
    ("l2: '0.5x'", "config:1: l2: expected a number of at least 0, found '0.5x'"),
])
def test_numbers_in_config_files_are_not_rounded(train, line, message):
    """Only what YAML takes for a text is read as a number."""
    (train.parent / "config").write_text(line + "\n")
    assert error("learn", "-a", "sgd", "--config", "config", "template", "train", "model").startswith(message)
