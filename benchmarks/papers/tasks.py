"""The tasks of the papers: their data, columns, templates and scores.

CRFKIT_CORPORA names a folder with one folder per corpus. The project contains no part of them: the files for training are
written to the work folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tags import PartsOfSpeech
from words import Words

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "templates"
OWN = Path(__file__).resolve().parent / "templates"

Sentence = list[str]
QUICK = {"train": 120, "test": 60}  # sentences of --quick


@dataclass(frozen=True)
class Task:
    """A corpus, its columns, and the features that every trainer of a table uses."""

    name: str
    title: str
    corpus: str
    template: Path | None
    stand_in: str
    """The files in data/ that --quick uses: data/STAND_IN.train.txt and so on."""
    metric: str = "F1"
    """F1 of chunks, F1 of words (BMES labels), or accuracy."""
    features: str = "observed"
    parts: tuple[str, ...] = ("",)
    """Data sets that are trained separately and scored together: prefixes of file names."""
    columns: Callable[[list[str]], list[str]] = list
    """Cells of the corpus -> feature columns and the label."""
    words: bool = False
    """Add columns on words that occur in the training part: see words.py."""
    tags_of: str | None = None
    """Add a column of parts of speech, predicted by a model trained on this corpus: see tags.py."""
    folds: int = 1
    """The number of folds of cross-validation on the training data; 1: its last tenth, or `dev`, is held out."""
    dev: str | None = None
    """The corpus's own development part, a file in its folder."""
    sample: int | None = None
    """How many sentences options are chosen on, held-out ones not counted; None: all."""
    data: str = ""
    """What a reader should know about the data, and how those of the paper differ."""
    source: str = ""
    """The same of the features."""
    seen: str = ""
    """Scores on the test part that were known when choices were made, before the present protocol."""

    @property
    def short(self) -> str:
        return self.title[0].lower() + self.title[1:] if self.title[:3] != "WSJ" else self.title

    @property
    def template_name(self) -> str:
        return "" if self.template is None else str(self.template.relative_to(ROOT))

    def with_template(self, path: str) -> Task:
        """The same task with other features."""
        return replace(self, template=ROOT / path)

    @property
    def format(self) -> str:
        return "crfsuite" if self.template is None else "columns"


@dataclass(frozen=True)
class Data:
    """Files of one part of a task: everything, and the splits of the training data."""

    train: Path
    test: Path
    splits: list[tuple[Path, Path]]


def missing(tasks: list[Task]) -> list[str]:
    """The corpora that are missing."""
    folder = os.environ.get("CRFKIT_CORPORA")
    wanted = {corpus for task in tasks for corpus in (task.corpus, task.tags_of) if corpus is not None}
    return sorted(corpus for corpus in wanted if folder is None or not (Path(folder) / corpus).is_dir())


def prepare(task: Task, work: Path, quick: bool) -> list[Data]:
    """Write the files for training; one Data for each part of the task."""
    return [_prepared(task, part, work / "data" / (task.name + ("-quick" if quick else "")), quick) for part in task.parts]


def _prepared(task: Task, part: str, folder: Path, quick: bool) -> Data:
    folder.mkdir(parents=True, exist_ok=True)
    sentences = {}
    for half in ("train", "test"):
        sentences[half] = list(_stand_in(task, half) if quick else _corpus(task, part, half))
        if quick:
            sentences[half] = sentences[half][: QUICK[half]]
    if task.tags_of is not None:
        tagged = ROOT / "data" / "pos.train.txt" if quick else Path(os.environ["CRFKIT_CORPORA"]) / task.tags_of / "train.txt"
        parts = PartsOfSpeech(tagged, folder / "parts-of-speech.model")
        sentences = {half: parts.widened(found) for half, found in sentences.items()}
    name = part or "all."
    train, test = _written(task, folder / name, ("train.txt", sentences["train"]), ("test.txt", sentences["test"]))
    splits = []
    given = None if quick or task.dev is None else list(_corpus(task, part, task.dev))
    for k, (learn, judge) in enumerate(_splits(sentences["train"], 1 if quick else task.folds, task.sample, given)):
        splits.append(_written(task, folder / name, (f"fold{k}.train.txt", learn), (f"fold{k}.dev.txt", judge)))
    return Data(train, test, splits)


