"""Chunks of two columns of labels by the published rules, slowly, for tests of crfkit.evaluation."""

from hypothesis import strategies as st

from crfkit.evaluation.counting import Tally
from crfkit.evaluation.schemes import SCHEMES

ODD_TEXT = "O B-A I-A E-A S-A U-A L-A B-B I-B E-B B I E S O-A B- - -A . [ ] [-A ]-B .-A X-A NP B-A-X I-A-Y é-ü"
ODD_LABELS = ODD_TEXT.split()
SANE_LABELS = ["O", "B-A", "I-A", "B-B", "I-B"]


def sentences_of(labels):
    pair = st.tuples(st.sampled_from(labels), st.sampled_from(labels))
    agreeing = st.sampled_from(labels).map(lambda label: (label, label))
    return st.lists(st.lists(pair | agreeing, min_size=1, max_size=8), max_size=6)


def split(label):
    prefix, _, kind = label.partition("-")
    return prefix, kind


def chunk_ends(prev, cur):
    (p, pt), (c, ct) = prev, cur
    return (
        (p == "B" and c in ("B", "O"))
        or (p == "I" and c in ("B", "O"))
        or (p == "E" and c in ("E", "I", "O"))
        or (p not in ("O", ".") and pt != ct)
        or p in ("[", "]")
    )


def chunk_starts(prev, cur):
    (p, pt), (c, ct) = prev, cur
    return (
        (p in ("B", "I", "O") and c == "B")
        or (p == "O" and c in ("I", "E"))
        or (p == "E" and c in ("E", "I"))
        or (c not in ("O", ".") and pt != ct)
        or c in ("[", "]")
    )


def conlleval(sentences):
    """(gold, found, correct) by type, totals of these, and right tokens: the published rules, token by token. Odd labels
    can make a chunk correct whose type has none: it counts in the total alone."""
    counts, right, agreeing = {}, 0, False
    outside = ("O", "")
    last_gold = last_found = outside
    boundary = (outside, outside)
    steps = []
    for sentence in sentences:
        steps += [(split(gold), split(found), True) for gold, found in sentence] + [(*boundary, False)]
    for gold, found, is_token in steps:
        gold_ends, found_ends = chunk_ends(last_gold, gold), chunk_ends(last_found, found)
        if agreeing:
            if gold_ends and found_ends and last_gold[1] == last_found[1]:
                agreeing = False
                counts.setdefault(last_gold[1], [0, 0, 0])[2] += 1
            elif gold_ends != found_ends or gold[1] != found[1]:
                agreeing = False
        gold_starts, found_starts = chunk_starts(last_gold, gold), chunk_starts(last_found, found)
        if gold_starts and found_starts and gold[1] == found[1]:
            agreeing = True
        if gold_starts:
            counts.setdefault(gold[1], [0, 0, 0])[0] += 1
        if found_starts:
            counts.setdefault(found[1], [0, 0, 0])[1] += 1
        right += is_token and gold == found
        last_gold, last_found = gold, found
    if agreeing:
        counts.setdefault(last_gold[1], [0, 0, 0])[2] += 1
    totals = tuple(map(sum, zip((0, 0, 0), *counts.values(), strict=True)))
    return {kind: tuple(c) for kind, c in counts.items() if c[0] or c[1]}, totals, right


def tally_of(sentences, scheme="bio", strict=False, **options):
    table = SCHEMES[scheme].strict if strict else SCHEMES[scheme].lenient
    tally = Tally([table], strict, **options)
    for sentence in sentences:
        tally.add([gold for gold, _ in sentence], [found for _, found in sentence])
    tally.finish()
    return tally


def as_text(sentences, separator="\t"):
    rows = ["".join(f"w{separator}{g}{separator}{f}\n" for g, f in sentence) for sentence in sentences]
    return "\n".join(rows).encode()


def strict_spans(labels, scheme):
    """All well-formed chunks, by trying every start and every type."""
    spans = []
    for start in range(len(labels)):
        kind = split(labels[start])[1]
        same = [prefix if prefix != "O" and t == kind else "O" for prefix, t in map(split, labels)]
        prefix, end = same[start], start + 1
        if scheme == "bio" and prefix == "B":
            while end < len(same) and same[end] == "I":
                end += 1
            spans.append((start, end, kind))
        elif scheme == "ioe2" and prefix in ("I", "E") and (start == 0 or same[start - 1] != "I"):
            while same[end - 1] == "I" and end < len(same):
                end += 1
            if same[end - 1] == "E":
                spans.append((start, end, kind))
        elif scheme in ("iobes", "bilou"):
            last, single = ("E", "S") if scheme == "iobes" else ("L", "U")
            if prefix == "B":
                while end < len(same) and same[end] == "I":
                    end += 1
                if end < len(same) and same[end] == last:
                    spans.append((start, end + 1, kind))
            elif prefix == single:
                spans.append((start, end, kind))
    return spans
