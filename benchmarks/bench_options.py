"""How far the default of an option is behind the best of other values: the trials behind the defaults.

    CRFKIT_CORPORA=FOLDER python benchmarks/bench_options.py [--trainers NAMES] [--option NAME] [--values X,X] [--only WORDS] [--sizes N,N] [--rounds N] [--some | --twelve | --few] [--joined N] [--records FILE]

On the tasks of bench_passes.py, and on PLAIN ones, most of which have templates of one to eight lines (without corpora, on data/): sentences drawn from the training
part without its end, scored on that end. The best is chosen on the same end, so it is a little lucky. A line for each setting: unigram attributes of a token,
occurrences of one, the share of attributes with more than one label, from which the default of --l2 follows; the best score; what was chosen;
and how far the default and each value are behind the best. In the end the mean and the most of these; and, with several draws (--rounds), what each value gains over the
default: the mean of all settings, and the standard deviation of this mean over draws. A draw is other sentences in another order. --some: the 28 tasks of docs/defaults.md.
--twelve: those of them that are tried more often. --few: others, told by one or three attributes of a token with label pairs and without. --joined: sequences of so many
sentences, as texts are. --records: a line of JSON for each run; runs that the file has are not repeated.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import common
from bench_defaults import PAIRS, THREE, WINDOW, WORDS
from bench_passes import DENSE, KINDS, Data, complete, data, reviews
from bench_strangers import corpus, glued, stress, trees
from papers.journal import Journal

import crfkit
from crfkit.learning.fitting import share_of_ambiguous
from crfkit.options.trainers import Sgd, decay_of

VALUES: dict[str, tuple[float | bool, ...]] = {
    "l1": (0.03, 0.1, 0.3, 1.0),
    "l2": (0.03, 0.1, 0.3, 1.0, 3.0),
    "rate": (0.01, 0.03, 0.1, 0.3, 1.0),
    "passes": (5, 10, 20, 40, 60),
    "nbest": (1, 5),
    "aggressiveness": (0.003, 0.01, 0.03, 0.1, 1.0),
    "regularization": (3.0, 30.0, 300.0, 3000.0, 10000.0),
    "confidence": (0.5001, 0.501, 0.51, 0.52, 0.55, 0.6, 0.7),
    "margin": (3.0, 10.0, 30.0, 100.0, 300.0),
    "depth": (0, 1, 2),
    "dropout": (0.0, 0.05, 0.1, 0.2, 0.3),
    "window": (100, 300, 1000),
    "average": (False,),
}
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


def stressed_phonemes() -> Any:
    """161 labels."""
    folder = common.corpora("nettalk")
    assert folder is not None
    return common.rows_of(folder / "train.joint.txt")


def clauses() -> Any:
    """Characters up to a comma or full stop: more than 50,000 sequences."""
    made: list[Any] = [[]]
    for row in chain.from_iterable(corpus("cws-sxu")):
        made[-1].append(row)
        if row[0] in "，。；：！？、":
            made.append([])
    random.Random(1).shuffle(made)
    return [rows for rows in made if rows]


def all_reviews() -> Any:
    made = [document for kind in KINDS for document in reviews(kind)]
    random.Random(1).shuffle(made)
    return made


NAMES, CHUNKS = columns("conll2003", 0, 1, 2, 3), columns("conll2000", 0, 1, 2)
PLAIN = [
    *(
        Data(f"names, {told}", NAMES, common.rules(lines), "iob1")
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
        Data(f"chunks, {told}", CHUNKS, common.rules(lines), "bio")
        for told, lines in [
            ("word, tag and pairs", "".join(EACH[:2])),
            ("word, tag", TWO),
            ("tags and pairs", TAGS),
            ("tags and word", TAGS_AND_WORD),
        ]
    ),
    Data("biomedical names, word", columns("jnlpba", 0, 1), common.rules(WORD), "bio"),
    Data("biomedical names, word and pairs", columns("jnlpba", 0, 1), common.rules(EACH[0]), "bio"),
    Data("proteins", proteins, common.rules("ner-words.txt"), "bio"),
    Data("slots", slots, common.rules(WORDS)),
    Data("tags, word", columns("ewt-pos", 0, 2), common.rules(WORD)),
    Data("tags, word and pairs", columns("ewt-pos", 0, 2), common.rules(EACH[0])),
    Data("tags of news, word", columns("conll2000", 0, 1), common.rules(WORD)),
    *(
        Data(f"relations, {told}", relations, common.rules(lines))
        for told, lines in [
            ("word, tag", TWO),
            ("tags and word", TAGS_AND_WORD),
            ("word, tag and pairs", "".join(EACH[:2])),
            ("words and tags", PAIRS),
        ]
    ),
    Data("phonemes, letter and pairs", columns("nettalk", 0, 1), common.rules(EACH[0])),
    Data("segmentation, character and pairs", columns("cws-sxu", 0, 1), common.rules(EACH[0])),
    Data("phonemes with stress, letters", stressed_phonemes, common.rules(WINDOW)),
    Data("phonemes with stress, letter and pairs", stressed_phonemes, common.rules(EACH[0])),
    Data("clauses, segmentation", clauses, common.rules("segmentation.txt")),
    Data("clauses, characters", clauses, common.rules(WINDOW)),
    Data("reviews of all kinds", all_reviews, None),
    Data("segmentation, three characters", columns("cws-sxu", 0, 1), common.rules(THREE)),
]

FEW = [
    Data(f"{name}, {told}", make, common.rules(lines), scheme)
    for name, make, scheme in [
        ("chunks by tags", columns("conll2000", 1, 2), "bio"),
        ("tags of news by chunks", columns("conll2000", 2, 1), "none"),
        ("English without blanks", glued, "none"),
        ("names by tags", columns("conll2003", 1, 3), "iob1"),
        ("names by words", columns("conll2003", 0, 3), "iob1"),
        ("tags by universal tags", columns("ewt-pos", 1, 2), "none"),
        ("relations by tags", lambda: [[row[1:] for row in rows] for rows in relations()], "none"),
        ("biomedical names by words", columns("jnlpba", 0, 1), "bio"),
        ("phonemes", columns("nettalk", 0, 1), "none"),
        ("letters by phonemes", columns("nettalk", 1, 0), "none"),
        ("stress", stress, "none"),
        ("phonemes with stress", stressed_phonemes, "none"),
        ("segmentation", columns("cws-sxu", 0, 1), "none"),
        ("tags of the Wall Street Journal", columns("wsj-sample-pos", 0, 1), "none"),
    ]
    for told, lines in [
        ("alone", WORD[:-2]),
        ("plain pairs", WORD),
        ("rich pairs", EACH[0]),
        ("rich pairs alone", "B00:%x[0,0]\n"),
        ("three and plain pairs", THREE),
        ("three, one with pairs", THREE[:-2].replace("U01", "*01")),
        ("three with rich pairs", THREE[:-2].replace("U", "*")),
    ]
]

SOME = (
    "chunks", "chunks, words", "chunks, word, tag and pairs", "chunks, tags and word", "chunks, tags and pairs", "chunks of news", "names", "names, word",
    "names, word, tag, chunk and pairs", "slots", "biomedical names", "biomedical names, words", "biomedical names, word", "proteins", "tags, web",
    "tags, web, 3 words", "tags, word", "relations, words and tags", "articles left out", "tags, news", "phonemes", "phonemes, letters",
    "phonemes, letter and pairs", "phonemes with stress, letters", "segmentation", "segmentation, characters", "segmentation, three characters",
    "reviews of all kinds",
)

TWELVE = (
    "chunks", "chunks, words", "chunks, word, tag and pairs", "names", "names, word", "biomedical names", "biomedical names, words", "tags, web",
    "tags, web, 3 words", "phonemes", "segmentation", "segmentation, characters",
)
RUN = ("task", "first", "joined", "sentences", "draw", "trainer", "options")  # what tells a run from others


def tasks() -> Iterator[Data]:
    if complete():
        yield from PLAIN
    for one in data():
        if one.name not in DENSE:
            yield one


def run(one: Data, train: Any, held_out: Any, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The score, and what was chosen for these data."""
    model, (found,) = common.tagged(train, one.template, [held_out], name, **options)
    return {"score": common.score(one.scheme, found, held_out), "chosen": model.header.get("chosen", {})}


