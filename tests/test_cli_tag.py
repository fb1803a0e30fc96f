"""`crfkit tag` from the outside: layouts to the byte, streams, options, errors and exit codes."""

import contextlib
import gzip
import io
import locale
import re
from itertools import pairwise
from pathlib import Path

import pytest
from commands import crfkit as command
from commands import error, tag, text_of, write
from models import ROOT, model, sentences

import crfkit
from crfkit import tagfiles
from crfkit.tagging import Tagger
from crfkit.text.block import NO_ATTRIBUTE
from crfkit.values import plural

WORDS = 'the DT\nold JJ\ndog NN\n\nher PRP$\nwork VB\n\n'
TOKENS = [[["the", "DT"], ["old", "JJ"], ["dog", "NN"]], [["her", "PRP$"], ["work", "VB"]]]


@pytest.fixture
def run(tmp_path):
    for name, trained in (("m", model("chunking")), ("words", model("segmentation")), ("perc", model("chunking", "perceptron"))):
        trained.save(tmp_path / name)
    return tag


def with_labels(text, labels, separator=" "):
    labels = iter(labels)
    return "".join(line + (separator + next(labels) if line else "") + "\n" for line in text.split("\n")[:-1])


def labels_of(texts, constraints=None, **kwargs):
    tagger = Tagger(model("chunking"), constraints)
    return [label for rows in texts for label in tagger.tag(rows, **kwargs)]


# The default layout


def test_lines_come_out_as_they_went_in(run):
    labels = labels_of(TOKENS)
    assert run("m", stdin=WORDS) == with_labels(WORDS, labels)
    tabs = WORDS.replace(" ", "\t")
    assert run("m", stdin=tabs) == with_labels(tabs, labels, "\t")
    assert run("--separator", "|", "m", stdin=tabs) == with_labels(tabs, labels, "|")
    assert run("--separator", "\\t", "m", stdin=WORDS) == with_labels(WORDS, labels, "\t")
    gold = WORDS.replace("\n\n", "\0").replace("\n", " X-UNSEEN\n").replace("\0", " X-UNSEEN\n\n")
    assert run("m", stdin=gold) == with_labels(gold, labels)


def test_labels_with_blanks_behind_lines_without_tabs(run):
    """Files with tabs may have such labels. Behind a line without a tab they would be two columns."""
    crfkit.learn([[["Main", "Street Name"], ["St", "Suffix"]]], "U:%x[0,0]\n").save("streets")
    expected = "crfkit: warning: the label 'Street Name' has a blank, and there are lines without a tab: --separator '\\t' keeps columns apart\n"
    done = command("tag", "streets", stdin="Main\nSt\n")
    assert (done.stdout, done.stderr) == ("Main Street Name\nSt Suffix\n\n", expected)
    for options, text in ((("--separator", "\\t"), "Main\n"), (("-n", "1"), "Main\n"), (("-v", "1"), "Main\n"), ((), "Main\tx\n"), ((), "")):
        assert command("tag", *options, "streets", stdin=text).stderr == ""
    assert command("tag", "m", stdin=WORDS).stderr == ""


def test_labels_with_blanks_in_place_of_others():
    Path("named").write_text("# columns = word part\nMain\tStreet Name\nSt\tSuffix\n\n")
    crfkit.learn("named", "U:%x[0,0]\n", label="part").save("streets")
    done = command("tag", "--fill", "streets", stdin="# columns = word part\nMain ?\n")
    assert done.stdout.endswith("\nMain Street Name\n\n")
    assert done.stderr == "crfkit: warning: the label 'Street Name' has a blank, and there are lines without a tab: put tabs between the columns\n"
    assert command("tag", "--fill", "streets", stdin="# columns = word part\nMain\t?\n").stderr == ""
    Path("head").write_text("# columns = word part\n")  # no line that has no tab
    assert command("tag", "--fill", "streets", "named", "head").stderr == ""


