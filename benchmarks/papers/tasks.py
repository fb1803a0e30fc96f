"""The tasks of the papers: where their data lie, how columns are made from them, which template, which score.

Corpora are found in the folder that CRFKIT_CORPORA names, one folder each. Nothing of them is kept in this project:
the files that trainings read are written to the work folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
    """F1 of chunks, F1 of words (BMES labels), accuracy, or error (of tokens)."""
    features: str = "observed"
    parts: tuple[str, ...] = ("",)
    """Data sets that are trained on one by one and scored together: prefixes of file names."""
    columns: Callable[[list[str]], list[str]] = list
    """Cells of the corpus -> feature columns and the label."""
    words: bool = False
    """Add columns of words known from the training part: see words.py."""
    tags_of: str | None = None
    """Add a column of parts of speech as a model trained on this corpus sees them: see tags.py."""
    folds: int = 1
    """Cross-validation on the training data in so many folds; 1: its last tenth is held out."""
    sample: int | None = None
    """Sentences of the training data that options are chosen on; None: all."""
    source: str = ""
    """What a reader should know of the data and the features, and how the paper's differ."""

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
    """The corpora that cannot be found."""
    folder = os.environ.get("CRFKIT_CORPORA")
    wanted = {corpus for task in tasks for corpus in (task.corpus, task.tags_of) if corpus is not None}
    return sorted(corpus for corpus in wanted if folder is None or not (Path(folder) / corpus).is_dir())


def prepare(task: Task, work: Path, quick: bool) -> list[Data]:
    """The files that trainings read, one Data for each part of the task."""
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
    for k, (learn, judge) in enumerate(_splits(sentences["train"][: task.sample], 1 if quick else task.folds)):
        splits.append(_written(task, folder / name, (f"fold{k}.train.txt", learn), (f"fold{k}.dev.txt", judge)))
    return Data(train, test, splits)


def _written(task: Task, stem: Path, *files: tuple[str, list[Sentence]]) -> tuple[Path, Path]:
    """Two files; what the first one shows of words is all that is known of them in both."""
    known = Words(files[0][1]) if task.words else None
    paths = []
    for k, (ending, sentences) in enumerate(files):
        path = stem.with_name(stem.name + ending)
        lines = sentences if known is None else (known.widened(sentence, counted=k == 0) for sentence in sentences)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text("".join("\n".join(sentence) + "\n\n" for sentence in lines), encoding="utf-8")
        os.replace(beside, path)    # at once: another script may be reading it
        paths.append(path)
    return paths[0], paths[1]


