"""The synthetic corpora are what their generator writes, and well formed."""

import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parent.parent / "data"
COLUMNS = {"chunking": 3, "pos": 2, "ner": 3, "segmentation": 2, "letters": 2}
SMALLEST_SHARE_OF_NEW_WORDS = 0.05
SMALLEST_SHARE_OF_AMBIGUOUS_WORDS = 0.05
MAY_FOLLOW = {"B": "ME", "M": "ME", "E": "BS", "S": "BS"}  # in word segmentation


def generate(folder: Path, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-B", str(folder / "generate.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def sentences(name: str) -> list[list[list[str]]]:
    text = (DATA / name).read_text(encoding="utf-8")
    assert text.endswith("\n\n")
    return [[line.split(" ") for line in block.split("\n")] for block in text[:-2].split("\n\n")]


def labels(name: str) -> list[list[str]]:
    return [[row[-1] for row in sentence] for sentence in sentences(name)]


@pytest.mark.long
def test_files_are_as_generated():
    result = generate(DATA, "--check")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.long
def test_check_notices_a_changed_and_a_missing_file_and_generate_restores_them(tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder, ignore=shutil.ignore_patterns("__pycache__"))
    changed, missing = folder / "pos.dev.txt", folder / "reals.test.txt"
    changed.write_bytes(changed.read_bytes()[:-1])
    missing.unlink()
    result = generate(folder, "--check")
    assert result.returncode == 1
    assert result.stderr.split()[-2:] == ["pos.dev.txt", "reals.test.txt"]
    assert generate(folder).returncode == 0
    assert generate(folder, "--check").returncode == 0


@pytest.mark.parametrize("part", ["train", "dev", "test"])
@pytest.mark.parametrize("corpus", COLUMNS)
def test_rows_have_their_columns(corpus, part):
    for sentence in sentences(f"{corpus}.{part}.txt"):
        for row in sentence:
            assert len(row) == COLUMNS[corpus]
            assert all(row)


@pytest.mark.parametrize("part", ["train", "dev", "test"])
@pytest.mark.parametrize("corpus", ["chunking", "ner"])
def test_inner_labels_continue_a_chunk_of_their_kind(corpus, part):
    for sequence in labels(f"{corpus}.{part}.txt"):
        for before, label in zip(["O", *sequence], sequence, strict=False):
            if label.startswith("I-"):
                assert before[1:] == label[1:]


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_segments_begin_and_end(part):
    for sequence in labels(f"segmentation.{part}.txt"):
        assert sequence[0] in "BS" and sequence[-1] in "ES"
        assert all(label in MAY_FOLLOW[before] for before, label in pairwise(sequence))


@pytest.mark.parametrize("corpus", COLUMNS)
def test_parts_share_labels_but_not_sentences(corpus):
    train, test = sentences(f"{corpus}.train.txt"), sentences(f"{corpus}.test.txt")
    known = {row[-1] for sentence in train for row in sentence}
    assert {row[-1] for sentence in test for row in sentence} <= known
    assert sum(sentence in train for sentence in test) < 0.05 * len(test)


@pytest.mark.parametrize("corpus", ["chunking", "pos", "ner"])
def test_text_has_new_and_ambiguous_words(corpus):
    seen: dict[str, set] = {}
    for sentence in sentences(f"{corpus}.train.txt"):
        for row in sentence:
            seen.setdefault(row[0], set()).add(row[-1])
    words = [row[0] for sentence in sentences(f"{corpus}.test.txt") for row in sentence]
    assert sum(word not in seen for word in words) > SMALLEST_SHARE_OF_NEW_WORDS * len(words)
    assert sum(len(seen.get(word, ())) > 1 for word in words) > SMALLEST_SHARE_OF_AMBIGUOUS_WORDS * len(words)
