"""Dependency parsing of "Learning with Lookahead" (Tsuruoka, Miyao, Kazama 2011), its table 4, on UD English-EWT.

    python benchmarks/papers/parsing.py [--quick] [--depths 0 1 2 3] [--margins 30 100]

For each depth a parser is trained with each margin, and scored on the development part after each pass. The best margin and
number of passes make one parser, which parses the test part once. Finished runs are kept in the work folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import report
from runs import commit, machine
from study import RESULTS, default_work

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "templates" / "parsing.txt"
DEPTHS = [0, 1, 2, 3]
PAPER = {0: 89.73, 1: 91.00, 2: 91.10, 3: 91.24}
SECONDS = {0: (1937, 4), 1: (4907, 13), 2: (12800, 31), 3: (31684, 79)}
ABOUT = """\
Y. Tsuruoka, Y. Miyao, J. Kazama: Learning with Lookahead: Can History-Based Models Rival Globally Optimized Models?
CoNLL 2011, section 4.2. A shift-reduce parser decides action by action; before each it looks some actions ahead. The paper's trees are
those of the Penn Treebank, which is not public: here it is UD English-EWT, as it comes (12,544 sentences to train on, of which
288 have crossing arcs and are left out; 2,001 and 2,077 to choose options on and to test). Parts of speech are gold (XPOS), where the
paper has them from a tagger. Features: `templates/parsing.txt`, words and parts of speech of the same places as in the paper, and
distances. So the scores do not compare with the paper's; the differences between depths do.
"""
METHOD = """\
## How these numbers were made

`PYTHONPATH=. python benchmarks/papers/parsing.py{depths}` wrote this page. Margin ({margins}) and number of passes (at most {passes}) were chosen for each
depth on the development part, by the unlabelled score with punctuation. The parser of that margin and that pass parsed the test part
once. Seconds are processor seconds of one core on a shared machine: not exact. *A pass* is learning alone. *Tokens/s* is `crfkit tag
--threads 1` on the training part, start included, divided by its words.

Kind of machine: {machine}. Commit: {commit}.
"""


def crfkit(*arguments: Any) -> str:
    """What a command writes, in this tree."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "crfkit", *map(str, arguments)]
    return subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout


class Study:
    """The runs of a work folder."""

    def __init__(self, work: Path, data: dict[str, Path], passes: int, fresh: bool):
        self.folder, self.data, self.passes, self.fresh = work / "parsing", data, passes, fresh
        self.folder.mkdir(parents=True, exist_ok=True)

    def learn(self, depth: int, margin: float) -> dict[str, Any]:
        """One training, and its scores after each pass."""
        parts = [str(depth), str(margin), str(self.passes), *(hashlib.sha256(path.read_bytes()).hexdigest() for path in (TEMPLATE, *self.data.values()))]
        path = self.folder / (hashlib.sha256(" ".join(parts).encode()).hexdigest()[:20] + ".json")
        if path.exists() and not self.fresh:
            return {**json.loads(path.read_text()), "path": path}
        print(f"  depth {depth}, margin {margin:g}", file=sys.stderr, flush=True)
        log = path.with_suffix(".log")
        crfkit(
            "learn", "-q", "-a", "lookahead", "--format", "conllu", "--depth", depth, "--margin", margin, "--passes", self.passes,
            "--dev", self.data["dev"], "--log", log, TEMPLATE, self.data["train"], path.with_suffix(".model"),
        )  # fmt: skip
        records = [json.loads(line) for line in log.read_text().splitlines()]
        seconds = sum(record["cpu"] for record in records) / len(records)
        found = {"depth": depth, "margin": margin, "dev": [record["dev_accuracy"] for record in records], "seconds": seconds, "commit": commit(), "machine": machine()}
        return _kept(path, found)

    def judge(self, found: dict[str, Any]) -> dict[str, Any]:
        """The one look at the test part, by the parser that was chosen; and its speed."""
        if "test" in found:
            return found
        path = found.pop("path")
        model = path.with_suffix(".model")
        with TemporaryDirectory() as folder:
            parsed = Path(folder) / "parsed"
            crfkit("tag", "--threads", 1, "-o", parsed, model, self.data["test"])
            found["test"] = json.loads(crfkit("eval", "--format", "conllu", "--heads", "--json", "--gold", self.data["test"], parsed))
            words = sum(line.split("\t")[0].isdigit() for line in self.data["train"].read_text().splitlines())
            before = time.perf_counter()
            crfkit("tag", "--threads", 1, "-o", parsed, model, self.data["train"])
            found["speed"] = words / (time.perf_counter() - before)
        return _kept(path, found)


