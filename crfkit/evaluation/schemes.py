"""Chunk schemes: how labels such as B-NP, I-NP, O mark chunks, as tables over pairs of neighbouring labels.

A label is a prefix and a type, split at its first hyphen. Whether a chunk starts or ends between two tokens
depends only on the two prefixes and on whether the two types are equal, so every scheme is a table
[previous prefix][current prefix][types differ, types equal] of bits. Two readings exist:

lenient   START and END, found locally. Every label sequence is accepted, malformed chunks included.
          `bio` is the reading of the CoNLL shared tasks' conlleval; it covers IOB1, IOB2, IOE1 and IOE2, but
          has no S, and merges neighbours in IOBES and BILOU. `iobes` is the same with E and S (L and U) added.
strict    START, INSIDE and END. A chunk starts with START, continues as long as INSIDE holds, and counts
          only if END holds where it stops. Prefixes that the scheme does not have are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

START, END, INSIDE = 1, 2, 4

PREFIXES = ("O", "B", "I", "E", "S", "L", "U", "M", "W", ".", "[", "]", "?")  # the last one stands for any other
N_PREFIXES = len(PREFIXES)
OTHER = N_PREFIXES - 1

_CODES = {name: code for code, name in enumerate(PREFIXES[:OTHER])}

# The same role in IOBES under other names: the M and W of word segmentation, and BILOU's L and U.
SEGMENTATION = {"M": "I", "W": "S"}
SEGMENT_PREFIXES = "OBIESLUMW"
_IOBES_ROLE = {**SEGMENTATION, "L": "E", "U": "S"}


class Spelling(NamedTuple):
    """A label, split into its parts."""

    label: str
    prefix: int  # its place among PREFIXES, or OTHER
    type: str
    same: bytes | None  # the label that this one counts as


def spelling(text: bytes, outside: bytes, raw: bool, words: bool) -> Spelling:
    """A label split as conlleval does, with its options `outside` and `raw`. "B-" is "B" there, and another name for O is O. `words`: of a
    word segmentation, whose labels may be lower-case. UnicodeDecodeError if it is not UTF-8."""
    label, same = text.decode(), None
    if text in (b"", outside):
        prefix, kind = "O", ""
    elif raw and text != b"O":
        prefix, kind = "B", label
    else:
        prefix, _, kind = label.partition("-")
    if words and len(label) == 1:
        prefix = label.upper()
    if text and text == outside and text != b"O":
        same = b"O"
    elif prefix and not kind and text.endswith(b"-"):
        same = prefix.encode()
    return Spelling(label, _CODES.get(prefix, OTHER), kind, same)


def _conlleval(prev: str, cur: str, same: bool) -> int:
    starts = (
        (cur == "B" and prev in "BIO")
        or (cur in "IE" and prev == "O")
        or (cur in "EI" and prev == "E")
        or (not same and cur not in "O.")
        or cur in "[]"
    )
    ends = (
        (prev in "BI" and cur in "BO")
        or (prev == "E" and cur in "EIO")
        or (not same and prev not in "O.")
        or prev in "[]"
    )
    return START * starts | END * ends


def _iobes(prev: str, cur: str, same: bool) -> int:
    prev, cur = _IOBES_ROLE.get(prev, prev), _IOBES_ROLE.get(cur, cur)
    starts = cur in "BS" or (cur in "IE" and prev in "OES") or (not same and cur not in "O.")
    ends = prev in "ES" or (prev in "BI" and cur in "BSO") or (not same and prev not in "O.")
    return START * starts | END * ends


def _table(rule: Callable[[str, str, bool], int]) -> bytes:
    return bytes(rule(prev, cur, same) for prev in PREFIXES for cur in PREFIXES for same in (False, True))


def _strict_table(start: str, inside: str, end: str) -> bytes:
    """The table for patterns such as "BI= .B*": previous prefix (. any), current prefix, and type: = same, ! other, * either."""
    table = bytearray(2 * N_PREFIXES * N_PREFIXES)
    for bit, patterns in ((START, start), (INSIDE, inside), (END, end)):
        for prev, cur, types in map(tuple, patterns.split()):
            for pair in (i * N_PREFIXES + j for i in _places(prev) for j in _places(cur)):
                for same in {"*": (0, 1), "=": (1,), "!": (0,)}[types]:
                    table[2 * pair + same] |= bit
    return bytes(table)


def _places(prefix: str) -> Iterable[int]:
    return range(N_PREFIXES) if prefix == "." else (PREFIXES.index(prefix),)


@dataclass(frozen=True)
class Scheme:
    """A scheme's prefixes (O included) and its two tables; `strict` is empty where a scheme has no strict reading."""

    prefixes: str
    lenient: bytes
    strict: bytes = b""


