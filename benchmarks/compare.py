"""Two versions of crfkit side by side: has anything become slower?

    python benchmarks/compare.py OLD NEW [--rounds N] [--sentences N] [--threshold SHARE] [--labels N ...] [--only
    NAME ...]

OLD and NEW are folders in which crfkit has been compiled in place, or git revisions, which are checked out and
compiled in temporary folders. In every round each measurement is made with both, each in processes of their own,
OLD first in one round and NEW first in the next. A figure is the median of the rounds: of processor seconds on one
thread, of seconds of the clock where there are two.

--labels: passes alone, of all trainers, on sequences made with so many labels (bench_labels.py), with plain and with
rich edges.

Slower means: by more than the threshold, and so that the middle halves of the rounds do not overlap. What looks
slower is measured in as many rounds again before that is said. The exit code is then 1.

Only the command line and `crfkit.load` are used, which other versions have too. What OLD cannot do is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import common
from bench_labels import LENGTH, made
from process import Used, measured

SENTENCES = 2000
COPIES = 5  # of the test part, for tagging
PASSES = 6
BATCH = ("--max-iter", PASSES, "--epsilon", 0, "--delta", 0)
ONLINE = ("--passes", PASSES)
# With the options whose defaults depend on data or version: how much work a pass is depends on them.
TRAINERS: dict[str, tuple[Any, ...]] = {
    "lbfgs": (*BATCH, "--l2", 0),  # without a penalty there is no warm-up
    "owlqn": BATCH,
    "sbcd": BATCH,
    **dict.fromkeys(("sgd", "adf", "sapo"), (*ONLINE, "--l2", 1, "--rate", 0.5)),
    **dict.fromkeys(("perceptron", "mira"), ONLINE),
    "arow": (*ONLINE, "--regularization", 1000),
    "cw": (*ONLINE, "--confidence", 0.52),
    "lookahead": (*ONLINE, "--margin", 30),
}
RULES = {
    "plain": "U00:%x[0,0]\nU01:%x[-1,0]\nU02:%x[1,0]\nB\n",
    "rich": "U00:%x[0,0]\nU01:%x[-1,0]\nU02:%x[1,0]\nB\nB01:%x[0,0]\nB02:%x[-1,0]/%x[0,0]\n",
}
MADE_TOKENS = 24000  # with 3 labels; fewer with more, so that passes take about as long
OPENING = """
import sys
from time import process_time
import crfkit
times = []
for _ in range(30):
    start = process_time()
    crfkit.load(sys.argv[1], verify=sys.argv[2] == "verified")
    times.append(process_time() - start)
