"""Every table and figure of the five papers, and where ours stands: a section of the index."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from protocol import CONTRADICTED, REPRODUCED, TIE
from report import markdown

Sections = list[tuple[str, str, list[list[str]]]]
"""Title, name of the page, and rows of the index: claim, task, the paper's numbers, those here, verdict."""


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of a paper."""

    name: str
    shows: str
    here: str
    """Links to ours, or why there is none."""
    claims: str = ""
    """A pattern of the claims that belong to it."""
    pages: tuple[str, ...] = ()
    tasks: str = ""
    """A pattern of the tasks whose claims count."""

    def verdicts(self, sections: Sections) -> str:
        """How many claims have which verdict."""
        rows = [row for _, page, found in sections if page in self.pages for row in found]
        count = Counter(row[-1] for row in rows if self.claims and re.search(self.claims, row[0]) and re.search(self.tasks, row[1]))
        return ", ".join(f"{n} {'ties' if word == TIE and n > 1 else word}" for word in (REPRODUCED, TIE, CONTRADICTED) if (n := count[word]))


TABLE_4 = "^base noun phrases, the paper's features|^word segmentation$|^biomedical names, the paper's rich edges"
PLACES = "[noun phrases](adf.md#base-noun-phrases-the-papers-features), [segmentation](adf.md#word-segmentation), [names](adf.md#biomedical-names-the-papers-rich-edges)"
SCORES_AND_COSTS = "^(adf|averaged perceptron) is better than (lbfgs|sgd|(averaged|naive) perceptron)$|fewer passes|in all$"
REVIEWS = "[reviews](adf.md#sentiment-of-product-reviews)"

EXHIBITS = {
    "[Feature-frequency-adaptive on-line training](adf.md)": (
        Exhibit(
            "table 4", "scores, passes and seconds of five trainers on three tasks", f"{PLACES}; the paper's numbers beside ours",
            SCORES_AND_COSTS, ("adf",), TABLE_4,
        ),
        Exhibit("table 6", "the same for reviews", f"{REVIEWS}; the paper's numbers beside ours", SCORES_AND_COSTS, ("adf",), "^sentiment"),
        Exhibit("figure 2", "curves over passes and seconds, on-line trainers", "pictures of those of table 4", "better than (sgd|.* perceptron)$|fewer passes than sgd|a pass of adf|faster than sgd", ("adf",), TABLE_4),
        Exhibit(
            "figure 3, top", "CW and AROW, `adf` with and without rich edges", "those of table 4; without rich edges: [noun phrases](adf.md#base-noun-phrases-without-rich-edges), "
            "[segmentation](adf.md#word-segmentation-without-rich-edges), [names](adf.md#biomedical-names-without-parts-of-speech)",
            "better than (cw|arow)$", ("adf",), f"{TABLE_4}|without rich edges$|without parts of speech",
        ),
        Exhibit("figure 3, bottom", "batches of ten", "those of table 4: rows *batches of 10*, and pictures", "batches of 10", ("adf",)),
        Exhibit("figure 4", "curves over passes and seconds, `lbfgs`", "pictures of those of table 4", "than lbfgs", ("adf",), TABLE_4),
        Exhibit("figure 5", "scores after one pass", "those of table 4: column *test after one pass*", "after one pass", ("adf",), TABLE_4),
        Exhibit("figure 6", "curves for reviews", f"pictures of {REVIEWS}", f"{SCORES_AND_COSTS}|a pass of adf", ("adf",), "^sentiment"),
        Exhibit("figure 7", "reviews after one pass", f"{REVIEWS}: column *test after one pass*", "after one pass", ("adf",), "^sentiment"),
    ),
    "[Search-based probabilistic online learning](sapo.md)": (
        Exhibit("figure 1", "curves: CRF, Bi-LSTM, Bi-LSTM-CRF", "pictures of [SAPO](sapo.md) and of [networks](neural.md), to the fiftieth pass", "sapo is better than sgd, both|^SAPO is above|^scores of Bi-LSTM", ("sapo", "neural")),
        Exhibit("figure 2", "curves: perceptrons, MIRA", "pictures of [scores](sapo.md)", "^(sapo, options of sgd|averaged .*) is better than|get worse", ("sapo",)),
        Exhibit("figure 3", "growth of weights", "pictures of [weights](sapo.md), naive trainers", "^the weights of", ("sapo",)),
        Exhibit("figure 4", "seconds of a pass", "[SAPO](sapo.md): column *CPU s a pass*", "^a pass of sapo", ("sapo",)),
        Exhibit("figure 5", "seconds of a pass, networks", "[networks](neural.md): column *CPU s a pass*", "several times faster", ("neural",)),
    ),
    "[Decode-based learning of CRFs](dbl-crf.md)": (
        Exhibit("figure 1", "curves: scores", "pictures of [scores](dbl-crf.md)", "dbl-crf is better than sgd", ("dbl-crf",)),
        Exhibit("figure 2", "size of weights", "pictures of [weights](dbl-crf.md)", "^the weights of", ("dbl-crf",)),
        Exhibit("figure 3", "loss", "pictures of [losses](dbl-crf.md)", "^the loss of", ("dbl-crf",)),
        Exhibit("figure 4", "seconds of a pass", "[DBL-CRF](dbl-crf.md): column *CPU s a pass*", "^a pass", ("dbl-crf",)),
    ),
    "[Learning with lookahead](lookahead.md)": (
        Exhibit(
            "table 1", "parts of speech: seconds and accuracy", "[WSJ sample](lookahead.md#parts-of-speech-wsj-sample), [Web Treebank](lookahead.md#parts-of-speech-english-web-treebank)", ".", ("lookahead",),
            "^parts of speech",
        ),
        Exhibit("table 2", "chunks: seconds and F1", "[chunks](lookahead.md#all-chunk-types-without-rich-edges), [with rich edges](lookahead.md#all-chunk-types-rich-edges)", ".", ("lookahead",), "^all chunk types"),
        Exhibit(
            "table 3", "biomedical names: seconds and F1", "[`ner-words.txt`](lookahead.md#biomedical-names-ner-wordstxt), [without](lookahead.md#biomedical-names-without-parts-of-speech) and "
            "[with parts of speech](lookahead.md#biomedical-names-with-parts-of-speech)", ".", ("lookahead",), "^biomedical names",
        ),
        Exhibit("table 4", "dependency parsing: seconds and accuracy", "[parsing](parsing.md)", ".", ("parsing",)),
    ),
    "[Sparse CRFs](sbcd.md)": (
        Exhibit("algorithms 1, 2", "one weight at a time; a block", "[both, implemented literally](simulated.md#one-weight-at-a-time-or-a-block); `-a sbcd`"),
        Exhibit("figures 1, 4", "pictures of all weights", "[pictures](sbcd.md#figures-1-and-4-the-weights-of-single-letters)", ".", ("sbcd",), "^the weights of single letters"),
        Exhibit("figure 2", "simulated data, eight models", "[simulated data](simulated.md): quartiles", "^M|same model", ("simulated",)),
        Exhibit("table 1", "active weights of five models", "[simulated data](simulated.md): column *paper: active* beside ours", "^most often the active weights", ("simulated",)),
        Exhibit("figure 3", "one weight at a time, or a block", "[simulated data](simulated.md#one-weight-at-a-time-or-a-block)", "^single weights|^a pass by blocks", ("simulated",)),
        Exhibit("table 2", "letter to sound, single letters", "[letters](sbcd.md#table-2-letter-to-sound-single-letters)", ".", ("sbcd",), "^letter to sound, single letters"),
        Exhibit("figure 5", "time of a pass against active weights", "[time](sbcd.md#figure-5-the-time-of-a-pass-against-active-weights)", ".", ("sbcd",), "^the time of a pass"),
        Exhibit("table 3", "letter to sound, n-grams", "[n-grams](sbcd.md#table-3-letter-to-sound-n-grams-all-pairs)", ".", ("sbcd",), "n-grams"),
        Exhibit("figure 6", "named entities, ways to select features", "[named entities](sbcd.md#figure-6-named-entities-ways-to-select-features)", ".", ("sbcd",), "^named entities"),
    ),
}
ABOUT = """\
What stands where, and the verdicts of the claims that belong to it. A claim may belong to several. Most pages have more tasks than the paper. The head of each table names data and features that differ.

Not listed is what has nothing to measure: algorithms and an example (figure 1 of the first paper, algorithm 1 of the next two, figures 1 to 3 of that on lookahead), and in the first paper features (tables 2 and 3; here
`bio-names-rich.txt` and `chunking-sun.txt` in `benchmarks/papers/templates`), the size of the data (table 1; the public corpus [has other counts](adf.md#biomedical-names-the-papers-rich-edges)) and scores of other systems (table 5).
"""


def lines(sections: Sections) -> list[str]:
    """The section."""
    rows = [[paper if k == 0 else "", one.name, one.shows, one.here, one.verdicts(sections)] for paper, found in EXHIBITS.items() for k, one in enumerate(found)]
    table = markdown(["paper", "table or figure", "it shows", "here", "verdicts"], rows)
    return ["## Every table and figure of the papers", "", ABOUT.strip(), "", table[0], "|---|---|---|---|---|", *table[2:]]