def by_pass(one: Data, train: Any, held_out: Any, name: str, passes: int) -> dict[str, Any]:
    """The scores after each pass of one run."""
    found: list[dict[str, Any]] = []
    crfkit.learn(train, one.template, name, threads=1, passes=passes, dev=held_out, progress=found.append, **one.form)
    return {"scores": [100 * each[one.figure] for each in found]}


def tried(one: Data, setting: dict[str, Any], train: Any, held_out: Any, option: str, values: list[float], records: Journal) -> list[Any]:
    """The scores of the default and of each value; what was chosen."""
    name = setting["trainer"]

    def with_(options: dict[str, Any]) -> dict[str, Any]:
        return records.of(setting | {"options": options}, lambda: run(one, train, held_out, name, options))

    usual = with_({})
    if option != "passes":
        return [usual["score"], *(with_({option: x})["score"] for x in values), usual["chosen"]]
    if name in ("sgd", "sapo", "adf"):  # whose rates follow from how many passes there will be: they fall as far in any number
        decay = {x: {"decay": decay_of(Sgd(passes=int(x)))} if name != "adf" else {} for x in values}
        return [usual["score"], *(with_({"passes": int(x), **decay[x]})["score"] for x in values), usual["chosen"]]
    most = int(max(values))
    each = records.of(setting | {"options": {"up to": most}}, lambda: by_pass(one, train, held_out, name, most))["scores"]
    return [usual["score"], *(each[min(int(x), len(each)) - 1] for x in values), usual["chosen"]]


