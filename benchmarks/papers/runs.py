"""Runs of crfkit, each done once, and the files of raw results that the pages are made from.

A run is a line of JSON in the file of its task, `raw/TASK.jsonl`, found again by what was asked for: kind, task, template,
trainer, options and seed. An interrupted script goes on where it was. All lines are of one commit of the package.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from math import fsum
from pathlib import Path
from statistics import fmean, median
from typing import Any

from journal import Journal, Record
from protocol import LONG, PASSES, PATIENCE
from tasks import Data, Task, prepare

import crfkit
from crfkit.evaluation.evaluate import Outputs
from crfkit.learning.progress import Progress
from crfkit.loops.kernels import variant

BATCH = {"lbfgs"}  # these end by themselves
FIELDS = ("kind", "task", "template", "algorithm", "options", "seed", "first", "second")
"""What tells a run from others."""


class Incomplete(Exception):
    """A run is missing, and may not be started."""


class Raw:
    """The lines of a folder of raw results, a file for each task; new ones are appended as they come."""

    def __init__(self, folder: Path, fresh: bool = False):
        self.folder = folder
        files = sorted(folder.glob("*.jsonl"))
        for path in files if fresh else ():
            path.unlink()
        self.tasks = {} if fresh else {path.stem: Journal(path, *FIELDS) for path in files}

    @property
    def records(self) -> list[Record]:
        return [record for journal in self.tasks.values() for record in journal.known.values()]

    @property
    def commits(self) -> list[str]:
        return sorted({record["commit"] for record in self.records})

    def find(self, asked: Record) -> Record | None:
        return self.tasks[asked["task"]].find(asked) if asked["task"] in self.tasks else None

    def add(self, record: Record) -> Record:
        task = record["task"]
        if task not in self.tasks:
            self.tasks[task] = Journal(self.folder / f"{task}.jsonl", *FIELDS)
        return self.tasks[task].add(record)


class Runs:
    """Runs for the tasks of a study. Where `start` is false none is started; a missing one is Incomplete."""

    def __init__(self, raw: Raw, work: Path, start: bool = True, quick: bool = False):
        self.raw, self.work, self.start, self.quick = raw, work, start, quick
        self.prepared: dict[str, list[Data]] = {}
        self.commit = commit() if start else ""
        self.began, self.done, self.wanted = time.monotonic(), 0, 0

    def trial(self, task: Task, algorithm: str, options: Record) -> Record:
        """Train on each fold, and score each pass on what was left out."""
        limit = {} if algorithm in BATCH else {"passes": PASSES, "patience": PATIENCE}

        def work() -> Record:
            folds, seconds, before = [], [], []
            for train, dev in (split for part in self._data(task) for split in part.splits):
                _, passes, warm = self._learn(task, train, algorithm, {**limit, **options}, 0, dev=str(dev))
                folds.append([round(100 * record[_dev(task)], 3) for record in passes])
                seconds.append([round(record["cpu"], 3) for record in passes])
                before.append(round(fsum(record["cpu"] for record in warm), 3))
            return {"scores": folds, "seconds": seconds, "warm_up": before}

        return self._once(_asked("trial", task, algorithm, options, 0), work)

    def test(self, task: Task, algorithm: str, options: Record, seed: int) -> Record:
        """Train on everything, and score on the test part."""
        asked = _asked("test", task, algorithm, options, seed)
        return self._once(asked, lambda: self._tested(asked, task, algorithm, options, seed))

    def _tested(self, asked: Record, task: Task, algorithm: str, options: Record, seed: int) -> Record:
        """What a test finds; its output becomes a file."""
        pairs: list[tuple[list[str], list[str]]] = []
        cpu, passes, warm = 0.0, [], []
        for part in self._data(task):
            before = time.process_time()
            model, records, prepared = self._learn(task, part.train, algorithm, options, seed)
            cpu += time.process_time() - before
            passes += records
            warm += prepared
            pairs += zip(*model.tagger().tag_with_gold(str(part.test), threads=1), strict=True)
        score = Outputs([str(self._output(asked, task, pairs))], scheme=_scheme(task)).scores[0]
        counts = {"gold": score.chunks.gold, "found": score.chunks.found, "correct": score.chunks.correct}
        return {
            "cpu": round(cpu, 3), "pass_cpu": [round(record["cpu"], 4) for record in passes], "warm_up": len(warm),
            "weight": passes[-1]["mean_abs_weight"], "active": passes[-1]["active"], "tokens": score.tokens, "correct_tokens": score.correct_tokens, "counts": counts,
        }

    def curve(self, task: Task, algorithm: str, options: Record) -> Record:
        """Train on everything for many passes, and see how weights and loss go on."""
        options = {**_one_by_one(options), "passes": LONG}

        def work() -> Record:
            _, passes, _ = self._learn(task, self._data(task)[0].train, algorithm, options, 1)
            return {"weights": [record["mean_abs_weight"] for record in passes], "losses": [round(record["loss"], 2) for record in passes]}

        return self._once(_asked("curve", task, algorithm, options, 1), work)

    def drift(self, task: Task, algorithm: str, options: Record, seed: int) -> Record:
        """Scores on the first fold's development data for many passes, without an early end."""
        options = {**_one_by_one(options), "passes": LONG}

        def work() -> Record:
            train, dev = self._data(task)[0].splits[0]
            _, passes, _ = self._learn(task, train, algorithm, options, seed, dev=str(dev))
            return {"scores": [round(100 * record[_dev(task)], 3) for record in passes]}

        return self._once(_asked("drift", task, algorithm, options, seed), work)

    def tagging(self, task: Task, test: Record) -> float:
        """Processor seconds of tagging the test part, with reading it, by the model of a test: the fastest of nine."""
        how = test["algorithm"], test["options"], test["seed"]

        def work() -> Record:
            seconds = [0.0] * 9
            for part in self._data(task):
                tagger = self._learn(task, part.train, *how)[0].tagger()
                for k in range(len(seconds)):
                    before = time.process_time()
                    tagger.tag_with_gold(str(part.test), threads=1)
                    seconds[k] += time.process_time() - before
            return {"fastest": round(min(seconds), 5)}

        return float(self._once(_asked("tagging", task, *how), work)["fastest"])

    def compare(self, task: Task, first: Record, second: Record) -> Record:
        """Approximate randomisation on the outputs of two tests."""

        def work() -> Record:
            paths = [self.work / "outputs" / f"{_digest(record)}.txt" for record in (first, second)]
            for path, record in zip(paths, (first, second), strict=True):
                if not path.exists():       # only the output is made again: the scores and seconds that count are those of the line
                    of = task if record["template"] == task.template_name else task.with_template(record["template"])
                    self._tell(record)
                    self._tested(record, of, record["algorithm"], record["options"], record["seed"])
            found = Outputs([str(path) for path in paths], scheme=_scheme(task), keep=True).compare(0, 1)
            return {"p": {name: found.p[name] for name in ("f1", "accuracy")}}

        return self._once({"kind": "compare", "task": task.name, "first": _name(first), "second": _name(second)}, work)

    def pace(self, task: Task, first: Record, second: Record) -> Record:
        """Processor seconds of the fastest pass of two trainers, by the options of their tests; three rounds, in turns."""
        sides = [{**record, "options": _one_by_one(record["options"])} for record in (first, second)]

        def work() -> Record:
            found: list[list[float]] = [[], []]
            for _ in range(3):
                for seconds, record in zip(found, sides, strict=True):
                    passes = [self._learn(task, part.train, record["algorithm"], {**record["options"], "passes": 3}, 1)[1] for part in self._data(task)]
                    seconds += [fsum(one["cpu"] for one in same) for same in zip(*passes, strict=True)]
            return {"fastest": [round(min(seconds), 5) for seconds in found]}

        return self._once({"kind": "pace", "task": task.name, "first": _name(sides[0]), "second": _name(sides[1])}, work)

    def _data(self, task: Task) -> list[Data]:
        if task.name not in self.prepared:
            self.prepared[task.name] = prepare(task, self.work, self.quick)
        return self.prepared[task.name]

    def _learn(self, task: Task, train: Path, algorithm: str, options: Record, seed: int, **more: Any) -> tuple[Any, list[Record], list[Record]]:
        log, heard = io.StringIO(), _WarmUp("never", quiet=True)
        if self.quick and options.get("passes") != LONG:
            options = {**options, "max_iter" if algorithm in BATCH else "passes": 2}
        template = None if task.template is None else str(task.template)
        given = {**options, "seed": seed, "features": task.features, "format": task.format, "threads": 1, **more}
        model = crfkit.learn(str(train), template, algorithm, progress=heard, log=log, **given)
        return model, [json.loads(line) for line in log.getvalue().splitlines()], heard.passes

    def _output(self, asked: Record, task: Task, pairs: list[tuple[list[str], list[str]]]) -> Path:
        """Gold and predicted labels as a file; words of a segmentation as chunks."""
        path = self.work / "outputs" / f"{_digest(asked)}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        if task.metric == "word F1":
            pairs = [(words(gold), words(found)) for gold, found in pairs]
        text = "\n".join("".join(f"{g}\t{p}\n" for g, p in zip(*pair, strict=True)) for pair in pairs)
        path.write_text(text, encoding="utf-8")
        return path

    def _check(self) -> None:
        """Whether a run may be started: not beside runs of another commit."""
        if not self.start:
            raise Incomplete
        self.commit = next((one for one in self.raw.commits if same_commit(one, self.commit)), self.commit)
        if self.raw.commits not in ([], [self.commit]):
            sys.exit(
                f"{self.raw.folder} has runs of commit {', '.join(self.raw.commits)}, this is {self.commit}: "
                "let PYTHONPATH (make results PACKAGE=...) name a built tree of that commit, or begin again with --fresh"
            )

    def _once(self, asked: Record, work: Callable[[], Record]) -> Record:
        """The record of a run: as it stands in the raw results, or with what the work finds now."""
        if (known := self.raw.find(asked)) is not None:
            return known
        self._check()
        if "algorithm" in asked:
            self._tell(asked)
        begun = time.monotonic()
        found = work()
        return self.raw.add({**asked, **found, "commit": self.commit, "machine": machine(), "took": round(time.monotonic() - begun, 2)})

    def _tell(self, asked: Record) -> None:
        """A training run begins."""
        self.done += 1
        left = (time.monotonic() - self.began) / self.done * (self.wanted - self.done)
        what = " ".join([asked["task"], asked["kind"], asked["algorithm"], *flags(asked["options"])])
        print(f"run {self.done} of about {max(self.wanted, self.done)}, {max(left, 0) / 60:.0f} min left: {what}", file=sys.stderr, flush=True)


