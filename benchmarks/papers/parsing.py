"""Dependency parsing of "Learning with Lookahead" (Tsuruoka, Miyao, Kazama 2011), its table 4, on UD English-EWT.

    python benchmarks/papers/parsing.py [--features paper package best] [--oracles first either] [--depths 0 1 2 3] [--seeds 5] [--quick]
                                        [--finished-only]

With each set of features, each oracle and at each depth a parser is trained with each margin, seed 0, and scored on the development part
after each pass; the grid grows until the best is not at its end. The best margin and number of passes make the parsers of seeds 1 to 5,
and each parses the test part once, all without dropout, as in the paper. So do parsers of depths 0 and 1 by the default options, with the templates
of the package. Every run is a line of parsing.jsonl.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from journal import Journal
from judging import Verdict, chance, packed, score, unpacked
from protocol import CONTRADICTED, REPRODUCED, SIGNIFICANT, TIE
from report import chance as told
from report import holding, markdown, spread
from runs import about
from study import parsed, parser_for

ROOT = Path(__file__).resolve().parents[2]
DEPTHS = [0, 1, 2, 3]
PLAIN = [0, 1]  # those that are also measured by default options
PAPER = {0: (89.73, 1937, 4), 1: (91.00, 4907, 13), 2: (91.10, 12800, 31), 3: (91.24, 31684, 79)}
"""Unlabelled score without punctuation, seconds of training and of parsing the test part."""


class Grid(NamedTuple):
    """Margins and passes that a depth may choose from."""

    margins: list[float]
    first: int  # so many of the margins are tried in any case
    passes: int  # in any case
    most: int


GRID = Grid([10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0], 4, 20, 80)
QUICK = Grid([30.0], 1, 2, 2)
FIELDS = ("kind", "features", "oracle", "depth", "margin", "passes", "seed")
"""What tells a run from others."""


TEMPLATES = {
    "paper": ROOT / "benchmarks" / "papers" / "templates" / "parsing.txt",
    "package": ROOT / "templates" / "parsing.txt",
    "best": ROOT / "templates" / "parsing-best.txt",
}
SETTINGS = {
    ("paper", "first"): "Features of the paper, left arcs at once",
    ("paper", "either"): "Features of the paper, left arcs that may wait",
    ("package", "either"): "Features of `templates/parsing.txt`, left arcs that may wait",
    ("package", "first"): "Features of `templates/parsing.txt`, left arcs at once",
}
"""Features and oracles whose options are chosen, and their titles on the page."""
BY_DEFAULT = [
    ("default", "package", "either"), ("default", "best", "either"),
    ("final", "package", "either"), ("final", "best", "either"), ("final", "package", "first"),
]
"""Those that are measured by default options, too: with dropout (default) or without, as all else is measured (final)."""
ABOUT = """\
Y. Tsuruoka, Y. Miyao, J. Kazama: Learning with Lookahead: Can History-Based Models Rival Globally Optimized Models?
CoNLL 2011, section 4.2. A shift-reduce parser chooses one action at a time and searches some actions ahead before each. Does the search make it more
accurate? The raw numbers are in [parsing.jsonl](parsing.jsonl), a line for each run.
"""
DATA = """\
## What was compared

* **Trees**: the paper uses the Penn Treebank, which is not public. Here it is UD English-EWT with its standard split: 12,544 training sentences,
  of which 288 have crossing arcs and are left out, 2,001 development and 2,077 test sentences. Parts of speech are gold (XPOS);
  in the paper a tagger predicts them. So compare the differences between depths with the paper, not the scores.
* **Features**: the paper takes those of Huang and Sagae (2010): 28 templates of words and parts of speech, no distances. They are in `benchmarks/papers/templates/parsing.txt`.
  `templates/parsing.txt`, for users, has {count}: distances, words of children and others were added to it. An earlier version of this page had only these, and
  called them the positions of the paper.
