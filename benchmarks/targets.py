"""What crfkit is to reach, measured beside its peers: one table.

    python benchmarks/targets.py [--rounds N] [--sentences N] [--only GROUP ...] [--markdown FILE]

The groups of rows come from the other scripts here, each of which shows more on its own; what a figure counts is said
there. Figures are medians, of peak memory the highest. Peers that are not installed are left out. CRF++ is not among the
packages that could be installed and measured here, so nothing is said of it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import bench_attributes
import bench_data_dir
import bench_labels
import bench_learn
import bench_open
import bench_reading
import bench_scaling
import bench_tag
import bench_wapiti
import common
import peers
from rows import HEADS, Row, against, as_markdown, at_least, at_most, growth, rate, shown

NEAR = 1e-4  # of CRFsuite's final objective
SECTION = "## Measured"
SECONDS_A_BYTE = 0.3 / 21e6  # of files of CRF++ and Wapiti
PYTHON = {"append": 3, "tag": 3, "tag 1 at a time": 3, "marginals": 5}  # calls of the table, and how many times as fast as python-crfsuite
LINEAR = 2.1  # times as much for twice as much: a twentieth is left to the clock


class Bench:
    """What is measured once and used by several groups."""

    def __init__(self, corpus: common.Corpus, rounds: int):
        self.corpus, self.rounds = corpus, rounds
        self.notes: list[str] = []  # tables in Markdown that stand below the one of targets

    @cached_property
    def numbers(self) -> Any:
        """The training data, observed features."""
        return bench_learn.read(self.corpus)

    @cached_property
    def crfsuite(self) -> Any:
        """CRFsuite's trainer with the same data; None where it is not installed."""
        return peers.crfsuite_trainer(self.corpus.ready) if peers.crfsuite() else None

    @cached_property
    def wapiti(self) -> bench_wapiti.Found:
        """All features, ours and Wapiti's."""
        return bench_wapiti.measure(self.corpus, self.rounds)


def passes(bench: Bench) -> Iterable[Row]:
    """A pass over the training data."""
    found = bench_learn.passes(bench.corpus, bench.numbers, bench.crfsuite, bench.rounds)
    for name, target in {"lbfgs, 1 thread": 5, "lbfgs, 2 threads": 9, "perceptron": 4}.items():
        peer = bench_learn.PEERS[name]
        yield against(f"{name}: a pass, observed features", found[name], peer, found.get(peer), target)


def all_features(bench: Bench) -> Iterable[Row]:
    """The same with the features of all labels."""
    found = bench.wapiti
    for threads, target in (("1 thread", 8), ("2 threads", None)):
        what = f"lbfgs, {threads}: a pass, all features"
        yield against(what, found.passes[f"ours, {threads}"], "Wapiti, 1 thread", found.passes.get("Wapiti"), target)
    yield against("learn, lbfgs, all features: peak memory", found.memory["ours"], "Wapiti", found.memory.get("Wapiti"), 2, "B")


def objective(bench: Bench) -> Iterable[Row]:
    """The whole way to the optimum."""
    if bench.crfsuite is None:
        return
    ways: dict[int, list[float]] = {1: [], 2: []}
    near, end = [], []
    for _ in range(bench.rounds):
        way = bench_learn.peer_way(bench.crfsuite, bench.corpus)
        goal = way[-1].objective * (1 + NEAR)
        near.append(bench_learn.seconds_to(way, goal))
        end.append(way[-1].seconds)
        for threads, found in ways.items():
            found.append(bench_learn.seconds_to(bench_learn.own_way(bench.numbers, threads, goal), goal))
    for threads, target in ((1, 8), (2, 15)):
        what = f"lbfgs, {threads} thread{'s' * (threads > 1)}: to within {NEAR:g} of CRFsuite's final objective"
        yield against(what, median(ways[threads]), "CRFsuite, to its end", median(end), target)
        yield against(what, median(ways[threads]), "CRFsuite, to the same", median(near), target)


