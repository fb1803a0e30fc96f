"""`crfkit tag`, from text to text, beside CRFsuite's tagger on ready-made feature strings.

    python benchmarks/bench_tag.py [--rounds N] [--sentences N]

The time of ours is that of the whole command, from its start to its end. CRFsuite's is that of labelling alone: of
feature strings in Python's lists, which it copies, and of such that were handed over before. Making them is measured
apart.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import common
import peers

TOKENS = 940_000  # the test part of CoNLL-2000 20 times


class Found(NamedTuple):
    """Median seconds of our commands, with their tokens; tokens a second of the peer."""

    seconds: dict[str, float]
    tokens: int
    rates: dict[str, float]


def peer_works(corpus: common.Corpus) -> dict[str, Callable[[], Any]]:
    """CRFsuite's, on the test part once."""
    if not peers.crfsuite():
        return {}
    import pycrfsuite

    peers.crfsuite_log(peers.crfsuite_trainer(corpus.ready), corpus.folder, "lbfgs", c2=1.0, max_iterations=5)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(corpus.folder / "crfsuite.model"))
    rules = common.rules(common.TEMPLATE.name)

    def made() -> list[list[list[str]]]:
        return [common.attributes(rows, rules) for rows in corpus.test_rows]

    strings = made()
    handed = [pycrfsuite.ItemSequence(tokens) for tokens in strings]
    return {
        "CRFsuite, feature strings": common.clock(lambda: [tagger.tag(tokens) for tokens in strings]),
        "CRFsuite, handed over before": common.clock(lambda: [tagger.tag(items) for items in handed]),
        "making feature strings in Python": common.clock(made),
    }


def one_sentence(corpus: common.Corpus) -> Path:
    """A file with the first sentence of the test part."""
    path = corpus.folder / "sentence.txt"
    common.write_sentences(path, ["\n".join(" ".join(row) for row in corpus.test_rows[0])])
    return path


def measure(corpus: common.Corpus, rounds: int) -> Found:
    """Everything in turn."""
    text, tokens = corpus.repeated(TOKENS)
    sentence = one_sentence(corpus)

    def tag(*options: Any) -> Callable[[], float]:
        return lambda: common.command("-m", "crfkit", "tag", corpus.model, *options).seconds

    own = {
        "one sentence": tag(sentence),
        "1 thread": tag("--threads", 1, text),
        "2 threads": tag("--threads", 2, text),
        "1 thread, marginals (-v 1)": tag("--threads", 1, "-v", 1, text),
        "2 threads, marginals (-v 1)": tag("--threads", 2, "-v", 1, text),
    }
    others = peer_works(corpus)
    medians = common.in_turn({**own, **others}, rounds)
    once = sum(map(len, corpus.test_rows))
    return Found({name: medians[name] for name in own}, tokens, {name: once / medians[name] for name in others})


def main() -> None:
    with common.arguments("Tagging", rounds=3) as (corpus, rounds, _):
        found = measure(corpus, rounds)
        start = found.seconds["one sentence"]
        rows = [(f"crfkit tag, {name}", took, common.per_second(found.tokens, took)) for name, took in found.seconds.items()]
        rows[0] = ("crfkit tag, one sentence: start-up", start, "")
        rows += [(name, "", f"{rate:,.0f}") for name, rate in found.rates.items()]
        common.table(("what", "s", "tokens/s"), rows)


if __name__ == "__main__":
    main()
