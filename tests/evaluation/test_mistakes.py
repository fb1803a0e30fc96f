"""What is wrong with chunks, beside a search of all pairs of chunks."""

import json
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from chunk_rules import (
    ODD_LABELS,
    SANE_LABELS,
    as_text,
    chunk_ends,
    chunk_starts,
    conlleval,
    sentences_of,
    split,
    strict_spans,
    tally_of,
)
from commands import crfkit as command
from hypothesis import given
from hypothesis import strategies as st

from crfkit.errors import OptionError
from crfkit.evaluation.evaluate import evaluate
from crfkit.evaluation.mistakes import FORGIVEN, Mistakes, Verdicts, total
from crfkit.evaluation.schemes import SCHEMES

run = partial(command, "eval")


def lenient_spans(labels):
    """The chunks by conlleval's rules: one begins where the rules say so, and lasts until one begins or ends, or the sentence does."""
    spans, start = [], None
    for at, (last, label) in enumerate(zip([("O", ""), *map(split, labels)], [*map(split, labels), ("O", "")], strict=True)):
        begins, ends = chunk_starts(last, label), chunk_ends(last, label)
        if start is not None and (begins or ends or at == len(labels)):
            spans.append((start, at, split(labels[start])[1]))
            start = None
        if begins:
            start = at
    return spans


def verdict(chunk, others):
    """The best that can be said of a chunk beside any of the others."""
    start, end, kind = chunk
    if chunk in others:
        return "right"
    if any(other[:2] == (start, end) for other in others):
        return "wrong_type"
    overlapping = [other for other in others if set(range(start, end)) & set(range(*other[:2]))]
    if any(other[2] == kind for other in overlapping):
        return "wrong_ends"
    return "both_wrong" if overlapping else "alone"


def searched(sentences, spans):
    """Mistakes by looking at all pairs."""
    counts, types = ({}, {}), Counter()
    for sentence in sentences:
        columns = [spans([pair[k] for pair in sentence]) for k in range(2)]
        for k in range(2):
            for chunk in columns[k]:
                counts[k].setdefault(chunk[2], Counter())[verdict(chunk, columns[1 - k])] += 1
        types.update((gold[2], found[2]) for gold in columns[0] for found in columns[1] if gold[:2] == found[:2] and gold[2] != found[2])
    return [{kind: Verdicts(*(row[name] for name in Verdicts._fields)) for kind, row in column.items()} for column in counts], dict(types)


def judged(tally):
    (judge,) = tally.judges.values()
    return [judge.counts(False, tally.types), judge.counts(True, tally.types)], judge.confusion(tally.types)


@given(sentences_of(ODD_LABELS) | sentences_of(SANE_LABELS))
def test_chunks_are_judged_by_the_best_pair(sentences):
    assert judged(tally_of(sentences, mistakes=True)) == searched(sentences, lenient_spans)


@pytest.mark.parametrize("scheme", ["bio", "ioe2", "iobes", "bilou"])
@given(data=st.data())
def test_strict_chunks_are_judged_by_the_best_pair(scheme, data):
    sentences = data.draw(sentences_of(["O"] + [f"{p}-{t}" for p in SCHEMES[scheme].prefixes if p != "O" for t in "AB"]))
    assert judged(tally_of(sentences, scheme, True, mistakes=True)) == searched(sentences, lambda labels: strict_spans(labels, scheme))


@given(sentences_of(SANE_LABELS))
def test_right_chunks_are_those_that_conlleval_finds_correct(sentences):
    counts, totals, _ = conlleval(sentences)
    scores = evaluate([[gold for gold, _ in sentence] for sentence in sentences], [[found for _, found in sentence] for sentence in sentences], "bio", mistakes=True)
    mistakes = scores.mistakes
    assert (sum(total(mistakes.gold)), sum(total(mistakes.found)), total(mistakes.gold).right) == totals
    assert {kind: (sum(mistakes.gold.get(kind, ())), sum(mistakes.found.get(kind, ())), mistakes.gold[kind].right if kind in mistakes.gold else 0)
            for kind in mistakes.gold | mistakes.found} == counts
    assert total(mistakes.gold).wrong_type == total(mistakes.found).wrong_type == sum(mistakes.types.values())


