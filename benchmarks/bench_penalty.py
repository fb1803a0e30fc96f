"""How far the default of --l2 is behind the best one, and fixed penalties are: the trials behind it.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_penalty.py [--only WORD] [--sizes N,N] [--rounds N] [--trainers NAMES]

On the tasks of bench_passes.py, and on PLAIN ones, which have templates of one to eight lines (without corpora, on data/): sentences drawn from the training part
without its end, scored on that end. A line for each setting: unigram attributes of a token, occurrences of one, and the share of attributes
with more than one label, which the default follows from; the default; the best score; and how far the default and each fixed penalty are behind
it. In the end the mean and the most of these.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from statistics import fmean
from typing import Any

import bench_strangers
import common
from bench_defaults import PAIRS, THREE, WORDS
from bench_passes import DENSE, Data, data
from bench_strangers import corpus, scored, trees

import crfkit
from crfkit.learning.corpus import read_corpus
from crfkit.learning.fitting import share_of_ambiguous
from crfkit.learning.reader import Reader
from crfkit.options import Run
from crfkit.template.parsing import Template

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
WORD, TWO, THREE_COLUMNS = "U00:%x[0,0]\nB\n", "U00:%x[0,0]\nU01:%x[0,1]\nB\n", "U00:%x[0,0]\nU01:%x[0,1]\nU02:%x[0,2]\nB\n"
TAGS, TAGS_AND_WORD = "*00:%x[-1,1]\n*01:%x[0,1]\n*02:%x[1,1]\n", "U00:%x[-1,1]\nU01:%x[0,1]\nU02:%x[1,1]\nU03:%x[0,0]\nB\n"
EACH = [f"*0{column}:%x[0,{column}]\n" for column in range(3)]  # with labels and with pairs of labels


def columns(name: str, *kept: int) -> Callable[[], Any]:
    return lambda: [[[row[k] for k in kept] for row in rows] for rows in corpus(name) if rows[0][0] != "-DOCSTART-"]


def relations() -> Any:
    return [[[row[1], row[4], row[7]] for row in rows] for rows in trees()]


def proteins() -> Any:
    return [[[row[0], row[1] if row[1].endswith("-protein") else "O"] for row in rows] for rows in corpus("jnlpba")]


def slots() -> Any:
    return [[[row[0], "O" if row[3] == "O" else "|".join(row[1:])] for row in rows] for rows in corpus("conll2003") if 3 <= len(rows) <= 12]


NAMES, CHUNKS = columns("conll2003", 0, 1, 2, 3), columns("conll2000", 0, 1, 2)
PLAIN = [
    *(
        Data(f"names, {told}", NAMES, Template.parse(lines), "iob1")
        for told, lines in [
            ("word, tag, chunk and pairs", "".join(EACH)),
            ("word, tag, chunk", THREE_COLUMNS),
            ("word", WORD),
            ("word and pairs", EACH[0]),
            ("tags and pairs", TAGS),
            ("tags and word", TAGS_AND_WORD),
        ]
    ),
    *(
        Data(f"chunks, {told}", CHUNKS, Template.parse(lines), "bio")
        for told, lines in [
            ("word, tag and pairs", "".join(EACH[:2])),
            ("word, tag", TWO),
            ("tags and pairs", TAGS),
            ("tags and word", TAGS_AND_WORD),
        ]
    ),
    Data("biomedical names, word", columns("jnlpba", 0, 1), Template.parse(WORD), "bio"),
    Data("biomedical names, word and pairs", columns("jnlpba", 0, 1), Template.parse(EACH[0]), "bio"),
    Data("proteins", proteins, Template.load(str(common.ROOT / "templates/ner-words.txt")), "bio"),
    Data("slots", slots, Template.parse(WORDS)),
    Data("tags, word", columns("ewt-pos", 0, 2), Template.parse(WORD)),
    Data("tags, word and pairs", columns("ewt-pos", 0, 2), Template.parse(EACH[0])),
    Data("tags of news, word", columns("conll2000", 0, 1), Template.parse(WORD)),
    *(
        Data(f"relations, {told}", relations, Template.parse(lines))
        for told, lines in [
            ("word, tag", TWO),
            ("tags and word", TAGS_AND_WORD),
            ("word, tag and pairs", "".join(EACH[:2])),
            ("words and tags", PAIRS),
        ]
    ),
    Data("phonemes, letter and pairs", columns("nettalk", 0, 1), Template.parse(EACH[0])),
    Data("segmentation, character and pairs", columns("cws-sxu", 0, 1), Template.parse(EACH[0])),
    Data("segmentation, three characters", columns("cws-sxu", 0, 1), Template.parse(THREE)),
]


def tasks() -> Iterator[Data]:
    if all(common.corpora(name) for name in (*bench_strangers.CORPORA, "cws-sxu", "sentiment", "wsj-sample-pos")):
        yield from PLAIN
    for one in data():
        if one.name not in DENSE:
            yield one


def score(one: Data, train: Any, held_out: Any, name: str, l2: float | None) -> float:
    if one.template is None:  # documents: (attributes, label)
        model = crfkit.learn(train, None, name, threads=1, l2=l2, format="crfsuite")
        found = crfkit.Tagger(model).tag_many([[attributes for attributes, _ in document] for document in held_out], threads=1)
        return 100 * fmean(labels[0] == document[0][1] for labels, document in zip(found, held_out, strict=True))
    model = crfkit.learn(train, one.template, name, threads=1, l2=l2)
    found = crfkit.Tagger(model).tag_many([[row[:-1] for row in rows] for rows in held_out], threads=1)
    return scored(one, found, held_out)  # type: ignore[arg-type]


def main() -> None:
    parser = common.parser_for("How far the default of --l2 and fixed penalties are behind the best of five.", rounds=1)
    parser.add_argument("--only", default="", metavar="WORD", help="tasks with this word in their name")
    parser.add_argument("--sizes", default="50,200,1000,5000", metavar="N,N", help="sentences to learn from (default %(default)s)")
    parser.add_argument("--trainers", default="lbfgs", metavar="NAMES", help="default %(default)s")
    given = parser.parse_args()
    behind: dict[str, list[list[float]]] = {name: [] for name in given.trainers.split(",")}
    for one in [one for one in tasks() if given.only in one.name]:
        whole = one.make()[: given.sentences]
        end = min(1000 if one.template else 600, len(whole) // 4)
        pool, held_out = whole[: len(whole) - end], whole[len(whole) - end :]
        form: dict[str, Any] = {} if one.template else {"format": "crfsuite"}
        for size in [n for n in map(int, given.sizes.split(",")) if n <= len(pool)] or [len(pool)]:
            draws = [random.Random(f"{size} {draw}").sample(pool, size) for draw in range(given.rounds)]
            read = [read_corpus(Reader(train, one.template, Run(**form))) for train in draws]
            n = [each.dataset.n_incidences[0] for each in read]
            of_a_token = fmean(a / each.dataset.n_tokens for a, each in zip(n, read, strict=True))
            often = fmean(a / each.layout.n_attributes[0] for a, each in zip(n, read, strict=True))
            for name, found in behind.items():
                scores = [[score(one, train, held_out, name, l2) for l2 in (None, *PENALTIES)] for train in draws]
                found.append([fmean(max(row[1:]) - row[k] for row in scores) for k in range(1 + len(PENALTIES))])
                print(f"{one.name} | {size} | {name} | {of_a_token:.1f} | {often:.1f} | {fmean(map(share_of_ambiguous, read)):.2f} | "
                      f"{fmean(max(row[1:]) for row in scores):.2f} | {' '.join(f'{x:.2f}' for x in found[-1])}", flush=True)  # fmt: skip
    print(f"\n{parser.description}\n{common.machine()}")
    columns = ["trainer, settings", "default", *map(str, PENALTIES)]
    common.table(columns, [
        [f"{name}, {len(found)}", *(f"{fmean(column):.2f}, at most {max(column):.2f}" for column in zip(*found, strict=True))]
        for name, found in behind.items() if found
    ])  # fmt: skip


if __name__ == "__main__":
    main()
