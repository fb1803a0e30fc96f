"""`crfkit tag` tells of text whose columns are not those of the training data."""

from itertools import chain

import pytest
from commands import crfkit as command
from commands import text_of, write

import crfkit
from crfkit import unseen

WORDS = [[("the", "DT"), ("old", "JJ"), ("dog", "NN")], [("a", "DT"), ("new", "JJ"), ("cat", "NN")]]
LABELLED = [[(*row, row[1][0]) for row in rows] for rows in WORDS * 2]
BOTH = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\n"
MANY = WORDS * 20  # 120 tokens


@pytest.fixture
def warned():
    """What is said of a text that a model of this template labels."""

    def warned(text, template=BOTH, *options, data=LABELLED, **training):
        crfkit.learn(data, template, **training).save("m")
        done = command("tag", *options, "m", stdin=text)
        assert len(done.stdout.splitlines()) >= len(text.splitlines())
        return done.stderr

    return warned


def shifted(sentences):
    return [[(str(100 + place), *row) for place, row in enumerate(rows)] for rows in sentences]


def test_columns_of_the_training_data(warned):
    strange = [[(word + "x", tag + "x") for word, tag in rows] for rows in MANY]
    for rows in (MANY, LABELLED * 20, strange + WORDS, [*strange, [("the", "DT")]], [*strange, [("old", "JJ")]]):
        assert warned(text_of(rows)) == ""


@pytest.mark.parametrize(("column", "cell", "text"), [
    (0, "100", text_of(shifted(MANY))),
    (0, "the DT", text_of([[(f"{word} {tag}", "x") for word, tag in rows] for rows in MANY], "\t")),
    (0, "the ", text_of([[(f"{word} ", tag) for word, tag in rows] for rows in MANY], "\t")),
    (0, "THE", text_of([[(word.upper(), tag) for word, tag in rows] for rows in MANY])),
    (1, "the", text_of([[(word, word, tag) for word, tag in rows] for rows in MANY])),
])
def test_other_columns(warned, column, cell, text):
    expected = f"the model knows none of the first 120 cells in column {column}, such as {cell!r}: are the columns those of the training data?\n"
    assert warned(text) == f"crfkit: warning: {expected}"
    assert warned(text, BOTH, "-q") == ""