def reading(bench: Bench) -> Iterable[Row]:
    """Before the first pass, and memory of all."""
    observed = "attributes and observed features"
    found = bench_reading.measure(bench.corpus, bench.rounds, {observed: bench_reading.STAGES[observed]})
    peer = found.get(bench_reading.PEER)
    name = "CRFsuite, ready-made features"
    yield against("reading and compiling the training data", found[observed].seconds, name, peer and peer.seconds, 3)
    yield against("learn, lbfgs, observed features: peak memory", found[bench_reading.LEARN].peak, name, peer and peer.peak, 1, "B")


def tagging(bench: Bench) -> Iterable[Row]:
    """From text to text."""
    found = bench_tag.measure(bench.corpus, bench.rounds)
    one, two, start = found.seconds["1 thread"], found.seconds["2 threads"], found.seconds["one sentence"]
    speed, what = found.tokens / one, "crfkit tag, 1 thread: tokens, start-up included"
    yield at_least(what, speed, 1.2e6)
    yield rate(what, speed, "CRFsuite, from ready-made features", found.rates.get("CRFsuite, feature strings"), 5)
    yield rate(what, speed, "CRFsuite, which has them", found.rates.get("CRFsuite, handed over before"), None)
    yield rate(what, speed, "Wapiti, in memory", bench.wapiti.rate, 12)
    yield growth("crfkit tag -v 1, 1 thread: with marginals", found.seconds["1 thread, marginals (-v 1)"], "without", one, 2.5)
    yield against("crfkit tag, 2 threads", two, "1 thread", one, 1.8)
    if two > start:
        yield against("crfkit tag, 2 threads, start-up taken off", two - start, "1 thread", one - start, None)
    yield at_most("crfkit tag of one sentence, from start to end", start, 0.25)


def attributes(bench: Bench) -> Iterable[Row]:
    """Given from Python, as dicts and as lists. The script itself shows more, such as other sizes, which lie between these."""
    for who, what, n, took, peer in bench_attributes.measure(bench.corpus, bench.rounds)[0]:
        if what.rpartition(", ")[0] in PYTHON:
            yield rate(f"{who}: {what}: tokens", n / took, "python-crfsuite", n / peer if peer else None, PYTHON[what.rpartition(", ")[0]])


def opening(bench: Bench) -> Iterable[Row]:
    """Until a model can be used."""
    found = bench_open.measure(bench.corpus, 7 * bench.rounds)
    yield at_most("opening the model, verified", found["file, verified"], 0.01)
    yield at_most("opening the model, not verified", found["file, not verified"], 0.001)
    size = bench.corpus.large_model.stat().st_size
    yield at_most(f"opening a model of {shown(size, 'B')}, not verified", found["larger file, not verified"], 0.001)
    for name, path in bench_open.files_of(bench.corpus).items():
        size = path.stat().st_size
        yield at_most(f"opening a file of {name}'s of {shown(size, 'B')}", found[f"larger file, {name}'s"], SECONDS_A_BYTE * size)


def data_dir(bench: Bench) -> Iterable[Row]:
    """Data that are larger than the memory there is."""
    for name, inside, outside in bench_data_dir.of_corpus(bench.corpus, "100M", "400M", 0.2, ["lbfgs", "sgd", "perceptron"]):
        yield growth(f"{name} --data-dir, 400 MB of memory: a pass over a million tokens", outside.a_pass, "in memory", inside.a_pass, 2)