print(sorted(times)[len(times) // 2])
"""


class Side(NamedTuple):
    """One of the two versions."""

    name: str
    tree: Path  # the folder that holds crfkit/
    folder: Path  # for its files: models are its own

    def run(self, *arguments: Any) -> Used:
        """What a command took."""
        return measured(*arguments, tree=self.tree)

    def crfkit(self, *arguments: Any) -> Used:
        """The same of `crfkit ARGUMENTS`."""
        return self.run("-m", "crfkit", *arguments)

    def logged(self, algorithm: str, threads: int, template: Path, train: Path) -> list[dict[str, Any]]:
        """What `learn` writes of each pass."""
        log = self.folder / "log"
        options = ("-q", "-a", algorithm, *TRAINERS[algorithm], "--threads", threads, "--log", log)
        self.crfkit("learn", *options, template, train, self.folder / "learnt")
        return [json.loads(line) for line in log.read_text().splitlines()]


Measurement = Callable[[Side], float]


def a_pass(algorithm: str, template: Path, train: Path) -> Measurement:
    """Of all but the first, which makes tables."""
    return lambda side: median(record["cpu"] for record in side.logged(algorithm, 1, template, train)[1:])


def passes(labels: list[int], folder: Path) -> dict[str, Measurement]:
    """Of all trainers, with so many labels, with plain and with rich edges."""
    works = {}
    for size in labels:
        train = folder / f"made-{size}.txt"
        common.write_sentences(train, made(size, max(20, int(MADE_TOKENS / LENGTH * min(1, (22 / size) ** 0.5)))))
        for edges, rules in RULES.items():
            template = folder / f"{edges}.template"
            template.write_text(rules)
            works.update({f"{size} labels, {edges}: {name}": a_pass(name, template, train) for name in TRAINERS})
    return works


def measurements(corpus: common.Corpus) -> dict[str, Measurement]:
    """What is compared."""
    template, train = common.TEMPLATE, corpus.train
    text, answers = corpus.folder / "text.txt", corpus.folder / "answers.txt"
    text.write_bytes(corpus.test.read_bytes() * COPIES)
    with answers.open("w", encoding="utf-8") as file:
        for line in text.read_text(encoding="utf-8").splitlines():
            file.write(f"{line} {line.split()[-1]}\n" if line else "\n")

    def two_threads(side: Side) -> float:
        return median(record["seconds"] for record in side.logged("lbfgs", 2, template, train)[1:])

    def reading(side: Side) -> float:
        log = side.folder / "log"
        options = ("-a", "perceptron", "--passes", 1, "--threads", 1, "--log", log)
        used = side.crfkit("learn", "-q", *options, template, train, side.folder / "learnt")
        return used.processor - json.loads(log.read_text())["cpu"]

    def whole(side: Side) -> float:
        return side.crfkit("learn", "-q", "--max-iter", 20, "--threads", 1, template, train, side.folder / "learnt").processor

    def tag(*options: Any) -> Measurement:
        return lambda side: side.crfkit("tag", "-q", "--threads", 1, *options, model(side), text).processor

    def model(side: Side) -> Path:
        path = side.folder / "model"
        if not path.exists():
            side.crfkit("learn", "-q", "--max-iter", 5, template, train, path)
        return path

    def opening(how: str) -> Measurement:
        return lambda side: float(side.run("-c", OPENING, model(side), how).output)

    return {
        "crfkit --version": lambda side: side.crfkit("--version").processor,
        "learn: reading, writing": reading,
        "learn: lbfgs as it is": whole,
        **{f"a pass of {name}": a_pass(name, template, train) for name in TRAINERS},
        "a pass of lbfgs, 2 threads": two_threads,
        "tag": tag(),
        "tag -v 1": tag("-v", 1),
        "tag -n 5": tag("-n", 5),
        "tag, 2 threads": lambda side: side.crfkit("tag", "-q", "--threads", 2, model(side), text).seconds,
        "eval": lambda side: side.crfkit("eval", answers).processor,
        "opening, verified": opening("verified"),
        "opening, not verified": opening("not verified"),
    }


class Pair:
    """The figures of one measurement, of both sides, round by round."""

    def __init__(self) -> None:
        self.old: list[float] = []
        self.new: list[float] = []

    def measure(self, work: Measurement, old: Side, new: Side, rounds: int) -> None:
        """More rounds."""
        for number in range(rounds):
            sides = [(self.old, old), (self.new, new)]
            for figures, side in sides if number % 2 == 0 else sides[::-1]:
                figures.append(work(side))

    @property
    def ratio(self) -> float:
        """NEW / OLD."""
        return median(self.new) / median(self.old) if median(self.old) else 1.0

    def spread(self) -> str:
        """Of the rounds' own ratios."""
        ratios = [new / old if old else 1.0 for old, new in zip(self.old, self.new, strict=True)]
        return f"{min(ratios):.2f} to {max(ratios):.2f}"

    def slower(self, threshold: float) -> bool:
        """NEW is, by more than that, and by more than rounds differ."""
        return self.ratio > 1 + threshold and middle(self.new)[0] > middle(self.old)[1]


def middle(figures: list[float]) -> tuple[float, float]:
    """Between these lies the middle half."""
    if len(figures) < 2:
        return figures[0], figures[0]
    low, _, high = quantiles(figures, n=4, method="inclusive")
    return low, high


@contextmanager
def version(given: str, name: str, folder: Path) -> Iterator[Side]:
    """A folder, or a revision checked out and compiled."""
    own = folder / name
    own.mkdir()
    if (Path(given) / "crfkit" / "__init__.py").is_file():
        yield checked(Side(name, Path(given).resolve(), own))
        return
    tree = own / "tree"
    git = ["git", "-C", str(common.ROOT)]
    if subprocess.run([*git, "rev-parse", "--verify", "--quiet", f"{given}^{{commit}}"], stdout=subprocess.DEVNULL).returncode:
        raise SystemExit(f"{given}: neither a folder with crfkit in it nor a revision")
    subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(tree), given], check=True)
    try:
        print(f"compiling {given} ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace", f"-j{os.cpu_count()}"], check=True, cwd=tree, stdout=subprocess.DEVNULL)
        yield checked(Side(name, tree, own))
    finally:
        subprocess.run([*git, "worktree", "remove", "--force", str(tree)], check=True)