def _word_start(prev: str, cur: str, _same: bool) -> int:
    """A word of a segmentation starts with B or S, or after an E, S or O: every token is in a word."""
    prev, cur = _IOBES_ROLE.get(prev, prev), _IOBES_ROLE.get(cur, cur)
    return START * (cur in "BSO" or prev in "ESO")


WORD_STARTS = _table(_word_start)

_CONLLEVAL, _IOBES = _table(_conlleval), _table(_iobes)

SCHEMES = {
    "bio": Scheme("OBI", _CONLLEVAL, _strict_table(start=".B*", inside="BI= II=", end="IO* II! IB* BO* BI! BB*")),
    # B only where a chunk immediately follows another of its type: elsewhere it is malformed.
    "iob1": Scheme("OBI", _CONLLEVAL, _strict_table(start="OI* II! BI* IB= BB=", inside="BI= II=", end="IO* II! IB* BO* BI! BB=")),
    # E only where another chunk of its type follows immediately; it may be a chunk of one token.
    "ioe1": Scheme("OIE", _CONLLEVAL, _strict_table(start="OI* II! EI* OE* IE! EE*", inside="II= IE=", end="II! IO* IE! EI= EE=")),
    "ioe2": Scheme("OIE", _CONLLEVAL, _strict_table(start="OI* OE* EI* EE* II! IE!", inside="IE= II=", end="E.*")),
    "iobes": Scheme("OBIES", _IOBES, _strict_table(start=".B* .S*", inside="BI= BE= II= IE=", end="S.* E.*")),
    "bilou": Scheme("OBILU", _IOBES, _strict_table(start=".B* .U*", inside="BI= BL= II= IL=", end="U.* L.*")),
    # Labels without chunks: every token that is not O is a one-token chunk (read with prefix B).
    "none": Scheme("OB", _CONLLEVAL),
}

SYNONYMS = {"iob2": "bio", "bioes": "iobes", "biluo": "bilou", "bioul": "bilou"}


def scheme_called(name: str) -> str:
    """The scheme, or `auto`, that a name stands for, which may be a synonym, or in capitals. What is no name of a scheme stays as it is."""
    low = name.lower()
    return SYNONYMS.get(low, low if low in ("auto", *SCHEMES) else name)


def candidates(scheme: str, strict: bool) -> list[str]:
    """The schemes to count by: `auto` can be decided only when all labels are read.

    iobes adds bio, so that the user can be told what conlleval would report.
    """
    if strict:
        return ["bio", "iob1", "ioe2", "iobes", "bilou"] if scheme == "auto" else [scheme]
    return {"auto": ["bio", "iobes"], "iobes": ["bio", "iobes"], "bilou": ["bio", "bilou"]}.get(scheme, [scheme])


def detect(gold: Iterable[str], predicted: Iterable[str], strict: bool) -> str:
    """The scheme that the prefixes indicate. Only the gold labels decide, as a system's output may be anything."""
    gold, predicted = set(gold), set(predicted)
    if not strict:
        for seen in (gold, gold | predicted):
            if seen <= set("OBIMESW") and ({"B", "E"} <= seen or seen & set("SW")):
                return "iobes"
            if seen <= set("OBILU") and seen & set("LU"):
                return "bilou"
        return "bio"
    seen = gold | predicted
    if seen & set("LU"):
        return "bilou"
    if "S" in seen or {"B", "E"} <= seen:
        return "iobes"
    if "E" in seen:
        return "ioe2"
    return "bio" if "B" in seen or "I" not in seen else "iob1"


def beginnings(scheme: str) -> set[str]:
    """The prefixes with which a well-formed chunk of this scheme begins, whatever stands before."""
    table, width = SCHEMES[scheme].strict, 2 * N_PREFIXES
    return {name for code, name in enumerate(PREFIXES) if all(table[row + 2 * code] & START for row in range(0, len(table), width))}


def marks_chunks(labels: Iterable[str]) -> bool:
    """Whether labels mark chunks, rather than classify tokens: some look like B-NP, or all have a prefix of a scheme."""
    labels = list(labels)
    some = any(label[:2] in ("B-", "I-", "E-") and label[2:] for label in labels)
    return some or {label.partition("-")[0] for label in labels} <= set(SEGMENT_PREFIXES)


def outside_among(labels: Iterable[str]) -> str | None:
    """The label that seems to mean what O does, where none is O: the only one without a type. Those that mark chunks without types, such as
    the S of a word segmentation, are no such label."""
    labels = list(labels)
    plain = [label for label in labels if "-" not in label]
    some = len(plain) == 1 and plain[0] not in _CODES and not any(label.startswith("O-") for label in labels)
    return plain[0] if some else None