* **Left arcs**: while the head of a left arc has children in the queue, the arc can be made at once or after them. Both build the tree, and the
  paper does not say which one is correct. Shift-reduce parsers of its time learn to make it at once, so this is taken for the paper's way
  (`--oracle first`). By default crfkit takes what the parser itself scores higher for correct (`--oracle either`, [why](../defaults.md#parsers)).
* **Dropout**: by default a sentence is learned without some of its words, and without some lines of the template ([why](../defaults.md#parsers)).
  The paper has nothing like it. So only the table of default options has it, the others are without (`--dropout 0`).
* **Times** of the paper: *paper's training* and *paper's test* are how many times as long as at depth 0 its search, which tries all actions, trains and parses.
"""
DEFAULT = """\
Test part, five seeds, whatever the tables above chose. *p*: of the gain, with punctuation. The rows without dropout were the defaults before.
"""
METHOD = """\
* **Choices**: each depth chose its margin and its number of passes by the unlabelled score with punctuation on the development part, with seed 0: a margin of
  10, 30, 100 or 300 and at most 20 passes. Where the best had the largest margin, 1,000 was tried too, and where its last pass was the best, 40 passes. So the best is inside of the
  grid everywhere. Five parsers with these options, seeds 1 to 5, parsed the test part once each. The grids were smaller at first, and the test part was parsed then, too: with the
  features of the package by parsers that had chosen between 30 and 100 and among 12 passes, with all comparisons ties; with those of the paper, at depth 0, after 20 passes, with the same verdicts.
  Default options were measured last, those with dropout when all other test scores were known; dropout was chosen on blocks of the training part. They were
  measured twice, because random numbers are drawn in another way now. The first time they had 87.87 and 88.01, and with `parsing-best.txt` 88.64 and 89.03.
* **Left arcs that may wait** came after that: the rule was chosen on the development part with seeds 1 to 3, when all test scores of left arcs at once were known. The
  test part was parsed with it for this page only, with the same grids. Other work ran beside these runs, so their tokens/s are too low.
  Depth 3 was run last, on a faster machine, so its seconds and tokens/s, and how many times those of depth 0 they are, do not compare with the other rows.
* **Verdicts**: significance is tested by approximate randomisation over the test sentences, without punctuation as in the paper. Runs are paired by seed, and p is the
  median; a pair whose difference has another sign than that of the means counts as p = 1. *Reproduced* and *contradicted* need p < 0.05. Anything else is a *tie*.
* **Seconds** are processor seconds of one core on a shared machine, so they are not exact. *A pass* is training alone. *Tokens/s* is the number of words in
  the training part, divided by the wall-clock time of `crfkit tag --threads 1`, with its start: the median of five runs. Wall-clock time on a shared machine is far from exact. The file has
  all five.
"""


def crfkit(*arguments: Any) -> str:
    """What a command writes, in this tree or in that of PYTHONPATH."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(ROOT)])}
    command = [sys.executable, "-m", "crfkit", *map(str, arguments)]
    return subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout


# --- Scores -----------------------------------------------------------------------------------------------------------


def heads(path: Path) -> list[list[tuple[str, bool]]]:
    """Of each sentence of a CoNLL-U file, the head of each word, and whether the word is punctuation."""
    sentences: list[list[tuple[str, bool]]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split("\t")
        if not line:
            sentences.append([])
        elif cells[0].isdigit():
            sentences[-1].append((cells[6], cells[3] == "PUNCT"))
    return [sentence for sentence in sentences if sentence]


def counted(gold: Path, parsed: Path, punctuation: bool) -> np.ndarray:
    """[sentence, (words, words, correct heads)]"""
    rows = []
    for right, found in zip(heads(gold), heads(parsed), strict=True):
        kept = [a == b for (a, mark), (b, _) in zip(right, found, strict=True) if punctuation or not mark]
        rows.append((len(kept), len(kept), sum(kept)))
    return np.array(rows)


# --- Runs -------------------------------------------------------------------------------------------------------------


class Study:
    """The runs that are missing."""

    def __init__(self, journal: Journal, data: dict[str, Path], grid: Grid):
        self.journal, self.data, self.grid = journal, data, grid

    def search(self, features: str, oracle: str, depth: int) -> dict[str, Any]:
        """The best trial of a grid that grows until the best is not at its end."""
        margins, passes = self.grid.first, self.grid.passes
        while True:
            tried = self.grid.margins[:margins]
            best = max((self.trial(features, oracle, depth, margin, passes) for margin in tried), key=best_score)
            if best["margin"] == tried[-1] and margins < len(self.grid.margins):
                margins += 1
            elif best_pass(best) == passes < self.grid.most:
                passes *= 2
            else:
                return best

    def trial(self, features: str, oracle: str, depth: int, margin: float, passes: int) -> dict[str, Any]:
        """Scores of the development part after each pass."""
        asked = {"kind": "trial", "features": features, "oracle": oracle, "depth": depth, "margin": margin, "passes": passes, "seed": 0}

        def work() -> dict[str, Any]:
            with TemporaryDirectory() as folder:
                log = Path(folder) / "log"
                self._learn(asked, Path(folder) / "model", "--dev", self.data["dev"], "--log", log)
                records = [json.loads(line) for line in log.read_text().splitlines()]
            return {"dev": [record["dev_accuracy"] for record in records], "cpu": [record["cpu"] for record in records], **about()}

        return self.journal.of(asked, work)

    def final(self, features: str, oracle: str, depth: int, margin: float | None, passes: int | None, seed: int, kind: str = "final") -> dict[str, Any]:
        """The one look at the test part of a parser of the chosen options, or of the default ones (None); and its speed."""
        asked = {"kind": kind, "features": features, "oracle": oracle, "depth": depth, "margin": margin, "passes": passes, "seed": seed}

        def work() -> dict[str, Any]:
            with TemporaryDirectory() as folder:
                model, output, log = (Path(folder) / name for name in ("model", "parsed", "log"))
                self._learn(asked, model, "--log", log)
                seconds = [json.loads(line)["cpu"] for line in log.read_text().splitlines()]
                crfkit("tag", "--threads", 1, "-o", output, model, self.data["test"])
                counts = [packed(counted(self.data["test"], output, punctuation)) for punctuation in (True, False)]
                words = sum(map(len, heads(self.data["train"])))
                before = time.perf_counter()
                crfkit("tag", "--threads", 1, "-o", output, model, self.data["train"])
                speed = words / (time.perf_counter() - before)
            return {"counts": counts[0], "without": counts[1], "cpu": seconds, "speed": speed, **about()}

        return self.journal.of(asked, work)

    def _learn(self, asked: dict[str, Any], model: Path, *more: Any) -> None:
        print("  " + ", ".join(f"{name} {value}" for name, value in asked.items()), file=sys.stderr, flush=True)
        options = [part for name in ("oracle", "depth", "margin", "passes", "seed") if asked[name] is not None for part in (f"--{name}", asked[name])]
        options += [] if asked["kind"] == "default" else ["--dropout", "0"]
        crfkit("learn", "-q", "-a", "lookahead", "--format", "conllu", *options, *more, TEMPLATES[asked["features"]], self.data["train"], model)


# --- The page ---------------------------------------------------------------------------------------------------------

Found = dict[int, tuple[dict[str, Any], list[dict[str, Any]]]]


def of_setting(records: Iterable[dict[str, Any]], features: str, oracle: str) -> list[dict[str, Any]]:
    """The records of one set of features and one oracle."""
    return [record for record in records if (record["features"], record["oracle"]) == (features, oracle)]


def chosen(records: Iterable[dict[str, Any]], features: str, oracle: str) -> Found:
    """Of each depth that is measured with these features and this oracle, the best trial and the runs on the test part."""
    found: Found = {}
    records = of_setting(records, features, oracle)
    for depth in sorted({record["depth"] for record in records}):
        own = [record for record in records if record["depth"] == depth]
        trial = max((record for record in own if record["kind"] == "trial"), key=best_score)
        options = trial["margin"], best_pass(trial)
        finals = [record for record in own if record["kind"] == "final" and (record["margin"], record["passes"]) == options]
        if finals:
            found[depth] = trial, finals
    return found


def best_score(trial: dict[str, Any]) -> float:
    """Its score on the development part after the best pass."""
    return max(trial["dev"])


def best_pass(trial: dict[str, Any]) -> int:
    """The number of passes after which the development part is parsed best."""
    return 1 + trial["dev"].index(best_score(trial))


def shown(runs: list[dict[str, Any]], name: str) -> str:
    """Mean and standard deviation of scores."""
    return spread([score(unpacked(run[name])) for run in runs])


def seconds(runs: list[dict[str, Any]]) -> float:
    """Processor seconds of a pass."""
    return median(second for run in runs for second in run["cpu"])


def verdicts(found: Found) -> list[Verdict]:
    """The paper's claims."""
    said = []
    for below, above in ((0, 1), (0, 2), (0, 3), (1, 2), (2, 3)):
        if below in found and above in found:
            sides = [[run["without"] for run in found[depth][1]] for depth in (above, below)]
            p, higher = chance(*sides), fmean(score(unpacked(one)) for one in sides[0]) > fmean(score(unpacked(one)) for one in sides[1])
            word = TIE if p >= SIGNIFICANT else REPRODUCED if higher else CONTRADICTED
            numbers = f"{shown(found[above][1], 'without')} and {shown(found[below][1], 'without')}, p {told(p)}"
            said.append(Verdict(f"depth {above} parses better than depth {below}", numbers, word, f"{PAPER[above][0]:.2f} and {PAPER[below][0]:.2f}"))
    return said


def default_runs(records: list[dict[str, Any]], kind: str, features: str, oracle: str) -> list[dict[str, Any]]:
    """The runs of a row of the table of default options."""
    return [record for record in of_setting(records, features, oracle) if record["kind"] == kind and record["margin"] is None]


def origins(runs: list[dict[str, Any]]) -> str:
    """The commits of runs, each with what was run at it."""
    depths: dict[str, dict[str, set[int]]] = {}
    for run in runs:
        what = "default options with dropout" if run["kind"] == "default" else f"left arcs {_WHEN[run['oracle']]}"
        depths.setdefault(run["commit"], {}).setdefault(what, set()).add(run["depth"])
    return "; ".join(f"{commit} ({', '.join(f'{what}, depth {_span(of)}' for what, of in found.items())})" for commit, found in depths.items())


def _span(depths: set[int]) -> str:
    return " to ".join(str(depth) for depth in sorted({min(depths), max(depths)}))


_WHEN = {"first": "at once", "either": "that may wait"}


def by_default(records: list[dict[str, Any]]) -> list[str]:
    """What a user gains by looking ahead who leaves all options alone."""
    heads = ["template", "left arcs", "dropout", "depth 0", "depth 1", "gain", "p", "depth 0, without punctuation", "depth 1, without"]
    rows = []
    for kind, features, oracle in BY_DEFAULT:
        finals = default_runs(records, kind, features, oracle)
        runs = {depth: [record for record in finals if record["depth"] == depth] for depth in PLAIN}
        if all(runs.values()):
            p = chance(*([run["counts"] for run in runs[depth]] for depth in PLAIN))
            before, after = (fmean(score(unpacked(run["counts"])) for run in runs[depth]) for depth in PLAIN)
            scores = [shown(runs[depth], name) for name in ("counts", "without") for depth in PLAIN]
            when = "may wait" if oracle == "either" else "at once"
            rows.append([f"`templates/{TEMPLATES[features].name}`", when, "yes" if kind == "default" else "no", *scores[:2], f"{after - before:.2f}", told(p).removeprefix("= "), *scores[2:]])
    return ["## Default options", "", DEFAULT.strip(), "", *markdown(heads, rows), ""] if rows else []


def section(title: str, found: Found) -> list[str]:
    """The table of one set of features."""
    heads = ["", "margin", "passes", "dev.", "test", "without punctuation", "paper, without", "CPU s a pass", "times depth 0", "paper's training", "tokens/s", "times depth 0", "paper's test"]
    rows = []
    for depth, (trial, finals) in found.items():
        base = seconds(found[0][1]) if 0 in found else None
        speed, speed_of_0 = (median(run["speed"] for run in found[d][1]) if d in found else None for d in (depth, 0))
        rows.append(
            [
                f"depth {depth}", f"{trial['margin']:g}", str(best_pass(trial)), f"{100 * best_score(trial):.2f}", shown(finals, "counts"), shown(finals, "without"),
                f"{PAPER[depth][0]:.2f}", f"{seconds(finals):.2f}", f"{seconds(finals) / base:.1f}" if base else "", f"{PAPER[depth][1] / PAPER[0][1]:.1f}",
                f"{speed:,.0f}", f"{speed_of_0 / speed:.1f}" if speed_of_0 else "", f"{PAPER[depth][2] / PAPER[0][2]:.1f}",
            ]
        )
    return [f"## {title}", "", *markdown(heads, rows), ""]


def page(records: list[dict[str, Any]], quick: bool) -> str:
    """The document."""
    warning = ["**A few random trees: these numbers mean nothing.**", ""] if quick else []
    sets = [(title, chosen(records, *setting)) for setting, title in SETTINGS.items()]
    count = sum(line.startswith("P") for line in TEMPLATES["package"].read_text(encoding="utf-8").splitlines())
    held = holding([verdict.row(title) for title, found in sets for verdict in verdicts(found)], "Dependency parsing with lookahead")
    lines = ["# Parsing with lookahead", "", *warning, ABOUT, *held, DATA.format(count=count), *(line for title, found in sets for line in section(title, found)), *by_default(records)]
    lines.append("## How these numbers were made\n")
    runs = [run for _, found in sets for trial, finals in found.values() for run in (trial, *finals)] + [run for case in BY_DEFAULT for run in default_runs(records, *case)]
    about = f"* `benchmarks/papers/parsing.py` wrote this page. {', '.join(sorted({run['machine'] for run in runs}))}. Commits: {origins(runs)}."
    return "\n".join([*lines, METHOD.strip(), about, ""])


def index_rows(folder: Path) -> list[list[str]]:
    """Rows of the index of all claims, from the raw results."""
    records = Journal(folder / "parsing.jsonl", *FIELDS).known.values()
    return [verdict.row(title) for setting, title in SETTINGS.items() for verdict in verdicts(chosen(records, *setting))]


def stand_in(folder: Path) -> dict[str, Path]:
    """Random sentences whose words all depend on the one before."""
    rng, data = random.Random(1), {}
    folder.mkdir(parents=True, exist_ok=True)
    for part, n in (("train", 60), ("dev", 20), ("test", 20)):
        sentences = [
            "".join(f"{t + 1}\t{rng.choice('abc')}\t_\tX\t{rng.choice('XY')}\t_\t{t}\t_\t_\t_\n" for t in range(rng.randrange(2, 9))) for _ in range(n)
        ]
        data[part] = folder / f"{part}.conllu"
        data[part].write_text("\n".join([*sentences, ""]))
    return data


def main() -> None:
    """The command line."""
    parser = parser_for("parsing", "Parsers that look ahead", quick="a few random trees")
    parser.add_argument("--features", nargs="+", default=list(TEMPLATES), choices=TEMPLATES)
    parser.add_argument("--oracles", nargs="+", default=["first", "either"], choices=["first", "either"])
    parser.add_argument("--depths", nargs="+", type=int, default=DEPTHS, choices=DEPTHS)
    parser.add_argument("--seeds", type=int, default=5, help="parsers of each depth (default %(default)s)")
    parser.add_argument("--finished-only", action="store_true", help="start no run; leave out what is not measured")
    given = parsed(parser)
    journal = Journal(given.out / "parsing.jsonl", *FIELDS)
    if not given.finished_only:
        corpora = os.environ.get("CRFKIT_CORPORA")
        if given.quick:
            data = stand_in(given.work / "parsing-quick")
        elif corpora is None or not (Path(corpora) / "ewt-dep").is_dir():
            parser.exit(1, "CRFKIT_CORPORA names no folder with ewt-dep\n")
        else:
            data = {part: Path(corpora) / "ewt-dep" / f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")}
        study = Study(journal, data, QUICK if given.quick else GRID)
        seeds = range(1, 1 + given.seeds)
        for features, oracle, depth in product(given.features, given.oracles, given.depths):
            if (features, oracle) in SETTINGS:
                best = study.search(features, oracle, depth)
                for seed in seeds:
                    study.final(features, oracle, depth, best["margin"], best_pass(best), seed)
            for kind in ("default", "final"):
                for seed in seeds if (kind, features, oracle) in BY_DEFAULT and depth in PLAIN else ():
                    study.final(features, oracle, depth, None, None, seed, kind)
    path = given.out / "parsing.md"
    path.write_text(page(list(journal.known.values()), given.quick), encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
