"""Sentences of two files side by side: what a program found, and what is right, as long as their words agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from crfkit.errors import DataError
from crfkit.values import plural


class Sentence(NamedTuple):
    """A sentence, and its place in the file."""

    forms: list[bytes | None]  # its words as they are written; None where that is not known
    words: list[Any]  # what is scored of each word
    path: str
    line: int  # 0 where it is not known


def aligned(found: Iterable[Sentence], right: Iterable[Sentence], path: str, gold_path: str) -> Iterator[tuple[Sentence, Sentence]]:
    """Each sentence found, with the right one; DataError at the first that differs in its words. A right one without words
    agrees with any. `path`: where sentences were found; `gold_path`: where the right ones are."""
    answers, golds, both, place = iter(found), iter(right), 0, f" as in {gold_path}"
    for gold in golds:
        sentence = next(answers, None)
        if sentence is None:
            raise DataError(f"found {plural(both, 'sentence')}, expected {both + 1 + sum(1 for _ in golds)}{place}", path)
        _check(sentence, gold)
        yield sentence, gold
        both += 1
    if more := sum(1 for _ in answers):
        raise DataError(f"found {plural(both + more, 'sentence')}, expected {both}{place}", path)


def _check(sentence: Sentence, gold: Sentence) -> None:
    """DataError unless the words of both are the same."""
    if sentence.forms == gold.forms or not gold.forms:
        return
    place = f"as in {gold.path}" + f":{gold.line}" * bool(gold.line)
    for number, forms in enumerate(zip(sentence.forms, gold.forms, strict=False), 1):
        if forms[0] != forms[1] and None not in forms:
            shown, expected = (form.decode(errors="replace") for form in forms if form is not None)
            raise DataError(f"word {number} of the sentence is {shown!r}, expected {expected!r} {place}", sentence.path, sentence.line)
    if len(sentence.forms) != len(gold.forms):
        raise DataError(f"the sentence has {plural(len(sentence.forms), 'word')}, expected {len(gold.forms)} {place}", sentence.path, sentence.line)
