"""Opening a model, with its checksums and tables verified and without.

    python benchmarks/bench_open.py [--rounds N] [--sentences N]

The first sentence is tagged too: without verification the checks move there. The larger model has the features of all
labels, not only of those that were observed. It is opened as a file of CRF++'s and of Wapiti's, too.
"""

from __future__ import annotations

from pathlib import Path

import common

import crfkit
from crfkit import foreign
from crfkit.foreign.parts import model_of

FOREIGN = {"CRF++": "crfpp", "Wapiti": "wapiti"}


def files_of(corpus: common.Corpus) -> dict[str, Path]:
    """The larger model, as other programs write theirs."""
    paths = {name: corpus.folder / f"large-model.{form}" for name, form in FOREIGN.items()}
    for name, path in paths.items():
        if not path.exists():
            foreign.convert(corpus.large_model, path, FOREIGN[name])
    return paths


def measure(corpus: common.Corpus, rounds: int) -> dict[str, float]:
    """Seconds of each way in turn."""
    content = corpus.model.read_bytes()
    sentence = [row[:-1] for row in corpus.test_rows[0]]
    works = {
        "file, verified": lambda: crfkit.load(corpus.model),
        "file, not verified": lambda: crfkit.load(corpus.model, verify=False),
        "bytes, verified": lambda: crfkit.load(content),
        "bytes, not verified": lambda: crfkit.load(content, verify=False),
        "file, verified, and a sentence tagged": lambda: crfkit.load(corpus.model).tag(sentence),
        "file, not verified, and a sentence tagged": lambda: crfkit.load(corpus.model, verify=False).tag(sentence),
        "larger file, verified": lambda: crfkit.load(corpus.large_model),
        "larger file, not verified": lambda: crfkit.load(corpus.large_model, verify=False),
    }
    for name, path in files_of(corpus).items():  # crfkit.load keeps such models
        works[f"larger file, {name}'s"] = lambda path=path: model_of(foreign.read(path)).tagger()
    sizes = [path.stat().st_size / 1e6 for path in (corpus.model, corpus.large_model)]
    print(f"{sizes[0]:.1f} MB; the larger file {sizes[1]:.1f} MB")
    return common.in_turn({name: common.clock(work) for name, work in works.items()}, rounds)


def main() -> None:
    with common.arguments("Opening a model", rounds=20) as (corpus, rounds, _):
        medians = measure(corpus, rounds)
        common.table(("what", "ms"), [(name, f"{1000 * took:.2f}") for name, took in medians.items()])


if __name__ == "__main__":
    main()
