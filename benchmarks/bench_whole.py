"""Whole processes, from start to model: `crfkit learn` beside CRFsuite's reading and training, to the same objective.

    python benchmarks/bench_whole.py [--rounds N] [--sentences N] [--only NAME ...] [--trainers NAME ...] [--limit S]

Trainers are lbfgs (an L2 penalty) and owlqn (an L1 penalty, beside CRFsuite's OWL-QN). Both sides have one thread,
a process of their own and the same features. crfkit reads columns and ends by itself. CRFsuite is given the features
ready-made, which Python reads from a file, and is stopped as soon as its objective is as low as crfkit's; at its own end; or after --limit seconds:
then the factor is a lower bound. Seconds are those of the processor: the median of the rounds for crfkit; CRFsuite, which takes minutes, runs once. The corpora are those in the folder that
CRFKIT_CORPORA names, else the shipped one.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

import common
import peers
from process import measured

from crfkit.template.parsing import Template

PENALTY = {"lbfgs": "l2", "owlqn": "l1"}
"""Each trainer has one of them, of size 1."""
PEERS = {"lbfgs": {"c2": 0.5}, "owlqn": {"c1": 1.0, "c2": 0.0}}
"""The same for CRFsuite, whose lbfgs is OWL-QN where there is a c1."""
LIMIT = 900.0
TASKS = {
    "conll2000": ("train.txt", "chunking.txt"),
    "jnlpba": ("train.txt", "ner-words.txt"),
    "conll2003": ("train.txt", "ner.txt"),
    "ewt-pos": ("train.txt", "pos.txt"),
    "cws-sxu": ("train.txt", "segmentation.txt"),
    "nettalk": ("train.joint.txt", "letter-to-sound.txt"),
}
"""Corpora, their training parts and templates; label pairs with observations, which CRFsuite does not know, are
left out.
"""


class Peer(NamedTuple):
    """What CRFsuite needed."""

    seconds: float
    objective: float
    end: str  # why it ended: "goal", "end", "limit"


def crfsuite(ready: str, trainer: str, goal: float, limit: float) -> None:
    """In a process of its own: prints seconds, objective and reason when one of the three is met."""
    import pycrfsuite

    last = [0.0]

    def tell(end: str) -> None:
        print(json.dumps([process_time(), last[0], end]), file=sys.__stdout__, flush=True)
        os._exit(0)

    class Trainer(pycrfsuite.Trainer):
        def on_iteration(self, log: Any, info: dict[str, Any]) -> None:
            last[0] = info["loss"]
            if info["loss"] <= goal or process_time() > limit:
                tell("goal" if info["loss"] <= goal else "limit")

    own = Trainer("lbfgs", {**PEERS[trainer], "max_iterations": 100000}, verbose=True)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (verbose trainers print)
    for items, labels in peers.read_ready(Path(ready)):
        own.append(items, labels)
    own.train(str(Path(ready).with_suffix(".crfsuite")))
    tell("end")


def prepare(train: Path, template: Path, folder: Path, sentences: int | None) -> tuple[Path, Path, Path]:
    """Columns, template and ready-made features, in a folder."""
    lines = [line for line in template.read_text(encoding="utf-8").splitlines() if not line.startswith("B") or line == "B"]
    own = folder / "template"
    own.write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns, ready = folder / "train.txt", folder / "ready.txt"
    common.write_sentences(columns, common.sentences_of(train.read_text(encoding="utf-8"))[:sentences])
    with ready.open("w", encoding="utf-8", newline="\n") as file:
        common.write_ready(file, common.rows_of(columns), Template.load(str(own)))
    return columns, own, ready


def compare(task: tuple[Path, Path, Path], trainer: str, rounds: int, limit: float) -> tuple[Any, ...]:
    """A row of the table, of columns, template and ready-made features."""
    columns, own, ready = task
    log, ours = columns.with_name("log"), []
    given = ("-a", trainer, "-q", "--threads", 1, f"--{PENALTY[trainer]}", 1, "--log", log, own, columns, columns.with_name("model"))
    for _ in range(rounds):
        ours.append(measured("-m", "crfkit", "learn", *given, tree=common.TREE).processor)
    last = json.loads(log.read_text().splitlines()[-1])
    cells = [median(ours), f"{last['objective']:,.2f}", f"{100 * last['gap'] / (last['objective'] - last['gap']):.2g} %" if "gap" in last else ""]
    if not peers.crfsuite():
        return (*cells, "", "", "")
    peer = Peer(*json.loads(measured(__file__, "--crfsuite", ready, trainer, last["objective"], limit, tree=common.TREE).output.splitlines()[-1]))
    bound = "more than " if peer.end == "limit" else ""
    return (*cells, peer.seconds, f"{peer.objective:,.2f}", f"{bound}{peer.seconds / median(ours):.1f} times")


def main() -> None:
    parser = common.parser_for("Whole processes", 1)
    parser.add_argument("--only", nargs="+", choices=list(TASKS), help="these corpora")
    parser.add_argument("--trainers", nargs="+", choices=list(PENALTY), default=list(PENALTY), help="these trainers")
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds after which CRFsuite is stopped")
    given = parser.parse_args()
    print(f"\nWhole processes, a penalty of 1\n{common.machine()}")
    folders = {name: common.corpora(name) for name in given.only or TASKS}
    found = {
        name: (folder / TASKS[name][0], common.ROOT / "templates" / TASKS[name][1]) for name, folder in folders.items() if folder is not None
    } or {"data/chunking": (common.ROOT / "data" / "chunking.train.txt", common.TEMPLATE)}
    rows = []
    for name, (train, template) in found.items():
        with TemporaryDirectory() as folder:
            task = prepare(train, template, Path(folder), given.sentences)
            for trainer in given.trainers:
                rows.append((name, trainer, *compare(task, trainer, given.rounds, given.limit)))
                print(*rows[-1], sep="  ", file=sys.stderr, flush=True)  # it takes an hour
    common.table(("corpus", "trainer", "crfkit, s", "objective", "gap at most", "CRFsuite, s", "objective", "factor"), rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--crfsuite"]:
        crfsuite(sys.argv[2], sys.argv[3], *map(float, sys.argv[4:]))
    else:
        main()