def _splits(sentences: list[Sentence], folds: int) -> Iterator[tuple[list[Sentence], list[Sentence]]]:
    """Training and development parts. Blocks, not every n-th sentence: neighbours are of one text."""
    n = len(sentences)
    blocks = [(n - n // 10, n)] if folds == 1 else [(n * k // folds, n * (k + 1) // folds) for k in range(folds)]
    for first, last in blocks:
        yield sentences[:first] + sentences[last:], sentences[first:last]


def _corpus(task: Task, part: str, half: str) -> Iterator[Sentence]:
    path = Path(os.environ["CRFKIT_CORPORA"]) / task.corpus / f"{part}{half}.txt"
    if task.format == "crfsuite":
        yield from _documents(path)
        return
    for sentence in _blocks(path):
        yield ["\t".join(task.columns(line.split())) for line in sentence]


def _stand_in(task: Task, half: str) -> Iterator[Sentence]:
    """A synthetic corpus of data/, with its tags repeated where the task has more columns."""
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
    """The name of an attribute as a line of CRFsuite's format has it."""
    return name.replace("\\", "\\\\").replace(":", "\\:")


# --- Columns ----------------------------------------------------------------------------------------------------------


def base_np(cells: list[str]) -> list[str]:
    """Noun phrases only: every other chunk is outside."""
    return [*cells[:-1], cells[-1] if cells[-1].endswith("-NP") else "O"]


def word_and_label(cells: list[str]) -> list[str]:
    """Without the columns between, which hold gold annotation too."""
    return [cells[0], cells[-1]]


# --- Tasks ------------------------------------------------------------------------------------------------------------

_CONLL2000 = (
    "CoNLL-2000 shared task, standard split (8,936 training and 2,012 test sentences), columns word, part of speech and chunk."
)
_NP = _CONLL2000 + " Chunks other than noun phrases are labelled `O`: the labels are B-NP, I-NP and O, as in the paper."
_JNLPBA = "JNLPBA (BioNLP 2004) shared task, the public original: 18,546 training and 3,856 test sentences."

NP_RICH = Task(
    "conll2000-np-rich", "Base noun phrases, rich edges", "conll2000", SHIPPED / "chunking-best.txt", "chunking", columns=base_np,
    folds=2,
    source=_NP + " Features: `templates/chunking-best.txt`, found by 4-fold cross-validation of `adf` on the training data; the papers' "
    "are words, parts of speech and their n-grams. Options were chosen by 2-fold cross-validation. (The test part has been seen before: in a "
    "first round the last tenth of the training data was held out instead, which was given up for the papers' way; in a second one `sgd` "
    "and `sapo` had rates that fell as 1/t, and the test F1 was 94.28 for `sgd`, 94.43 for `sapo`, 94.57 for `adf`, 94.40 for `lbfgs`, with "
    "the penalty that was chosen then. The new rates were chosen on development parts of six corpora, CoNLL-2000 with all its chunks among them. In a third "
    "round another rule chose the first rate of `sgd` and `sapo`, and the penalty that `sgd` had chosen served `sapo`, `adf` and `lbfgs` too: 94.52, 94.54, 94.51, "
    "94.46. By today's rule `sgd` chooses another one, by 0.02 points on held-out data, with which `sapo` had 94.30; since then each chooses its own.)",
)  # fmt: skip
NP_PAPER = Task(
    "conll2000-np-paper", "Base noun phrases, the paper's features", "conll2000", OWN / "chunking-sun.txt", "chunking", columns=base_np,
    source=_NP + " Features: those of the paper's table 3, `benchmarks/papers/templates/chunking-sun.txt`. Options were chosen with the last tenth of the "
    "training sentences held out.",
)  # fmt: skip
NP_PLAIN = Task(
    "conll2000-np-plain", "Base noun phrases, without rich edges", "conll2000", SHIPPED / "chunking.txt", "chunking", columns=base_np,
    source=_NP + " Features: `templates/chunking.txt`, that of CRF++'s example: label pairs see nothing but themselves. Options were chosen with "
    "the last tenth of the training sentences held out.",
)  # fmt: skip
CHUNKS = Task(
    "conll2000-all", "All chunk types", "conll2000", SHIPPED / "chunking-best.txt", "chunking",
    source=_CONLL2000 + " Features: `templates/chunking-best.txt`. Options were chosen with the last tenth of the training sentences "
    "held out. (`sgd` had been tested before, with rates that fell as 1/t, 93.89, and with another first rate, 93.99; so had `sapo` and `adf` with the penalty "
    "of `sgd`: 93.79 and 94.05, with the new first rate 93.98.)",
)  # fmt: skip
CHUNKS_PLAIN = Task(
    "conll2000-all-plain", "All chunk types, without rich edges", "conll2000", SHIPPED / "chunking.txt", "chunking",
    source=_CONLL2000 + " Features: `templates/chunking.txt`, that of CRF++'s example. Options were chosen with the last tenth of the "
    "training sentences held out.",
)  # fmt: skip
JNLPBA = Task(
    "jnlpba", "Biomedical names, without parts of speech", "jnlpba", OWN / "bio-names.txt", "ner", columns=word_and_label,
    source=_JNLPBA + " The papers count 17,484 to 20,546 training sentences and use parts of speech, which no public copy has. "
    "Features: `benchmarks/papers/templates/bio-names.txt`, those of the papers as far as they are told: words, their starts and ends, "
    "orthography. Options were chosen with the last tenth of the training sentences held out. "
    "`templates/ner-words.txt` was tried there as well: F1 of `lookahead` 75.0 with depth 0 and 75.6 with depth 1, where these features have 73.9 "
    "and 75.8, so what depth 1 gains depends on them. (With that template both had been tested before: 70.53 and 71.33. `sgd`, `sapo`, `adf` and `lbfgs` had been tested with the "
    "penalty that was best for `sgd`, and an earlier rule for the first rate: 70.29, 69.02, 70.73, 70.56; when the rule changed and with it that penalty, `sapo` had 69.39, `lbfgs` 70.00.)",
)  # fmt: skip
JNLPBA_POS = Task(
    "jnlpba-pos", "Biomedical names, with parts of speech", "jnlpba", OWN / "bio-names-pos.txt", "ner", columns=word_and_label,
    tags_of="wsj-sample-pos",
    source=_JNLPBA + " Parts of speech as `lbfgs` with `templates/pos.txt` sees them after 3,396 sentences of the WSJ: newspaper text, so they are "
    "worse than those of the papers. Features: `benchmarks/papers/templates/bio-names-pos.txt`, those without, and "
    "tags and their pairs. Options were chosen with the last tenth of the training sentences held out. (`sgd`, `adf` and `lbfgs` had been tested before with the "
    "penalty that was best for `sgd`, and an earlier rule for its first rate: 70.74, 70.42, 70.92.)",
)  # fmt: skip
CONLL2003 = Task(
    "conll2003", "Named entities", "conll2003", OWN / "conll2003.txt", "ner", metric="error", sample=6000,
    source="CoNLL-2003 English: 14,041 training and 3,453 test sentences, labels in IOB1 as distributed, columns word, part of speech, "
    "chunk. Options were chosen on the first 6,000 training sentences, the last tenth of them held out. Features as in the paper: each of the three with labels and with label pairs "
    "(`benchmarks/papers/templates/conll2003.txt`), observed ones. The score is the error of tokens, as the paper counts.",
)  # fmt: skip
WSJ = Task(
    "wsj-sample-pos", "Parts of speech, WSJ sample", "wsj-sample-pos", SHIPPED / "pos.txt", "pos", metric="accuracy",
    source="A public sample of the WSJ: 3,396 training and 518 test sentences. The paper's sections 0-18 and 22-24 are not public: "
    "it trains on more than ten times as much text. Features: `templates/pos.txt`.",
)  # fmt: skip
EWT = Task(
    "ewt-pos", "Parts of speech, English Web Treebank", "ewt-pos", SHIPPED / "pos.txt", "pos", metric="accuracy",
    columns=word_and_label, sample=5000,
    source="UD English EWT: 12,544 training and 2,077 test sentences, Penn Treebank tags; the column of universal tags is left out. "
    "Features: `templates/pos.txt`. Options were chosen on the first 5,000 training sentences, the last tenth of them held out.",
)  # fmt: skip
CWS = Task(
    "cws-sxu", "Word segmentation", "cws-sxu", OWN / "segmentation-sun.txt", "segmentation", metric="word F1", words=True, sample=4000,
    source="SXU of the SIGHAN bakeoff, 17,115 training and 3,654 test sentences, labels B, M, E, S: it stands in for MSR (the "
    "paper's), whose training part is not public. Features: those of the paper, with label pairs too "
    "(`benchmarks/papers/templates/segmentation-sun.txt`); of several known pairs of words that meet in one place only the longest "
    "counts, where the paper takes all, and only those of other sentences are known in the training part. Options were chosen on the first 4,000 training sentences, the "
    "last tenth of them held out. (Four rows had been tested once before, with fewer points in the grid and at most 12 passes, 20 for `adf`: `sgd` "
    "93.21, `naive perceptron` 93.62, `averaged perceptron` 93.99, `adf` 94.51. There were more of both after `adf` by default "
    "had been better than what was chosen on the held-out part. Then `sgd` had 93.38, with a first rate that was too low, see docs/defaults.md, and its penalty served "
    "`adf`, 94.90, and `lbfgs`, 95.04.)",
)  # fmt: skip
SENTIMENT = Task(
    "sentiment", "Sentiment of product reviews", "sentiment", None, "reals", metric="accuracy", features="all",
    parts=("books.", "dvd.", "electronics.", "kitchen."), folds=2,
    source="Amazon reviews of four kinds of products (Blitzer and others, 2007), 1,600 training and 400 test documents each, "
    "trained one by one and scored together; sequences of one item, counts of words and word pairs as values. Options were chosen "
    "by 2-fold cross-validation. The paper's split of the documents is not known. (`sgd` had been tested before, with a first rate "
    "that was too high for so few documents, 85.69, and by another rule, 85.62; `adf` and `lbfgs` with the penalty that `sgd` had chosen: 86.75 and 86.69.)",
)  # fmt: skip
HMM = Task(
    "hmm-sim", "Simulated data", "hmm-sim", OWN / "one-symbol.txt", "letters", metric="error", features="all", folds=4,
    source="Sequences of five symbols drawn from a hidden Markov model: 200 for training, 10,000 for the test; one draw, where the "
    "paper reports 100. Features: the symbol with each label and with each pair of labels (the paper's model M1).",
)  # fmt: skip


def nettalk(name: str, title: str, template: str, features: str, more: str, sample: int | None = None) -> Task:
    """The letter-to-sound task with one of the papers' sets of features."""
    source = "NETtalk dictionary, 18,000 training and 2,007 test words by a split of our own, 51 phonemes (53 in the paper). "
    return Task(name, title, "nettalk", OWN / template, "letters", metric="error", features=features, sample=sample, source=source + more)


_FIRST_WORDS = "Options were chosen on the first 6,000 training words, the last tenth of them held out."
NETTALK = nettalk(
    "nettalk-letter", "Letter to sound, single letters", "one-symbol.txt", "all",
    "Features: the letter with each phoneme and with each pair of phonemes, all of them, seen or not, as in the paper. " + _FIRST_WORDS,
    sample=6000,
)  # fmt: skip
NETTALK3 = nettalk(
    "nettalk-3gram", "Letter to sound, 3-grams", "ngrams-3.txt", "observed",
    "Features: letter n-grams up to 3 centred on the letter, with phonemes and with pairs of phonemes; observed ones, where the paper "
    "takes all 14.2 million. " + _FIRST_WORDS,
    sample=6000,
)  # fmt: skip
NETTALK5 = nettalk(
    "nettalk-5gram", "Letter to sound, 5-grams", "ngrams-5.txt", "observed",
    "Features: the same up to 5; observed ones, where the paper takes all 121 million. " + _FIRST_WORDS,
    sample=6000,
)  # fmt: skip