class _WarmUp(Progress):
    """Says nothing, and keeps the passes that precede the first one."""

    def __init__(self, *given: Any, **options: Any):
        super().__init__(*given, **options)
        self.passes: list[Record] = []

    def summary(self, counts: Record) -> None:
        self.last = time.process_time()

    def prepared(self, record: Record) -> None:
        before, self.last = self.last, time.process_time()
        self.passes.append({**record, "cpu": self.last - before})


def choice(trial: Record) -> tuple[float, int, float]:
    """What a trial found: its score, passes, and the score after the first pass."""
    batch = trial["algorithm"] in BATCH
    best = [len(scores) if batch else 1 + scores.index(max(scores)) for scores in trial["scores"]]
    ends = [scores[number - 1] for scores, number in zip(trial["scores"], best, strict=True)]
    return fmean(ends), round(median(best)), fmean(scores[0] for scores in trial["scores"])


def words(labels: list[str]) -> list[str]:
    """B, M, E, S as chunks: a word begins with B or S, or where the one before has ended."""
    starts = [label in "BS" or k == 0 or labels[k - 1] in "ES" for k, label in enumerate(labels)]
    return ["B-W" if start else "I-W" for start in starts]


def flags(options: Record) -> list[str]:
    """Options as words of the command line."""
    found = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        found += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return found


