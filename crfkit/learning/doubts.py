"""What to warn of before training: what is odd about the data, or about learning from them in this way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crfkit.constants import LARGEST_FOR_RATES, LARGEST_VALUE
from crfkit.trainers import trainer_class
from crfkit.values import shown

from .corpus import no_attribute
from .divergence import value_warning

if TYPE_CHECKING:
    from crfkit.data.tallies import Tallies
    from crfkit.options import Run
    from crfkit.template.parsing import Template

    from .corpus import Corpus

_UNEVEN = 0.04  # evenness of values (crfkit/data/tallies.pyx) below which most trainers learn more from standardized ones
_LONG, _LONGER = 500, 30  # tokens of a sequence from which on it is long: as such, and for each sequence that there is


def doubts(corpus: Corpus, tallies: Tallies, template: Template | None, algorithm: str, options: Any, run: Run) -> Iterator[str | None]:
    """One warning after the other; None where there is nothing to say."""
    trainer, data = trainer_class(algorithm), corpus.dataset
    yield no_attribute(corpus, template, run)
    yield _values(tallies, algorithm, options)
    yield _labels(corpus, run)
    yield _blanks(data.labels)
    yield _unknown(corpus, run)
    yield trainer.slowness(data, options, run.features == "all")
    yield _few_steps(corpus, algorithm, run.format)


def _values(tallies: Tallies, algorithm: str, options: Any) -> str | None:
    """A warning if the values of features are such that a trainer may learn little from them."""
    largest, steps_like_values = tallies.data.largest_value, trainer_class(algorithm).steps_like_values
    if steps_like_values and tallies.evenness() < _UNEVEN:
        return (
            f"values of the features are far from 0, or of very different sizes: {algorithm} may learn little, as its steps are as large as the "
            "values; subtract the mean of each and divide by its standard deviation, with an attribute of value 1 beside them, or use lbfgs"
        )
    if steps_like_values and LARGEST_FOR_RATES < largest <= LARGEST_VALUE:
        return (
            f"values of the features reach {largest:.3g}; beyond {LARGEST_FOR_RATES:g} {algorithm} may learn little, as its steps are as large as "
            "the values: scale them down, or use lbfgs"
        )
    return value_warning(largest, algorithm, options)


def _labels(corpus: Corpus, run: Run) -> str | None:
    """A warning if the labels seem to be words: if they are many, and few of their tokens share one. In more text there are more words, about
    as the square root of its length: their number squared is 1,000 to 3,000 times that, and of labels such as rules for lemmas a few times."""
    labels, tokens = corpus.dataset.labels, corpus.summary["tokens"]
    if len(labels) <= 200 or (8 * len(labels) <= tokens and len(labels) ** 2 <= 500 * tokens):
        return None
    place = "the first field of a line" if run.format == "crfsuite" else "the last column" if run.label is None else f"column {run.label}"
    return f"{len(labels):,} labels for {tokens:,} tokens, such as {', '.join(map(shown, labels[-3:]))}: is {place} the label?"


def _blanks(labels: list[str]) -> str | None:
    """A warning of blanks beside labels, which are part of them in columns that end at tabs; if there are any, of two labels that are the same
    without them."""
    seen: dict[str, str] = {}
    for label in labels:
        twin = seen.setdefault(label.strip(), label)
        if twin != label:
            return f"the labels {shown(twin)} and {shown(label)} differ in blanks alone"
    padded = next((label for label in labels if label != label.strip()), None)
    return None if padded is None else f"the blanks beside the label {shown(padded)} are part of it"


def _unknown(corpus: Corpus, run: Run) -> str | None:
    """A warning if a tenth of the tokens have the sign of any label, but are to be learned with it as their label."""
    labels = corpus.dataset.labels
    if run.partial or "?" not in labels or 10 * corpus.dataset.label_counts()[labels.index("?")] < corpus.summary["tokens"]:
        return None
    return "many tokens have the label '?', which is learned like any other: with --partial it means that the label is unknown"


def _few_steps(corpus: Corpus, algorithm: str, form: str) -> str | None:
    """A warning if a trainer that makes a step for each sequence makes few (docs/defaults.md, "A few long texts"), or if a
    text is one sequence; attributes may be those of a recording."""
    by_sequence, sequences, tokens = trainer_class(algorithm).by_sequence, corpus.summary["sequences"], corpus.summary["tokens"]
    if tokens < sequences * max(_LONG, _LONGER * sequences) or not (by_sequence or (sequences == 1 and form != "crfsuite")):
        return None
    there = f"there are {sequences} of {tokens // sequences:,} tokens" if sequences > 1 else f"all {tokens:,} tokens are one sequence"
    if not by_sequence:
        return f"{there}: if it has several sentences, put an empty line after each"
    return (
        f"{algorithm} makes one step for each sequence, and {there}: "
        "put an empty line after each sentence, or use lbfgs or lookahead, which learn more from so few"
    )
