"""Data larger than memory: `crfkit learn --data-dir` under a limit on memory, beside a run in memory that has none.

    python benchmarks/bench_data_dir.py [--size 2G] [--limit 1G] [--part 0.1] [--folder DIR] [--only TRAINER ...]
    [--sentences N]

The text is the training part of the corpus over and over, each time in another order, until it has that size. The
run in memory gets the first part of it. Both make the same number of passes. The limit is one of a control group,
which counts pages of files too, where one can be made; else one on private memory, RLIMIT_DATA. Seconds are those
for a million tokens.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import common

from crfkit.values import size

LEARN: dict[str, tuple[str, ...]] = {
    "lbfgs": ("--max-iter", "3", "--warm-up", "0", "--l2", "1"),
    "owlqn": ("--max-iter", "3"),
    "sgd": ("--passes", "2", "--rate", "0.1", "--l2", "1"),
    "sapo": ("--passes", "2", "--rate", "0.1", "--l2", "1"),
    "perceptron": ("--passes", "2"),
}
GROUPS = Path("/sys/fs/cgroup")
FILES = {"memory": ("memory.limit_in_bytes", "memory.max_usage_in_bytes"), "": ("memory.max", "memory.peak")}  # of version 1 and of version 2
LIMITED = """
import os, resource, sys
group, limit = sys.argv[1], int(sys.argv[2])
if group:
    open(os.path.join(group, "cgroup.procs"), "w").write(str(os.getpid()))
elif limit:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from crfkit.cli import cli
cli(sys.argv[3:])
"""


class Took(NamedTuple):
    """By a run: seconds for a million tokens outside of its passes, of which reading takes the most, and in a pass; and bytes at its peak."""

    reading: float
    a_pass: float
    peak: int


def write_text(path: Path, sentences: list[str], bytes_wanted: int) -> int:
    """The sentences over and over; how many tokens that is."""
    source, tokens, written = random.Random(1), 0, 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while written < bytes_wanted:
            for sentence in sentences:
                written += file.write(sentence) + file.write("\n\n")
                tokens += sentence.count("\n") + 1
                if written >= bytes_wanted:
                    break
            source.shuffle(sentences)
    return tokens


class Group(NamedTuple):
    """A control group, whose processes have so much memory together."""

    folder: Path
    limit: Path
    peak: Path


def groups() -> Iterator[Group]:
    """Those that may be possible below our own."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, own = line.split(":", 2)
            if kinds in FILES:
                folder = GROUPS / kinds / own.lstrip("/") / f"crfkit-{os.getpid()}"
                yield Group(folder, *(folder / name for name in FILES[kinds]))


def made(group: Group, limit: int) -> bool:
    """Whether it can be made, with this limit."""
    with suppress(OSError):
        group.folder.mkdir()
        with suppress(OSError):
            group.limit.write_text(str(limit))
            return True
        group.folder.rmdir()
    return False


@contextmanager
def control_group(limit: int) -> Iterator[Group | None]:
    """The first group that can be made; None where none can."""
    group = next((group for group in groups() if made(group, limit)), None)
    try:
        yield group
    finally:
        if group is not None:
            with suppress(OSError):  # a run that was left behind
                group.folder.rmdir()


def run(name: str, text: Path, tokens: int, group: Group | None, limit: int, *more: Any) -> Took:
    """One run, with a limit if there is one."""
    log, model = text.with_suffix(".log"), text.with_suffix(".model")
    command = ("learn", "-q", "-a", name, *LEARN[name], "--threads", 1, "--log", log, *more, common.TEMPLATE, text, model)
    used = common.command("-c", LIMITED, group.folder if group else "", limit, *command)
    records = [json.loads(line) for line in log.read_text().splitlines()]
    passes = [record["seconds"] for record in records]
    reading = used.seconds - records[-1]["elapsed"]
    peak = used.peak
    if group is not None:
        with suppress(OSError):
            peak = int(group.peak.read_text())
    return Took(1e6 * reading / tokens, 1e6 * sum(passes) / len(passes) / tokens, peak)


def measure(folder: Path, sentences: list[str], bytes_wanted: int, limit: int, part: float, trainers: list[str]) -> Iterator[tuple[str, Took, Took]]:
    """Of each trainer, the run in memory and the one in files."""
    whole, small = folder / "whole.txt", folder / "small.txt"
    tokens, few = write_text(whole, list(sentences), bytes_wanted), write_text(small, list(sentences), int(part * bytes_wanted))
    print(f"{tokens:,} tokens, {whole.stat().st_size / 2**20:,.0f} MB of text; in memory {few:,} of them", flush=True)
    for name in trainers:
        inside = run(name, small, few, None, 0)
        with control_group(limit) as group:
            if group is None:
                print("no control group can be made: the limit is RLIMIT_DATA", flush=True)
            yield name, inside, run(name, whole, tokens, group, limit, "--data-dir", folder)


def of_corpus(corpus: common.Corpus, text: str, memory: str, part: float, trainers: list[str]) -> Iterator[tuple[str, Took, Took]]:
    """`measure` with sizes such as 2G; where but a few sentences are wanted, with little text."""
    sentences = common.sentences_of(corpus.train.read_text(encoding="utf-8"))
    wanted, limit = size(text) or 0, size(memory) or 0
    if corpus.sentences is not None:
        wanted, limit = corpus.train.stat().st_size * 20, 1 << 30
    return measure(corpus.folder, sentences, wanted, limit, part, trainers)


def main() -> None:
    parser = common.parser_for("Data larger than memory: learn --data-dir", rounds=1)
    parser.add_argument("--size", default="2G", help="bytes of text (default %(default)s)")
    parser.add_argument("--limit", default="1G", help="bytes of memory (default %(default)s)")
    parser.add_argument("--part", type=float, default=0.1, help="of the text, for the run in memory (default %(default)s)")
    parser.add_argument("--folder", help="where text and data lie; on a disk, not in memory")
    parser.add_argument("--only", nargs="+", choices=LEARN, default=list(LEARN), metavar="TRAINER")
    given = parser.parse_args()
    with TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        corpus = common.the_corpus(folder, given.sentences)
        print(f"\n{parser.description}\n{common.machine()}\ncorpus: {corpus.name}")
        rows = [
            (
                name, f"{inside.reading:.2f} s", f"{outside.reading:.2f} s", f"{inside.a_pass:.2f} s", f"{outside.a_pass:.2f} s",
                f"{outside.a_pass / inside.a_pass:.2f}", f"{outside.peak / 2**20:,.0f} MB",
            )
            for name, inside, outside in of_corpus(corpus, given.size, given.limit, given.part, given.only)
        ]
    common.table(("trainer", "reading, in memory", "in files", "a pass, in memory", "in files", "ratio", "peak"), rows)


if __name__ == "__main__":
    main()