def main() -> None:
    parser = common.parser_of_tasks(
        "How far the default of an option is behind the best of other values.", rounds=1, sizes="50,200,1000,5000", trainers=["lbfgs"]
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--some", action="store_true", help="28 tasks of all corpora")
    which.add_argument("--twelve", action="store_true", help="12 of these")
    which.add_argument("--few", action="store_true", help="other tasks: one or three attributes of a token, with label pairs and without")
    parser.add_argument("--joined", type=int, default=1, metavar="N", help="make each sequence of N sentences in a row, but not of documents (default %(default)s)")
    parser.add_argument("--option", default="l2", choices=VALUES, help="default %(default)s")
    parser.add_argument("--values", metavar="X,X", help="of the option, in place of VALUES")
    parser.add_argument("--records", metavar="FILE", help="a line of JSON for each run")
    given = parser.parse_args()
    kind = int if given.option in ("nbest", "depth", "window") else float
    values = [kind(x) for x in given.values.split(",")] if given.values else list(VALUES[given.option])
    behind: dict[str, list[list[float]]] = {name: [] for name in given.trainers.split(",")}
    gained: dict[str, list[list[list[float]]]] = {name: [] for name in behind}
    commit = common.commit()
    records = Journal(Path(given.records or os.devnull), *RUN)
    only = ";".join(f"={name}" for name in (SOME if given.some else TWELVE)) if given.some or given.twelve else given.only
    for one in [one for one in ((FEW if complete() else ()) if given.few else tasks()) if common.is_wanted(one.name, only)]:
        whole = one.make()[: given.sentences]
        if one.template and given.joined > 1:
            whole = [list(chain.from_iterable(whole[k : k + given.joined])) for k in range(0, len(whole), given.joined)]
        pool, held_out = common.held_out(whole, 1000 if one.template else 600)
        for size in common.sizes_of(given.sizes, pool):
            draws = [common.drawn(pool, size, draw) for draw in range(given.rounds)]
            read = [common.numbers_of(train, one.template, **one.form) for train in draws]
            n = [each.dataset.n_incidences[0] for each in read]
            of_a_token = fmean(a / each.dataset.n_tokens for a, each in zip(n, read, strict=True))
            often = fmean(a / max(1, each.layout.n_attributes[0]) for a, each in zip(n, read, strict=True))
            share = fmean(map(share_of_ambiguous, read))
            for name, found in behind.items():
                setting = {"commit": commit, "task": one.name, "first": given.sentences, "joined": given.joined, "sentences": size, "trainer": name}
                rows = [tried(one, setting | {"draw": draw}, train, held_out, given.option, values, records) for draw, train in enumerate(draws)]
                gained[name].append([[x - row[0] for x in row[1:-1]] for row in rows])
                means = [fmean(column) for column in zip(*(row[:-1] for row in rows), strict=True)]
                found.append([max(means) - mean for mean in means])
                print(f"{one.name} | {size} | {name} | {of_a_token:.1f} | {often:.1f} | {share:.2f} | {max(means):.2f} | "
                      f"{rows[0][-1]} | {' '.join(f'{x:.2f}' for x in found[-1])}", flush=True)
    print(f"\n{parser.description}\n{common.machine()}")
    common.table(["trainer, settings", "default", *(f"{given.option} {x:g}" for x in values)], [
        [f"{name}, {len(found)}", *(f"{fmean(column):.2f}, at most {max(column):.2f}, {sum(x > 1 for x in column)} over a point" for column in zip(*found, strict=True))]
        for name, found in behind.items() if found
    ])
    if given.rounds > 1:
        print("\nGain over the default")
        common.table(["trainer, settings", *(f"{given.option} {x:g}" for x in values)], [
            [f"{name}, {len(found)}", *(common.gain([fmean(row[k] for row in draw) for draw in zip(*found, strict=True)]) for k in range(len(values)))]
            for name, found in gained.items() if found
        ])


if __name__ == "__main__":
    main()
