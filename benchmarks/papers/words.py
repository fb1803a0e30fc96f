"""Dictionary features for word segmentation, as columns: does the text around a character match words of the training part?

The paper on ADF collects its words and word pairs from the training data, and no more; so do we. What only the sentence
itself shows does not count there: all words of the training data would be known, and nothing be learned of new ones. A
column that matches nothing is `-`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

LENGTHS = range(2, 7)
NOTHING = "-"
# Of the words of a pair, the longest pairs first.
BOTH_LENGTHS = sorted(((left, right) for left in range(1, 7) for right in range(1, 7)), key=sum, reverse=True)


class Words:
    """The words and the pairs of neighbouring words in segmented sentences."""

    def __init__(self, sentences: Iterable[list[str]]):
        self.words: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.own_words: Counter[str] = Counter()
        self.own_pairs: Counter[tuple[str, str]] = Counter()
        for sentence in sentences:
            words = segmented(sentence)
            self.words.update(words)
            self.pairs.update(pairwise(words))

    def widened(self, sentence: list[str], counted: bool) -> list[str]:
        """The sentence, which is one of those that were counted or not, with columns between character and label: words of 2 to 6 characters that end here, those that
        begin here, the longest known pair of words that meets before the character, and that which meets behind it."""
        words = segmented(sentence) if counted else []
        self.own_words, self.own_pairs = Counter(words), Counter(pairwise(words))
        rows = [line.split() for line in sentence]
        text = [row[0] for row in rows]
        result = []
        for i, (character, label) in enumerate(rows):
            ends = (self._known(text, i - n + 1, i + 1) for n in LENGTHS)
            begins = (self._known(text, i, i + n) for n in LENGTHS)
            result.append("\t".join([character, *ends, *begins, self._pair(text, i), self._pair(text, i + 1), label]))
        return result

    def _known(self, text: list[str], first: int, last: int) -> str:
        word = "".join(text[first:last]) if first >= 0 and last <= len(text) else ""
        return word if self.words[word] > self.own_words[word] else NOTHING

    def _pair(self, text: list[str], border: int) -> str:
        """The longest pair with its border there."""
        for left, right in BOTH_LENGTHS:
            if left <= border and border + right <= len(text):
                pair = "".join(text[border - left : border]), "".join(text[border : border + right])
                if self.pairs[pair] > self.own_pairs[pair]:
                    return "/".join(pair)
        return NOTHING


def segmented(sentence: list[str]) -> list[str]:
    """The words of a sentence by its labels B, M, E, S."""
    words = [""]
    for line in sentence:
        character, label = line.split()
        words[-1] += character
        if label in "ES":
            words.append("")
    return [word for word in words if word]
