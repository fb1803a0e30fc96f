"""Bi-LSTM, Bi-LSTM-CRF and SAPO on top of a Bi-LSTM beside linear models: the claim of the papers on SAPO and on
decode-based learning that their linear models beat both networks.

    python benchmarks/papers/neural.py [--tasks TASK ...] [--seeds 5] [--quick]

All models have the same data, and all stop by the same rule: they learn from nine tenths of the training part, the tenth
that follows is scored after each pass, and after PATIENCE passes without a better score the best pass is taken. It tags the
test part once. Other runs go on for fifty passes, and only their scores on that tenth count: do they fall? Needs the extra `neural`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np
import tasks
from journal import Journal
from judging import Verdict, chance, counted, packed, score
from protocol import CONTRADICTED, LONG, REPRODUCED, SIGNIFICANT, TIE, fall, on_falls
from report import holding, markdown, mean, picture, spread
from runs import about
from study import parsed, parser_for
from tasks import Task, prepare

import crfkit

PASSES, PATIENCE, BATCH, HIDDEN = 30, 3, 8, 100
LENGTHS = (16, 32, 64, 128, 256, 512)  # sentences are filled up to these: one compiled program each


@dataclass(frozen=True)
class Model:
    """A row of the tables, or one that only a picture and a verdict have."""

    title: str
    trainer: str  # of crfkit, or what stands on top of a network
    lambdas: int = 0  # a linear model's `--l2`, in the paper's lambda; none: a network
    lasting: bool = False  # LONG passes, whatever the scores


MODELS = {
    "sapo": Model("SAPO", "sapo", 2), "sgd": Model("CRF, trained with SGD", "sgd", 2),
    "sapo-half": Model("SAPO, half the penalty", "sapo", 1), "sgd-half": Model("CRF, half the penalty", "sgd", 1),
    "lstm": Model("Bi-LSTM", "lstm"), "lstm-crf": Model("Bi-LSTM-CRF", "lstm-crf"), "lstm-sapo": Model("SAPO on top of a Bi-LSTM", "lstm-sapo"),
    "sapo-long": Model(f"SAPO, {LONG} passes", "sapo", 2, True), "sgd-long": Model(f"CRF, trained with SGD, {LONG} passes", "sgd", 2, True),
    "lstm-long": Model(f"Bi-LSTM, {LONG} passes", "lstm", lasting=True), "lstm-crf-long": Model(f"Bi-LSTM-CRF, {LONG} passes", "lstm-crf", lasting=True),
}
LAMBDA = {"conll2000-np-paper": 1.0, "jnlpba": 5.0, "wsj-sample-pos": 2.0}  # what the paper's cross-validation gave the CRF, and SAPO with it
TASKS = {task.name: task for task in (tasks.NP_PAPER, tasks.JNLPBA, tasks.WSJ)}

Sentences = list[list[list[str]]]
Tag = Callable[[Sentences], list[list[str]]]


# --- What networks see ------------------------------------------------------------------------------------------------


def cells(row: list[str]) -> list[str]:
    """A token's columns for a network: the word as the paper normalises it, its ending and its shape, and the other columns."""
    word = row[0]
    normal = "".join("#" if c.isdigit() else c for c in word.lower())
    shape = "".join("X" if c.isupper() else "0" if c.isdigit() else "x" if c.isalpha() else c for c in word)
    short = "".join(c for k, c in enumerate(shape) if k == 0 or shape[k - 1] != c)
    return [normal, normal[-3:], short, *row[1:-1]]


