"""Whole processes, from start to model: `crfkit learn` beside CRFsuite's reading and training, to the same objective.

    python benchmarks/bench_whole.py [--rounds N] [--sentences N] [--only NAME ...] [--limit S]

Both have one thread, a process of their own and the same features. crfkit reads columns and ends by itself.
CRFsuite reads the features ready-made, and is stopped as soon as its objective is as low as crfkit's; at its own
end; or after --limit seconds: then the factor is a lower bound. Seconds are those of the processor. The corpora are
those in the folder that CRFKIT_CORPORA names, else the shipped one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

import common
import peers
from process import measured

from crfkit.template.meaning import expand
from crfkit.template.parsing import Template

L2 = 1.0
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


def crfsuite(ready: str, goal: float, limit: float) -> None:
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

    trainer = Trainer("lbfgs", {"c2": L2 / 2, "max_iterations": 100000}, verbose=True)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (verbose trainers print)
    for items, labels in peers.read_ready(Path(ready)):
        trainer.append(items, labels)
    trainer.train(str(Path(ready).with_suffix(".crfsuite")))
    tell("end")


def prepare(train: Path, template: Path, folder: Path, sentences: int | None) -> tuple[Path, Path, Path]:
    """Columns, template and ready-made features, in a folder."""
    lines = [line for line in template.read_text(encoding="utf-8").splitlines() if not line.startswith("B") or line == "B"]
    own = folder / "template"
    own.write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns, ready = folder / "train.txt", folder / "ready.txt"
    common.write_sentences(columns, common.sentences_of(train.read_text(encoding="utf-8"))[:sentences])
    macros = [line for line in Template.load(str(own)).lines if line.macros]
    with ready.open("w", encoding="utf-8", newline="\n") as file:
        for rows in common.rows_of(columns):
            for t, row in enumerate(rows):
                found = (expand(line, rows, t) for line in macros)
                file.write("\t".join([row[-1], *(string for string in found if string is not None)]) + "\n")
            file.write("\n")
    return columns, own, ready


def compare(train: Path, template: Path, sentences: int | None, rounds: int, limit: float) -> tuple[Any, ...]:
    """A row of the table."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        columns, own, ready = prepare(train, template, folder, sentences)
        log, ours = folder / "log", []
        run: Callable[[], Any] = lambda: measured(  # noqa: E731
            "-m", "crfkit", "learn", "-q", "--threads", 1, "--l2", L2, "--log", log, own, columns, folder / "model", tree=common.TREE
        )
        for _ in range(rounds):
            ours.append(run().processor)
        last = json.loads(log.read_text().splitlines()[-1])
        cells = [median(ours), f"{last['objective']:,.2f}", f"{100 * last['gap'] / (last['objective'] - last['gap']):.2g} %" if "gap" in last else ""]
        if not peers.crfsuite():
            return (*cells, "", "", "")
        peer = Peer(*json.loads(measured(__file__, "--crfsuite", ready, last["objective"], limit, tree=common.TREE).output.splitlines()[-1]))
        bound = "more than " if peer.end == "limit" else ""
        return (*cells, peer.seconds, f"{peer.objective:,.2f}", f"{bound}{peer.seconds / median(ours):.1f} times")


def main() -> None:
    parser = common.parser_for("Whole processes", 1)
    parser.add_argument("--only", nargs="+", choices=list(TASKS), help="these corpora")
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds after which CRFsuite is stopped")
    given = parser.parse_args()
    print(f"\nWhole processes, --l2 {L2:g}\n{common.machine()}")
    rows = []
    for name, (train, template) in TASKS.items():
        folder = common.corpora(name)
        if folder is not None and name in (given.only or TASKS):
            rows.append((name, *compare(folder / train, common.ROOT / "templates" / template, given.sentences, given.rounds, given.limit)))
    if not rows:
        shipped = common.ROOT / "data" / "chunking.train.txt"
        rows.append(("data/chunking", *compare(shipped, common.TEMPLATE, given.sentences, given.rounds, given.limit)))
    common.table(("corpus", "crfkit, s", "objective", "gap at most", "CRFsuite, s", "objective", "factor"), rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--crfsuite"]:
        crfsuite(sys.argv[2], *map(float, sys.argv[3:]))
    else:
        main()
