"""Scores as text: the layout of conlleval -l, byte for byte, and crfkit's own in the same style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crfkit.errors import one_line

from .mistakes import FORGIVEN, Mistakes, Verdicts, total
from .scores import JUDGED, Comparison, Count, Scores, listed, padded, percent, processed, row, share, summary

CONFUSIONS_SHOWN = 20
WIDTHS = (9, 12, 12, 12, 10)  # of a table of verdicts


def latex_report(scores: Scores) -> str:
    """What conlleval -l prints."""

    def cells(count: Count) -> str:
        return " &  {:6.2f}\\% & {:6.2f}\\% & {:6.2f} \\\\".format(*percent(count))

    rows = "".join("\n" + name + " " * (7 - len(name.encode())) + cells(count) for name, count in listed(scores.types))
    header = "        & Precision &  Recall  & F$_{\\beta=1} \\\\\\hline"
    return f"{header}{rows}\\hline\nOverall{cells(scores.chunks)}\\hline\n"


def token_report(scores: Scores) -> str:
    """Accuracy; precision and recall of each label; and which labels are confused with which."""
    text = (
        f"processed {scores.tokens} tokens in {scores.sentences} sentences; "
        f"correct: {scores.correct_tokens} tokens, {scores.correct_sentences} sentences.\n"
        f"accuracy: {100 * scores.accuracy:6.2f}%; inside chunks: {100 * scores.inside_accuracy:6.2f}%; "
        f"sentences: {100 * scores.sentence_accuracy:6.2f}%\n"
    )
    text += "".join(row(label, count) for label, count in scores.labels.items())
    return text + _confusions("errors, most frequent first (tokens, gold label, predicted label):\n", scores.confusion)


def _confusions(title: str, pairs: dict[tuple[str, str], int]) -> str:
    """The pairs that occur most often, if there are any."""
    shown = [f"{n:9d} {gold} {found}\n" for (gold, found), n in list(pairs.items())[:CONFUSIONS_SHOWN]]
    rest = list(pairs.values())[CONFUSIONS_SHOWN:]
    if rest:
        shown.append(f"{sum(rest):9d} in {len(rest)} other pairs; --json lists them all\n")
    return title + "".join(shown) if shown else ""


def mistake_report(scores: Scores) -> str:
    """What is wrong with gold chunks and with predicted ones; scores that forgive some of it; and which types are taken for which."""
    mistakes = scores.mistakes or Mistakes({}, {}, {})
    text = processed(scores)
    for title, column, alone in (("gold", mistakes.gold, "missed"), ("predicted", mistakes.found, "invented")):
        heads = (*(name.replace("_", " ") for name in Verdicts._fields[:-1]), alone)
        text += f"{title:>17} " + _cells(heads) + "\n"
        text += "".join(padded(name) + ":" + _cells(verdicts) + "\n" for name, verdicts in (("overall", total(column)), *column.items()))
    text += "if this need not be right:\n"
    for what in FORGIVEN:
        precision, recall, f1 = (100 * score for score in mistakes.forgiving(what).values())
        text += f"{what:>17}: precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}\n"
    return text + _confusions("wrong types, most frequent first (phrases, gold type, predicted type):\n", mistakes.types)


def _cells(row: Iterable[object]) -> str:
    return "".join(f"{cell!s:>{width}}" for cell, width in zip(row, WIDTHS, strict=True))


def segment_report(scores: Scores) -> str:
    """Scores of the words of a segmentation, and recall of the words outside the lexicon."""
    words = scores.words or Count()
    text = f"processed {scores.tokens} tokens with {words.gold} words; found: {words.found} words; correct: {words.correct}.\n"
    text += summary(share(scores.correct_tokens, scores.tokens), words)
    unknown = scores.unknown_words
    if unknown is not None:
        known = Count(words.gold - unknown.gold, 0, words.correct - unknown.correct)
        text += (
            f"not in the lexicon: {unknown.gold} words ({share(unknown.gold, words.gold):.2f}%); "
            f"recall: {100 * unknown.recall:6.2f}%; recall of the others: {100 * known.recall:6.2f}%\n"
        )
    return text


def side_by_side(all_scores: Sequence[Scores]) -> str:
    """Several files in one table: precision, recall and FB1 of each, overall and by type."""
    types = sorted(set().union(*(scores.types for scores in all_scores)))
    names = [one_line(scores.path or "") for scores in all_scores]
    width = max(24, *(len(name) + 2 for name in names))
    rows = [" " * 18 + "".join(f"{name:>{width}}" for name in names)]
    rows.append(" " * 18 + "".join(f"{'prec.  recall     FB1':>{width}}" for _ in names))

    def triples(numbers: Iterable[Sequence[float]]) -> str:
        return "".join("{:>{}}".format("{:.2f}  {:6.2f}  {:6.2f}".format(*three), width) for three in numbers)

    def cells(counts: Sequence[Count]) -> str:
        return triples(map(percent, counts))

    rows.append(padded("overall") + ":" + cells([scores.chunks for scores in all_scores]))
    widths = [_widths(scores) for scores in all_scores if scores.intervals is not None]
    if widths:
        rows.append(padded("95% +/-") + ":" + triples(of_file[:3] for of_file in widths))
    rows += [padded(name) + ":" + cells([s.types.get(name, Count()) for s in all_scores]) for name in types]
    rows.append(padded("accuracy") + ":" + "".join(f"{100 * s.accuracy:{width}.2f}" for s in all_scores))
    if widths:
        rows.append(padded("95% +/-") + ":" + "".join(f"{accuracy:{width}.2f}" for *_, accuracy in widths))
    return "\n".join(rows) + "\n"


def interval_report(scores: Scores, of_chunks: bool) -> str:
    """By how much chance may have moved the accuracy, and with `of_chunks` the other scores."""
    precision, recall, f1, accuracy = _widths(scores)
    more = f"; precision: +/-{precision:.2f}%; recall: +/-{recall:.2f}%; FB1: +/-{f1:.2f}" if of_chunks else ""
    return f"95% intervals: accuracy: +/-{accuracy:.2f}%{more}\n"


def _widths(scores: Scores) -> list[float]:
    return [100 * (scores.intervals or {})[name] for name in JUDGED]


def comparison_report(comparison: Comparison) -> str:
    """Differences in score, and their significance."""
    files = one_line(f"{comparison.second} against {comparison.first}")
    text = f"{files}: {comparison.shuffles} shuffles of {comparison.sentences} sentences, seed {comparison.seed}\n"
    for name, difference in comparison.differences.items():
        title = "FB1" if name == "f1" else name
        text += f"{title:>17}: {100 * difference:+7.2f}  p = {comparison.p[name]:.4f}\n"
    return text
