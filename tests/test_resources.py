"""Memory: sizes, the estimate against what is really used, and the limit."""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from commands import crfkit, error, plain_build, write_part

from crfkit import options
from crfkit.errors import OptionError
from crfkit.resources import in_use, size

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import json, sys
from crfkit import learning, resources
found = {}
class Said(learning.Progress):
    def summary(self, counts):
        found["expected"] = counts["memory"]
learning.learn(sys.argv[1], sys.argv[2] or None, sys.argv[3], progress=Said(quiet=True), **json.loads(sys.argv[4]))
print(found["expected"], resources.in_use()[1])
"""


def estimate_and_peak(train, template, algorithm, **given):
    """Bytes, as a process of its own tells them."""
    command = [sys.executable, "-c", PROGRAM, str(train), str(template), algorithm, json.dumps(given)]
    done = subprocess.run(command, cwd=tempfile.gettempdir(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return map(int, done.stdout.split())


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
@plain_build
@pytest.mark.parametrize("features", ["observed", "all"])
@pytest.mark.parametrize("algorithm", options.TRAINERS)
def test_the_estimate_is_near_the_peak(algorithm, features):
    limit = {"passes": 1} if hasattr(options.TRAINERS[algorithm], "passes") else {"max_iter": 7}
    files = (ROOT / "data/letters.train.txt", ROOT / "templates/letter-to-sound.txt")
    expected, peak = estimate_and_peak(*files, algorithm, features=features, threads=2, **limit)
    assert 0.7 * peak < expected < 1.3 * peak


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """Attribute lines with values, forty labels, many attributes."""
    source = random.Random(1)
    lines = []
    for _ in range(1500):
        for _ in range(8):
            label = source.randrange(40)
            lines.append("\t".join([f"l{label}", *(f"a{label * source.randrange(1000)}:{source.random():.4f}" for _ in range(12))]))
        lines.append("")
    path = tmp_path_factory.mktemp("items") / "train"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
@plain_build
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("algorithm", options.TRAINERS)
def test_the_estimate_for_values_and_labels(algorithm, threads, items):
    """With checkpoints and development data, which need some memory too."""
    chosen = {"passes": 1, "max_iter": 7, "warm_up": 2, "rate": 0.1}
    chosen = {name: value for name, value in chosen.items() if hasattr(options.TRAINERS[algorithm], name)}
    dev = str(ROOT / "data/reals.test.txt")
    expected, peak = estimate_and_peak(items, "", algorithm, format="crfsuite", threads=threads, dev=dev, checkpoint=str(items) + algorithm + str(threads), **chosen)
    assert 0.7 * peak < expected < 1.3 * peak


def test_sizes():
    assert [size(text) for text in ("1", 5000, "1K", "800M", "2G", "2GB", "1.5G", "1T")] == [
        1, 5000, 1 << 10, 800 << 20, 2 << 30, 2 << 30, 3 << 29, 1 << 40,
    ]  # fmt: skip
    for text in ("", "G", "-1", "2 G", "2g", 0, "0M", True, 1.5, "1e9", [1], 10**30):
        with pytest.raises(OptionError, match="--max-memory: expected a size such as 800M or 2G"):
            size(text)


def test_memory_in_use():
    now, peak = in_use()
    kept = bytearray(b"x") * (50 << 20)
    more, higher = in_use()
    assert more - now > 40 << 20 <= higher <= higher + len(kept)
    assert peak >= now and higher >= more


def test_a_limit(tmp_path):
    (tmp_path / "template").write_text("U:%x[0,0]\nB\n")
    write_part(tmp_path / "train", "chunking", 30)
    files = ("template", "train", "model")
    crfkit("learn", "-q", "--max-memory", "50G", "--max-iter", 2, *files)
    (tmp_path / "model").unlink()
    said = error("learn", "--max-memory", "1M", *files)
    assert said.startswith("training would take about ") and "more than --max-memory 1M: use an online trainer" in said
    assert not (tmp_path / "model").exists()
    assert "--max-memory: expected a size such as 800M or 2G, found 'much'" in error("learn", "--max-memory", "much", *files, code=2)