def test_all_texts_of_a_stream_count(warned, monkeypatch):
    """Sentence by sentence, and of large blocks the first lines only."""
    text = text_of(shifted(MANY))
    assert "first 120 cells in column 0" in warned(text, BOTH, "--unbuffered")
    assert warned(text + text_of([[(*row, "x") for row in rows] for rows in WORDS]), BOTH, "--unbuffered") == ""
    monkeypatch.setattr(unseen, "PIECE", len(text) // 2)
    seen = text[: text.index("\n", len(text) // 2)]
    assert f"first {len(seen.split()) // 3} cells" in warned(text)


def test_the_first_tokens_are_enough(warned, tmp_path, monkeypatch):
    (tmp_path / "strange").write_text(text_of(shifted(MANY)))
    (tmp_path / "usual").write_text(text_of(LABELLED))
    assert warned("") == ""
    assert command("tag", "m", "strange", "usual").stderr == ""
    monkeypatch.setattr(unseen, "MOST", 120)
    assert "first 120 cells in column 0" in command("tag", "m", "strange", "usual").stderr


def test_too_little_to_tell(warned):
    for tokens, told in ((49, 0), (50, 1)):
        rows = shifted(MANY[:16]) + [[("100", "the", "DT")]] * (tokens - 48)
        assert warned(text_of(rows)).count(f"first {tokens} cells in column 0") == told


SPARSE = [{"algorithm": "owlqn", "l1": 0.01}, {"algorithm": "perceptron"}, {"prune": 0.001}, {"select": "mi:1000"}, {"algorithm": "sgd", "l1": 0.001}]


@pytest.mark.parametrize("training", SPARSE)
def test_models_that_lack_cells_of_training(warned, training):
    """All words but names have one label, so that the model knows the names: it needs more of them, and of text, to tell."""
    for names, rows, told in ((10, 600, 0), (60, 498, 0), (60, 500, 1)):
        labelled = [[("the", "o", "O"), (f"name{number}", "n", f"L{number % 2}"), ("is", "o", "O")] for number in range(names)]
        text = text_of([[("there", "o"), ("was", "o")]] * (rows // 2))
        assert warned(text, BOTH, data=labelled, **training).count(f"none of the first {rows} cells in column 0") == told
    assert warned(text_of(shifted(MANY)), algorithm="adf") != ""
    assert warned(text_of(shifted(MANY)), algorithm="sgd") != ""


def test_cells_that_are_new_at_most_tokens(warned):
    """As numbers of tokens are, which differ in training as well."""
    for times, told in ((1, 0), (2, 1)):
        labelled = [[(f"{number:03}", *row[1:]) for number, row in enumerate(chain(*LABELLED))]] * times
        assert warned(text_of([[(str(100 + place), row[1]) for place, row in enumerate(chain(*MANY))]]), data=labelled).count("column 0") == told


@pytest.mark.parametrize("template", ["U:%X[0,0]\n", "U:%C[0,0]\n", "U:%=[0,0,1,0]\n", "B\n"])
def test_cells_that_are_no_features(warned, template):
    """The tags are known, the words are not."""
    assert warned(text_of([[(str(len(word)), tag) for word, tag in rows] for rows in MANY]), f"U1:%x[0,1]\n{template}") == ""


def test_columns_with_names(warned, tmp_path):
    (tmp_path / "train").write_text("# columns = word tag label\n" + text_of(LABELLED))
    data = str(tmp_path / "train")
    swapped = [[(tag, word) for word, tag in rows] for rows in MANY]
    assert warned("# columns = tag word\n" + text_of(swapped), data=data) == ""
    told = warned("# columns = word tag\n" + text_of(swapped), data=data)
    assert told.startswith("crfkit: warning: the model knows none of the first 120 cells in the column 'word', such as 'DT': ")


def test_plain_text(warned):
    """A model of sentences takes the words behind the first for further columns, and gives the line one label."""
    said = "crfkit: warning: each sentence is one line with {} columns, where the training data had 3: if this is plain text, write one word per line\n"
    for text, columns in (("the old dog sleeps\n", 4), ("the old dog barks now\n\na new cat sleeps now\n", 5)):
        assert warned(text, BOTH + "B\n") == said.format(columns)
        assert warned(text, BOTH) == ""
        assert warned(text + "\n" + text + text, BOTH + "B\n") == ""
    for text in ("", "the DT\n", "the DT D\n", "the old D\n", "the DT D D\n", "the the DT D\n"):
        assert warned(text, BOTH + "B\n") == ""
    for text in ("the old dog barks now\n\na cow sleeps now here\n", "the cow sleeps now here\n\na new cat sleeps now\n"):
        assert warned(text, "U:%x[0,0]\nB\n") == said.format(5)
    assert warned("the old dog sleeps\n", "B\n") == ""  # the model knows no words


def test_text_that_was_labelled_before(warned, tmp_path):
    """`eval` would compare the old labels with the new ones."""
    said = "crfkit: warning: the last two columns hold labels: if the text was labelled before, "
    for named in ("", "# columns = word tag label\n"):
        (tmp_path / "train").write_text(named + text_of(LABELLED * 20))
        crfkit.learn(tmp_path / "train", BOTH).save("m")
        again = command("tag", "m", "train").stdout
        assert command("tag", "m", stdin=again).stderr.startswith(said)
        assert command("tag", "-q", "m", stdin=again).stderr == ""
        few = again.split("\n\n")
        assert [bool(command("tag", "m", stdin="\n\n".join(few[:n])).stderr) for n in (16, 17)] == [False, True]
        for other in (" D x\n", " x D\n"):  # a column of the user's own, or labels of another model
            assert command("tag", "m", stdin=again.replace(" D D\n", other)).stderr == ""
    crfkit.learn(tmp_path / "train", BOTH, label="label").save("m")  # now with names
    assert command("tag", "m", stdin=again).stderr.startswith(said)
    assert command("tag", "--fill", "m", stdin=again).stderr == ""  # which stand where the gold labels stood
    predicted = [[(*row, row[-1]) for row in rows] for rows in LABELLED * 20]  # features as well as labels
    assert warned(text_of(predicted), BOTH + "U2:%x[0,2]\n", data=predicted) == ""


def test_columns_of_conllu(monkeypatch):
    """Of a sentence that is cut, the part before the cut."""
    monkeypatch.setattr(unseen, "PIECE", 1400)
    words = [row for rows in MANY for row in rows]
    lines = "".join(f"{place}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for place, (word, tag) in enumerate(words, 1))
    write(train=lines, template="U:%x[0,form]\n")
    command("learn", "-q", "--format", "conllu", "--label", "upos", "template", "train", "m")
    assert command("tag", "m", stdin=lines).stderr == ""
    seen = lines[: lines.index("\n", 1400)].count("\n") + 1
    told = command("tag", "m", stdin=lines.upper()).stderr
    assert told.startswith(f"crfkit: warning: the model knows none of the first {seen} cells in the column 'form', such as 'THE': ")


def test_errors_are_those_of_labelling(warned):
    crfkit.learn(LABELLED, BOTH).save("m")
    done = command("tag", "m", stdin=text_of(shifted(MANY)) + "a b\n", code=1)
    assert done.stderr.startswith("crfkit: error: <stdin>:161: found 2 columns")


def attributes(labelled):
    return text_of(([(*label, f"w={word}", f"t={tag}") for word, tag, *label in rows] for rows in labelled), "\t")


def test_attributes_without_a_label(tmp_path):
    (tmp_path / "train").write_text(attributes(LABELLED) + "J\t?\n")
    crfkit.learn(tmp_path / "train", format="crfsuite").save("m")
    told = command("tag", "m", stdin=attributes(WORDS)).stderr
    assert told.startswith("crfkit: warning: no line begins with a label of the model, but many with an attribute, such as 'w=the', ")
    labelled, unlabelled = attributes(LABELLED[:1]), attributes(WORDS * 9)
    unknown = attributes([[(word + "x", tag) for word, tag in rows] for rows in WORDS])
    for text in (labelled, labelled + unlabelled, unlabelled + labelled, attributes(WORDS) + unknown):
        assert command("tag", "m", stdin=text).stderr == ""
    assert command("tag", "m", stdin=attributes([[(*row, "?") for row in rows] for rows in WORDS])).stderr == ""
