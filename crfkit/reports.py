"""Scores as text: conlleval's layouts to the byte, and those of crfkit's own reports in the same style."""

from __future__ import annotations

from collections.abc import Sequence

from .evaluation import Comparison, Count, Scores

CONFUSIONS_SHOWN = 20


def percent(count: Count) -> tuple[float, float, float]:
    """Precision, recall and F1 by conlleval's own arithmetic, so that they are rounded as there."""
    precision = 100 * count.correct / count.found if count.found else 0.0
    recall = 100 * count.correct / count.gold if count.gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return precision, recall, f1


def _share(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _right(name: str, width: int) -> str:
    """conlleval counts bytes where it pads."""
    return " " * (width - len(name.encode())) + name


def _row(name: str, count: Count) -> str:
    precision, recall, f1 = percent(count)
    return f"{_right(name, 17)}: precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}  {count.found:d}\n"


def _summary(accuracy: float, count: Count) -> str:
    precision, recall, f1 = percent(count)
    return (
        f"accuracy: {accuracy:6.2f}%; precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}\n"
    )


def _listed(types: dict[str, Count]) -> list[tuple[str, Count]]:
    """The types in conlleval's order. It lists chunks without a type twice if both columns have them."""
    return [(name, count) for name, count in types.items() for _ in range(_listings(name, count))]


def _listings(name: str, count: Count) -> int:
    return 1 if name else (count.gold > 0) + (count.found > 0)


def chunk_report(scores: Scores) -> str:
    """What conlleval prints."""
    chunks = scores.chunks
    text = (
        f"processed {scores.tokens} tokens with {chunks.gold} phrases; "
        f"found: {chunks.found} phrases; correct: {chunks.correct}.\n"
    )
    if scores.tokens:
        text += _summary(_share(scores.correct_tokens, scores.tokens), chunks)
    return text + "".join(_row(name, count) for name, count in _listed(scores.types))


def latex_report(scores: Scores) -> str:
    """What conlleval -l prints."""

    def cells(count: Count) -> str:
        return " &  {:6.2f}\\% & {:6.2f}\\% & {:6.2f} \\\\".format(*percent(count))

    rows = "".join(
        "\n" + name + " " * (7 - len(name.encode())) + cells(count) for name, count in _listed(scores.types)
    )
    header = "        & Precision &  Recall  & F$_{\\beta=1} \\\\\\hline"
    return f"{header}{rows}\\hline\nOverall{cells(scores.chunks)}\\hline\n"


def token_report(scores: Scores) -> str:
    """Accuracy, precision and recall of each label, and which labels are taken for which."""
    text = (
        f"processed {scores.tokens} tokens in {scores.sentences} sentences; "
        f"correct: {scores.correct_tokens} tokens, {scores.correct_sentences} sentences.\n"
        f"accuracy: {100 * scores.accuracy:6.2f}%; inside chunks: {100 * scores.inside_accuracy:6.2f}%; "
        f"sentences: {100 * scores.sentence_accuracy:6.2f}%\n"
    )
    text += "".join(_row(label, count) for label, count in scores.labels.items())
    if scores.confusion:
        text += "errors, most frequent first (tokens, gold label, predicted label):\n"
    for (gold, found), n in list(scores.confusion.items())[:CONFUSIONS_SHOWN]:
        text += f"{n:9d} {gold} {found}\n"
    rest = list(scores.confusion.values())[CONFUSIONS_SHOWN:]
    if rest:
        text += f"{sum(rest):9d} in {len(rest)} other pairs; --json lists them all\n"
    return text


def segment_report(scores: Scores) -> str:
    """Words of a segmentation found, and those of them that are not in the lexicon."""
    words = scores.words or Count()
    text = (
        f"processed {scores.tokens} tokens with {words.gold} words; "
        f"found: {words.found} words; correct: {words.correct}.\n"
    )
    text += _summary(_share(scores.correct_tokens, scores.tokens), words)
    unknown = scores.unknown_words
    if unknown is not None:
        known = Count(words.gold - unknown.gold, 0, words.correct - unknown.correct)
        text += (
            f"not in the lexicon: {unknown.gold} words ({_share(unknown.gold, words.gold):.2f}%); "
            f"recall: {100 * unknown.recall:6.2f}%; recall of the others: {100 * known.recall:6.2f}%\n"
        )
    return text


def side_by_side(all_scores: Sequence[Scores]) -> str:
    """Several files in one table: precision, recall and FB1 of each, overall and by type."""
    types = sorted(set().union(*(scores.types for scores in all_scores)))
    names = [scores.path or "" for scores in all_scores]
    width = max(24, *(len(name) + 2 for name in names))
    rows = [" " * 18 + "".join(f"{name:>{width}}" for name in names)]
    rows.append(" " * 18 + "".join(f"{'prec.  recall     FB1':>{width}}" for _ in names))

    def cells(counts: Sequence[Count]) -> str:
        return "".join("{:>{}}".format("{:.2f}  {:6.2f}  {:6.2f}".format(*percent(c)), width) for c in counts)

    rows.append(_right("overall", 17) + ":" + cells([scores.chunks for scores in all_scores]))
    rows += [
        _right(name, 17) + ":" + cells([s.types.get(name, Count()) for s in all_scores]) for name in types
    ]
    rows.append(_right("accuracy", 17) + ":" + "".join(f"{100 * s.accuracy:{width}.2f}" for s in all_scores))
    return "\n".join(rows) + "\n"


def comparison_report(comparison: Comparison) -> str:
    """Differences, and whether chance explains them."""
    text = (
        f"{comparison.second} against {comparison.first}: {comparison.shuffles} shuffles of "
        f"{comparison.sentences} sentences, seed {comparison.seed}\n"
    )
    for name, title in (
        ("precision", "precision"),
        ("recall", "recall"),
        ("f1", "FB1"),
        ("accuracy", "accuracy"),
    ):
        text += f"{title:>17}: {100 * comparison.differences[name]:+7.2f}  p = {comparison.p[name]:.4f}\n"
    return text
