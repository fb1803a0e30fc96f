"""Runs of crfkit-wapiti on patterns and sentences that are made."""

import random
import re
from functools import partial
from pathlib import Path

from commands import invoked, text_of

from crfkit.compat.wapiti.commands import cli
from crfkit.foreign import wapiti

PATTERNS = ["u0:%x[-1,0]", "*:%X[0,0]", "U1 %x[0,1]", "u2:%x[@1,0]/%x[1,1]", "*4:%m[0,0,\"^.?.?\"]", "u5:%t[0,0,\"^\\u\"]", "b6:%x[0,1]", "b"]
WORDS = ["Dog", "a", "aan", "an", "Été", "x1", "12", "U.", "日本n", "ABC9", "a-b", "on"]
TWICE = ["b", 'b%m[0,0,"^a"]', "u:%x[0,0]", "bb", "u%x[-1,0]", "u%x[0,0]"]  # a match may be empty: then two of them say "b"
TIMES = re.compile(r"time=\S+")
run = partial(invoked, cli)


def sentences(seed, n, columns=3):
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        words = rng.choices(WORDS, k=rng.randint(1, 8))
        made.append([[word, rng.choice(("DT", "NN", "é")), "BIO"[(len(word) + t) % 3] if rng.random() < 0.9 else "X"][:columns] for t, word in enumerate(words)])
    return made


def trained(*options, name="model"):
    return run("train", "-p", "patterns", *options, "train", name).stderr


def dumped():
    """Not all of it is UTF-8: patterns cut bytes."""
    return run("dump", "model").stdout_bytes.decode("utf-8", "surrogateescape")


def write_files():
    """Patterns, and data to learn from and to label."""
    Path("patterns").write_text("# patterns\n" + "   # a comment\n\n".join(PATTERNS) + "\n", encoding="utf-8")
    for name, seed, columns in (("train", 1, 3), ("dev", 2, 3), ("test", 3, 3), ("plain", 4, 2)):
        Path(name).write_text(text_of(sentences(seed, 60, columns)), encoding="utf-8")


def observations(parts):
    """Each observation, in the order of the file: its name, whether it is of pairs of labels, and its features (label before, label, weight)."""
    plain = None if parts.pairs is None else wapiti.plain_name(parts)
    for name in wapiti.observed(parts).names:
        for bigram, row in ((False, parts.unigrams), (True, parts.bigrams)):
            if name[:1] != (b"u" if bigram else b"b"):  # one of * takes the room of both
                number = row.names.find(name)
                yield name, bigram, list(parts.pair_weights()) if bigram and name == plain else row.features(number) if number >= 0 else []