def _kept(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(found))
    os.replace(beside, path)
    return {**found, "path": path}


def write(rows: list[dict[str, Any]], margins: list[float], passes: int, out: Path, quick: bool) -> Path:
    """The document."""
    heads = ["", "margin", "passes", "dev.", "test", "without punctuation", "paper, without", "CPU s a pass", "times depth 0", "tokens/s"]
    cells = []
    for row in rows:
        test, depth = row["test"], row["depth"]
        cells.append(
            [
                f"depth {depth}", f"{row['margin']:g}", f"{1 + row['dev'].index(max(row['dev']))}", f"{100 * max(row['dev']):.2f}",
                f"{100 * test['unlabelled']:.2f}", f"{100 * test['without_punctuation']['unlabelled']:.2f}",
                f"{PAPER[depth]:.2f}" if depth in PAPER else "", f"{row['seconds']:.2f}", f"{row['seconds'] / rows[0]['seconds']:.1f}", f"{row['speed']:,.0f}",
            ]
        )  # fmt: skip
    lines = ["# Parsing with lookahead", "", ABOUT, *report.markdown(heads, cells), ""]
    if quick:
        lines.insert(2, "**A few random trees: these numbers mean nothing.**\n")
    scores = {row["depth"]: 100 * row["test"]["unlabelled"] for row in rows}
    if 0 in scores:
        for depth in sorted(scores):
            if depth:
                gain = scores[depth] - scores[0]
                theirs = f"; the paper's gain is {PAPER[depth] - PAPER[0]:.2f}, without punctuation" if depth in PAPER else ""
                lines.append(f"* {'Reproduced' if gain > 0 else 'Not reproduced'}: depth {depth} is above depth 0 (by {gain:.2f} points{theirs}).")
    times = ", ".join(f"{learn / SECONDS[0][0]:.1f} (depth {depth})" for depth, (learn, _) in SECONDS.items() if depth)
    lines += ["", f"The paper's naive search takes this many times as long to train as depth 0: {times}.", ""]
    depths = [row["depth"] for row in rows]
    given = "" if depths == DEPTHS else f" --depths {' '.join(map(str, depths))}"
    lines.append(METHOD.format(depths=given, margins=", ".join(f"{m:g}" for m in margins), passes=passes, machine=rows[0]["machine"], commit=", ".join(sorted({row["commit"] for row in rows}))))
    out.mkdir(parents=True, exist_ok=True)
    path = out / "parsing.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def stand_in(folder: Path) -> dict[str, Path]:
    """Random sentences whose words all depend on the one before."""
    rng, data = random.Random(1), {}
    folder.mkdir(parents=True, exist_ok=True)
    for part, n in (("train", 60), ("dev", 20), ("test", 20)):
        sentences = [
            "".join(f"{t + 1}\t{rng.choice('abc')}\t_\t_\t{rng.choice('XY')}\t_\t{t}\t_\t_\t_\n" for t in range(rng.randrange(2, 9))) for _ in range(n)
        ]
        data[part] = folder / f"{part}.conllu"
        data[part].write_text("\n".join([*sentences, ""]))
    return data


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train, compare, write docs/results/parsing.md")
    parser.add_argument("--depths", nargs="+", type=int, default=DEPTHS)
    parser.add_argument("--margins", nargs="+", type=float, default=[30.0, 100.0])
    parser.add_argument("--passes", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="a few random trees: does it run?")
    parser.add_argument("--work", type=Path, default=default_work(), help="folder for finished runs (default %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the document (default docs/results)")
    parser.add_argument("--fresh", action="store_true", help="repeat runs that are finished")
    given = parser.parse_args()
    corpora = os.environ.get("CRFKIT_CORPORA")
    if given.quick:
        data, given.passes, given.margins = stand_in(given.work / "parsing-quick"), 2, given.margins[:1]
    elif corpora is None or not (Path(corpora) / "ewt-dep").is_dir():
        parser.exit(1, "CRFKIT_CORPORA names no folder with ewt-dep\n")
    else:
        data = {part: Path(corpora) / "ewt-dep" / f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")}
    study = Study(given.work, data, given.passes, given.fresh)
    best = [max((study.learn(depth, margin) for margin in given.margins), key=lambda found: max(found["dev"])) for depth in given.depths]
    rows = [study.judge(found) for found in best]
    print(write(rows, given.margins, given.passes, given.out, given.quick))


if __name__ == "__main__":
    main()