def test_lines_without_an_attribute():
    crfkit.learn([[(["a"], "X"), (["b"], "Y")]], format="crfsuite").save("m")
    assert command("tag", "m", stdin="X a\nY b\n").stderr == f"crfkit: warning: {NO_ATTRIBUTE}\n"


@pytest.mark.parametrize(("change", "back"), [
    (lambda text: text.replace("\n", "\r\n"), lambda text: text.replace("\r\n", "\n")),
    (lambda text: "\ufeff" + text, lambda text: text),
    (lambda text: "\ufeff" + text.replace("\n\n", "\n\n\ufeff", 1), lambda text: text.replace("\ufeff", "")),
    (lambda text: text.rstrip("\n"), lambda text: text),
    (lambda text: "\n \n" + text.replace("\n\n", "\n\t\n\n"), lambda text: text),
], ids=["crlf", "byte order mark", "files that were joined", "no final newline", "more blank lines"])
def test_odd_line_ends(run, change, back):
    assert back(run("m", stdin=change(WORDS))) == run("m", stdin=WORDS)


def test_faults_that_make_other_taggers_lose_tokens(run):
    """Long lines and leading blanks lose no token; short lines are an error."""
    long = "x" * 9000
    out = run("m", stdin=f"the DT\n{long} NN\n of IN\n\tthe DT\n\n".replace("\tthe", " the"))
    assert [line.rsplit(" ", 1)[0] for line in out.splitlines()] == ["the DT", f"{long} NN", " of IN", " the DT", ""]
    result = run("m", stdin="a DT\nb NN\nc\n\nd NN\n", code=1)
    assert "crfkit: error: <stdin>:3: found 1 column, expected 2 as in <stdin>:1\n" in result.stderr
    result = run("m", stdin="a\nb\n", code=1)
    assert "<stdin>:1: found 1 column, expected 2 or more" in result.stderr and "template" in result.stderr
    result = run("m", stdin=b"a NN\nb\xff NN\n", code=1)
    assert "<stdin>:2: byte 2 of the line (0xFF) is not UTF-8" in result.stderr


def test_no_input(run, tmp_path):
    for text in ("", "\n\n", "\r\n"):
        assert run("m", stdin=text) == ""
    (tmp_path / "empty").touch()
    assert run("m", "empty", "empty") == ""


def test_several_files_and_gzip(run, tmp_path):
    (tmp_path / "one").write_text(WORDS)
    (tmp_path / "two.gz").write_bytes(gzip.compress(WORDS.encode()))
    assert run("m", "one", "two.gz", "-", stdin=WORDS) == 3 * run("m", stdin=WORDS)


def test_test_corpus_by_threads(run, tmp_path):
    text = (ROOT / "data/chunking.test.txt").read_text() * 60  # some blocks
    (tmp_path / "text").write_text(text)
    tagger = Tagger(model("chunking"))
    once = [label for rows in tagger.tag_many([[r[:-1] for r in s] for s in sentences("chunking")]) for label in rows]
    expected = with_labels(text.rstrip("\n") + "\n\n", once * 60)
    for threads in (1, 3, 0):
        assert run("--threads", threads, "m", "text") == expected


# The layouts of CRF++


def six(p):
    return f"{p:.6f}"


def as_crfpp(rows, labels, marginals=None, every=False, header=None):
    names = model("chunking").labels
    lines = [] if header is None else [f"# {header}"]
    for t, (row, label) in enumerate(zip(rows, labels, strict=True)):
        cells = [*row, label if marginals is None else f"{label}/{six(marginals[t][names.index(label)])}"]
        if every:
            cells += [f"{name}/{six(p)}" for name, p in zip(names, marginals[t], strict=True)]
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n\n"


