"""Defaults on tasks that none of them was chosen on, made from the training parts of corpora.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_strangers.py [--only WORDS] [--sizes N,N] [--rounds N] [--trainers NAMES] [--defaults]

Of the sentences left out one half is the development part, which says what is best of a grid, and the other half is scored. So the best
of a grid is not lucky on what it is scored on. A line for each task and size: `lbfgs` with the best --l2 of a grid; how far each
trainer with its defaults is from that; and in brackets how far it is from its own best options, where that is more than half a point.
CRFsuite has its own defaults, and the same attributes. --trainers: lbfgs among them. --defaults: no grids, so all are compared with the default of `lbfgs`.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Callable
from statistics import fmean
from typing import Any, NamedTuple

import common
import peers
from bench_defaults import MADE, PAIRS, THREE, WORDS, sentences

from crfkit.template.parsing import Template

GRIDS: dict[str, list[dict[str, Any]]] = {
    "lbfgs": [{"l2": x} for x in (0.03, 0.1, 0.3, 1, 3)],
    "owlqn": [{"l1": x} for x in (0.03, 0.1, 1)],
    "sgd": [*({"rate": x} for x in (1 / 32, 1 / 8, 1 / 2)), {"l2": 0.1}, {"l2": 1}],
    "adf": [{"rate": x} for x in (0.02, 0.1, 0.4)],
    "sapo": [*({"rate": x} for x in (1 / 32, 1 / 8, 1 / 2)), {"l2": 0.1}, {"l2": 1}],
    "perceptron": [{"passes": x} for x in (5, 50)],
    "mira": [{"nbest": 5}],
    "arow": [{"regularization": x} for x in (3, 30, 300, 3000)],
    "cw": [*({"confidence": x} for x in (0.501, 0.6)), {"passes": 5}, {"passes": 20}],
    "lookahead": [{"margin": x} for x in (10, 100)],
}
CORPORA = ("conll2000", "conll2003", "ewt-dep", "ewt-pos", "jnlpba", "nettalk")
PEERS = ("lbfgs", "averaged-perceptron", "passive-aggressive", "arow")

Rows = list[list[list[str]]]


class Task(NamedTuple):
    name: str
    make: Callable[[], Rows]
    template: str  # a file of templates/, a text, or "" where rows are attributes
    scheme: str = "none"
    peers: bool = True


def corpus(name: str) -> Rows:
    folder = common.corpora(name)
    assert folder is not None, f"{name} is not in CRFKIT_CORPORA"
    return common.rows_of(folder / "train.txt")


def trees() -> Rows:
    """The words of EWT with all columns of CoNLL-U."""
    folder = common.corpora("ewt-dep")
    assert folder is not None
    text = (folder / "en_ewt-ud-train.conllu").read_text(encoding="utf-8")
    whole = [[line.split("\t") for line in lines.split("\n") if line[:1].isdigit()] for lines in text.strip().split("\n\n")]
    return [[row for row in rows if row[0].isdigit()] for rows in whole]


def features() -> Rows:
    return [[[row[1], row[5].replace("|", "+")] for row in rows] for rows in trees()]


def endings() -> Rows:
    """How a word becomes its lemma: what is taken from its end, and what is put there."""

    def rule(form: str, lemma: str) -> str:
        form, lemma, n = form.lower(), lemma.lower(), 0
        while n < min(len(form), len(lemma)) and form[n] == lemma[n]:
            n += 1
        return f"{len(form) - n}{lemma[n:] or '-'}" if n or form == lemma else "other"

    return [[[row[1], rule(row[1], row[2])] for row in rows] for rows in trees()]


def case() -> Rows:
    def shape(word: str) -> str:
        return "lower" if word == word.lower() else "Title" if word == word.capitalize() else "UPPER" if word == word.upper() else "miXed"

    return [[[row[0].lower(), shape(row[0])] for row in rows] for rows in corpus("jnlpba")]


def punctuation() -> Rows:
    """Words without punctuation, and what follows each."""
    made = []
    for rows in trees():
        words: list[list[str]] = []
        for row in rows:
            if row[3] != "PUNCT":
                words.append([row[1].lower(), "O"])
            elif words and words[-1][1] == "O":
                words[-1][1] = row[1]
        made.append(words)
    return [rows for rows in made if rows]


def articles() -> Rows:
    """Words without articles, and which one stood before each."""
    made = []
    for rows in trees():
        words, before = [], "O"
        for row in rows:
            word = row[1].lower()
            if word in ("a", "an", "the"):
                before = word
            else:
                words.append([word, before])
                before = "O"
        made.append(words)
    return [rows for rows in made if rows]


def glued() -> Rows:
    """English without blanks, a letter a token."""
    made = []
    for rows in corpus("conll2000"):
        letters = []
        for row in rows[:15]:
            n = len(row[0])
            letters += [[c.lower(), "S" if n == 1 else "B" if k == 0 else "E" if k == n - 1 else "M"] for k, c in enumerate(row[0])]
        made.append(letters)
    return made


def starts() -> Rows:
    """Where sentences begin, in 20 of them without capitals and full stops."""
    whole = [[row[0].lower() for row in rows if row[0] not in ".?!"] for rows in corpus("conll2003") if rows[0][0] != "-DOCSTART-"]
    whole = [words for words in whole if words]
    groups = [whole[k : k + 20] for k in range(0, len(whole), 20)]
    return [[[word, "B" if k == 0 else "I"] for words in group for k, word in enumerate(words)] for group in groups]


def documents() -> Rows:
    """Names, with 140 sentences or about 2,000 tokens a sequence."""
    whole = [[[row[0], row[1], row[3]] for row in rows] for rows in corpus("conll2003")]
    return [functools.reduce(operator.iadd, whole[k : k + 140], []) for k in range(0, len(whole), 140)]


def stress() -> Rows:
    """Stress and the boundaries of syllables, a symbol a letter."""
    folder = common.corpora("nettalk")
    assert folder is not None
    return common.rows_of(folder / "train.stress.txt")


def rare() -> Rows:
    """Names of RNA alone: 99 of 100 labels are O."""
    return [[[row[0], row[1] if row[1].endswith("-RNA") else "O"] for row in rows] for rows in corpus("jnlpba")]


def joined() -> Rows:
    return [[[row[1], f"{row[4]}:{row[7]}"] for row in rows] for rows in trees()]


def singles() -> Rows:
    """Words one by one, and their parts of speech."""
    return [[[row[0], row[1]]] for rows in corpus("ewt-pos") for row in rows[:1] + rows[3:4]]


def short() -> Rows:
    """Relations of sentences of 2 to 8 words."""
    return [[[row[1], row[4], row[7]] for row in rows] for rows in trees() if 2 <= len(rows) <= 8]


def chunk_kinds() -> Rows:
    """IOB1 chunks of headlines and reports."""
    return [[[row[0], row[1], row[2]] for row in rows] for rows in corpus("conll2003") if rows[0][0] != "-DOCSTART-"]


def values() -> Rows:
    """Real values: how often words stand beside each of thirty frequent words, in logarithms about their means; and parts of speech."""
    import numpy as np

    texts = [[row[0].lower() for row in rows] for rows in corpus("ewt-pos")]
    counts = Counter(word for words in texts for word in words)
    column = {word: k for k, (word, _) in enumerate(counts.most_common(30))}
    row_of = {word: k for k, word in enumerate(counts)}
    beside = np.zeros((len(row_of), 60))
    for words in texts:
        for a, b in itertools.pairwise(words):
            if b in column:
                beside[row_of[a], column[b]] += 1
            if a in column:
                beside[row_of[b], 30 + column[a]] += 1
    beside = np.log1p(beside)
    beside -= beside.mean(axis=0)
    found = {word: {f"v{k}": float(x) for k, x in enumerate(beside[n])} for word, n in row_of.items()}
    return [[[found[row[0].lower()], row[1]] for row in rows] for rows in corpus("ewt-pos")]  # type: ignore[list-item]


TASKS = [
    Task("morphological features", features, "pos.txt"),
    Task("endings of lemmas", endings, "pos.txt"),
    Task("case of words", case, WORDS),
    Task("punctuation", punctuation, WORDS),
    Task("articles left out", articles, WORDS),
    Task("English without blanks", glued, "segmentation.txt"),
    Task("starts of sentences", starts, WORDS),
    Task("names, 2,000 tokens a text", documents, "ner.txt", "iob1"),
    Task("syllables and stress", stress, "letter-to-sound.txt"),
    Task("RNA, 99 % O", rare, "ner-words.txt", "bio"),
    Task("tags and relations", joined, THREE, peers=False),
    Task("single words", singles, "pos.txt"),
    Task("relations, short sentences", short, PAIRS),
    Task("chunks of news", chunk_kinds, "chunking.txt", "iob1"),
    Task("real values", values, ""),
]


def tasks() -> list[Task]:
    """Those of the corpora; without them, two of data/."""
    if all(common.corpora(name) for name in CORPORA):
        return TASKS
    return [Task(made.name, lambda made=made: sentences(made), made.template, made.scheme) for made in MADE]


def template(task: Task) -> Template | None:
    return common.rules(task.template) if task.template else None


def ours(task: Task, train: Rows, parts: list[Rows], name: str, options: dict[str, Any]) -> list[float]:
    """Scores on both parts."""
    _, found = common.tagged(train, template(task), parts, name, **options)
    return [common.score(task.scheme, labels, part) for labels, part in zip(found, parts, strict=True)]


def one(task: Task, train: Rows, parts: list[Rows], grids: dict[str, list[dict[str, Any]]]) -> dict[str, tuple[float, float, str]]:
    """For each trainer its default's score, its best one's, and which options that has."""
    found = {}
    for name, grid in grids.items():
        tried = [(ours(task, train, parts, name, options), options) for options in [{}, *grid]]
        best = max(tried, key=lambda item: item[0][0])
        found[name] = tried[0][0][1], best[0][1], " ".join(f"{k} {v:g}" for k, v in best[1].items())
        if name == "mira":
            score = ours(task, train, parts, name, {"nbest": 5})[1]
            found["mira -n 5"] = score, score, ""
    if task.peers and peers.crfsuite():
        for name in PEERS:
            score = common.score(task.scheme, common.tagged_by_peer(train, template(task), parts[1], name), parts[1])
            found[f"CRFsuite {name}"] = score, score, ""
    return found


def main() -> None:
    parser = common.parser_of_tasks("Defaults on tasks that none of them was chosen on.", rounds=1, sizes="20,300", trainers=GRIDS)
    parser.add_argument("--defaults", action="store_true", help="no other options")
    given = parser.parse_args()
    grids = {name: [] if given.defaults else GRIDS[name] for name in given.trainers.split(",")}
    if "lbfgs" not in grids:
        parser.error("--trainers: lbfgs is missing, from which the differences are")
    for task in tasks():
        if not common.is_wanted(task.name, given.only):
            continue
        pool, held_out = common.held_out(task.make()[: given.sentences], part=1 / 2)
        parts = [held_out[0::2], held_out[1::2]]
        for size in common.sizes_of(given.sizes, pool):
            runs = []
            for draw in range(given.rounds):
                train = common.drawn(pool, size, draw)
                runs.append(one(task, train, parts, grids))
            labels = len({row[-1] for rows in train for row in rows})
            cells = []
            for name in runs[0]:
                default, best = (fmean(run[name][k] for run in runs) for k in (0, 1))
                more = f" ({best - default:+.2f} {'; '.join(run[name][2] for run in runs)})" if best - default > 0.5 else ""
                cells.append(f"{name}: {common.gain([run[name][0] - run['lbfgs'][1] for run in runs])}{more}")
            print(f"{task.name} | {size} | {labels} | {common.mean([run['lbfgs'][1] for run in runs])} | {' | '.join(cells)}", flush=True)
    print(f"\n{parser.description}\ntask | sentences | labels | best lbfgs | differences from it\n{common.machine()}")


if __name__ == "__main__":
    main()
