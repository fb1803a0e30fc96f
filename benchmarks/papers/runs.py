"""Training runs through the command line, each done once and remembered.

A run is one file in the work folder, named by a digest of everything that its result depends on but the code: command,
template and data. An interrupted script goes on where it was; `--fresh` forgets.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import crfkit
from crfkit.evaluation.evaluate import Outputs, evaluate
from crfkit.loops.kernels import variant

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Result:
    """What a run left behind. The model itself is not kept."""

    command: str
    commit: str
    machine: str
    cpu: float
    """Processor seconds of the whole command."""
    passes: list[dict[str, Any]]
    """The records of --log."""
    counts: dict[str, int] = field(default_factory=dict)
    """What was counted on the test part."""
    node: int = 0
    """Weights that are not zero and depend on one label."""
    pair: int = 0
    """Weights that are not zero and depend on two."""


class Runs:
    """The runs of a work folder."""

    def __init__(self, work: Path, fresh: bool = False, finished_only: bool = False):
        self.folder, self.fresh, self.finished_only = work / "runs", fresh, finished_only
        self.folder.mkdir(parents=True, exist_ok=True)
        self.done: set[str] = set()

    def learn(
        self, task: Any, train: Path, algorithm: str, options: dict[str, Any], *, dev: Path | None = None, test: Path | None = None
    ) -> Result | None:
        """Train, and score each pass on `dev`, or the end on `test`. None if it is not finished and may not be started."""
        words = ["-a", algorithm, *flags({"features": task.features, "format": task.format, "threads": 1, **options})]
        files = [path for path in (task.template, train, dev, test) if path is not None]
        key = hashlib.sha256(json.dumps([words, [_digest(path) for path in files], dev is None, task.metric]).encode()).hexdigest()[:20]
        path = self.folder / f"{key}.json"
        if path.exists() and not (self.fresh and key not in self.done):
            return Result(**json.loads(path.read_text()))
        if self.finished_only:
            return None
        print(f"  {task.name}: {algorithm} {' '.join(flags(options))}", file=sys.stderr, flush=True)
        result = self._run(task, train, words, dev, test)
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(asdict(result)))
        os.replace(beside, path)
        self.done.add(key)
        return result

    def _run(self, task: Any, train: Path, words: list[str], dev: Path | None, test: Path | None) -> Result:
        with TemporaryDirectory() as folder:
            log, model = Path(folder) / "log", Path(folder) / "model"
            template = [] if task.template is None else [task.template]
            judge = [] if dev is None else ["--dev", dev]
            seconds = _cpu_of([*words, "-q", "--log", log, *judge, *template, train, model])
            result = Result(
                command=" ".join(map(str, ["crfkit learn", *words, *(_short(path) for path in template)])),
                commit=commit(),
                machine=machine(),
                cpu=seconds,
                passes=[json.loads(line) for line in log.read_text().splitlines()],
            )
            if test is not None:
                _judge(result, task, model, test, Path(folder))
            return result


def _judge(result: Result, task: Any, model: Path, test: Path, folder: Path) -> None:
    """The one look at the test part, and what the model consists of."""
    tagger = crfkit.load(model)
    gold, predicted = tagger.tag_with_gold(str(test), threads=1)
    if task.metric == "word F1":
        output = folder / "output"
        pairs = ("".join(f"{g}\t{p}\n" for g, p in zip(*sentence, strict=True)) for sentence in zip(gold, predicted, strict=True))
        output.write_text("\n".join(pairs) + "\n", encoding="utf-8")
        count = Outputs([str(output)], segments=True).scores[0].words
    else:
        scores = evaluate(gold, predicted, scheme="auto" if task.metric == "F1" else "none")
        count = scores.chunks
    if task.metric in ("F1", "word F1"):
        result.counts = {"gold": count.gold, "found": count.found, "correct": count.correct}
    else:
        result.counts = {"gold": scores.tokens, "found": scores.tokens, "correct": scores.correct_tokens}
    with subprocess.Popen([sys.executable, "-m", "crfkit", "dump", str(model)], stdout=subprocess.PIPE, env=_environment()) as dump:
        for line in dump.stdout:
            if line.split(b"\t")[1] == b"#":
                result.node += 1
            else:
                result.pair += 1


def flags(options: dict[str, Any]) -> list[str]:
    """Options as words of the command line."""
    words = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        words += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return words


def _cpu_of(arguments: list[Any]) -> float:
    """Run `crfkit learn`; its processor seconds, which other work on the machine disturbs less than those of the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "crfkit", "learn", *map(str, arguments)], check=True, env=_environment(), stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _environment() -> dict[str, str]:
    """With the crfkit that was imported here."""
    places = [str(Path(crfkit.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def machine() -> str:
    """The kind of machine, not its name."""
    return f"{platform.machine()}, {os.cpu_count()} processors, loops for {variant()}"


def commit() -> str:
    """The last one that changed what is measured: scripts, templates and documents may have changed since, each run names
    its own. "-dirty" where the package itself differs from it; "unknown" outside a repository."""
    git = ["git", "-C", str(ROOT)]
    built = ["--", "crfkit", "setup.py"]
    try:
        last, changes = (
            subprocess.run([*git, *words, *built], check=True, capture_output=True, text=True).stdout.strip()
            for words in (["log", "-1", "--format=%h"], ["status", "--porcelain"])
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{last}-dirty" if changes else last or "unknown"
