"""`crfkit tag`, from text to text, and CRFsuite's tagger on ready-made feature strings.

    python benchmarks/bench_tag.py [--rounds N] [--sentences N]

The time of start-up is measured apart and taken off where tokens a second are shown.
"""

from __future__ import annotations

import common

TOKENS = 500_000


def peer_seconds(corpus: common.Corpus, rounds: int) -> list[tuple[str, float, str]]:
    """Rows for CRFsuite: with features made before, and making them in Python."""
    pycrfsuite = common.peer()
    if pycrfsuite is None:
        return []
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c2": 1.0, "max_iterations": 5})
    sentences = common.rows_of(corpus.train)
    for tokens, rows in zip(common.attributes(sentences), sentences, strict=True):
        trainer.append(tokens, [row[-1] for row in rows])
    trainer.train(str(corpus.folder / "peer"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(corpus.folder / "peer"))
    ready = [pycrfsuite.ItemSequence(tokens) for tokens in common.attributes(corpus.test_rows)]
    n = sum(map(len, corpus.test_rows))
    works = {
        "CRFsuite on ready-made features": lambda: [tagger.tag(items) for items in ready],
        "making these features in Python": lambda: common.attributes(corpus.test_rows),
    }
    return [(name, took, common.per_second(n, took)) for name, took in common.in_turn(works, rounds).items()]


def main() -> None:
    with common.arguments("Tagging", rounds=3) as (corpus, rounds, given):
        text, tokens = corpus.repeated(TOKENS if given.sentences is None else 1)
        sentence = corpus.folder / "sentence.txt"
        sentence.write_text("\n".join(" ".join(row) for row in corpus.test_rows[0]) + "\n\n", encoding="utf-8")
        tag = ("-m", "crfkit", "tag", corpus.model)
        works = {
            "one sentence": lambda: common.run(*tag, sentence),
            "1 thread": lambda: common.run(*tag, "--threads", 1, text),
            "2 threads": lambda: common.run(*tag, "--threads", 2, text),
            "1 thread, marginals (-v 1)": lambda: common.run(*tag, "--threads", 1, "-v", 1, text),
            "2 threads, marginals (-v 1)": lambda: common.run(*tag, "--threads", 2, "-v", 1, text),
        }
        medians = common.in_turn(works, rounds)
        start = medians.pop("one sentence")
        rows = [("crfkit tag, one sentence: start-up", start, "")]
        for name, took in medians.items():
            rows.append((f"crfkit tag, {name}", took, common.per_second(tokens, took - start)))
        rows += peer_seconds(corpus, rounds)
        common.table(("what", "s", "tokens/s"), rows)


if __name__ == "__main__":
    main()
