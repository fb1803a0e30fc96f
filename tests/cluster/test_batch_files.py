"""lbfgs and owlqn over shards: whatever files hold, and wherever they are cut, the model is that of one machine, and so are errors."""

import gzip
import random
from pathlib import Path

import pytest
from workers import TEMPLATE, compared, corpus, items, on_one_machine, with_workers

from crfkit import errors
from crfkit.learning.shards import place


@pytest.mark.filterwarnings("error")
def test_values_of_dropped_attributes_do_not_count(monkeypatch):
    """Neither for the penalty that is chosen, nor in a warning of large values."""
    Path("train").write_text("A\ta\trare:5000000\n\nB\tb\n\n" + "A\ta:0.5\n\nB\tb:0.5\n\n" * 9)
    options = {"format": "crfsuite", "max_iter": 2, "min_freq": 2}
    one = on_one_machine("train", None, "lbfgs", **options)
    assert with_workers(monkeypatch, "train", None, "lbfgs", shards=3, **options)[0] == one


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize(("weights", "n"), [(False, 6), (True, 1)])  # one that has no values, or data with values and weights put together
def test_values_and_weights(tmp_path, monkeypatch, weights, n):
    train = [items(tmp_path / "a.txt", weights=weights), items(tmp_path / "b.txt", 20)]
    with open("plain.txt", "w") as file:
        file.write("B-x\tthe\tof\nO\tcat\n\n" * 700)
    compared(monkeypatch, [*train, "plain.txt"], None, "lbfgs", n, shards=6, format="crfsuite", max_iter=8)


def test_files_patterns_and_compressed_ones(tmp_path, monkeypatch):
    train = [corpus(tmp_path / f"{name}.txt", 150, name) for name in range(3)]
    header = b"# columns = word tag label\n"
    for name in train[:2]:
        Path(name).write_bytes(b"\xef\xbb\xbf" + header + Path(name).read_bytes().replace(b"\n", b"\r\n"))
    with gzip.open("c.gz", "wb") as file:
        file.write(Path(train[2]).read_bytes())
    one = on_one_machine([*train[:2], "c.gz"], TEMPLATE, "lbfgs", max_iter=5)
    (tmp_path / "2.txt").unlink()
    assert with_workers(monkeypatch, [str(tmp_path / "?.txt"), "c.gz"], TEMPLATE, "lbfgs", 2, shards=9, max_iter=5)[0] == one


@pytest.mark.parametrize("start", [b"\xef\xbb\xbfa", b"BZh11AY&SY", b"PK\x03\x04", b"# columns = x y z"])
def test_what_begins_a_file_is_text_within_it(monkeypatch, start):
    """As where files with byte order marks are joined: a shard may begin there."""
    sentence = start if start.startswith(b"#") else start + b" N O"
    Path("train.txt").write_bytes(b"a N B\nb V O\n\n" + b"".join(sentence + b"\nb V B\n\n" for _ in range(5)))
    template, options = "U:%x[0,0]\nU1:%x[-1,0]\nB\n", {"max_iter": 3, "comments": start.startswith(b"#")}
    one = on_one_machine("train.txt", template, "lbfgs", **options)
    assert with_workers(monkeypatch, "train.txt", template, "lbfgs", shards=40, **options)[0] == one


@pytest.mark.usefixtures("_small_chunks")
def test_long_and_many_short_sequences(monkeypatch):
    lines = ["a D O\n"] * 900 + ["\n"] + ["b N B-x\n\n"] * 500 + ["c V O\n"] * 500 + ["\n"] + ["a D B-x\nb V O\n\n"] * 300
    Path("train.txt").write_text("".join(lines))
    one = on_one_machine("train.txt", "U:%x[0,0]\nB\n", "owlqn", max_iter=5)
    for shards in (1, 5, 300):
        assert with_workers(monkeypatch, "train.txt", "U:%x[0,0]\nB\n", "owlqn", shards=shards, max_iter=5)[0] == one


