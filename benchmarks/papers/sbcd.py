"""The comparisons of "Efficient Learning of Sparse CRFs" (Sokolovska, Lavergne, Cappe, Yvon 2010) on real data: tables 2 and
3, figures 5 and 6. Its simulated data are in simulated.py.

    python benchmarks/papers/sbcd.py [--parts PART ...] [--quick]

Each training is a process of its own, whose seconds and memory are its own, and a line of sbcd.jsonl. Finished ones are not
repeated. Numbers of iterations are the paper's. Penalties are chosen on development data, by one rule for all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

from journal import Journal
from judging import counted, packed, score
from runs import about
from sbcd_page import index_rows, write  # noqa: F401  index_rows: for the index of all pages
from sbcd_weights import MODELS, matrices
from study import parsed, parser_for
from tasks import OWN, ROOT

import crfkit
from crfkit import options as trainer_options
from crfkit.errors import CrfkitWarning
from crfkit.learning.corpus import Corpus, read_corpus
from crfkit.learning.reader import Reader
from crfkit.model import build
from crfkit.options import Run
from crfkit.template.parsing import Template
from crfkit.trainers.base import summarise
from crfkit.trainers.batch.sbcd import Sbcd

ELASTIC = 0.001  # l2 beside every l1
SWEEP = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # seven, as in table 2, whose values are not legible
L2 = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
ITERATIONS = {"sbcd": 30, "owlqn": 50, "lbfgs": 90, "sgd": 30}  # table 2
GRAM_L1 = 0.3
SPACES = {"pseudo-3": 30, "pseudo-5": 30, "ngrams-3": 30, "ngrams-5": 30}  # iterations: those of table 3, and as many for the largest
MARKS = (9, 20, 30)  # passes after which table 3 looks at the model, and the one its text mentions
CUTS = (2, 3, 5, 10, 20)
THRESHOLDS = (0.03, 0.1, 0.3, 0.6, 1.2, 2.0)  # the last two after the others were known: see the page
NER_L1 = (0.3, 1.0, 3.0, 10.0, 30.0)
COSTS = (0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
SAMPLE = 6000  # training words that penalties are chosen on; the last tenth of them is held out


# --- One training, in a process of its own ----------------------------------------------------------------------------


def trained(spec: dict[str, Any]) -> dict[str, Any]:
    """Train and score: {"test", "train": scores, "node", "pair": active weights, "cpu", "memory", ...}."""
    warnings.simplefilter("ignore", CrfkitWarning)
    began, log = time.process_time(), []
    model = crfkit.learn(
        spec["files"]["train"], spec["template"], spec["algorithm"], features=spec["features"], threads=1, progress=log.append, **spec["options"]
    )
    found = {"cpu": time.process_time() - began, "passes": len(log), "a_pass": fmean(record["cpu"] for record in log if "cpu" in record)}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**found, "memory": round(memory), "objective": log[-1].get("objective"), **judged(model, spec["files"], spec["of_chunks"])}


def judged(model: crfkit.Model, files: dict[str, str], of_chunks: bool) -> dict[str, Any]:
    """Scores on each file, F1 as well as token accuracy where labels are chunks, and weights that are not zero."""
    found: dict[str, Any] = {}
    for name, path in files.items():
        gold, labels = model.tagger().tag_with_gold(path, threads=1)
        counts = counted(False, gold, labels)
        found[name] = round(score(counts), 4)
        if name == "test":
            found["counts"] = packed(counts)
        if of_chunks:
            found[f"{name}_f1"] = round(score(counted(True, gold, labels)), 4)
    active = [previous is None for _, previous, _, weight in model.features() if weight]
    return {**found, "node": sum(active), "pair": len(active) - sum(active)}


def numbered(data: dict[str, Any], **how: Any) -> Corpus:
    """The training part as numbers."""
    return read_corpus(Reader([data["files"]["train"]], Template.load(data["template"]), Run(**how)))


def followed(spec: dict[str, Any]) -> dict[str, Any]:
    """Sbcd pass by pass: the model after each of `marks` too."""
    began = time.process_time()
    corpus = numbered(spec, features=spec["features"])
    trainer = Sbcd(corpus.dataset, corpus.layout, trainer_options.make("sbcd", spec["options"]))
    marks, series, spent = {}, [], 0.0
    for number in range(1, max(spec["marks"]) + 1):
        start = time.process_time()
        trainer.run_pass()
        spent += time.process_time() - start
        series.append([round(time.process_time() - start, 3), summarise(trainer.weights())[0]])
        if number in spec["marks"]:
            model = build(corpus.layout, trainer.weights(), corpus.builder, {**corpus.header, "algorithm": "sbcd", "options": {}})
            marks[str(number)] = {**judged(model, {"test": spec["files"]["test"]}, False), "cpu": round(spent, 2)}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"features": corpus.summary["weights"], "attributes": corpus.summary["attributes"], "memory": round(memory), "cpu": time.process_time() - began,
            "expected": spec.get("expected"), "series": series, "marks": marks}


def timed(spec: dict[str, Any]) -> dict[str, Any]:
    """Figure 5: for falling l1, each from the solution of the one before, seconds of a pass with sparse and with dense loops."""
    corpus = numbered(spec, features="all")
    weights, points = None, []

    def begun(kind: str, l1: float, weights: Any) -> Sbcd:
        options = trainer_options.make("sbcd", {"l1": l1, "l2": ELASTIC, "recursions": kind, "epsilon": 0.0, "delta": 0.0})
        return Sbcd(corpus.dataset, corpus.layout, options, initial=weights)

    for l1 in sorted(spec["values"], reverse=True):
        sparse = begun("sparse", l1, weights)
        for _ in range(spec["passes"]):
            sparse.run_pass()
        weights = sparse.weights()
        dense = begun("dense", l1, weights)
        dense.run_pass()
        least: dict[str, float] = {}
        for _ in range(3):
            for kind, trainer in (("sparse", sparse), ("dense", dense)):
                start = time.process_time()
                trainer.run_pass()
                least[kind] = min(least.get(kind, 1e9), time.process_time() - start)
        points.append({"l1": l1, "active": summarise(weights)[0], **{kind: round(seconds, 4) for kind, seconds in least.items()}})
    return {"points": points}


def pictured(spec: dict[str, Any]) -> dict[str, Any]:
    """Figures 1 and 4: the weights of a model."""
    warnings.simplefilter("ignore", CrfkitWarning)
    return matrices(crfkit.learn(spec["files"]["train"], spec["template"], spec["algorithm"], features="all", threads=1, progress=[].append, **spec["options"]))


WORK = {"trained": trained, "followed": followed, "timed": timed, "pictured": pictured}


# --- Which trainings --------------------------------------------------------------------------------------------------


class Study:
    """Runs what is not finished, and keeps all of it."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.quick, self.work, self.finished_only = given.quick, given.work, given.finished_only
        self.work.mkdir(parents=True, exist_ok=True)
        self.journal = Journal(given.out / "sbcd.jsonl", "part", "row", "kind", "spec")
        self.found: dict[str, dict[str, Any]] = {}

    def run(self, part: str, row: str, kind: str = "trained", **spec: Any) -> dict[str, Any] | None:
        """A row of a table; None if it is not measured and may not be."""
        asked = {name: Path(value).name if name == "template" else value for name, value in spec.items() if name != "files"}
        record = {"part": part, "row": row, "kind": kind, "spec": json.loads(json.dumps(asked))}
        known = self.journal.find(record)
        if known is None:
            if self.finished_only:
                return None
            print(f"  {part}: {row}", file=sys.stderr, flush=True)
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
                known = self.journal.add({**record, **about(), **pool.submit(WORK[kind], spec).result()})
        self.found[f"{part}/{row}"] = known
        return known

    def row(self, part: str, row: str, data: dict[str, Any], algorithm: str, **options: Any) -> dict[str, Any] | None:
        if "delta" not in options:
            options["passes" if algorithm == "sgd" else "max_iter"] = 2 if self.quick else ITERATIONS[algorithm]
        return self.run(part, row, algorithm=algorithm, options=options, **data)

    def chosen(self, part: str, data: dict[str, Any], algorithm: str, name: str, values: tuple[float, ...], **options: Any) -> float | None:
        """The value with the best score on development data; of those within 0.2 points of it, the largest for l1: the sparsest."""
        scores = {}
        for value in values[:2] if self.quick else values:
            found = self.row(f"{part}, development", f"{algorithm} {name} {value:g}", data, algorithm, **{name: value}, **options)
            if found is None:
                return None
            scores[value] = found["test"]
        slack = 0.2 if name == "l1" else 0.0
        return max(value for value, one in scores.items() if one >= max(scores.values()) - slack)