def checked(side: Side) -> Side:
    """The same; an error if what it would measure is not there, or another crfkit."""
    try:
        found = side.run("-c", "from crfkit.tagging import Tagger; import crfkit; print(crfkit.__file__)").output.decode().strip()
    except subprocess.CalledProcessError:
        raise SystemExit(f"{side.tree}: crfkit has not been compiled there") from None
    if not Path(found).resolve().is_relative_to(side.tree.resolve()):
        raise SystemExit(f"{side.tree}: Python imports {found} instead")
    return side


def compare(works: dict[str, Measurement], old: Side, new: Side, rounds: int, threshold: float) -> dict[str, Pair]:
    """All measurements; those that OLD does not know are left out."""
    pairs = {}
    for name, work in works.items():
        try:
            work(old)  # also brings files into memory
        except (subprocess.CalledProcessError, KeyError):
            print(f"{name}: OLD cannot do this, left out", file=sys.stderr)
            continue
        work(new)
        pairs[name] = Pair()
        pairs[name].measure(work, old, new, rounds)
        if pairs[name].slower(threshold):
            pairs[name].measure(work, old, new, rounds)
        print(f"{name}: {pairs[name].ratio:.3f}", file=sys.stderr, flush=True)
    return pairs


def main() -> int:
    """Print the table; 1 if something became slower."""
    parser = common.parser_for("Two versions of crfkit side by side.", rounds=5)
    parser.add_argument("old", metavar="OLD", help="a folder where crfkit was compiled in place, or a git revision")
    parser.add_argument("new", metavar="NEW", help="the same")
    parser.add_argument("--threshold", type=share, default=0.1, metavar="SHARE", help="slower by more than this counts (default %(default)s)")
    parser.add_argument("--labels", nargs="+", type=int, metavar="N", help="passes with so many labels")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measurements whose names begin so")
    parser.set_defaults(sentences=SENTENCES)
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        corpus = common.the_corpus(folder, given.sentences)
        found = passes(given.labels, folder) if given.labels else measurements(corpus)
        works = {what: work for what, work in found.items() if what.startswith(tuple(given.only or [""]))}
        if not works:
            parser.error(f"no measurement begins with {' or '.join(given.only)}")
        with version(given.old, "OLD", folder) as old, version(given.new, "NEW", folder) as new:
            print(f"{common.machine()}\nOLD: {given.old}, NEW: {given.new}; corpus: {'made' if given.labels else f'{corpus.name}, {given.sentences} sentences'}")
            pairs = compare(works, old, new, given.rounds, given.threshold)
    rows = []
    for what, pair in pairs.items():
        times = [f"{1000 * median(figures):.2f}" for figures in (pair.old, pair.new)]
        rows.append((what, *times, f"{pair.ratio:.2f}", pair.spread(), "slower" if pair.slower(given.threshold) else ""))
    common.table(("what", "OLD ms", "NEW ms", "NEW / OLD", "of the rounds", ""), rows)
    return int(any(pair.slower(given.threshold) for pair in pairs.values()))


def share(text: str) -> float:
    """A positive number."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("expected a positive number")
    return value


if __name__ == "__main__":
    sys.exit(main())