def test_errors_say_file_and_line(tmp_path, monkeypatch):
    name = corpus(tmp_path / "train.txt", 500)
    text = Path(name).read_text().split("\n")
    place_of = 4100
    text[place_of] = "only two"
    Path(name).write_text("\n".join(text))
    with pytest.raises(errors.DataError) as one:
        on_one_machine(name, TEMPLATE, "lbfgs")
    with pytest.raises(errors.DataError) as many:
        with_workers(monkeypatch, name, TEMPLATE, "lbfgs", shards=8)
    assert str(many.value) == str(one.value)
    assert f":{place_of + 1}:" in str(one.value)
    for options in ({}, {"shards": 9}):
        for data in ("absent.txt", "absent*.txt"):
            with pytest.raises(errors.FileError, match="absent"):
                with_workers(monkeypatch, data, TEMPLATE, "lbfgs", **options)


@pytest.mark.parametrize("text", ["# a note\n" + "a b c\n\n" * 200, "a b c\n\n" * 99 + "# b c\n\n" * 200, "".join(f"{k}" + 9 * "\t_" + "\n\n" for k in range(200))])
def test_advice_is_that_of_one_machine(monkeypatch, text):
    """It depends on the first row of the data. In a stretch, another line has its number."""
    Path("train").write_text(text + "only two\n\n")
    with pytest.raises(errors.DataError) as one:
        on_one_machine("train", "U:%x[0,0]\n", "lbfgs")
    with pytest.raises(errors.DataError) as many:
        with_workers(monkeypatch, "train", "U:%x[0,0]\n", "lbfgs", shards=3)
    assert str(many.value) == str(one.value)


def test_a_part_of_a_file_may_have_no_attributes(monkeypatch):
    """Though it ends a shard. A whole file may not."""
    Path("train").write_text("A\ta\n\n" * 9 + "B\n\n" * 20)
    compared(monkeypatch, "train", None, "lbfgs", 1, shards=2, format="crfsuite", max_iter=2)
    Path("bare").write_text("A\n\nB\n")
    with pytest.raises(errors.DataError, match=r"^bare: no line has an attribute"):
        with_workers(monkeypatch, ["train", "bare"], None, "lbfgs", format="crfsuite")


def test_errors_in_data_with_comments_do_not_ask_for_them(monkeypatch):
    """A line of the stretch has the number that the first row has in the file."""
    Path("train").write_text("# columns begin below\na b c\n\n" + "# a note\n# another\na b c\n\n" * 40 + "only two\n\na b c\n")
    with pytest.raises(errors.DataError, match=r"train:164: found 2 columns, expected 3 as in train:2$"):
        with_workers(monkeypatch, "train", "U:%x[0,0]", "lbfgs", comments=True, shards=2)


def test_conllu_and_data_in_files(tmp_path, monkeypatch):
    rng = random.Random(4)
    lines = ["# newdoc"]
    for number in range(900):
        lines.append(f"# sent_id = {number}")
        for token in range(rng.choice([1, 4, 12])):
            lines.append("\t".join([str(token + 1), rng.choice("abcdef"), "_", rng.choice("NVX"), *"______"]))
        lines.append("")
    Path("train.conllu").write_text("\n".join(lines) + "\n")
    options = {"format": "conllu", "label": "upos", "max_iter": 4}
    template = "U:%x[0,form]\nU:%x[-1,form]/%x[0,form]\nB\n"
    one = on_one_machine("train.conllu", template, "lbfgs", **options)
    many, workers = with_workers(monkeypatch, "train.conllu", template, "lbfgs", 2, data_dir=str(tmp_path / "data"), **options)
    assert many == one
    assert workers.verbs.count("read") > 1
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(("shards", "wanted", "started"), [(1, 1024, 1), (None, 9, 4), (6, 4, 4), (3, 3, 3)])
def test_no_more_workers_than_there_are_shards(tmp_path, monkeypatch, capsys, shards, wanted, started):
    _, workers = with_workers(monkeypatch, corpus(tmp_path / "train.txt", 30), TEMPLATE, "perceptron", wanted, shards=shards, passes=1, progress=True)
    said = f"starting {started} of {wanted} workers, one for each part into which the data are cut (shards)\n"
    assert workers.started == started and capsys.readouterr().err.startswith(said) == (started < wanted)


def test_threads_are_shared_among_the_workers_that_are_started(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(place, "threads_each", lambda _, workers: asked.append(workers) or 1)
    with_workers(monkeypatch, corpus(tmp_path / "train.txt", 30), TEMPLATE, "lbfgs", 1024, shards=3, max_iter=1)
    assert asked == [3]
