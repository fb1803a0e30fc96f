"""Which files are data, how they are cut into shards, and sums over shards."""

import array
import gzip
import itertools
import lzma
import math
import os
import random
from pathlib import Path

import pytest
from commands import named_pipes

from crfkit import errors
from crfkit.learning.shards.files import Piece, count, cut, look, matching, shards_of
from crfkit.learning.shards.sums import add_rounded, merge, quantum_of
from crfkit.text.block import Columns
from crfkit.text.opening import Stretch

MB = 1 << 20


@pytest.mark.parametrize(("size", "shards"), [(0, 4), (10, 4), (16 * MB, 4), (16 * MB + 1, 5), (400 * MB, 100), (4096 * MB, 1024), (100 << 30, 1024)])
def test_shards_by_default(size, shards):
    """The bytes of online models depend on their number."""
    assert len(cut([("a", size, False)], None)) == min(shards, max(size, 1))


def test_every_byte_is_in_one_stretch():
    found = cut([("a", 1000, False), ("b.gz", 5000, True), ("c", 3, False), ("d", 0, False)], 50)
    for name, n in (("a", 8), ("b.gz", 1), ("c", 1), ("d", 1)):
        own = [stretch for stretch in found if stretch.path == name]
        assert len(own) == n
        assert own[0].start == 0 and own[-1].end is None
        assert all(one.end == two.start and one.start < one.end for one, two in itertools.pairwise(own))


def test_shards_are_whole_chunks():
    """Those of all sequences together, each of which is in one shard, wherever the cuts are."""
    rng = random.Random(1)
    for _ in range(200):
        lengths = [[rng.choice([1, 2, 7, 30]) for _ in range(rng.choice([0, 0, 1, 2, 9]))] for _ in range(6)]
        starts = list(itertools.accumulate(itertools.chain(*lengths), initial=0))
        begin = [k for k in range(len(starts) - 1) if k == 0 or starts[k] // 10 != starts[k - 1] // 10]
        pieces, numbers = [], iter(range(len(starts) - 1))
        for place, own in enumerate(lengths):
            heads = [length for length, start in zip(own, itertools.accumulate(own, initial=0), strict=False) if start <= 10]
            pieces.append(Piece(Stretch("a", place), sum(own), len(own), heads, own[-1] if own else 0))
        whole = [list(itertools.islice(numbers, len(own))) for own in lengths]
        found = []
        for before, parts in shards_of(pieces, 10):
            assert before == starts[len(found)] and len(found) in begin
            for stretch, skip, take in parts:
                found += whole[stretch.start][skip:][: None if take < 0 else take]
        assert found == list(range(len(starts) - 1))


def test_compressed_files_are_not_cut(tmp_path):
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(b"a X\n\n" * 9)
    with lzma.open(tmp_path / "a.xz", "wb") as file:
        file.write(b"a X\n\n" * 9)
    (tmp_path / "b").write_bytes(b"a X\n\n")
    found = look([str(tmp_path / "*")], "columns", False)["files"]
    expected = [(name, (tmp_path / name).stat().st_size, whole) for name, whole in (("a.gz", True), ("a.xz", True), ("b", False))]
    assert [(os.path.basename(name), size, whole) for name, size, whole in found] == expected


def test_patterns():
    for name in ("b2", "b1", "part[1]", "part1"):
        Path(name).touch()
    assert matching("b?") == ["b1", "b2"]
    assert matching("part[1]") == ["part[1]"]  # a name comes before a pattern
    assert matching("part[12]") == ["part1"]
    assert matching("absent") == ["absent"] and matching("absent*") == []


@named_pipes
def test_what_cannot_be_read_twice_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("folder", "pipe"):  # who opened the pipe would wait for ever
        with pytest.raises(errors.FileError, match="expected a file, which can be read again"):
            look([str(tmp_path / name)], "columns", False)


def test_faults_are_at_lines_of_the_file(tmp_path):
    """Also behind a comment that is no row of the columns that are named."""
    path = tmp_path / "a"
    path.write_text("# columns = word label\n#a\n" + "a X\n\n" * 9 + "a\n")
    with pytest.raises(errors.DataError, match=r"a:21: found 1 column, expected 2$"):
        count(Stretch(str(path), 40), "columns", "label", True, Columns(2, ("word", "label")), 100)


def test_sums_are_the_same_in_any_order():
    rng = random.Random(0)
    limit, n = 2.0**16, 1000
    parts = [array.array("f", [rng.uniform(0.5, 1) * 2.0 ** rng.choice((16, -8, -30)) for _ in range(20)]) for _ in range(n)]
    found = set()
    for _ in range(3):
        rng.shuffle(parts)
        total = array.array("d", [0.0]) * 20
        for part in parts:
            add_rounded(total, part, limit, quantum_of(limit, n))
        found.add(total.tobytes())
    assert len(found) == 1
    assert total.tolist() == pytest.approx([math.fsum(part[k] for part in parts) for k in range(20)], rel=1e-6)


@pytest.mark.parametrize("shards", [1, 2, 1000])
def test_numbers_below_the_limit_are_rounded_to_the_nearest_multiple(shards):
    limit, numbers = 2.0**16, array.array("d", [0.0, 0.0, 0.0])
    quantum = quantum_of(limit, shards)
    add_rounded(numbers, array.array("d", [limit - 0.75 * quantum, 1.25 * quantum - limit, 1 / 3]), limit, quantum)
    assert numbers.tolist() == [limit - quantum, quantum - limit, quantum * round(1 / 3 / quantum)]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 4.0, -4.0])
def test_weights_beyond_the_limit_are_divergence(value):
    with pytest.raises(errors.TrainingError, match="diverged"):
        add_rounded(array.array("d", [0, 0, 0]), array.array("f", [1, value, 1]), 4.0, 2.0**-40)


def test_numbers_of_another_layout():
    for call in (
        lambda: add_rounded(array.array("d", [0]), array.array("f", [1, 2]), 4.0, 2.0**-40),
        lambda: merge(array.array("d", [0]), array.array("d", [1, 2])), lambda: merge(array.array("d", [0]), array.array("f", [1])),
    ):
        with pytest.raises(ValueError, match="another layout"):
            call()
