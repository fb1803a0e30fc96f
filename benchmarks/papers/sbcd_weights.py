"""Figures 1 and 4 of the paper on sparse CRFs: which letters have weights with which phonemes, and with which pairs of phonemes."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from judging import Verdict, holds
from report import markdown, picture

import crfkit

NULL, VOWELS = "-", "aeiou"
SIGNIFICANT = 0.1  # of the largest weight of its kind
MODELS = {"lbfgs": "L-BFGS, L2", "sbcd": "SBCD, L1"}
PICTURE = "sbcd-weights.png"
ABOUT = """\
The models `lbfgs` and `sbcd, chosen` of table 2. The paper's figures are pictures of all weights; the sentences that it says about them are judged here, by rules that were fixed before any of these
weights were seen. A weight is *significant* if its size is at least a tenth of the largest of its kind (a letter with a phoneme, or a letter with a pair of phonemes), and *active* if it is not zero.
"""


def matrices(model: crfkit.Model) -> dict[str, Any]:
    """By letter and label: the weight, and of the weights with pairs that end in the label the largest size, the number that is active, and the number that is
    significant.
    """
    single: dict[str, dict[str, float]] = {}
    pairs: dict[str, dict[str, list[float]]] = {}
    for attribute, previous, label, weight in model.features():
        letter = attribute.rpartition(":")[2]
        if previous is None:
            single.setdefault(letter, {})[label] = round(weight, 4)
        elif weight:
            pairs.setdefault(letter, {}).setdefault(label, []).append(round(abs(weight), 4))
    bound = SIGNIFICANT * max(size for row in pairs.values() for sizes in row.values() for size in sizes)
    return {"single": single, "pairs": {letter: {label: [max(own), len(own), sum(w > bound for w in own)] for label, own in row.items()} for letter, row in pairs.items()}}


def shares(found: dict[str, Any], least: float, which: int) -> tuple[float, float]:
    """Of the pairs that count (`which` of the numbers of matrices), how many end in a label whose own weight with the letter is above `least` times the
    largest of these; and how many of all letters and labels have such a weight.
    """
    single, pairs = found["single"], found["pairs"]
    bound = least * max(abs(w) for row in single.values() for w in row.values())
    own = {(letter, label) for letter, row in single.items() for label, w in row.items() if abs(w) > bound}
    counts = {(letter, label): numbers[which] for letter, row in pairs.items() for label, numbers in row.items()}
    return sum(n for place, n in counts.items() if place in own) / sum(counts.values()), len(own) / (len(single) * len({label for row in (*single.values(), *pairs.values()) for label in row}))


def active(found: dict[str, Any]) -> dict[str, set[str]]:
    """Of each letter, the labels with a weight of either kind."""
    return {letter: {label for label, w in row.items() if w} | set(found["pairs"].get(letter, {})) for letter, row in found["single"].items()}


def section(models: dict[str, dict[str, Any]]) -> tuple[list[str], list[Verdict]]:
    """Lines with a table, and verdicts; `models` as MODELS, those that are measured."""
    if set(models) != set(MODELS):
        return [], []
    rows, said = [], []
    for name, found in models.items():
        own = [abs(w) for row in found["single"].values() for w in row.values()]
        counts = [sum(w > least * max(own) for w in own) for least in (0, SIGNIFICANT)]
        counts += [sum(numbers[which] for row in found["pairs"].values() for numbers in row.values()) for which in (1, 2)]
        rows.append([MODELS[name], *(f"{n:,}" for n in counts)])
    heads = ["model", "active, letter and phoneme", "significant", "active, letter and pair", "significant"]
    share, base = shares(models["lbfgs"], SIGNIFICANT, 2)
    numbers = f"{share:.0%} of the significant pairs; {base:.0%} of all combinations of letter and phoneme are significant"
    said.append(holds(share > 0.5, "L-BFGS: most pairs of phonemes are significant only where the second phoneme is, with that letter", numbers, "figure 1"))
    share, base = shares(models["sbcd"], 0, 1)
    said.append(holds(share > 0.5, "SBCD: most active pairs end in a phoneme that is active with that letter", f"{share:.0%}; {base:.0%} of all combinations are active", "figure 4"))
    labels = active(models["sbcd"])
    silent = sum(NULL in found for found in labels.values())
    said.append(holds(silent >= 0.9 * len(labels), "the silent phoneme is associated with almost all letters", f"{silent} of {len(labels)}", "figure 4"))
    vowels, others = (fmean(len(found) for letter, found in labels.items() if (letter in VOWELS) == wanted) for wanted in (True, False))
    said.append(holds(vowels > 2 * others, "vowels have more phonemes than consonants, twice as many at least", f"{vowels:.1f} and {others:.1f} a letter", "figure 4"))
    return [*ABOUT.strip().splitlines(), "", *markdown(heads, rows)], said


def drawn(models: dict[str, dict[str, Any]], path: Path) -> bool:
    """The picture: a letter is a row, a phoneme a column, darker is larger. False where there is none."""
    if set(models) != set(MODELS):
        return False
    labels = sorted({label for row in models["lbfgs"]["single"].values() for label in row}, key=lambda label: (label != NULL, label))
    letters = sorted(models["lbfgs"]["single"])
    with picture(path, 4, legend=False) as axes:
        if axes is None:
            return path.exists()
        for column, (name, found) in enumerate(models.items()):
            for row, kind in enumerate(("single", "pairs")):
                cells = [[found[kind].get(letter, {}).get(label, 0.0) for label in labels] for letter in letters]
                sizes = [[cell[0] if isinstance(cell, list) else abs(cell) for cell in line] for line in cells]
                frame = axes[2 * row + column]
                frame.imshow(sizes, cmap="Greys", aspect="auto")
                frame.set_title(f"{MODELS[name]}: {'letter and phoneme' if kind == 'single' else 'largest of pairs ending in it'}", fontsize=8)
                frame.set_xticks(range(len(labels)), labels, fontsize=4)
                frame.set_yticks(range(len(letters)), letters, fontsize=4)
        return True