def _asked(kind: str, task: Task, algorithm: str, options: Record, seed: int) -> Record:
    return {"kind": kind, "task": task.name, "template": task.template_name, "algorithm": algorithm, "options": options, "seed": seed}


def _one_by_one(options: Record) -> Record:
    """Options without batches, as in the papers."""
    return {name: value for name, value in options.items() if name != "batch_size"}


def _name(record: Record) -> str:
    return " ".join(["-a", record["algorithm"], *flags(record["options"]), "--seed", str(record["seed"]), record["template"]])


def _digest(asked: Record) -> str:
    return hashlib.sha256(f"{asked['task']} {_name(asked)}".encode()).hexdigest()[:20]


def _dev(task: Task) -> str:
    """What is measured on development data."""
    return "dev_f1" if task.metric == "F1" else "dev_accuracy"


def _scheme(task: Task) -> str:
    return "bio" if task.metric in ("F1", "word F1") else "none"


def machine() -> str:
    """The kind of machine, not its name."""
    return f"{platform.machine()}, {os.cpu_count()} processors, loops for {variant()}"


def about() -> Record:
    """Of what commit a run is, and on what machine it was made."""
    return {"commit": commit(), "machine": machine()}


def same_commit(one: str, other: str) -> bool:
    """Whether two names are of the same commit: git shortens them to more digits as a repository grows."""
    return (one.startswith(other) or other.startswith(one)) and one.isalnum() == other.isalnum()     # "-dirty" is another one


def commit() -> str:
    """The last one that changed the package that runs; "-dirty" where it differs from that; "unknown" outside a repository."""
    git = ["git", "-C", str(Path(crfkit.__file__).parents[1])]
    built = ["--", "crfkit", "setup.py"]
    try:
        last, changes = (
            subprocess.run([*git, *words, *built], check=True, capture_output=True, text=True).stdout.strip()
            for words in (["log", "-1", "--format=%h"], ["status", "--porcelain"])
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{last}-dirty" if changes else last or "unknown"