def labels(bench: Bench) -> Iterable[Row]:
    """Many labels."""
    found = {}
    for task in bench_labels.tasks(bench.corpus.folder, bench.corpus.sentences):
        found[task.name] = bench_labels.measure(task, bench.rounds)
    *real, _, before, last = found
    for name in (*real, last):
        one = found[name]
        for trainer in ("owlqn", "owlqn, observed", "adf", "sapo", "perceptron"):
            if trainer in one.seconds:
                yield Row(f"{name}: a pass of {trainer}", shown(one.seconds[trainer], "s"))
        for trainer, peer in bench_labels.PEERS.items():
            yield against(f"{name}: a pass of {trainer}, observed", one.seconds[f"{trainer}, observed"], peer, one.seconds.get(peer), 20)
        perceptron = one.seconds["perceptron, observed"]
        for trainer in ("sgd, observed", "adf, observed", "sapo, observed"):
            yield growth(f"{name}: a pass of {trainer}", one.seconds[trainer], "perceptron, observed", perceptron, 5)
        if "sbcd" not in one.seconds:
            continue
        yield against(f"{name}: a pass of sbcd", one.seconds["sbcd"], "dense recursions", one.seconds["sbcd, dense"], None)
        sparse, dense = (one.tokens * bench_labels.COPIES / one.seconds[f"tagging, {trainer}"] for trainer in ("owlqn", "lbfgs"))
        yield rate(f"{name}: tagging with owlqn's model", sparse, "lbfgs's, all pairs", dense, None)
    few, many = found[before], found[last]
    for name in ("sbcd", "owlqn", "owlqn, observed", "tagging, owlqn"):
        yield growth(f"{name}, {many.labels} labels", many.seconds[name], f"{few.labels} labels", few.seconds[name], LINEAR)
    for name in ("adf", "sapo"):
        half = many.seconds[f"{name}, half"]
        yield growth(f"a pass of {name}, {many.labels} labels", many.seconds[name], "half the tokens", half, LINEAR)


def scaling(bench: Bench) -> Iterable[Row]:
    """Twice the corpus: the worst of all doublings."""
    curves = bench_scaling.measure(bench.corpus, bench.rounds)
    curve = as_markdown(bench_scaling.HEADS, bench_scaling.as_rows(curves))
    bench.notes.append(f"Time and peak memory of `crfkit learn` with {bench_scaling.PASSES} passes:\n\n{curve}")
    for name, points in curves.items():
        pairs = list(pairwise(points))
        half, whole = max(pairs, key=lambda pair: pair[1].seconds / pair[0].seconds)
        what = f"learn with {name}, {whole.sequences:,} sequences"
        yield growth(what, whole.seconds, f"{half.sequences:,}", half.seconds, LINEAR)
        half, whole = max(pairs, key=lambda pair: pair[1].peak / pair[0].peak)
        what = f"learn with {name}, {whole.sequences:,} sequences: peak memory"
        yield growth(what, whole.peak, f"{half.sequences:,}", half.peak, LINEAR, "B")


GROUPS: dict[str, Callable[[Bench], Iterable[Row]]] = {
    "passes": passes,
    "all-features": all_features,
    "objective": objective,
    "reading": reading,
    "tagging": tagging,
    "attributes": attributes,
    "opening": opening,
    "labels": labels,
    "scaling": scaling,
    "data-dir": data_dir,
}


def write_section(path: Path, text: str) -> None:
    """Puts the text in place of what stands in that section of a document, or in a new one."""
    document = path.read_text(encoding="utf-8") if path.exists() else f"{SECTION}\n"
    before, heading, behind = document.partition(f"{SECTION}\n")
    if not heading:
        raise SystemExit(f"{path}: there is no line {SECTION!r}")
    _, following, rest = behind.partition("\n## ")
    path.write_text(f"{before}{heading}\n{text}{following}{rest}", encoding="utf-8")


def main() -> None:
    parser = common.parser_for("The table of targets.", rounds=3)
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP", help=f"some of {', '.join(GROUPS)}")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help=f"write the table there too: where a section {SECTION!r} is, else a new file")
    given = parser.parse_args()
    begun = time.perf_counter()
    with TemporaryDirectory() as folder:
        bench = Bench(common.the_corpus(Path(folder), given.sentences), given.rounds)
        where = f"{common.machine()}\ncorpus: {bench.corpus.name}; medians of {given.rounds} rounds"
        rows = []
        for name in given.only:
            print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
            rows += GROUPS[name](bench)
            print(f"{time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    print(where)
    common.table(HEADS, rows)
    for note in bench.notes:
        print(f"\n{note}")
    if given.markdown is not None:
        write_section(given.markdown, "\n".join([where, "", as_markdown(HEADS, rows), *bench.notes]))


if __name__ == "__main__":
    main()