class Numbers:
    """Columns and labels as numbers. 0 is a place behind the sentence; 1 a cell seen less than twice in training."""

    def __init__(self, train: Sentences) -> None:
        seen: list[dict[str, int]] = [{} for _ in cells(train[0][0])]
        for row in (row for sentence in train for row in sentence):
            for counts, cell in zip(seen, cells(row), strict=True):
                counts[cell] = counts.get(cell, 0) + 1
        self.columns = [{cell: 2 + k for k, cell in enumerate(cell for cell, n in counts.items() if n > 1)} for counts in seen]
        self.labels = sorted({row[-1] for sentence in train for row in sentence})
        self.of_label = {label: k for k, label in enumerate(self.labels)}

    @property
    def sizes(self) -> list[int]:
        return [len(column) + 2 for column in self.columns]

    def batches(self, sentences: Sentences, size: int, order: random.Random | None = None) -> Iterator[tuple[list[int], Any, Any, Any]]:
        """(sentences' numbers, ids, mask, gold): those of about the same length together, batches in a random order."""
        groups: dict[int, list[int]] = {}
        numbers = list(range(len(sentences)))
        if order is not None:
            order.shuffle(numbers)
        for k in numbers:
            groups.setdefault(next(n for n in LENGTHS if n >= len(sentences[k])), []).append(k)
        found = [(length, group[a : a + size]) for length, group in groups.items() for a in range(0, len(group), size)]
        if order is not None:
            order.shuffle(found)
        for length, group in found:
            yield group, *self._filled([sentences[k] for k in group], length, size)

    def _filled(self, sentences: Sentences, length: int, size: int) -> tuple[Any, Any, Any]:
        ids = np.zeros((size, length, len(self.columns)), np.int32)
        mask, gold = np.zeros((size, length), bool), np.zeros((size, length), np.int32)
        for k, sentence in enumerate(sentences):
            mask[k, : len(sentence)] = True
            for t, row in enumerate(sentence):
                ids[k, t] = [column.get(cell, 1) for column, cell in zip(self.columns, cells(row), strict=True)]
                gold[k, t] = self.of_label.get(row[-1], 0)
        return ids, mask, gold


# --- Runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parts:
    files: dict[str, Path]
    sentences: dict[str, Sentences]


def parts_of(task: Task, work: Path, quick: bool) -> Parts:
    """What is learnt from, its last tenth to stop by, the test part."""
    (data,) = prepare(task, work, quick)
    folder = work / "neural" / (task.name + "-quick" * quick)
    folder.mkdir(parents=True, exist_ok=True)
    blocks = data.train.read_text(encoding="utf-8").strip().split("\n\n")
    first = len(blocks) - len(blocks) // 10
    files = {"train": folder / "train.txt", "dev": folder / "dev.txt", "test": data.test}
    for name, part in (("train", blocks[:first]), ("dev", blocks[first:])):
        files[name].write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
    return Parts(files, {name: [[line.split("\t") for line in block.splitlines()] for block in path.read_text(encoding="utf-8").strip().split("\n\n")] for name, path in files.items()})


def labels_of(sentences: Sentences) -> list[list[str]]:
    return [[row[-1] for row in sentence] for sentence in sentences]


def linear(task: Task, parts: Parts, model: Model, seed: int, passes: int, patience: int) -> tuple[list[float], Tag]:
    """Scores on development data after each pass, and the model that labels other sentences."""
    curve: list[float] = []
    name = "dev_f1" if task.metric == "F1" else "dev_accuracy"
    learnt = crfkit.learn(
        parts.files["train"], task.template, model.trainer, features=task.features, dev=parts.files["dev"], patience=patience, seed=seed, threads=1,
        passes=passes, l2=model.lambdas * LAMBDA[task.name], progress=lambda record: curve.append(100 * record[name]) if name in record else None,
    )
    return curve, lambda sentences: learnt.tagger().tag_many([[row[:-1] for row in sentence] for sentence in sentences], threads=1)


def network(task: Task, parts: Parts, model: Model, seed: int, passes: int, patience: int, batch: int, hidden: int) -> tuple[list[float], Tag]:
    """The same of a network."""
    import jax
    from neural_model import Network, Sizes

    numbers = Numbers(parts.sentences["train"])
    net = Network(model.trainer, numbers.sizes, len(numbers.labels), seed, Sizes(hidden=hidden))
    order, curve, kept = random.Random(seed), [], net.params
    gold = labels_of(parts.sentences["dev"])

    def tag(sentences: Sentences) -> list[list[str]]:
        found: list[list[str]] = [[] for _ in sentences]
        for group, ids, mask, _ in numbers.batches(sentences, batch):
            for k, labels in zip(group, net.tag(ids, mask), strict=False):
                found[k] = [numbers.labels[label] for label in labels[: len(sentences[k])]]
        return found

    while len(curve) < passes and len(curve) - 1 - (curve.index(max(curve)) if curve else -1) < patience:
        for _, ids, mask, right in numbers.batches(parts.sentences["train"], batch, order):
            net.learn(ids, mask, right)
        curve.append(score(counted(task.metric == "F1", gold, tag(parts.sentences["dev"]))))
        if curve[-1] > max(curve[:-1], default=-1.0):
            kept = jax.tree.map(lambda w: w.copy(), net.params)
        print(f"    pass {len(curve)}: {curve[-1]:.2f}", file=sys.stderr, flush=True)
    net.params = kept
    return curve, tag