@given(sentences_of(SANE_LABELS).filter(any))
def test_blocks_and_a_missing_blank_line_change_nothing(sentences):
    sentences = [sentence for sentence in sentences if sentence]
    whole = tally_of(sentences, mistakes=True)
    fed = tally_of([], mistakes=True)
    for k, sentence in enumerate(sentences):
        last = k == len(sentences) - 1
        fed.feed(as_text([sentence]) + (b"" if last else b"\n"), 1)
    fed.finish()
    assert judged(fed) == judged(whole)


def test_what_is_forgiven():
    gold = {"A": Verdicts(2, 1, 0, 0, 1), "B": Verdicts(0, 0, 1, 1, 0)}
    found = {"A": Verdicts(2, 0, 2, 1, 2), "B": Verdicts(0, 1, 0, 0, 0)}
    mistakes = Mistakes(gold, found, {("A", "B"): 1})
    assert {what: (round(24 * s["precision"]), round(24 * s["recall"])) for what, s in mistakes.as_dict()["forgiving"].items()} == {
        "type": (9, 12), "ends": (12, 12), "both": (18, 20)}
    assert mistakes.forgiving("ends")["f1"] == pytest.approx(0.5) and list(FORGIVEN) == ["type", "ends", "both"]
    assert set(Mistakes({}, {}, {}).forgiving("both").values()) == {0.0}


def test_mistakes_are_made_on_request():
    assert evaluate([["B-A"]], [["B-B"]]).mistakes is None
    assert evaluate([["B-A"]], [["B-B"]], mistakes=True).mistakes.types == {("A", "B"): 1}
    with pytest.raises(OptionError, match="mistakes: expected true or false, found 2"):
        evaluate([["B-A"]], [["B-B"]], mistakes=2)


def test_types_stand_in_order_and_the_most_frequent_confusion_first():
    mistakes = evaluate([["B-C", "B-A", "B-B", "B-B"]], [["B-D", "B-B", "B-A", "B-A"]], "bio", mistakes=True).mistakes
    assert list(mistakes.gold) == ["A", "B", "C"] and list(mistakes.found) == ["A", "B", "D"]
    assert list(mistakes.types.items()) == [(("B", "A"), 2), (("A", "B"), 1), (("C", "D"), 1)]


def test_the_report_of_the_command():
    rows = [("B-A B-A", "I-A I-A", "O O", "B-B O"), ("B-A B-B", "O O", "B-B B-B", "I-B O", "O B-A"), ("B-C B-A", "I-C O", "O O", "O B-C")]
    Path("a.out").write_text("\n".join("".join(f"w {pair}\n" for pair in sentence) for sentence in rows))
    assert run("a.out", "--mistakes").stdout == """\
processed 13 tokens with 5 phrases; found: 6 phrases; correct: 1.
             gold     right  wrong type  wrong ends  both wrong    missed
          overall:        1           1           1           1         1
                A:        1           1           0           0         0
                B:        0           0           1           0         1
                C:        0           0           0           1         0
        predicted     right  wrong type  wrong ends  both wrong  invented
          overall:        1           1           1           1         2
                A:        1           0           0           1         1
                B:        0           1           1           0         0
                C:        0           0           0           0         1
if this need not be right:
             type: precision:  33.33%; recall:  40.00%; FB1:  36.36
             ends: precision:  33.33%; recall:  40.00%; FB1:  36.36
             both: precision:  66.67%; recall:  80.00%; FB1:  72.73
wrong types, most frequent first (phrases, gold type, predicted type):
        1 A B
"""
    found = json.loads(run("a.out", "--mistakes", "--json").stdout)["mistakes"]
    assert found["gold"]["B"] == {"right": 0, "wrong_type": 0, "wrong_ends": 1, "both_wrong": 0, "alone": 1}
    assert found["types"] == [["A", "B", 1]] and found["forgiving"]["both"]["recall"] == pytest.approx(0.8)
    assert run("a.out", "a.out", "--mistakes").stdout.count("==> a.out <==") == 2
    Path("right.out").write_text("w B-A B-A\n")
    assert "most frequent" not in run("right.out", "--mistakes").stdout
    assert run("--mistakes", stdin=b"\n").stdout.endswith("both: precision:   0.00%; recall:   0.00%; FB1:   0.00\n")