def files_of(study: Study, corpus: str, cut: int | None = None) -> dict[str, str]:
    """Paths of train and test; with `cut`, of the last tenth of the first sentences of train instead."""
    stand_in = {"nettalk": "letters", "conll2003": "ner"}[corpus]
    folder = ROOT / "data" if study.quick else Path(os.environ["CRFKIT_CORPORA"]) / corpus
    names = {half: folder / (f"{stand_in}.{half}.txt" if study.quick else f"{half}.txt") for half in ("train", "test")}
    if corpus == "conll2003" and cut and not study.quick:
        return {"train": str(names["train"]), "test": str(folder / "dev.txt")}
    if study.quick or cut:
        blocks = {half: path.read_text(encoding="utf-8").strip().split("\n\n") for half, path in names.items()}
        blocks = {half: [_widened(lines, corpus) for lines in found[:60]] for half, found in blocks.items()} if study.quick else blocks
        if cut:
            sample = blocks["train"][: None if study.quick else cut]
            blocks = {"train": sample[: len(sample) * 9 // 10], "test": sample[len(sample) * 9 // 10 :]}
        for half, lines in blocks.items():
            names[half] = study.work / f"{corpus}-{cut or 'all'}-{half}{'-quick' * study.quick}.txt"
            names[half].write_text("\n\n".join(lines) + "\n\n", encoding="utf-8")
    return {half: str(path) for half, path in names.items()}


def _widened(block: str, corpus: str) -> str:
    """A sentence of data/ with as many columns as the corpus has: its tags are repeated."""
    if corpus == "nettalk":
        return block
    rows = (line.split() for line in block.splitlines())
    return "\n".join("\t".join([*row[:-1], row[-2], row[-1]]) for row in rows)


def penalties(study: Study, data: dict[str, Any]) -> tuple[float | None, float | None]:
    """L1 of sbcd, and L2 of what has no L1, chosen on a sample of the training words."""
    held = {**data, "files": files_of(study, "nettalk", SAMPLE)}
    return study.chosen("letters", held, "sbcd", "l1", SWEEP, l2=ELASTIC), study.chosen("letters", held, "sgd", "l2", L2)


def one_letter(study: Study) -> dict[str, Any]:
    return {"template": str(OWN / "one-symbol.txt"), "features": "all", "of_chunks": False, "files": files_of(study, "nettalk")}


def letters(study: Study, seeds: int) -> None:
    """Table 2."""
    data = one_letter(study)
    for l1 in SWEEP:
        study.row("letters", f"sbcd, l1 {l1:g}", data, "sbcd", l1=l1, l2=ELASTIC)
    l1, l2 = penalties(study, data)
    if l1 is None or l2 is None:
        return
    study.row("letters", "sbcd, chosen", data, "sbcd", l1=l1, l2=ELASTIC)
    study.row("letters", "owlqn, chosen l1", data, "owlqn", l1=l1, l2=ELASTIC)
    study.row("letters", "lbfgs", data, "lbfgs", l2=l2, warm_up=0)
    for seed in range(1 if study.quick else seeds):
        study.row("letters", f"sgd, seed {seed}", data, "sgd", l2=l2, seed=seed)


def weights(study: Study, seeds: int) -> None:
    """Figures 1 and 4."""
    data = one_letter(study)
    l1, l2 = penalties(study, data)
    options: dict[str, dict[str, Any]] = {"lbfgs": {"l2": l2, "warm_up": 0}, "sbcd": {"l1": l1, "l2": ELASTIC}}
    for name in MODELS if l1 is not None and l2 is not None else ():
        limit = {"max_iter": 2 if study.quick else ITERATIONS[name]}
        study.run("weights", name, "pictured", template=data["template"], files=data["files"], algorithm=name, options={**options[name], **limit})


def ngrams(study: Study, seeds: int) -> None:
    """Table 3: pseudo n-grams and n-grams, all pairs of labels."""
    for space, passes in SPACES.items():
        marks = [2] if study.quick else [mark for mark in MARKS if mark <= passes]
        study.run("ngrams", space, "followed", template=str(OWN / f"{space}.txt"), features="all", files=files_of(study, "nettalk"),
                  options={"l1": GRAM_L1, "l2": ELASTIC, "epsilon": 0.0, "delta": 0.0}, marks=marks)


def cost(study: Study, seeds: int) -> None:
    """Figure 5."""
    values = COSTS[:2] if study.quick else COSTS
    study.run("cost", "figure 5", "timed", template=str(OWN / "one-symbol.txt"), files=files_of(study, "nettalk"), values=values, passes=2 if study.quick else 5)


def names(study: Study, seeds: int) -> None:
    """Figure 6."""
    data = {"template": str(OWN / "conll2003.txt"), "features": "observed", "of_chunks": True, "files": files_of(study, "conll2003")}
    held = {**data, "files": files_of(study, "conll2003", 1)}
    l2 = study.chosen("names", held, "sgd", "l2", L2)
    if l2 is None:
        return
    for seed in range(1 if study.quick else seeds):
        study.row("names", f"sgd, seed {seed}", data, "sgd", l2=l2, seed=seed)
    study.row("names", "lbfgs", data, "lbfgs", l2=l2)
    for l1 in NER_L1:
        study.row("names", f"owlqn, {l1:g}", data, "owlqn", l1=l1, l2=ELASTIC, delta=0.001)
    for cut in CUTS:
        study.row("names", f"frequency cut-off, {cut}", data, "lbfgs", l2=l2, min_freq=cut)
        study.row("names", f"mutual information, {cut}", data, "lbfgs", l2=l2, select=f"mi:{kept(data, cut)}")
    for threshold in THRESHOLDS:
        study.row("names", f"threshold, {threshold:g}", data, "lbfgs", l2=l2, prune=threshold)
    for l1 in NER_L1[1::2]:
        study.row("names", f"sbcd, {l1:g}", data, "sbcd", l1=l1, l2=ELASTIC, delta=0.001)


def kept(data: dict[str, Any], cut: int) -> int:
    """Attributes, of labels and of pairs, that a cut-off leaves, so that mutual information may choose as many."""
    return sum(numbered(data, min_freq=cut).layout.n_attributes)


PARTS = {"letters": letters, "weights": weights, "cost": cost, "ngrams": ngrams, "names": names}


def main() -> None:
    parser = parser_for("sbcd", "The comparisons of the paper on sparse CRFs", quick="a few words of the synthetic corpora in data/")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=f"only these of {', '.join(PARTS)}")
    parser.add_argument("--seeds", type=int, default=5, help="runs of sgd (default %(default)s)")
    parser.add_argument("--finished-only", action="store_true", help="start no run; leave out the rows that lack one")
    given = parsed(parser)
    if not (given.quick or given.finished_only) and not all((Path(os.environ.get("CRFKIT_CORPORA", "")) / name).is_dir() for name in ("nettalk", "conll2003")):
        parser.exit(1, "CRFKIT_CORPORA names no folder with nettalk and conll2003\n")
    study = Study(given)
    for name, part in PARTS.items():
        study.finished_only = given.finished_only or name not in given.parts
        part(study, given.seeds)
    print(write(study.found, given.out, given.quick))


if __name__ == "__main__":
    main()