def test_probabilities_in_the_layout_of_crfpp(run):
    tagger = Tagger(model("chunking"))
    expected = {1: "", 2: ""}
    for rows in TOKENS:
        labels = tagger.tag(rows)
        p, nodes = tagger.probability(rows, labels), tagger.marginals(rows)
        for level in (1, 2):
            expected[level] += as_crfpp(rows, labels, nodes, level == 2, six(p))
    assert run("-v", 1, "m", stdin=WORDS) == run("-v1", "m", stdin=WORDS.replace(" ", "\t")) == expected[1]
    assert run("-v2", "m", stdin=WORDS) == expected[2]
    assert run("-v0", "m", stdin=WORDS) == run("m", stdin=WORDS)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_n_best_in_the_layout_of_crfpp(run, level):
    tagger = Tagger(model("chunking"))
    expected = ""
    for rows in TOKENS:
        nodes = tagger.marginals(rows) if level else None
        for rank, (p, labels) in enumerate(tagger.nbest(rows, 4)):
            expected += as_crfpp(rows, labels, nodes, level == 2, f"{rank} {six(p)}")
    assert run("-n", 4, f"-v{level}", "m", stdin=WORDS) == expected


class Sizes(io.BytesIO):
    """A stream that knows how much was written to it at once."""

    def __init__(self):
        self.sizes = []

    def write(self, text):
        self.sizes.append(len(text))
        return len(text)


def test_few_sentences_are_held_however_often_each_is_written(tmp_path):
    (tmp_path / "words").write_text(WORDS * 5_000)
    most = []
    for n in (1, 40):
        stream = Sizes()
        options = {"nbest": n, "threads": 2, "verbose": 0, "unbuffered": False, "comments": False, "partial": False, "fill": False}
        tagfiles.label(Tagger(model("chunking")), [tmp_path / "words"], stream, {**options, "posterior": False, "probability": False, "separator": None, "gold": None, "explain": None})
        assert sum(stream.sizes) > n * len(WORDS) * 5_000
        most.append(max(stream.sizes))
    assert most[1] < 4 * most[0]


@pytest.mark.long  # two gigabytes
def test_paths_have_an_end():
    """A fault that says so, before the system runs out of memory and ends the program."""
    tagger = crfkit.learn([[["a", "X"], ["a", "Y"]], [["a", "Y"]]], template="U:%x[0,0]\n", max_iter=3).tagger()
    with pytest.raises(MemoryError, match="more than a gigabyte: ask for fewer"):
        tagger.nbest([["a"]] * 400_000, 2**31 - 1)


def test_fewer_analyses_than_asked_for(run):
    out = run("-n", 10, "words", stdin="w\n")
    assert run("-n", 1 << 20, "words", stdin="w\n") == out
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("#")] == [["#", str(rank)] for rank in range(4)]


def test_probabilities_are_rounded_as_printf_does(run):
    tagger = Tagger(model("chunking"))
    rows = [[row[:-1] for row in sentence] for sentence in sentences("chunking")]
    text = text_of(rows)
    found = [line.split("\t")[3:] for line in run("-v2", "m", stdin=text).splitlines() if "\t" in line]
    assert found == [
        [f"{name}/{six(p)}" for name, p in zip(tagger.labels, node, strict=True)]
        for sentence in rows
        for node in tagger.marginals(sentence).tolist()
    ]


@pytest.fixture
def decimal_commas():
    """A program whose locale writes 0,5."""
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8"):
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_NUMERIC, name)
            break
    else:
        pytest.skip("no locale here has a decimal comma")
    yield
    locale.setlocale(locale.LC_NUMERIC, before)


def test_decimals_stand_behind_a_point_in_any_locale(run, decimal_commas):
    test_probabilities_are_rounded_as_printf_does(run)


# Further ways of decoding


def test_probability_columns(run):
    tagger = Tagger(model("chunking"))
    expected = ""
    for rows in TOKENS:
        labels = tagger.tag(rows)
        p, nodes = tagger.probability(rows, labels), tagger.marginals(rows)
        for t, (row, label) in enumerate(zip(rows, labels, strict=True)):
            expected += " ".join([*row, label, six(nodes[t][tagger.labels.index(label)]), six(p)]) + "\n"
        expected += "\n"
    assert run("--probability", "m", stdin=WORDS) == expected
    assert run("--probability", "--separator", "\\t", "m", stdin=WORDS.replace(" ", "\t")) == expected.replace(" ", "\t")


