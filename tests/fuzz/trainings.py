"""Small hostile trainings: any trainer, with random options, template and data. The input is a JSON document of them."""

from __future__ import annotations

import io
import json
import random
import warnings
from dataclasses import fields
from typing import Any

import crfkit
from crfkit import options
from crfkit.errors import CrfkitWarning
from crfkit.learning.learn import learn_path
from crfkit.template.parsing import Template
from crfkit.trainers.base import all_finite

from . import mutate

LINES = [
    "B", "B", "U:%x[0,0]", "U:%x[0,0]", "U1:%x[-1,0]/%x[0,1]", "U2:%p[0,0,2]%s[0,0,1]", "*:%S[0,0]", "B1:%x[0,1]", "B2:%x[0,0]/%x[1,0] @all", "U3:%x[0,1] @all",
    "U4:%x[0,0] @minfreq=2", "U", "T", "T1:%x[0,1]", "U5:%y[-1]/%x[0,0]", "U6:%y[-2]", "U7:%y[-1]%y[-2] @all", "U8:%x[9,0]", "U9:%x[0,7]", "X",
]
WORDS = ["a", "b", "B", "the", "12", "café", "_B-1", "x" * 40, "%", "\\", "\u2028", "|"]
TAGS = ["O", "B-X", "I-X", "B-Y", "?", "é", "_B-1"]
VALUES = ["1", "0", "-1", "2.5", "1e-6", "1e-30", "1e-45", "1e3", "1e6", "-1e6", "1e9", "1e20", "3e38", "-3e38", "nan"]
WEIGHTS = ["1", "0", "0.5", "1e-9", "7", "1e6", "1e30", "3e38", "-1"]
REALS = [0.0, 1e-300, 1e-45, 1e-6, 0.01, 0.3, 0.5, 0.52, 0.9, 0.999, 1.0, 2.0, 30.0, 1e3, 1e6, 1e30, 1e38, 1e300, -1.0, float("inf"), float("nan")]
SMALL = {"passes": 3, "max_iter": 4, "warm_up": 5, "nbest": 100, "beam": 1000}  # more would only take longer
ODD: list[Any] = [None, True, "", "x", [], {}, -1, 0, 0.5, 2**31, 2**63, 10**30]


def number(source: random.Random, name: str) -> int:
    """A count."""
    return source.randint(0 if source.random() < 0.05 else 1, source.choice((2, 4, 100, SMALL.get(name, 10**6))) if name not in SMALL else SMALL[name])


def value(source: random.Random, name: str, item: Any) -> Any:
    """A value for an option of a trainer; in most cases one that is allowed."""
    if source.random() < 0.02:
        return source.choice(ODD) if name not in SMALL else None
    kind, choices = item.metadata["expected"].kind, item.metadata["expected"].choices
    if choices:
        return source.choice(choices)
    if kind is tuple:
        return sorted(source.sample([10.0, 3.0, 1.0, 0.1, 0.0, 1e9], source.randint(1, 3)), reverse=True)
    if kind is bool:
        return source.random() < 0.5
    if kind is int:
        return number(source, name)
    return source.choice(REALS) if source.random() < 0.5 else source.choice((0.01, 0.3, 0.52, 0.9, 1.0))


def columns(source: random.Random, tags: list[str]) -> str:
    """Sequences of tokens with two columns and a label."""
    text = ""
    for _ in range(source.choice((1, 2, 5, 9))):
        for _ in range(source.choice((1, 1, 2, 3, 6)) if source.random() < 0.98 else 300):
            text += f"{source.choice(WORDS)}\t{source.choice(WORDS)}\t{source.choice(tags)}\n"
        text += "\n"
    return text


def attributes(source: random.Random, tags: list[str]) -> str:
    """Sequences of items with values, of one size or of all sizes."""
    values = source.sample(VALUES[:-1], 2) if source.random() < 0.8 else VALUES
    text = ""
    for _ in range(source.choice((1, 2, 5, 9))):
        if source.random() < 0.2:
            text += f"@weight:{source.choice(WEIGHTS)}\n"
        for _ in range(source.choice((1, 1, 2, 3, 6))):
            text += "\t".join([source.choice(tags), *(f"{word}:{source.choice(values)}" for word in source.sample("abcde", source.randint(0, 4)))]) + "\n"
        text += "\n"
    return text


def training(source: random.Random) -> bytes:
    """A random training."""
    algorithm = source.choice(list(options.TRAINERS))
    own = {item.name: item for item in fields(options.TRAINERS[algorithm])}
    chosen = {name: value(source, name, item) for name, item in own.items() if source.random() < (1 if name in ("passes", "max_iter") else 0.3)}
    if "path" in chosen and source.random() < 0.95:
        chosen.pop("l1", None)
    if chosen.get("search") != "beam" and source.random() < 0.95:
        chosen.pop("beam", None)
    for name, values in (
        ("features", ("observed", "all")), ("min_freq", (1, 2, 3)), ("seed", (1, -1, 2**63 - 1, -(2**63))), ("threads", (0, 1, 2, 3)),
        ("select", ("mi:1", "mi:3", "mi:999")), ("prune", (1e-30, 0.01, 1e30)), ("patience", (1, 2)), ("outside", TAGS),
    ):
        if source.random() < 0.15:
            chosen[name] = source.choice(values) if source.random() < 0.95 else source.choice(ODD)
    tags = source.sample(TAGS, source.choice((2, 2, 2, 3, 5)) if source.random() < 0.97 else 1)
    items = source.random() < 0.4
    make = attributes if items else columns
    data = make(source, tags)
    if source.random() < 0.1:
        data = mutate.text(source, [data.encode()], [b"\t", b"\n", b":", b"x"]).decode(errors="replace")
    history = 20 if algorithm == "lookahead" or source.random() < 0.02 else 12
    return json.dumps(
        {
            "algorithm": algorithm,
            "options": chosen,
            "format": "crfsuite" if items else "columns",
            "template": None if items else "\n".join(source.choice(LINES[:history]) for _ in range(source.choice((1, 2, 3, 6)))),
            "data": data,
            "dev": make(source, tags) if source.random() < 0.2 or {"patience", "outside"} & set(chosen) else None,
            "init": source.random() < 0.15,
        },
        ensure_ascii=False,
    ).encode()


def train(data: bytes) -> None:
    """Do what the document says; its models are sound, and can be stored and used."""
    given = json.loads(data)
    text, form = given["data"].encode(), given["format"]
    template = None if given["template"] is None else Template.parse(given["template"])
    chosen = dict(given["options"])
    if given["dev"] is not None:
        chosen["dev"] = io.BytesIO(given["dev"].encode())
    if given["init"]:
        chosen["init"] = before(form)
    warnings.simplefilter("ignore", CrfkitWarning)
    for model in learn_path(io.BytesIO(text), template, given["algorithm"], format=form, **chosen):
        assert all_finite(model.weights), "a weight is not finite"
        whole = model.to_bytes()
        tagger = crfkit.load(whole)
        assert tagger.model.to_bytes() == whole, "saved again, the model is another one"
        tagger.tag_with_gold(io.BytesIO(text), threads=1)


def before(form: str) -> Any:
    """A model to start from."""
    if form == "columns":
        return crfkit.learn([[["a", "b", "O"], ["b", "a", "B-X"]]], Template.parse("U:%x[0,0]\nB\n"), "perceptron", passes=1)
    return crfkit.learn(io.BytesIO(b"O\ta:1\nB-X\tb:-2\n\n"), format="crfsuite", algorithm="perceptron", passes=1)