def _written(task: Task, stem: Path, *files: tuple[str, list[Sentence]]) -> tuple[Path, Path]:
    """Write two files. Columns on known words are made from the first one, for both."""
    known = Words(files[0][1]) if task.words else None
    paths = []
    for k, (ending, sentences) in enumerate(files):
        path = stem.with_name(stem.name + ending)
        lines = sentences if known is None else (known.widened(sentence, counted=k == 0) for sentence in sentences)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text("".join("\n".join(sentence) + "\n\n" for sentence in lines), encoding="utf-8")
        os.replace(beside, path)    # atomically: another script may be reading the file
        paths.append(path)
    return paths[0], paths[1]


def _splits(sentences: list[Sentence], folds: int, sample: int | None, dev: list[Sentence] | None = None) -> Iterator[tuple[list[Sentence], list[Sentence]]]:
    """Training and development parts: blocks, not every n-th sentence, as neighbours come from the same text."""
    if dev is not None:
        yield sentences[:sample], dev
    elif folds == 1:
        first = len(sentences) - len(sentences) // 10
        yield sentences[: min(first, sample or first)], sentences[first:]
    else:
        n = len(sentences[:sample])
        for k in range(folds):
            first, last = n * k // folds, n * (k + 1) // folds
            yield sentences[:first] + sentences[last:n], sentences[first:last]


def _corpus(task: Task, part: str, half: str) -> Iterator[Sentence]:
    path = Path(os.environ["CRFKIT_CORPORA"]) / task.corpus / f"{part}{half}.txt"
    if task.format == "crfsuite":
        yield from _documents(path)
        return
    for sentence in _blocks(path):
        yield ["\t".join(task.columns(line.split())) for line in sentence]


def _stand_in(task: Task, half: str) -> Iterator[Sentence]:
    """A synthetic corpus of data/; its tags are repeated if the task has more columns."""
    path = ROOT / "data" / f"{task.stand_in}.{half}.txt"
    for sentence in _blocks(path):
        if task.format == "crfsuite":
            yield sentence
            continue
        rows = [line.split() for line in sentence]
        width = 4 if task.corpus == "conll2003" else 3 if task.corpus == "ewt-pos" else len(rows[0])
        yield ["\t".join(task.columns([*row[:-1], *[row[-2]] * (width - len(row)), row[-1]])) for row in rows]


def _blocks(path: Path) -> Iterator[Sentence]:
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        yield block.splitlines()


def _documents(path: Path) -> Iterator[Sentence]:
    """Lines of `feature:count ... #label#:class`, each as a sequence of one item."""
    for line in path.read_text(encoding="utf-8").splitlines():
        *items, label = line.split()
        pairs = (item.rpartition(":") for item in items)
        yield ["\t".join([label.rpartition(":")[2], *(f"{_escaped(name)}:{float(count)!r}" for name, _, count in pairs)])]


def _escaped(name: str) -> str:
    """The name of an attribute, escaped for CRFsuite's format."""
    return name.replace("\\", "\\\\").replace(":", "\\:")


# --- Columns ----------------------------------------------------------------------------------------------------------


def base_np(cells: list[str]) -> list[str]:
    """Noun phrases only: all other chunks become `O`."""
    return [*cells[:-1], cells[-1] if cells[-1].endswith("-NP") else "O"]


def word_and_label(cells: list[str]) -> list[str]:
    """Leave out the columns between, which are gold annotation, too."""
    return [cells[0], cells[-1]]


# --- Tasks ------------------------------------------------------------------------------------------------------------