def test_posterior_takes_the_likeliest_label_of_each_token(run):
    rows = [[row[:-1] for row in sentence] for sentence in sentences("chunking")]
    text = text_of(rows)
    labels = labels_of(rows, posterior=True)
    assert run("--posterior", "m", stdin=text) == with_labels(text, labels)
    first = run("--posterior", "-v1", "m", stdin=WORDS).splitlines()
    assert [line.split("\t")[2].split("/")[0] for line in first if "\t" in line] == labels_of(TOKENS, posterior=True)


def test_constraints_leave_only_sound_label_sequences(run, tmp_path):
    text = text_of([row[:1] for row in sentence] for sentence in sentences("segmentation"))

    def unsound(output):
        found = 0
        for block in output.strip().split("\n\n"):
            labels = ["E", *(line.split()[-1] for line in block.splitlines() if not line.startswith("# ")), "B"]
            found += sum(a + b not in ("BM", "BE", "MM", "ME", "EB", "ES", "SB", "SS") for a, b in pairwise(labels))
        return found

    assert unsound(run("words", stdin=text))
    for options in (["auto"], ["iobes"], ["auto", "--posterior"], ["auto", "-n", "5"]):
        assert not unsound(run("--constraints", *options, "words", stdin=text))
    (tmp_path / "pairs").write_text("S S\n")
    assert {line.split()[-1] for line in run("--constraints", "pairs", "words", stdin="a\nb\n\n").split("\n")[:2]} == {"S"}
    (tmp_path / "pairs").write_text("<start> B\nB M\n")
    result = run("--constraints", "pairs", "words", stdin="a\nb\n\n# c\nd\ne\nf\n".replace("# ", ""), code=1)
    assert "crfkit: error: <stdin>:4: the constraints leave no labels for the sentence that begins here" in result.stderr
    result = run("--constraints", "bio", "words", code=1)
    assert "the model's label 'E' is not one of bio" in result.stderr
    (tmp_path / "pairs").write_text("S S\nS X\n")
    assert "pairs:2: the model has no label 'X'" in run("--constraints", "pairs", "words", code=1).stderr


@pytest.mark.parametrize(("scheme", "quiet", "said"), [("iobes", False, 1), ("iobes", True, 0), ("bio", False, 0), ("auto", False, 0)])
def test_constraints_of_another_scheme(run, tmp_path, scheme, quiet, said):
    """No chunk of bio labels ends as iobes requires, so only O is left. A warning says so."""
    result = command("tag", *["-q"] * quiet, "--constraints", scheme, tmp_path / "m", stdin=WORDS)
    words = r"crfkit: warning: constraints iobes: 'B-ADJP' and \d+ other labels can stand in no sentence"
    assert len(re.findall(words, result.stderr)) == said
    assert ({line.split()[-1] for line in result.stdout.split("\n") if line} == {"O"}) == (scheme == "iobes")


def test_partial_keeps_the_labels_that_are_given(run):
    text = "the DT ?\nold JJ B-NP\ndog NN B-VP|I-VP|O\n\nher PRP$ ?\nwork VB ?\n\n"
    labels = labels_of(TOKENS[:1], allowed=[None, "B-NP", ["B-VP", "I-VP", "O"]]) + labels_of(TOKENS[1:])
    assert run("--partial", "m", stdin=text) == with_labels(text, labels)
    assert run("--partial", "-v1", "m", stdin=text).splitlines()[2] == "old\tJJ\tB-NP\tB-NP/1.000000"
    ranked = run("--partial", "-n2", "m", stdin=text).splitlines()
    assert [line.split("\t")[-1] for line in ranked if line.startswith("old\t")] == ["B-NP", "B-NP"]
    result = run("--partial", "m", stdin="a NN ?\nb NN B-NP|X-NP\n", code=1)
    assert "crfkit: error: <stdin>:2: the model has no label 'X-NP': expected ? alone for any label, or labels with | between them" in result.stderr
    for short in ("the ?\n", "?\n"):  # the last column says what is possible, and nothing else
        said = run("--partial", "m", stdin=short, code=1).stderr
        assert f"found {plural(len(short.split()), 'column')}, expected 3 or more" in said and "labels stand in the last column" in said
    assert [run("--partial", *more, "m", stdin=blank) for more, blank in (((), ""), ((), "\n\n"), (("--comments",), "# x\n\n"))] == ["", "", "# x\n\n"]
    for more in ((), ("-n2",), ("--posterior",)):
        result = run("--partial", "--constraints", "bio", *more, "m", stdin="the DT ?\n\na NN I-NP\n", code=1)
        assert "<stdin>:3: the constraints leave no labels" in result.stderr


