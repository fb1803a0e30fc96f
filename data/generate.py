"""Writes the synthetic corpora of this folder, the same bytes on every machine.

`python data/generate.py` writes every file. With `--check` it writes nothing, names the files that differ from
what it would write, and exits with 1 if any does.
"""

import argparse
import sys
from pathlib import Path

from dice import Dice
from grammar import Grammar, mistag
from lexicon import Lexicon
from reals import item
from spelling import said
from syllables import Language, segmented

HERE = Path(__file__).resolve().parent
MISTAGGED = 0.08
MOST_TOKENS = 14  # longer sentences are drawn again: the files stay small and the lines readable


def sentences(grammar: Grammar, n: int):
    while n:
        tokens = grammar.sentence()
        if len(tokens) <= MOST_TOKENS:
            yield tokens
            n -= 1


def chunking(dice: Dice, n: int) -> str:
    grammar = Grammar(Lexicon(), dice, naming=0.12)
    return columns(
        [(t.word, t.tag, t.chunk) for t in mistag(s, dice, MISTAGGED)] for s in sentences(grammar, n)
    )


def pos(dice: Dice, n: int) -> str:
    grammar = Grammar(Lexicon(), dice, naming=0.12)
    return columns([(t.word, t.tag) for t in s] for s in sentences(grammar, n))


def ner(dice: Dice, n: int) -> str:
    grammar = Grammar(Lexicon(), dice, naming=0.45)
    return columns(
        [(t.word, t.tag, t.entity) for t in mistag(s, dice, MISTAGGED)] for s in sentences(grammar, n)
    )


def segmentation(dice: Dice, n: int) -> str:
    language = Language(dice)
    return columns(segmented(language.sentence()) for _ in range(n))


def letters(dice: Dice, n: int) -> str:
    return columns(said(dice) for _ in range(n))


def reals(dice: Dice, n: int) -> str:
    return "".join(item(dice) for _ in range(n))


def columns(corpus) -> str:
    """Column text: one token a line, a blank line after each sentence."""
    return "".join("".join(" ".join(row) + "\n" for row in rows) + "\n" for rows in corpus)


CORPORA = {  # maker, and the number of sequences of each part
    "chunking": (chunking, {"train": 950, "dev": 80, "test": 200}),
    "pos": (pos, {"train": 900, "dev": 80, "test": 200}),
    "ner": (ner, {"train": 950, "dev": 80, "test": 200}),
    "segmentation": (segmentation, {"train": 400, "dev": 50, "test": 150}),
    "letters": (letters, {"train": 1300, "dev": 100, "test": 250}),
    "reals": (reals, {"train": 240, "test": 160}),
}


def corpora():
    """Pairs of file name and content. Each part of each corpus has its own seed, so a new one changes no other."""
    for number, (name, (maker, parts)) in enumerate(CORPORA.items()):
        for place, (part, n) in enumerate(parts.items()):
            yield f"{name}.{part}.txt", maker(Dice(1000 + 10 * number + place), n).encode()


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the synthetic corpora of this folder.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    check = parser.parse_args().check
    different = []
    for name, content in corpora():
        path = HERE / name
        if not check:
            path.write_bytes(content)
        elif not path.is_file() or path.read_bytes() != content:
            different.append(name)
    if different:
        print("not as generated:", *different, file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