def run(task: Task, parts: Parts, name: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    print(f"  {task.name}: {name}, seed {seed}", file=sys.stderr, flush=True)
    model, began = MODELS[name], time.process_time()
    passes, patience = (LONG, LONG) if model.lasting else (1 if given.quick else PASSES, PATIENCE)
    if model.lambdas:
        curve, tag = linear(task, parts, model, seed, passes, patience)
    else:
        curve, tag = network(task, parts, model, seed, passes, patience, given.batch, 8 if given.quick else HIDDEN)
    record: dict[str, Any] = {"dev": [round(value, 4) for value in curve]}
    if not model.lasting:
        counts = counted(task.metric == "F1", labels_of(parts.sentences["test"]), tag(parts.sentences["test"]))
        record |= {"test": round(score(counts), 4), "counts": packed(counts)}
    return {**record, "cpu": round(time.process_time() - began, 2), **about()}


def batch_of(name: str, batch: int) -> int:
    """Linear models learn from one sentence at a time."""
    return 1 if MODELS[name].lambdas else batch


# --- The page ---------------------------------------------------------------------------------------------------------

Runs = dict[str, list[dict[str, Any]]]


def of_task(task: Task, records: list[dict[str, Any]]) -> Runs:
    found = {name: [record for record in records if (record["task"], record["model"]) == (task.name, name)] for name in MODELS}
    return {name: sorted(runs, key=lambda run: run["seed"]) for name, runs in found.items() if runs}


def section(task: Task, found: Runs, folder: Path) -> list[str]:
    lines = [f"## {task.title}", ""]
    if all(MODELS[name].lambdas for name in found):
        return [*lines, "Not measured yet.", ""]
    heads = ["model", "seeds", f"test {task.metric}", "dev.", "best pass", "CPU s a pass", "CPU s in all"]
    table = []
    for name, runs in ((name, runs) for name, runs in found.items() if not MODELS[name].lasting):
        tests, bests = [run["test"] for run in runs], [max(run["dev"]) for run in runs]
        table.append([
            MODELS[name].title, str(len(runs)), spread(tests), f"{fmean(bests):.2f}", f"{fmean(1 + run['dev'].index(max(run['dev'])) for run in runs):.1f}",
            f"{fmean(run['cpu'] / len(run['dev']) for run in runs):.1f}", f"{fmean(run['cpu'] for run in runs):.0f}",
        ])
    lines += [*markdown(heads, table), "", *(beside(found))]
    lacking = [model.title for name, model in MODELS.items() if name not in found]
    lines += ["", f"Not measured yet: {'; '.join(lacking)}."] if lacking else []
    for lasting, kind, until in ((False, "score", ""), (True, "long", ", to the fiftieth")):
        file, shown = f"neural-{task.name}-{kind}.png", {name: runs for name, runs in found.items() if MODELS[name].lasting == lasting}
        if shown and drawn(task, shown, folder / file):
            lines += ["", f"![{task.metric} on development data after each pass{until}]({file})"]
    return [*lines, ""]


def drawn(task: Task, found: Runs, path: Path) -> bool:
    """The picture of scores after each pass, averaged over seeds; False where there is none."""
    with picture(path) as axes:
        if axes is None:
            return path.exists()
        for name, runs in found.items():
            values = mean([run["dev"] for run in runs])
            axes.plot(range(1, 1 + len(values)), values, label=MODELS[name].title, linewidth=1.2)
        best = max(max(run["dev"]) for runs in found.values() for run in runs)
        axes.set_ylim(best - 6, best + 0.2)
        axes.set_xlabel("passes")
        axes.set_ylabel(f"{task.metric} on development data")
        return True


def verdicts(found: Runs) -> list[Verdict]:
    """The papers' claims."""
    said = []
    for other in ("sgd", "lstm", "lstm-crf"):
        if "sapo" in found and other in found:
            numbers, p, above = compared(found["sapo"], found[other])
            said.append(Verdict(f"SAPO is above {MODELS[other].title}", numbers, TIE if p >= SIGNIFICANT else REPRODUCED if above else CONTRADICTED))
    for other in ("lstm", "lstm-crf"):
        if "sapo" in found and other in found:
            seconds = [fmean(run["cpu"] for run in found[name]) for name in ("sapo", other)]
            word = REPRODUCED if 2 * seconds[0] < seconds[1] else TIE if seconds[0] < seconds[1] else CONTRADICTED
            said.append(Verdict(f"SAPO trains several times faster than {MODELS[other].title}", f"{seconds[0]:.0f} s and {seconds[1]:.0f} s", word))
    for other in ("lstm", "lstm-crf"):
        falls = [[fall(run["dev"]) for run in found.get(f"{name}-long", ())] for name in (other, "sapo")]
        if all(len(one) > 1 for one in falls):
            changes = " and ".join(f"{-fmean(one):+.2f} ± {stdev(one):.2f}" for one in falls)
            numbers = f"from passes 6-10 to 46-50 they change by {changes} points, {len(falls[0])} and {len(falls[1])} seeds"
            said.append(Verdict(f"scores of {MODELS[other].title} get worse with more passes, those of SAPO do not", numbers, on_falls(*falls)))
    return said


def beside(found: Runs) -> list[str]:
    """SAPO on top of a network, of which the papers claim nothing."""
    lines = []
    for other in ("lstm-crf", "sapo"):
        if "lstm-sapo" in found and other in found:
            numbers, p, above = compared(found["lstm-sapo"], found[other])
            lines.append(f"* {MODELS['lstm-sapo'].title} is {'not significantly different from' if p >= SIGNIFICANT else 'better than' if above else 'worse than'} {MODELS[other].title} ({numbers}).")
    return lines


def compared(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> tuple[str, float, bool]:
    p, scores = chance([run["counts"] for run in one], [run["counts"] for run in other]), [[run["test"] for run in runs] for runs in (one, other)]
    seeds = min(len(one), len(other))
    return f"{spread(scores[0])} and {spread(scores[1])}, p = {p:.4f}, {seeds} seed{'s' * (seeds > 1)}", p, fmean(scores[0]) > fmean(scores[1])


def index_rows(folder: Path) -> list[list[str]]:
    """Rows of the index of all claims, from the raw results."""
    records = list(map(json.loads, (folder / "neural.jsonl").read_text(encoding="utf-8").splitlines()))
    records = [one for one in records if one["batch"] == batch_of(one["model"], BATCH)]
    return [verdict.row(task.title) for task in TASKS.values() for verdict in verdicts(of_task(task, records))]


ABOUT = """\
The papers on [SAPO](sapo.md) and [decode-based learning](dbl-crf.md) compare with a Bi-LSTM and a Bi-LSTM-CRF trained with Adam. They say that
SAPO is better than both on all three tasks, and several times faster. They also say that SAPO can be combined with a Bi-LSTM, but do not try it. This page tries it: the
network's outputs are the potentials, and the top layer is updated as in SAPO, over the five best label sequences.
"""
METHOD = """\
## How it was done

* **The same data for all**: every model trains on nine tenths of the training part. The last tenth decides when it stops: after three passes without a
  better score, or after 30 passes. So scores are a little below the other pages, which train on everything. The model of the best pass tags the test part once.
  This rule can end a run while the learning rate is still high: on parts of speech the five runs of SAPO made 5 to 27 passes and have 90.60 to 96.31 (the two longest 96.20 and 96.31). There the verdicts are of
  this rule as much as of the method.
* **Linear models**: features and L2 penalties of the paper, which chose lambda by the CRF alone, and took the same for SAPO: 1 for chunks, 5 for biomedical names, 2 for tags. It does not say
  whether the penalty is lambda |w|^2 or half of that. The [protocol](protocol.md) reads the first, so `--l2` is 2, 10 and 4, and verdicts are on that. This page had the second until its test scores
  were known: those runs are the rows with half the penalty. With penalties chosen on development data, [SAPO's page](sapo.md) has other scores and verdicts, of models that learn from all of the training part.
* **Networks**: word vectors of 50 numbers, as in the papers, but initialised at random here: Senna's vectors, with which the papers start, were not available.
  The paper does not give the other sizes: 100 units per direction, 20 numbers for the word's ending, its shape, and its part of speech; dropout 0.5; Adam at 0.001.
  Batches of {batch} sentences, where the papers have 1: on one processor, batches of one take several times as long.
* **Verdicts**: significance is tested by approximate randomisation over the test sentences. Runs are paired by seed, and p is the median. *Reproduced* and *contradicted* need p < 0.05. Anything else is a *tie*. "Several times faster" is
  twice at least. As in the [protocol](protocol.md), a pair of seeds whose difference has another sign than that of the means counts as p = 1. (This page had no such rule at first. On biomedical names it called
  SAPO above the CRF "reproduced" with p = 0.0001, the median of pairs from -2.35 to +2.10 points.)
* **Pictures**: scores on development data, averaged over seeds. A run that has ended goes on as it ended.
* **Long runs**: the paper shows passes long after the best one, and says that networks diverge there. So other runs make 50 passes, and are judged by the protocol's rule on *scores that get worse with more passes*:
  the mean of passes 6 to 10 beside that of passes 46 to 50. Only their scores on development data count. The seconds of the tables are without them.
* Times are processor seconds on a shared machine, with compilation, scoring and tagging. A pass of a network mostly waits for small matrix products. A graphics card would be faster.
* `benchmarks/papers/neural.py` wrote this page (extra `neural`: jax on the CPU), from [neural.jsonl](neural.jsonl), a line for each run.
"""


def main() -> None:
    parser = parser_for("neural", "Bi-LSTM, Bi-LSTM-CRF and SAPO on top of a Bi-LSTM beside linear models", quick="a few sentences of the synthetic corpora, one pass")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), metavar="TASK", help=f"only these of {', '.join(TASKS)}")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="MODEL", help=f"only these of {', '.join(MODELS)}")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each model (default %(default)s)")
    parser.add_argument("--batch", type=int, default=BATCH, help="sentences a step of a network (default %(default)s)")
    parser.add_argument("--finished-only", action="store_true", help="start no run; leave out what is not measured")
    given = parsed(parser)
    chosen = [TASKS[name] for name in given.tasks]
    if not given.finished_only:
        if importlib.util.find_spec("jax") is None:
            parser.exit(1, "jax is not installed: pip install 'crfkit[neural]'\n")
        if not given.quick and (lacking := tasks.missing(chosen)):
            parser.exit(1, f"not found in CRFKIT_CORPORA: {', '.join(lacking)}\n")
    journal = Journal(given.out / "neural.jsonl", "task", "model", "seed", "batch")
    if not given.finished_only:
        _finish(chosen, journal, given)
    shown = [one for one in journal.known.values() if one["batch"] == batch_of(one["model"], given.batch)]
    lines = ["# Networks beside linear models", "", *(["**A few sentences of the synthetic corpora: these numbers mean nothing.**", ""] if given.quick else [])]
    found = {task: of_task(task, shown) for task in TASKS.values()}
    rows = [verdict.row(task.title) for task, runs in found.items() for verdict in verdicts(runs)]
    lines += [ABOUT.strip(), "", *holding(rows, "Networks beside linear models"), METHOD.format(batch=given.batch).strip(), ""]
    lines += [line for task, runs in found.items() for line in section(task, runs, given.out)]
    path = given.out / "neural.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    print(path)


def _finish(chosen: list[Task], journal: Journal, given: argparse.Namespace) -> None:
    """The runs that are missing, seed by seed, so that a table has all rows early."""
    import jax

    jax.config.update("jax_compilation_cache_dir", str(given.work / "jax"))
    for task in chosen:
        parts = parts_of(task, given.work, given.quick)
        for seed in range(1, 1 + (1 if given.quick else given.seeds)):
            for name in given.models:
                asked = {"task": task.name, "model": name, "seed": seed, "batch": batch_of(name, given.batch)}
                journal.of(asked, lambda task=task, parts=parts, name=name, seed=seed: run(task, parts, name, seed, given))


if __name__ == "__main__":
    main()