_CONLL2000 = (
    "CoNLL-2000 shared task, standard split (8,936 training and 2,012 test sentences), columns word, part of speech and chunk."
)
_NP = _CONLL2000 + " Chunks other than noun phrases are labelled `O`: the labels are B-NP, I-NP and O, as in the paper."
_JNLPBA = "JNLPBA (BioNLP 2004) shared task, the public original: 18,546 training and 3,856 test sentences. The paper on ADF counts 20,546 and 4,260, those on SAPO and DBL-CRF 17,484 and 3,856."

_TAGS = (
    "Parts of speech are predicted by a crfkit model: `lbfgs` with `templates/pos.txt`, trained on 3,396 sentences of the WSJ. That is newspaper text, so the tags are "
    "worse than those of the papers."
)

NP_RICH = Task(
    "conll2000-np-rich", "Base noun phrases, rich edges", "conll2000", SHIPPED / "chunking-best.txt", "chunking", columns=base_np,
    folds=4, sample=3000,
    data=_NP,
    source="Features: `templates/chunking-best.txt`, chosen by 4-fold cross-validation of `adf` on the training data, which may favour `adf`. Those of the papers "
    "are words, parts of speech and their n-grams.",
    seen="the test part was scored in four earlier rounds. In the first, options were chosen on the last tenth of the training data; when its scores were known, by cross-validation, as in the "
    "papers. In the third, `sapo` had the penalty of `sgd`, as in the papers, and 94.30 (`sgd` 94.39); then its own, and 94.54.",
)
NP_PAPER = Task(
    "conll2000-np-paper", "Base noun phrases, the paper's features", "conll2000", OWN / "chunking-sun.txt", "chunking", columns=base_np,
    folds=4, sample=3000,
    data=_NP,
    source="Features: those of table 3 of the paper on ADF, and pairs of labels by themselves (`benchmarks/papers/templates/chunking-sun.txt`).",
)
NP_PLAIN = Task(
    "conll2000-np-plain", "Base noun phrases, without rich edges", "conll2000", SHIPPED / "chunking.txt", "chunking", columns=base_np,
    folds=4, sample=3000,
    data=_NP,
    source="Features: `templates/chunking.txt`, that of CRF++'s example: features of label pairs do not see the words.",
)
CHUNKS = Task(
    "conll2000-all", "All chunk types, rich edges", "conll2000", SHIPPED / "chunking-best.txt", "chunking", sample=4000,
    data=_CONLL2000,
    source="Features: `templates/chunking-best.txt`.",
)
CHUNKS_PLAIN = Task(
    "conll2000-all-plain", "All chunk types, without rich edges", "conll2000", SHIPPED / "chunking.txt", "chunking", sample=4000,
    data=_CONLL2000,
    source="Features: `templates/chunking.txt`, that of CRF++'s example.",
)
JNLPBA = Task(
    "jnlpba", "Biomedical names, without parts of speech", "jnlpba", OWN / "bio-names.txt", "ner", columns=word_and_label, sample=5000,
    data=_JNLPBA,
    source="Features: `benchmarks/papers/templates/bio-names.txt`, those of the papers as far as they are described: words, prefixes and suffixes, "
    "orthography.",
    seen="these features were chosen after `templates/ner-words.txt` had been tested, which alone was fixed beforehand. On the test part looking ahead gained 0.80 points with that template "
    "(70.53 and 71.33), and 1.36 with these features.",
)
JNLPBA_WORDS = Task(
    "jnlpba-words", "Biomedical names, `ner-words.txt`", "jnlpba", SHIPPED / "ner-words.txt", "ner", columns=word_and_label, sample=5000,
    data=_JNLPBA,
    source="Features: `templates/ner-words.txt`, fixed before any test score was known.",
    seen="`lookahead` had 70.53 with depth 0 and 71.33 with depth 1.",
)
JNLPBA_POS = Task(
    "jnlpba-pos", "Biomedical names, with parts of speech", "jnlpba", OWN / "bio-names-pos.txt", "ner", columns=word_and_label,
    tags_of="wsj-sample-pos", sample=5000,
    data=_JNLPBA,
    source=_TAGS + " Features: `benchmarks/papers/templates/bio-names-pos.txt`: those of the table without parts of speech, and tags and pairs of tags.",
)
JNLPBA_RICH = Task(
    "jnlpba-rich", "Biomedical names, the paper's rich edges", "jnlpba", OWN / "bio-names-rich.txt", "ner", columns=word_and_label,
    tags_of="wsj-sample-pos", sample=5000,
    data=_JNLPBA,
    source=_TAGS + " Features: those of table 2 of the paper on ADF, each with labels and with pairs of labels, and these pairs by themselves (`benchmarks/papers/templates/bio-names-rich.txt`), "
    "observed ones. The paper does not define orthography; here it is the shape of the word with runs collapsed.",
)
CONLL2003 = Task(
    "conll2003", "Named entities", "conll2003", OWN / "conll2003.txt", "ner", sample=5000, dev="dev",
    data="CoNLL-2003 English: 14,041 training, 3,250 development and 3,453 test sentences, labels in IOB1 as distributed, columns word, part of speech, chunk.",
    source="Features as in the paper on sparse CRFs: each of the three with labels and with label pairs "
    "(`benchmarks/papers/templates/conll2003.txt`), observed ones.",
)
WSJ = Task(
    "wsj-sample-pos", "Parts of speech, WSJ sample", "wsj-sample-pos", SHIPPED / "pos.txt", "pos", metric="accuracy",
    data="A public sample of the WSJ: 3,396 training and 518 test sentences. The paper's sections 0-18 and 22-24 are not public: "
    "it trains on more than ten times as much text.",
    source="Features: `templates/pos.txt`.",
)
EWT = Task(
    "ewt-pos", "Parts of speech, English Web Treebank", "ewt-pos", SHIPPED / "pos.txt", "pos", metric="accuracy",
    columns=word_and_label, sample=5000,
    data="UD English EWT: 12,544 training and 2,077 test sentences, Penn Treebank tags; the column of universal tags is left out.",
    source="Features: `templates/pos.txt`. The paper's numbers are those for the WSJ.",
)
CWS = Task(
    "cws-sxu", "Word segmentation", "cws-sxu", OWN / "segmentation-sun.txt", "segmentation", metric="word F1", words=True, sample=3000,
    data="SXU of the SIGHAN bakeoff, 17,115 training and 3,654 test sentences, labels B, M, E, S: it stands in for MSR (the "
    "paper's), which is public for research, but whose training part was not available.",
    source="Features: those of the paper, with label pairs, too "
    "(`benchmarks/papers/templates/segmentation-sun.txt`). Of several known pairs of words at one place only the longest "
    "counts, and both words may have six characters; the paper takes all, with at most five on one side. In the training part only pairs of other sentences count as known.",
    seen="two earlier rounds. In the first, the defaults of `adf` were better than the options that were chosen, so grids and passes were enlarged.",
)
CWS_PLAIN = replace(
    CWS, name="cws-sxu-plain", title="Word segmentation, without rich edges", template=OWN / "segmentation-sun-plain.txt", seen="the test part, in the rounds of the table with rich edges. This table was added last, by the protocol of the others.",
    source="Features: the same, with labels only (`benchmarks/papers/templates/segmentation-sun-plain.txt`), and pairs of labels by themselves.",
)
SENTIMENT = Task(
    "sentiment", "Sentiment of product reviews", "sentiment", None, "reals", metric="accuracy", features="all",
    parts=("books.", "dvd.", "electronics.", "kitchen."), folds=4,
    data="Amazon reviews of four kinds of products (Blitzer and others, 2007), 1,600 training and 400 test documents each, "
    "trained separately and scored together. The paper's split of the documents is not known.",
    source="A document is a sequence of one item, with counts of words and word pairs as values. Passes are the mean of the four kinds, seconds are those of all four.",
)