def test_models_without_probabilities(run):
    labels = Tagger(model("chunking", "perceptron")).tag(TOKENS[0])
    assert run("perc", stdin=WORDS).splitlines()[0] == f"the DT {labels[0]}"
    for options in (["-v1"], ["-v", "2"], ["-n", "2"], ["--probability"], ["--posterior"]):
        assert "trained by perceptron does not have" in run(*options, "perc", stdin=WORDS, code=1).stderr


# Other formats


def test_columns_are_found_by_name():
    text = (ROOT / "data/chunking.train.txt").read_text()
    template = (ROOT / "templates/chunking.txt").read_text()
    write(train="# columns = word pos chunk\n" + text[:20000].rpartition("\n\n")[0] + "\n", template=template)
    crfkit.learn("train", template="template", max_iter=5).save("m")
    plain = command("tag", "m", stdin="the DT\nold JJ\n").stdout.split()[2::3]
    named = command("tag", "m", stdin="# columns = pos extra word\nDT x the\nJJ x old\n").stdout
    assert named == f"# columns = pos extra word\nDT x the {plain[0]}\nJJ x old {plain[1]}\n\n"
    result = command("tag", "-v1", "m", stdin="# columns = pos word\nDT the\n")
    assert result.stdout.startswith("# columns = pos word\n# ") and f"\nDT\tthe\t{plain[0]}/" in result.stdout
    said = error("tag", "m", stdin="# columns = pos token\nDT the\n")
    assert said == "<stdin>:1: the model's template uses column 'word'; the columns are pos token"


@pytest.mark.parametrize("option", ["--gold", "--no-gold"])
def test_gold_labels_are_in_the_output_anyway(run, option):
    message = "Error: --gold and --no-gold are for parsers: a tagger keeps the gold labels in its output\n"
    assert run(option, "m", stdin=WORDS, code=2).stderr.endswith(message)


def test_attribute_lines():
    model("reals").save("r")
    text = "".join(f"{line}\n\n" for line in (ROOT / "data/reals.test.txt").read_text().strip().split("\n\n"))
    out = command("tag", "r", stdin=text).stdout
    _, predicted = Tagger(model("reals")).tag_with_gold(ROOT / "data/reals.test.txt")
    assert out == with_labels(text, [label for labels in predicted for label in labels], "\t")
    line = "?\twidth:2\n\nearly|late\twidth:2\n\n"
    out = command("tag", "--partial", "-v2", "r", stdin=line).stdout
    assert out.splitlines()[4].startswith("early|late\twidth:2\t") and out.splitlines()[4].endswith("\tmiddle/0.000000")
    assert not out.splitlines()[1].endswith("\tmiddle/0.000000")


def test_a_line_of_attributes_without_any_gets_a_tab_too(run):
    model("reals").save("r")
    label = Tagger(model("reals")).tag([[]])[0]
    assert run("r", stdin="early\n") == f"early\t{label}\n\n"
    assert re.fullmatch(rf"early\t{label}\t0\.\d+\t0\.\d+\n\n", run("--probability", "r", stdin="early\n"))
